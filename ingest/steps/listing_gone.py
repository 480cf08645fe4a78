"""What a source lists no more, whether that is to be believed, and what may have been renamed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from more_itertools import chunked

from ingest.catalog import Catalog
from ingest.catalog.records import KnownItem
from ingest.steps.listing import Listing
from ingest.vault import Vault
from schemas.run import Departed
from schemas.source import Source

_AT_ONCE = 1_000


@dataclass
class Gone:
    """What is no longer there."""

    listed: list[str] = field(default_factory=list)
    """Keys of listed items, sorted."""
    members: dict[str, KnownItem] = field(default_factory=dict)
    """Files inside them, and inside containers that stay, by key."""
    leaving: set[str] = field(default_factory=set)
    """Documents whose every item is gone."""
    alerts: list[str] = field(default_factory=list)

    @property
    def keys(self) -> set[str]:
        """All keys."""
        return {*self.listed, *self.members}


def find_gone(catalog: Catalog, source: Source, listing: Listing) -> Gone:
    """Return what left the source, and alerts if it is too much to believe."""
    gone = Gone(members=dict(listing.members_gone))
    gone.listed, gone.alerts = _listed_gone(catalog, source, listing)
    gone.members |= catalog.live_members(source.id, gone.listed)
    leaving = {item.doc_id for item in gone.members.values() if item.version is not None}
    for part in chunked(gone.listed, _AT_ONCE):
        items = catalog.items_of(source.id, part).values()
        leaving |= {item.doc_id for item in items if item.version is not None}
    leaving -= listing.returned | listing.refused | listing.spool.documents_among(leaving)
    gone.leaving = leaving - catalog.still_there(source.id, leaving, gone.keys)
    return gone


def _listed_gone(catalog: Catalog, source: Source, listing: Listing) -> tuple[list[str], list[str]]:
    """Return the keys that are no longer listed, and alerts if there are too many to believe it.

    An empty or sharply shorter listing is more often a fault of the source than a deletion of
    everything, so past the limit nothing is retired and a person is asked (guarantee 7). A
    container with its members counts as one: how many files it holds says nothing about the
    listing.
    """
    if listing.still_live == catalog.count_live(source.id):
        return [], []  # nothing else is there, not even files inside items
    had = missing = 0
    for keys in catalog.live_keys(source.id):
        had += len(keys)
        missing += sum(key not in listing.keys for key in keys)
    kept = had - missing
    if not missing or (not source.retire_unlisted and kept > 0):
        return [], []
    if kept == 0 or kept < source.min_listed_share * had:
        return [], [
            f"{source.id}: lists {kept} of the {had} items it had; nothing was retired. "
            + (
                f"If they are really gone, lower min_listed_share ({source.min_listed_share}) for "
                "one run."
                if kept
                else "Look at the source: a listing without a single item is never believed."
            )
        ]
    return sorted(_unlisted(catalog, source.id, listing)), []


def _unlisted(catalog: Catalog, source_id: str, listing: Listing) -> Iterator[str]:
    for keys in catalog.live_keys(source_id):
        yield from (key for key in keys if key not in listing.keys)


def find_departed(
    catalog: Catalog, vault: Vault, source: Source, listing: Listing, gone: Gone
) -> list[Departed]:
    """Return the items that may have been renamed, and keep together what they may be now.

    Only the bytes tell, so all newcomers of the same size go into one batch: there it is seen
    whether exactly one of them has the bytes of exactly one that is gone.
    """
    if not gone.leaving or not listing.spool.has_newcomers():
        return []
    departed = [
        one.model_copy(update={"size": vault.size(one.doc_sha256)})
        for one in catalog.departed(source.id, gone.listed)
        if one.doc_id in gone.leaving
    ]
    sizes = {one.size for one in departed if one.size is not None}
    found = listing.spool.keep_alike_together(sizes)
    return [one for one in departed if one.size in found]

"""What a source lists, compared with the catalogue a page at a time.

Neither the listing nor what the catalogue knows is ever held whole: what is new or changed waits on
disk, and what is as it was is only counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

from ingest.catalog import Catalog
from ingest.catalog.records import KnownItem
from ingest.sources.listed_keys import ListedKeys
from ingest.steps.listing_spool import Spool
from ingest.steps.members import change_of, is_waiting, needs_work
from ingest.version import PIPELINE_VERSION
from schemas.run import PlannedItem
from schemas.source import Item, ListingEntry, ListingProblem

_PAGE = 1_000


class Listing:
    """A listing on its way through the comparison, and what came of it."""

    def __init__(self, catalog: Catalog, source_id: str) -> None:
        self._catalog = catalog
        self._source_id = source_id
        self._has_members: bool | None = None
        self.keys = ListedKeys()
        """Of all entries: an item that is listed with a problem is still there."""
        self.spool = Spool()
        self.entries = 0
        self.new = 0
        self.changed = 0
        self.unchanged = 0
        self.still_live = 0
        """Listed items that are known and not gone."""
        self.problems: list[ListingProblem] = []
        self.returned: set[str] = set()
        """Documents that were retired and are listed again, or whose container is."""
        self.refused: set[str] = set()
        """Documents of items that are as they were when they were refused."""
        self.members_gone: dict[str, KnownItem] = {}
        """What unchanged containers did not have when they were last read, by key: the run that
        read them did not get as far as retiring it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.spool.__exit__(kind, error, trace)
        self.keys.__exit__(kind, error, trace)

    def take(self, entries: Iterable[ListingEntry]) -> None:
        """Take the whole listing in; nothing is written to the catalogue."""
        page: list[Item] = []
        for item in self._items(entries):
            page.append(item)
            if len(page) == _PAGE:
                self._compare(page)
                page = []
        if page:
            self._compare(page)

    def _items(self, entries: Iterable[ListingEntry]) -> Iterator[Item]:
        """Yield the items; keep the problems, and make one of a key that was listed before."""
        for entry in entries:
            self.entries += 1
            is_new = self.keys.add(entry.source_key)
            if not isinstance(entry, Item):
                self.problems.append(entry)
            elif is_new:
                yield entry
            else:
                self.problems.append(_duplicate(self._source_id, entry.source_key))

    def _compare(self, page: list[Item]) -> None:
        """Split the items into those to work on and those that are as they were."""
        settled = self._catalog.settled(self._source_id, (item.source_key for item in page))
        self.still_live += len(settled)
        members = self._members(page)
        waiting = {one.container_key for one in members.values() if is_waiting(one)}
        unclear = [
            item
            for item in page
            if settled.get(item.source_key) != item.fingerprint or item.source_key in waiting
        ]
        known = self._catalog.items_of(self._source_id, (item.source_key for item in unclear))
        self.still_live += sum(
            key not in settled and item.state != "gone" for key, item in known.items()
        )
        work: list[Item] = []
        as_before = {item.source_key for item in page} - {item.source_key for item in unclear}
        for item in unclear:
            before = known.get(item.source_key)
            if (
                before is not None
                and before.fingerprint == item.fingerprint
                and not needs_work(before)
                and item.source_key not in waiting
            ):
                as_before.add(item.source_key)
                if before.state == "quarantined":
                    self.refused |= self._documents_of([item])
            else:
                work.append(item)
        self.unchanged += len(as_before)
        self._note_returned(known)
        self._note_members(members, as_before)
        self._plan(work, known)

    def _members(self, page: list[Item]) -> dict[str, KnownItem]:
        """Return the members of the page's items that not all is done about."""
        if self._has_members is None:
            self._has_members = self._catalog.has_members(self._source_id)
        if not self._has_members:
            return {}
        keys = (item.source_key for item in page)
        return self._catalog.unsettled_members(self._source_id, keys, PIPELINE_VERSION)

    def _note_returned(self, known: dict[str, KnownItem]) -> None:
        self.returned |= {item.doc_id for item in known.values() if item.state == "gone"}
        self.spool.add_listed_again(
            key for key, item in known.items() if not item.listed or item.container_key is not None
        )

    def _note_members(self, members: dict[str, KnownItem], as_before: set[str]) -> None:
        for key, item in members.items():
            if item.container_key not in as_before:
                continue  # reading the container tells
            if item.state == "gone" and item.listed:
                self.returned.add(item.doc_id)
            elif item.state != "gone" and not item.listed:
                self.members_gone[key] = item

    def _plan(self, work: list[Item], known: dict[str, KnownItem]) -> None:
        if not work:
            return
        places = self._catalog.place(self._source_id, (item.document_key for item in work))
        planned = []
        for item in work:
            place = places[item.document_key]
            before = known.get(item.source_key)
            newcomer = before is None and not place.is_registered
            planned.append(
                PlannedItem(
                    item=item,
                    doc_id=place.doc_id,
                    change=change_of(before),
                    is_newcomer=newcomer and item.document_key == item.source_key,
                )
            )
        self.new += sum(one.change == "new" for one in planned)
        self.changed += sum(one.change == "changed" for one in planned)
        self.spool.add(planned)

    def _documents_of(self, items: Iterable[Item]) -> set[str]:
        places = self._catalog.place(self._source_id, (item.document_key for item in items))
        return {place.doc_id for place in places.values()}


def _duplicate(source_id: str, key: str) -> ListingProblem:
    return ListingProblem(
        source_key=key,
        code="key_duplicate",
        message=f"{source_id}, {key}: it is listed more than once; the first entry was taken. See "
        "that the source gives each item a key of its own.",
    )

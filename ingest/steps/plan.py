"""plan: list one source, compare with the catalogue, and group the work into batches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from natsort import natsort_key

from ingest.catalog.records import KnownItem
from ingest.pipeline import Pipeline
from ingest.steps.forgotten import ForgottenFilter
from ingest.steps.members import change_of, needs_work, waiting_containers
from ingest.version import PIPELINE_VERSION
from schemas.base import OPEN_END
from schemas.identity import document_id
from schemas.run import Batch, BatchRef, PlannedItem, Refusal, SourcePlan
from schemas.source import Item, ListingEntry, ListingProblem, Source

_BYTES_PER_PAGE = 50_000
_PAGES_PER_SCAN_BYTE = 1 / 25_000
_SCAN_SUFFIXES = {".tif", ".tiff", ".png", ".jpg", ".jpeg"}


class _Listing:
    """What a source lists, gathered."""

    def __init__(self, entries: Iterable[ListingEntry]) -> None:
        self.items: list[Item] = []
        self.problems: list[ListingProblem] = []
        for entry in entries:
            if isinstance(entry, Item):
                self.items.append(entry)
            else:
                self.problems.append(entry)


def plan(pipeline: Pipeline, source_id: str) -> list[BatchRef]:
    """List ``source_id`` and write the batches of what is new or changed.

    Unchanged items cost the listing alone. An item in quarantine is left there until someone
    retries it, it changes, or the pipeline does. A file inside an item is reached through it: the
    item is worked on again if one of its members has to be.

    Raises:
        RetriableError: the source does not answer.
        ConfigurationError: the source is not what the configuration says.
    """
    source = pipeline.configuration.source(source_id)
    allowed = ForgottenFilter(pipeline.catalog, source_id)
    listing = _Listing(allowed.rest_of(pipeline.connector(source_id).list()))
    known = pipeline.catalog.known_items(source_id)
    work, unchanged = _compare(source, listing.items, known)
    gone, alerts = _gone(source, listing, known)
    as_before = {item.source_key for item in unchanged}
    gone += _members_gone(known, set(gone), as_before)
    still_there = {document_id(source_id, item.document_key) for item in listing.items}
    still_there |= {
        item.doc_id for key, item in known.items() if item.state != "gone" and key not in set(gone)
    }
    leaving = {known[key].doc_id for key in gone if known[key].version is not None} - still_there
    returned = {
        before.doc_id
        for item in listing.items
        if (before := known.get(item.source_key)) is not None and before.state == "gone"
    }
    returned |= {
        item.doc_id
        for item in known.values()
        if item.container_key in as_before and item.state == "gone" and item.listed
    }

    for problem in listing.problems:
        pipeline.catalog.record_refused(
            Refusal(
                source_id=source_id,
                source_key=problem.source_key,
                doc_id=None,
                stage="plan",
                code=problem.code,
                message=problem.message,
            ),
            run_id=pipeline.run_id,
            pipeline_version=PIPELINE_VERSION,
            level="item",
        )
    pipeline.catalog.seen(source_id, [item.source_key for item in listing.items], pipeline.run_id)

    refs = []
    for number, items in enumerate(_batches(work, pipeline.settings.batch_cost), start=1):
        batch_id = f"{source_id}-{number:04d}"
        batch = Batch(
            run_id=pipeline.run_id, batch_id=batch_id, source_id=source_id, items=tuple(items)
        )
        pipeline.artifacts.write(pipeline.stage_path(batch_id, "plan"), batch)
        refs.append(
            BatchRef(
                run_id=pipeline.run_id,
                batch_id=batch_id,
                source_id=source_id,
                counts={"items": len(items)},
            )
        )
    pipeline.artifacts.write(
        pipeline.plan_path(source_id),
        SourcePlan(
            run_id=pipeline.run_id,
            source_id=source_id,
            listed=len(listing.items) + len(listing.problems) + allowed.left_out,
            new=sum(planned.change == "new" for planned in work),
            changed=sum(planned.change == "changed" for planned in work),
            unchanged=len(unchanged),
            forgotten=allowed.left_out,
            failed=tuple(listing.problems),
            batches=tuple(ref.batch_id for ref in refs),
            retire=tuple(sorted(leaving)),
            restore=tuple(sorted(returned)),
            gone=tuple(sorted(gone)),
            alerts=tuple(alerts),
        ),
    )
    return refs


def _compare(
    source: Source, items: Iterable[Item], known: Mapping[str, KnownItem]
) -> tuple[list[PlannedItem], list[Item]]:
    """Split the listed items into those to work on and those that are as they were."""
    work: list[PlannedItem] = []
    unchanged: list[Item] = []
    waiting = waiting_containers(known)
    for item in items:
        before = known.get(item.source_key)
        if (
            before is not None
            and before.fingerprint == item.fingerprint
            and not needs_work(before)
            and item.source_key not in waiting
        ):
            unchanged.append(item)
        else:
            doc_id = document_id(source.id, item.document_key)
            work.append(PlannedItem(item=item, doc_id=doc_id, change=change_of(before)))
    return work, unchanged


def _gone(
    source: Source, listing: _Listing, known: Mapping[str, KnownItem]
) -> tuple[list[str], list[str]]:
    """Return the keys that are no longer listed, and alerts if there are too many to believe it.

    An empty or sharply shorter listing is more often a fault of the source than a deletion of
    everything, so past the limit nothing is retired and a person is asked (guarantee 7).
    """
    # Items that are listed with a problem are still there.
    listed = {item.source_key for item in listing.items}
    listed |= {problem.source_key for problem in listing.problems}
    # A container with its members counts as one: how many files it holds says nothing about the
    # listing. It counts too if a run found its members and did not get to its end.
    live = {item.container_key or key for key, item in known.items() if item.state != "gone"}
    gone = live - listed
    if not gone:
        return [], []
    kept = len(live) - len(gone)
    if not source.retire_unlisted and kept > 0:
        return [], []
    if kept == 0 or kept < source.min_listed_share * len(live):
        return [], [
            f"{source.id}: lists {kept} of the {len(live)} items it had; nothing was retired. "
            + (
                f"If they are really gone, lower min_listed_share ({source.min_listed_share}) for "
                "one run."
                if kept
                else "Look at the source: a listing without a single item is never believed."
            )
        ]
    return sorted(gone), []


def _members_gone(
    known: Mapping[str, KnownItem], containers_gone: Container[str], unchanged: Container[str]
) -> list[str]:
    """Return the members that went with their container.

    With them are those that an unchanged container did not have when it was last read: the run
    that read it did not get as far as retiring them.
    """
    return [
        key
        for key, item in known.items()
        if item.container_key is not None
        and item.state != "gone"
        and (
            item.container_key in containers_gone
            or (item.container_key in unchanged and not item.listed)
        )
    ]


def _cost(item: Item) -> int:
    """Estimate an item's pages, from what a listing can tell without a download."""
    if item.size is None:
        return 1
    if PurePosixPath(item.source_key).suffix.lower() in _SCAN_SUFFIXES:
        return max(1, round(item.size * _PAGES_PER_SCAN_BYTE))
    return max(1, item.size // _BYTES_PER_PAGE)


def _batches(work: Iterable[PlannedItem], budget: int) -> Iterator[list[PlannedItem]]:
    """Group items to about ``budget`` pages, the versions of one document always together.

    Versions stand in the order of their effective dates, so that numbers follow time as far as
    the source knows it.
    """
    documents: dict[str, list[PlannedItem]] = defaultdict(list)
    for planned in work:
        documents[planned.doc_id].append(planned)
    batch: list[PlannedItem] = []
    cost = 0
    for versions in documents.values():
        versions.sort(
            key=lambda planned: (
                planned.item.effective_from or OPEN_END,
                natsort_key(planned.item.version_label or ""),
                planned.item.source_key,
            )
        )
        more = sum(_cost(planned.item) for planned in versions)
        if batch and cost + more > budget:
            yield batch
            batch, cost = [], 0
        batch.extend(versions)
        cost += more
    if batch:
        yield batch

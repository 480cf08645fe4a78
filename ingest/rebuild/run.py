"""A rebuild from its beginning to the turn of the readers. It may be stopped anywhere and go on.

What it has filled is noted by document in the catalogue. Other runs go on meanwhile, in the former
collection: what they change is found by comparing stamps and filled again. The last of it is filled
with everybody else kept out, and then the catalogue says which collection is written to, and
readers' alias follows. A crash between the two leaves readers with the former one, as it was; the
next who writes turns them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

from more_itertools import chunked

from ingest.catalog.records import RebuildRecord
from ingest.errors import FatalError, ItemError
from ingest.index import VectorIndex
from ingest.pipeline import Pipeline, open_index
from ingest.rebuild.fill import fill, fill_document, stale_documents, strays
from schemas.base import utc_now
from schemas.rebuild import Filled, RebuildReport, RebuildShard

log = logging.getLogger(__name__)

_DOCUMENTS = 200
"""Filled before the index is opened anew: the embedded one is locked for so long."""
_SHARDS = 200
"""Tasks at most."""
_PASSES = 5
"""Over all documents while others still write; the last one keeps them out in any case."""


def begin(pipeline: Pipeline, reason: str) -> RebuildRecord:
    """Return the rebuild that is under way, or begin one.

    Raises:
        RetriableError: the index or the catalogue is locked or does not answer.
    """
    alias = pipeline.settings.qdrant.alias
    under_way = pipeline.catalog.rebuild_under_way(alias)
    if under_way is not None:
        with _target(pipeline, under_way) as index:
            if index.is_ours(under_way.collection):
                index.prepare()
                return under_way
        # It was begun for another model or payload schema, which is wanted no more.
        abandon(pipeline, under_way)
    with open_index(pipeline.settings, pipeline.embedder) as index:
        current = pipeline.catalog.current_rebuild(alias)
        former = current.collection if current is not None else index.aliased()
        rebuild = pipeline.catalog.begin_rebuild(
            alias=alias,
            collection=index.free_name(),
            former=former,
            reason=reason,
            at=utc_now(),
        )
    with _target(pipeline, rebuild) as index:
        index.prepare()
    return rebuild


def shards(pipeline: Pipeline) -> list[RebuildShard]:
    """Return the documents in parts of about equal number, for tasks to fill."""
    doc_ids = sorted(pipeline.catalog.document_ids())
    size = max(1, -(-len(doc_ids) // _SHARDS))
    return [RebuildShard(first=part[0], last=part[-1]) for part in chunked(doc_ids, size)]


def fill_shard(pipeline: Pipeline, rebuild: RebuildRecord, shard: RebuildShard) -> Filled:
    """Fill what the new collection lacks of the documents of a part.

    Raises:
        RetriableError: a document or the index is in use, or the rebuild has been ended.
    """
    doc_ids = [one for one in sorted(pipeline.catalog.document_ids()) if one >= shard.first]
    return _fill(pipeline, rebuild, [one for one in doc_ids if one <= shard.last])


def switch(pipeline: Pipeline, rebuild: RebuildRecord) -> RebuildReport:
    """Fill what is still missing, and turn the readers to the new collection.

    They are not turned while a single version is missing; the report then says which.

    Raises:
        RetriableError: others use the index for too long, or the rebuild has been ended.
        FatalError: ``rebuild_incomplete`` where the collection has other points than it was given.
    """
    filled = Filled()
    for _ in range(_PASSES):
        more = _fill(pipeline, rebuild, pipeline.catalog.document_ids())
        filled += more
        if more.failed:
            return _report(pipeline, rebuild, filled)
        if not more.documents:
            break
    of = _of(pipeline, rebuild)
    with _target(pipeline, rebuild) as index, pipeline.catalog.index_lock():
        for doc_ids in chunked(pipeline.catalog.document_ids(), _DOCUMENTS):
            for doc_id in stale_documents(of, rebuild, doc_ids):
                filled += fill_document(of, index, rebuild, doc_id)
        if filled.failed:
            return _report(pipeline, rebuild, filled)
        _check_count(of, index, rebuild)
        counts = pipeline.catalog.rebuilt_counts(rebuild.id)
        now = utc_now()
        pipeline.catalog.switch_rebuild(
            rebuild.id,
            at=now,
            former_until=now + timedelta(days=pipeline.settings.qdrant.former_days),
        )
        index.ensure()
        pipeline.catalog.note_turned(rebuild.id, utc_now())
    current = pipeline.catalog.current_rebuild(rebuild.alias)
    return _report(pipeline, current or rebuild, filled, counts)


def rebuild_index(pipeline: Pipeline, reason: str) -> RebuildReport:
    """Do all of it in this process; what an earlier call filled is not filled again.

    Raises:
        RetriableError: the index or the catalogue is locked or does not answer.
        FatalError: ``rebuild_incomplete``.
    """
    return switch(pipeline, begin(pipeline, reason))


def abandon(pipeline: Pipeline, rebuild: RebuildRecord) -> None:
    """Give up a rebuild that is under way, and delete what it filled.

    Raises:
        RetriableError: the rebuild has been ended, or the index is locked or does not answer.
    """
    pipeline.catalog.abandon_rebuild(rebuild.id)
    with _target(pipeline, rebuild) as index:
        index.drop(rebuild.collection)


def under_way(pipeline: Pipeline) -> RebuildRecord:
    """Return the rebuild that fills a collection.

    Raises:
        ItemError: ``no_rebuild``.
    """
    found = pipeline.catalog.rebuild_under_way(pipeline.settings.qdrant.alias)
    if found is None:
        raise ItemError(
            "no_rebuild", "No rebuild is under way. Begin one with: muniment rebuild run"
        )
    return found


def drop_former(pipeline: Pipeline) -> list[str]:
    """Delete the former collections whose time is up, and return their names.

    Raises:
        RetriableError: the index or the catalogue is locked or does not answer.
    """
    alias = pipeline.settings.qdrant.alias
    now = utc_now()
    due = [
        one
        for one in pipeline.catalog.rebuilds(alias)
        if one.former is not None and one.former_until is not None and one.former_until <= now
    ]
    if not due:
        return []
    with pipeline.index() as index:
        index.ensure()
        for one in due:
            if one.former is not None:
                index.drop(one.former)
                pipeline.catalog.note_dropped(one.former)
    return [one.former for one in due if one.former is not None]


def _fill(pipeline: Pipeline, rebuild: RebuildRecord, doc_ids: Sequence[str]) -> Filled:
    filled = Filled()
    of = _of(pipeline, rebuild)
    for part in chunked(doc_ids, _DOCUMENTS):
        if any(True for _ in stale_documents(of, rebuild, part)):
            with _target(pipeline, rebuild) as index:
                filled += fill(of, index, rebuild, part)
            log.info("Rebuild %d: %d points were filled.", rebuild.id, filled.points)
    return filled


def _check_count(pipeline: Pipeline, index: VectorIndex, rebuild: RebuildRecord) -> None:
    _, points = pipeline.catalog.rebuilt_counts(rebuild.id)
    if index.count() == points:
        return
    for found in strays(pipeline, index, rebuild, pipeline.settings.qdrant.upsert_batch):
        index.delete(found)
    if (there := index.count()) != points:
        raise FatalError(
            "rebuild_incomplete",
            f"Collection {rebuild.collection!r} has {there:,} points and was given {points:,}, so "
            "readers were not turned to it. Its storage loses points, or somebody else writes to "
            "it: give it up with `muniment rebuild abandon`, then begin another.",
        )


def _of(pipeline: Pipeline, rebuild: RebuildRecord) -> Pipeline:
    """Return the pipeline by whose name the points are made: the same when it goes on later."""
    of = Pipeline(pipeline.settings, f"rebuild-{rebuild.id}", pipeline.progress)
    of.catalog = pipeline.catalog
    return of


@contextmanager
def _target(pipeline: Pipeline, rebuild: RebuildRecord) -> Iterator[VectorIndex]:
    with open_index(
        pipeline.settings,
        pipeline.embedder,
        collection=rebuild.collection,
        former=rebuild.former,
    ) as index:
        yield index


def _report(
    pipeline: Pipeline,
    rebuild: RebuildRecord,
    filled: Filled,
    counts: tuple[int, int] | None = None,
) -> RebuildReport:
    versions, points = counts or pipeline.catalog.rebuilt_counts(rebuild.id)
    return RebuildReport(
        rebuild_id=rebuild.id,
        collection=rebuild.collection,
        former=rebuild.former,
        switched_at=rebuild.switched_at,
        former_until=rebuild.former_until,
        versions=versions,
        points=points,
        filled=filled,
    )

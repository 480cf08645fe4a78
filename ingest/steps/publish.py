"""publish: make proved versions visible and close the interval of those they replace."""

from __future__ import annotations

from ingest.index import VectorIndex
from ingest.pipeline import Pipeline
from ingest.version import PIPELINE_VERSION
from ingest.versions import Interval, VersionDate, timeline
from schemas.base import utc_now
from schemas.run import (
    AuditResult,
    BatchRef,
    ChunkedVersion,
    ExtractResult,
    PublishedVersion,
    PublishResult,
)


def publish(pipeline: Pipeline, ref: BatchRef) -> BatchRef:
    """Publish the batch's proved versions, one by one, each with the intervals of its document.

    The index is changed first and the catalogue afterwards: a crash in between leaves the version
    unpublished in the catalogue, so the next run does it again, to the same end (guarantee 10).

    Raises:
        RetriableError: the index or the catalogue is locked or does not answer.
    """
    _note_opened(pipeline, ref)
    proved = pipeline.stage_result(ref, "audit", AuditResult).proved
    published: list[PublishedVersion] = []
    if proved:
        with pipeline.index() as qdrant:
            for number, version in enumerate(proved, start=1):
                planned = version.extracted.fetched.planned
                intervals = _intervals(pipeline, version)
                at = utc_now()
                qdrant.publish(
                    planned.doc_id,
                    version.extracted.version,
                    published_at=at,
                    intervals={
                        number: (interval.effective_from, interval.effective_until)
                        for number, interval in intervals.items()
                    },
                )
                _clear(pipeline, qdrant, version)
                pipeline.catalog.set_chunks(
                    planned.doc_id, version.extracted.version, version.payloads_uri, version.chunks
                )
                pipeline.catalog.publish(
                    planned.doc_id,
                    version.extracted.version,
                    intervals=intervals,
                    published_at=at,
                    source_key=planned.item.source_key,
                    fingerprint=planned.item.fingerprint,
                    pipeline_version=PIPELINE_VERSION,
                    run_id=pipeline.run_id,
                    document_key=planned.item.document_key,
                    renamed_from=planned.renamed_from,
                )
                published.append(
                    PublishedVersion(
                        doc_id=planned.doc_id,
                        version=version.extracted.version,
                        change=planned.change,
                    )
                )
                pipeline.advance(ref, "publish", number, len(proved), planned.item.source_key)
    result = PublishResult(published=tuple(published))
    return pipeline.finish(ref, "publish", result, published=len(published))


def _note_opened(pipeline: Pipeline, ref: BatchRef) -> None:
    """Note the archives that were opened: nothing is published of them but their members."""
    for opened in pipeline.stage_result(ref, "extract", ExtractResult).opened:
        planned = opened.planned
        pipeline.catalog.record_opened(
            source_id=planned.item.source_id,
            source_key=planned.item.source_key,
            doc_id=planned.doc_id,
            fingerprint=planned.item.fingerprint,
            doc_sha256=opened.doc_sha256,
            pipeline_version=PIPELINE_VERSION,
            run_id=pipeline.run_id,
        )


def _clear(pipeline: Pipeline, qdrant: VectorIndex, version: ChunkedVersion) -> None:
    """Delete points that nothing stands behind any more.

    They are the version's own from before a change of chunker, and those of versions that an
    earlier run staged and did not publish before their item changed again.
    """
    planned = version.extracted.fetched.planned
    wanted = {payload.chunk_id for payload in pipeline.payloads(version)}
    number = version.extracted.version
    qdrant.delete(qdrant.stale_ids(planned.doc_id, number, wanted))
    for record in pipeline.catalog.versions(planned.doc_id):
        if (
            record.version < number
            and record.source_key == planned.item.source_key
            and record.state != "published"
        ):
            qdrant.delete(qdrant.stale_ids(planned.doc_id, record.version, set()))
            pipeline.catalog.withdraw(planned.doc_id, record.version)


def _intervals(pipeline: Pipeline, version: ChunkedVersion) -> dict[int, Interval]:
    """Return the effective intervals of the document's published versions and this one."""
    doc_id = version.extracted.fetched.planned.doc_id
    dates = {
        record.version: record.effective_from
        for record in pipeline.catalog.versions(doc_id)
        if record.state == "published"
    }
    dates[version.extracted.version] = version.extracted.effective_from
    return timeline([VersionDate(number, instant) for number, instant in dates.items()])

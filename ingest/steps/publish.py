"""publish: make proved versions visible and close the interval of those they replace."""

from __future__ import annotations

from datetime import datetime

from ingest.errors import FatalError
from ingest.index import VectorIndex
from ingest.pipeline import Pipeline
from ingest.settling import Settled, settle_all, wait_until
from ingest.steps.audit import read_back
from ingest.steps.index import load
from ingest.steps.stored import is_overtaken
from ingest.version import PIPELINE_VERSION
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
    """Publish the batch's proved versions, each with the intervals of its document.

    The catalogue is changed first, and notes what the index has to take; a crash in between leaves
    that note, so that the next run settles it, to the same end (guarantee 10).

    Raises:
        RetriableError: the index or the catalogue is locked or does not answer.
    """
    _note_opened(pipeline, ref)
    proved = pipeline.stage_result(ref, "audit", AuditResult).proved
    published: list[PublishedVersion] = []
    settled = Settled()
    if proved:
        with pipeline.index() as qdrant:
            at = utc_now()
            for number, version in enumerate(proved, start=1):
                planned = version.extracted.fetched.planned
                with pipeline.writing(qdrant, planned.doc_id):
                    # Once more, for another run may have changed them since they were audited, or
                    # a rebuild turned readers to another collection.
                    if any(load(pipeline, qdrant, version, {})):
                        _prove(pipeline, qdrant, version)
                    at = utc_now() + qdrant.notice
                    if not is_overtaken(pipeline, version.extracted):
                        _publish(pipeline, version, at)
                published.append(
                    PublishedVersion(
                        doc_id=planned.doc_id,
                        version=version.extracted.version,
                        change=planned.change,
                    )
                )
                pipeline.advance(ref, "publish", number, len(proved), planned.item.source_key)
            doc_ids = (version.doc_id for version in published)
            settled = settle_all(pipeline, qdrant, doc_ids)
        wait_until(at)
    result = PublishResult(
        published=tuple(published),
        points_redated=settled.redated,
        points_deleted=settled.deleted,
    )
    return pipeline.finish(ref, "publish", result, published=len(published))


def _publish(pipeline: Pipeline, version: ChunkedVersion, at: datetime) -> None:
    planned = version.extracted.fetched.planned
    pipeline.catalog.publish(
        planned.doc_id,
        version.extracted.version,
        published_at=at,
        payloads_uri=version.payloads_uri,
        chunk_count=version.chunks,
        run_id=pipeline.run_id,
        source_key=planned.item.source_key,
        fingerprint=planned.item.fingerprint if planned.stored is None else None,
        pipeline_version=PIPELINE_VERSION,
        document_key=planned.item.document_key if planned.stored is None else None,
        renamed_from=planned.renamed_from,
    )


def _prove(pipeline: Pipeline, qdrant: VectorIndex, version: ChunkedVersion) -> None:
    """Prove points that were written after the audit.

    Raises:
        FatalError: ``index_disagrees``.
    """
    _, findings = read_back(pipeline, qdrant, version)
    if findings:
        raise FatalError(
            "index_disagrees",
            f"{version.extracted.fetched.planned.item.source_key}: what was written to the index "
            f"just now cannot be proved: {findings[0].message}. Its storage changes what it is "
            "given: check it, then run again.",
        )


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

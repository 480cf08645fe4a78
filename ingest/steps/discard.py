"""discard: take superseded versions out of the index that their source no longer keeps.

Their intervals stay, so that no other version takes their place in time, and so do their bytes and
readings, which prove what was answered from them. Bytes go with `muniment forget`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from ingest.catalog.records import VersionRecord
from ingest.ledger import discard_path
from ingest.pipeline import Pipeline
from ingest.settling import settle_all
from schemas.run import DiscardedSource, DiscardResult
from schemas.source import Retention


def discard(pipeline: Pipeline, now: datetime) -> DiscardResult:
    """Discard what the policies of the sources no longer keep.

    Raises:
        RetriableError: the index or the catalogue is locked or does not answer.
    """
    counts: dict[str, DiscardedSource] = {}
    for source in pipeline.configuration.sources:
        if source.retention == Retention():
            continue
        going = [
            record
            for document in pipeline.catalog.documents(source.id)
            for record in kept_no_longer(
                pipeline.catalog.versions(document.doc_id), source.retention, now
            )
        ]
        if not going:
            continue
        with pipeline.index() as qdrant:
            qdrant.ensure()
            at = now + qdrant.notice
            for record in going:
                pipeline.catalog.discard(record.doc_id, record.version, at=at)
            settle_all(pipeline, qdrant, (record.doc_id for record in going))
        counts[source.id] = DiscardedSource(
            versions=len(going), points=sum(record.chunk_count for record in going)
        )
    result = DiscardResult(sources=counts)
    pipeline.artifacts.write(discard_path(pipeline.run_id), result)
    return result


def kept_no_longer(
    versions: Iterable[VersionRecord], retention: Retention, now: datetime
) -> list[VersionRecord]:
    """Return the superseded versions of a document that a policy does not keep any longer.

    Superseded is what was in force and is no more, or never was because another version of the
    same date counts. What is in force, or will be, always stays.
    """
    superseded = sorted(
        (
            record
            for record in versions
            if record.state == "published" and record.effective_until <= now
        ),
        key=lambda record: (record.effective_until, record.effective_from, record.version),
        reverse=True,
    )
    most = len(superseded) if retention.versions is None else retention.versions
    beyond = superseded[most:]
    if retention.days is not None:
        oldest = now - timedelta(days=retention.days)
        beyond += [one for one in superseded[:most] if one.effective_until < oldest]
    return beyond

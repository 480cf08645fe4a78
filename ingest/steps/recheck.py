"""recheck: read back a rotating share of what was published before, and prove it again.

Points are proved when they are loaded. Storage can change afterwards, so each night a share of the
documents is read back, chosen by the date in such a way that every one has its turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from ingest.audit import audit_version
from ingest.catalog.records import VersionRecord
from ingest.errors import FatalError
from ingest.index import VectorIndex
from ingest.ledger import recheck_path
from ingest.pipeline import Pipeline
from schemas.document import Extraction
from schemas.run import ChunkRecord, RecheckResult


def recheck(pipeline: Pipeline, now: datetime) -> RecheckResult:
    """Prove every published point of the documents whose turn it is.

    Raises:
        RetriableError: the index or the catalogue is locked or does not answer.
    """
    versions = points = 0
    findings: list[str] = []
    due = list(_due(pipeline, now))
    if due:
        with pipeline.index() as qdrant:
            for record in due:
                versions += 1
                points += record.chunk_count
                findings += _findings(pipeline, qdrant, record)
    result = RecheckResult(versions=versions, points=points, findings=tuple(findings))
    pipeline.artifacts.write(recheck_path(pipeline.run_id), result)
    return result


def _due(pipeline: Pipeline, now: datetime) -> Iterator[VersionRecord]:
    """Yield the published versions of tonight's documents, but for those this run published."""
    nights = pipeline.settings.recheck_nights
    for doc_id in pipeline.catalog.document_ids():
        if int(doc_id.replace("-", ""), 16) % nights == now.toordinal() % nights:
            for record in pipeline.catalog.versions(doc_id):
                if record.state == "published" and record.run_id != pipeline.run_id:
                    yield record


def _findings(pipeline: Pipeline, qdrant: VectorIndex, record: VersionRecord) -> Iterator[str]:
    name = f"{record.source_key} version {record.version}"
    points = dict(qdrant.scroll_version(record.doc_id, record.version))
    try:
        if record.payloads_uri is None:
            yield f"{name}: the catalogue does not say where its payloads are."
            return
        records = pipeline.artifacts.read_lines(record.payloads_uri, ChunkRecord)
        expected = [chunk.payload for chunk in records]
        extraction = pipeline.artifacts.read(record.extraction_uri, Extraction)
    except FatalError as error:
        yield f"{name}: {error}"
        return
    for finding in audit_version(points, expected, extraction, pipeline.vault):
        yield f"{name}: {finding.chunk_id or 'the version'}: {finding.message}"

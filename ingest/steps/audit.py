"""audit: read back what was loaded and prove each point against the source bytes."""

from __future__ import annotations

from ingest.audit import AuditFinding, audit_version
from ingest.errors import ItemError
from ingest.index import VectorIndex
from ingest.pipeline import Pipeline
from ingest.steps.index import read_payloads
from ingest.steps.refusals import refuse
from schemas.document import Extraction
from schemas.run import AuditResult, BatchRef, ChunkedVersion, IndexResult, Refusal

_SHOWN_FINDINGS = 5


def audit(pipeline: Pipeline, ref: BatchRef) -> BatchRef:
    """Prove every point of the versions that were loaded.

    A version with a single point that cannot be proved is refused whole: its staged points are
    taken out again and readers keep the version before it.

    Raises:
        RetriableError: the index is locked or does not answer.
        FatalError: the vault lost or changed the source bytes.
    """
    loaded = pipeline.stage_result(ref, "index", IndexResult).loaded
    proved: list[ChunkedVersion] = []
    refused: list[Refusal] = []
    points_proved = points_withdrawn = 0
    if loaded:
        with pipeline.index() as qdrant:
            for number, version in enumerate(loaded, start=1):
                findings = _prove(pipeline, qdrant, version)
                if findings:
                    points_withdrawn += version.chunks
                    refused.append(_withdraw(pipeline, qdrant, version, findings))
                else:
                    points_proved += version.chunks
                    proved.append(version)
                key = version.extracted.fetched.planned.item.source_key
                pipeline.advance(ref, "audit", number, len(loaded), key)
    result = AuditResult(
        proved=tuple(proved),
        refused=tuple(refused),
        points_proved=points_proved,
        points_withdrawn=points_withdrawn,
    )
    return pipeline.finish(ref, "audit", result, proved=points_proved, refused=len(refused))


def _prove(pipeline: Pipeline, qdrant: VectorIndex, version: ChunkedVersion) -> list[AuditFinding]:
    planned = version.extracted.fetched.planned
    points = dict(qdrant.scroll_version(planned.doc_id, version.extracted.version))
    extraction = pipeline.artifacts.read(version.extracted.extraction_uri, Extraction)
    expected = read_payloads(pipeline, version)
    return audit_version(points, expected, extraction, pipeline.vault)


def _withdraw(
    pipeline: Pipeline,
    qdrant: VectorIndex,
    version: ChunkedVersion,
    findings: list[AuditFinding],
) -> Refusal:
    planned = version.extracted.fetched.planned
    qdrant.delete([payload.chunk_id for payload in read_payloads(pipeline, version)])
    shown = "; ".join(
        f"{finding.chunk_id}: {finding.message}" for finding in findings[:_SHOWN_FINDINGS]
    )
    error = ItemError(
        "not_provable",
        f"{planned.item.source_key}: {len(findings)} findings when its points were read back "
        f"({shown}). Its points were taken out again. Retry the item; if it fails again, the "
        "index or its storage changes what it is given.",
    )
    return refuse(pipeline, planned, "audit", error)

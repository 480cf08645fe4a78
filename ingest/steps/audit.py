"""audit: read back what was loaded and prove each point against the source bytes."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from ingest.audit import AuditFinding, audit_version
from ingest.errors import FatalError, ItemError
from ingest.index import VectorIndex
from ingest.pipeline import Pipeline
from ingest.steps.index import load
from ingest.steps.refusals import refuse
from ingest.steps.stored import is_overtaken
from schemas.document import Extraction
from schemas.run import AuditResult, BatchRef, ChunkedVersion, IndexResult, Refusal

_SHOWN_FINDINGS = 5


def audit(pipeline: Pipeline, ref: BatchRef) -> BatchRef:
    """Prove every point of the versions that were loaded.

    A version with a single point that cannot be proved is refused whole: its staged points are
    taken out again and readers keep the version before it.

    Raises:
        RetriableError: the index is locked or does not answer.
        FatalError: a point that readers see already cannot be proved.
    """
    result_of_index = pipeline.stage_result(ref, "index", IndexResult)
    loaded = result_of_index.loaded
    proved: list[ChunkedVersion] = []
    refused: list[Refusal] = []
    points_proved = points_withdrawn = 0
    if loaded:
        with pipeline.index() as qdrant:
            # A rebuild turned readers to another collection after they were loaded.
            moved = qdrant.collection != result_of_index.collection
            for number, version in enumerate(loaded, start=1):
                if moved:
                    with pipeline.writing(qdrant, version.extracted.fetched.planned.doc_id):
                        load(pipeline, qdrant, version, {})
                points, findings = read_back(pipeline, qdrant, version)
                if findings and _is_in_other_hands(pipeline, version, points):
                    findings = []
                if findings:
                    refused.append(_withdraw(pipeline, qdrant, version, points, findings))
                    points_withdrawn += version.chunks
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


def read_back(
    pipeline: Pipeline, qdrant: VectorIndex, version: ChunkedVersion
) -> tuple[dict[str, dict[str, Any]], list[AuditFinding]]:
    """Return what the index has of a version, by point, and what of it cannot be proved."""
    expected = pipeline.payloads(version)
    points = _points(qdrant, version, {payload.chunk_id for payload in expected})
    extraction = pipeline.artifacts.read(version.extracted.extraction_uri, Extraction)
    return points, audit_version(points, expected, extraction, pipeline.vault)


def _is_in_other_hands(
    pipeline: Pipeline, version: ChunkedVersion, points: Mapping[str, Mapping[str, Any]]
) -> bool:
    """Tell whether another run works on the same version, or has done so since it was planned.

    Its points may say what that run wants them to say. Publishing looks at them once more, with the
    document locked, and what is published last is whole.
    """
    if is_overtaken(pipeline, version.extracted):
        return True
    writers = {str(point.get("run_id")) for point in points.values()} - {pipeline.run_id}
    return any(pipeline.catalog.is_under_way(run_id) for run_id in writers)


def _points(
    qdrant: VectorIndex, version: ChunkedVersion, wanted: Container[str]
) -> dict[str, dict[str, Any]]:
    """Return the version's points that are wanted, or staged.

    Published points that the version no longer has, as after a change of chunker, are left out:
    readers keep them until the new ones are published.
    """
    doc_id = version.extracted.fetched.planned.doc_id
    return {
        chunk_id: point
        for chunk_id, point in qdrant.scroll_version(doc_id, version.extracted.version)
        if chunk_id in wanted or point.get("published_at") is None
    }


def _withdraw(
    pipeline: Pipeline,
    qdrant: VectorIndex,
    version: ChunkedVersion,
    points: Mapping[str, Mapping[str, Any]],
    findings: list[AuditFinding],
) -> Refusal:
    """Take the staged points out again and refuse the version.

    Raises:
        FatalError: some of its points are published, so readers see what cannot be proved.
    """
    planned = version.extracted.fetched.planned
    found = f"{planned.item.source_key}: {len(findings)} findings when its points were read back"
    shown = "; ".join(
        f"{finding.chunk_id or 'the version'}: {finding.message}"
        for finding in findings[:_SHOWN_FINDINGS]
    )
    staged = [chunk_id for chunk_id, point in points.items() if point.get("published_at") is None]
    if len(staged) < len(points):
        raise FatalError(
            "index_disagrees",
            f"{found} ({shown}), and readers see them already. The index was changed behind the "
            "pipeline's back, or its storage is damaged: stop the readers and restore it.",
        )
    qdrant.delete(staged)
    error = ItemError(
        "not_provable",
        f"{found} ({shown}). Its points were taken out again. Retry the item; if it fails again, "
        "the index or its storage changes what it is given.",
    )
    return refuse(pipeline, planned, "audit", error)

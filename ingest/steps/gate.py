"""gate: check every record and the batch as a whole before anything is embedded or loaded."""

from __future__ import annotations

from collections.abc import Iterator

from ingest.errors import DataQualityError
from ingest.pipeline import Pipeline
from ingest.quality.frame import GateInput, WordCover, build_frame
from ingest.quality.gate import check
from ingest.quality.metrics import profile_path, unlike_history
from ingest.quality.profile import profile_batch
from ingest.quality.stages import (
    VersionRow,
    item_frame,
    item_row,
    version_frame,
    version_row,
)
from ingest.quality.thresholds import load_thresholds
from ingest.steps.refusals import refuse
from schemas.base import utc_now
from schemas.document import Extraction
from schemas.run import (
    BatchRef,
    ChunkedVersion,
    ChunkRecord,
    ChunkResult,
    ExtractResult,
    FetchResult,
    GateStep,
    Refusal,
)


def gate(pipeline: Pipeline, ref: BatchRef) -> BatchRef:
    """Check the batch's chunks; a document with a critical failure goes to quarantine whole.

    Where no document got as far as this, there is nothing to check and nothing to let through:
    each was refused before, with its own reason. That is not the empty batch that fails.

    Raises:
        DataQualityError: nothing could be checked, or so much failed that the batch is stopped.
    """
    chunked = pipeline.stage_result(ref, "chunk", ChunkResult)
    versions = chunked.chunked
    worked_on, refused_before = _so_far(pipeline, ref, chunked)
    if not versions:
        profile = profile_batch(None, None, items=worked_on, refused=refused_before)
        pipeline.artifacts.write(profile_path(pipeline, ref.batch_id), profile)
        return pipeline.finish(ref, "gate", GateStep(), passed=0, refused=0)
    described: list[VersionRow] = []
    frame = build_frame(_inputs(pipeline, versions, described))
    others = (
        item_frame(
            [item_row(version.extracted) for version in versions],
            pipeline.configuration.licences,
        ),
        version_frame(described),
    )
    thresholds = load_thresholds(pipeline.settings.gate)
    rules = thresholds.of(ref.source_id)
    checked = check(frame, pipeline.settings.gate, utc_now(), rules=rules, others=others)
    profile = profile_batch(
        frame, checked, items=worked_on, refused=refused_before + len(checked.failed_versions)
    )
    pipeline.artifacts.write(profile_path(pipeline, ref.batch_id), profile)
    if reasons_to_stop := unlike_history(pipeline, ref, profile, thresholds):
        checked = checked.model_copy(update={"unlike_history": reasons_to_stop})
    result_uri = pipeline.artifacts.write(pipeline.stage_path(ref.batch_id, "gate-result"), checked)
    passed: list[ChunkedVersion] = []
    refused: list[Refusal] = []
    chunks_refused = 0
    for version in versions:
        planned = version.extracted.fetched.planned
        reasons = checked.failed_versions.get((planned.doc_id, version.extracted.version), [])
        if not reasons and not checked.stopped:
            passed.append(version)
            continue
        chunks_refused += version.chunks
        error = _refusal(planned.item.source_key, reasons, checked.unlike_history)
        # What only stood in a stopped batch was not found wanting: the next run takes it again.
        refused.append(
            refuse(
                pipeline,
                planned,
                "gate",
                error,
                again=not reasons,
                evidence={
                    "result": result_uri,
                    "payloads": version.payloads_uri,
                    "extraction": version.extracted.extraction_uri,
                    "version": str(version.extracted.version),
                },
            )
        )
    pipeline.advance(ref, "gate", len(passed), len(versions))
    result = GateStep(
        passed=tuple(passed),
        refused=tuple(refused),
        chunks_refused=chunks_refused,
        stopped=checked.stopped,
        result_uri=result_uri,
    )
    done = pipeline.finish(ref, "gate", result, passed=len(passed), refused=len(refused))
    checked.raise_if_stopped()
    return done


def _so_far(pipeline: Pipeline, ref: BatchRef, chunked: ChunkResult) -> tuple[int, int]:
    """Return how much the batch worked on, and how much of it is in quarantine by now."""
    fetched = pipeline.stage_result(ref, "fetch", FetchResult)
    extracted = pipeline.stage_result(ref, "extract", ExtractResult)
    refused = len(fetched.refused) + len(extracted.refused) + len(chunked.refused)
    return len(pipeline.batch(ref).items) + extracted.members, refused


def _refusal(
    source_key: str, reasons: list[str], unlike_history: tuple[str, ...]
) -> DataQualityError:
    if not reasons and unlike_history:
        return DataQualityError(
            "gate_unlike_history",
            f"{source_key}: kept back because its source is unlike itself. "
            f"{' '.join(unlike_history)} It is tried again at the next run.",
        )
    if not reasons:
        return DataQualityError(
            "gate_stopped",
            f"{source_key}: kept back because too much of its batch failed the gate. It is tried "
            "again at the next run; look at the entries that failed first.",
        )
    return DataQualityError(
        "gate_failed",
        f"{source_key}: {'; '.join(reasons)}. Nothing of it was loaded. Correct the source or its "
        "configuration, then retry the item.",
    )


def _inputs(
    pipeline: Pipeline, versions: tuple[ChunkedVersion, ...], described: list[VersionRow]
) -> Iterator[GateInput]:
    """Yield the batch's chunks; each version is described as it is read, which is once."""
    for version in versions:
        extraction = pipeline.artifacts.read(version.extracted.extraction_uri, Extraction)
        known = pipeline.catalog.versions(version.extracted.fetched.planned.doc_id)
        described.append(version_row(version.extracted, version.chunks, extraction, known))
        sizes = {page.number: (page.width, page.height) for page in extraction.pages}
        flagged = frozenset(
            page.number
            for page in extraction.pages
            if any(recognition.flagged for recognition in page.recognitions)
        )
        cover = WordCover(extraction.text, extraction.words) if extraction.pages else None
        for record in pipeline.artifacts.read_lines(version.payloads_uri, ChunkRecord):
            payload = record.payload
            yield GateInput(
                payload=payload,
                tokens=record.tokens,
                token_limit=pipeline.tokens.limit,
                version_text=extraction.text,
                page_sizes=sizes,
                words_cover=cover.holds(payload.char_start, payload.char_end) if cover else None,
                body_end=extraction.body_end,
                flagged_pages=flagged,
            )

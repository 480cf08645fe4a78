"""report: close the ledger, write the quality report and a few page pictures."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path

from ingest.errors import ConfigurationError, ItemError
from ingest.freshness import freshness
from ingest.ledger import build_ledger
from ingest.pipeline import Pipeline, report_folder
from ingest.quality.metrics import alerts, measure
from ingest.quality.report import ReadingNote, write_report
from ingest.quality.results import GateResult
from ingest.quality.thresholds import load_thresholds
from schemas.base import utc_now
from schemas.document import Extraction
from schemas.run import (
    AuditResult,
    BatchRef,
    ChunkedVersion,
    ExtractResult,
    GateStep,
    Ledger,
    SourcePlan,
)

_PICTURES_A_RUN = 8

log = logging.getLogger(__name__)


def report(pipeline: Pipeline, source_ids: Sequence[str]) -> Ledger:
    """Write the run's accounts into the catalogue, and the report for people.

    Runs whatever became of the other steps, so that a run that failed has a ledger too.
    """
    ledger = _with_metrics(pipeline, build_ledger(pipeline, source_ids))
    folder = report_folder(pipeline.home, pipeline.run_id)
    write_report(
        ledger,
        list(_gate_results(pipeline)),
        pipeline.catalog.quarantine(),
        folder / "quality.html",
        notes=list(_notes(pipeline)),
        freshness=freshness(pipeline.catalog, pipeline.configuration.sources, utc_now()),
    )
    _draw_pages(pipeline, folder / "pages")
    pipeline.catalog.finish_run(pipeline.run_id, ledger)
    return ledger


def _with_metrics(pipeline: Pipeline, ledger: Ledger) -> Ledger:
    """Keep what is measured of the run; what is outside its band becomes an alert."""
    try:
        thresholds = load_thresholds(pipeline.settings.gate)
    except ConfigurationError as error:
        # The batches were stopped for it; the run must have its ledger all the same.
        return ledger.model_copy(update={"alerts": (*ledger.alerts, error.message)})
    metrics = measure(pipeline, ledger, thresholds)
    pipeline.catalog.store_metrics(pipeline.run_id, metrics)
    return ledger.model_copy(update={"alerts": (*ledger.alerts, *alerts(metrics))})


def _gate_results(pipeline: Pipeline) -> Iterator[GateResult]:
    for plan in pipeline.plans():
        for ref in _refs(pipeline, plan, "gate"):
            step = pipeline.stage_result(ref, "gate", GateStep)
            if step.result_uri is not None:
                yield pipeline.artifacts.read(step.result_uri, GateResult)


def _notes(pipeline: Pipeline) -> Iterator[ReadingNote]:
    for plan in pipeline.plans():
        for ref in _refs(pipeline, plan, "extract"):
            for version in pipeline.stage_result(ref, "extract", ExtractResult).extracted:
                item = version.fetched.planned.item
                for warning in version.warnings:
                    yield ReadingNote(item.source_id, item.source_key, warning)


def _refs(pipeline: Pipeline, plan: SourcePlan, stage: str) -> Iterator[BatchRef]:
    """Yield the source's batches that got through ``stage``."""
    for batch_id in plan.batches:
        if pipeline.artifacts.exists(pipeline.stage_path(batch_id, stage)):
            yield BatchRef(run_id=plan.run_id, batch_id=batch_id, source_id=plan.source_id)


def _draw_pages(pipeline: Pipeline, folder: Path) -> None:
    """Draw one marked passage of each of a few versions, taking the sources in turn.

    They are for a person's eye; ``muniment prove`` draws any other passage.
    """
    by_source = [
        [
            version
            for ref in _refs(pipeline, plan, "audit")
            for version in pipeline.stage_result(ref, "audit", AuditResult).proved
        ]
        for plan in pipeline.plans()
    ]
    in_turn = [version for version in chain(*zip_longest(*by_source)) if version is not None]
    for version in in_turn[:_PICTURES_A_RUN]:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            _draw_one(pipeline, version, folder)
        except ItemError as error:
            # The proof holds without its picture; the report must not end for want of one.
            log.warning("no page picture: %s", error)


def _draw_one(pipeline: Pipeline, version: ChunkedVersion, folder: Path) -> None:
    # Imported only when there is something to draw: PDF and image libraries take their time.
    from ingest.proof import draw_passage

    payloads = pipeline.payloads(version)
    payload = payloads[len(payloads) // 2]
    extraction = pipeline.artifacts.read(version.extracted.extraction_uri, Extraction)
    data = pipeline.vault.get(payload.doc_sha256)
    for picture in draw_passage(data, extraction, payload):
        name = f"{payload.source_id}-{payload.chunk_id[:8]}{picture.suffix}.png"
        (folder / name).write_bytes(picture.png)

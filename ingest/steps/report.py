"""report: close the ledger, write the quality report and a few page pictures."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from itertools import chain, zip_longest
from pathlib import Path

from ingest.errors import ItemError
from ingest.ledger import build_ledger
from ingest.pipeline import Pipeline
from ingest.proof import draw_passage
from ingest.quality.report import write_report
from ingest.steps.gate import read_gate_results
from ingest.steps.index import read_payloads
from schemas.document import Extraction
from schemas.run import AuditResult, BatchRef, ChunkedVersion, Ledger

_PICTURES_A_RUN = 8

log = logging.getLogger(__name__)


def report(pipeline: Pipeline, source_ids: Sequence[str]) -> Ledger:
    """Write the run's accounts into the catalogue, and the report for people.

    Runs whatever became of the other steps, so that a run that failed has a ledger too.
    """
    ledger = build_ledger(pipeline, source_ids)
    batch_ids = [batch_id for plan in pipeline.plans() for batch_id in plan.batches]
    folder = report_folder(pipeline.home, pipeline.run_id)
    folder.mkdir(parents=True, exist_ok=True)
    write_report(
        ledger,
        read_gate_results(pipeline, batch_ids),
        pipeline.catalog.quarantine(),
        folder / "quality.html",
    )
    _draw_pages(pipeline, folder / "pages")
    pipeline.catalog.finish_run(pipeline.run_id, ledger)
    return ledger


def report_folder(home: Path, run_id: str) -> Path:
    """Return the folder of a run's report and page pictures."""
    return home / "reports" / run_id


def _draw_pages(pipeline: Pipeline, folder: Path) -> None:
    """Draw one marked passage of each of a few versions, taking the sources in turn.

    They are for a person's eye; ``muniment prove`` draws any other passage.
    """
    by_source: list[list[ChunkedVersion]] = []
    for plan in pipeline.plans():
        proved: list[ChunkedVersion] = []
        for batch_id in plan.batches:
            ref = BatchRef(run_id=plan.run_id, batch_id=batch_id, source_id=plan.source_id)
            if pipeline.artifacts.exists(pipeline.stage_path(batch_id, "audit")):
                proved += pipeline.stage_result(ref, "audit", AuditResult).proved
        by_source.append(proved)
    in_turn = [version for version in chain(*zip_longest(*by_source)) if version is not None]
    for version in in_turn[:_PICTURES_A_RUN]:
        payloads = read_payloads(pipeline, version)
        payload = payloads[len(payloads) // 2]
        extraction = pipeline.artifacts.read(version.extracted.extraction_uri, Extraction)
        folder.mkdir(parents=True, exist_ok=True)
        data = pipeline.vault.get(payload.doc_sha256)
        try:
            pictures = draw_passage(data, extraction, payload)
        except ItemError as error:
            # The proof holds without its picture; the report must not end for want of one.
            log.warning("%s: no page picture: %s", payload.source_key, error)
            continue
        for picture in pictures:
            name = f"{payload.source_id}-{payload.chunk_id[:8]}{picture.suffix}.png"
            (folder / name).write_bytes(picture.png)

"""What steps do when something is wrong with the index, or was left by an earlier run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from workspace import Workspace

from ingest.errors import FatalError, RetriableError
from ingest.index import VectorIndex
from ingest.pipeline import Pipeline, open_catalog
from ingest.runner import plan_source, run_stage
from schemas.run import BatchRef

TEXT = "A report on planning systems for the mid-market. It has one sentence more than needed."


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    workspace.add_source("reports")
    workspace.write("reports/a.txt", TEXT)
    return workspace


def run_until(ws: Workspace, last: str) -> tuple[Pipeline, BatchRef]:
    """Run the stages of the only batch up to ``last``."""
    pipeline = ws.pipeline()
    (ref,) = plan_source(pipeline, "reports")
    for stage in ("fetch", "extract", "chunk", "gate", "index", "audit", "publish"):
        run_stage(pipeline, stage, ref)  # type: ignore[arg-type]
        if stage == last:
            break
    return pipeline, ref


def tamper(ws: Workspace, pipeline: Pipeline, **changes: Any) -> None:
    with pipeline.index() as index:
        (chunk_id,) = [chunk_id for chunk_id, _ in index.scroll()]
        index._client.set_payload(index.collection, changes, points=[chunk_id])


def test_staged_points_are_invisible_until_they_are_published(ws: Workspace) -> None:
    run_until(ws, "audit")
    (point,) = ws.points().values()
    assert point["published_at"] is None
    ledger = ws.run()
    (point,) = ws.points().values()
    assert point["published_at"] is not None
    assert (ledger.lines[0].points_new, ledger.lines[0].points_reused) == (0, 1)


def test_a_staged_point_that_cannot_be_proved_is_taken_out_and_its_document_refused(
    ws: Workspace,
) -> None:
    pipeline, ref = run_until(ws, "index")
    tamper(ws, pipeline, text="Something else.")
    run_stage(pipeline, "audit", ref)
    assert ws.points() == {}
    assert ws.quarantine() == [("a.txt", "not_provable")]


def test_a_published_point_that_cannot_be_proved_stops_the_run(ws: Workspace) -> None:
    ws.run()
    ws.write("reports/a.txt", TEXT)
    pipeline, ref = run_until(ws, "index")
    tamper(ws, pipeline, page_first=9)
    with pytest.raises(FatalError, match="readers see them already"):
        run_stage(pipeline, "audit", ref)
    assert len(ws.points()) == 1


def test_a_damaged_vault_is_noticed_before_anything_is_published(ws: Workspace) -> None:
    pipeline, ref = run_until(ws, "index")
    (stored,) = [path for path in (ws.settings.home / "vault").rglob("*") if path.is_file()]
    stored.chmod(0o644)
    stored.write_bytes(TEXT.replace("mid", "low").encode())
    run_stage(pipeline, "audit", ref)
    assert ws.points() == {}
    assert ws.quarantine() == [("a.txt", "not_provable")]


def test_a_version_that_a_crash_left_staged_is_cleared_when_its_item_has_moved_on(
    ws: Workspace,
) -> None:
    run_until(ws, "index")
    ws.write("reports/a.txt", TEXT + " And then it changed.")
    assert ws.run().balanced
    points = ws.points()
    assert {point["version"] for point in points.values()} == {2}
    states = [
        v.state for v in open_catalog(ws.settings).versions(next(iter(points.values()))["doc_id"])
    ]
    assert states == ["abandoned", "published"]


def test_new_metadata_that_the_gate_refuses_leaves_catalogue_and_index_as_they_were(
    tmp_path: Path,
) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports", manifest="terms.csv")
    ws.write("reports/a.txt", TEXT)
    ws.write("reports/terms.csv", "file,title,effective_from\na.txt,Right,2024-01-01\n")
    ws.run()
    before = ws.points()
    doc_id = next(iter(before.values()))["doc_id"]
    catalog = open_catalog(ws.settings)
    record = catalog.version(doc_id, 1)
    ws.write("reports/terms.csv", "file,title,effective_from\na.txt,Wrong,1066-10-14\n")
    ledger = ws.run()
    assert ledger.balanced
    assert [code for _, code in ws.quarantine()] == ["gate_failed"]
    assert ws.points() == before
    assert catalog.version(doc_id, 1) == record


def test_a_source_that_does_not_answer_is_asked_again_and_then_recorded(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)
    asked = []

    def refuse(self: object) -> None:
        asked.append(1)
        raise RetriableError("source_unreachable", "reports does not answer.")

    monkeypatch.setattr("ingest.sources.files.FilesConnector.list", refuse)
    ledger = ws.run()
    assert len(asked) == 4
    assert ledger.lines[0].stopped_in == ("plan",)
    assert "does not answer" in (ledger.lines[0].error or "")


def test_a_fatal_error_ends_the_run_and_the_ledger_says_what_was_left(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: object, points: object) -> int:
        raise FatalError("disk_full", "No space left for the index.")

    monkeypatch.setattr(VectorIndex, "upsert", full)
    ws.add_source("later")
    ws.write("later/b.txt", TEXT)
    ledger = ws.run()
    lines = {line.source_id: line for line in ledger.lines}
    assert lines["reports"].stopped_in == ("index",)
    assert "No space left" in (lines["reports"].error or "")
    assert lines["later"].stopped_in == ("fetch",)
    assert not ledger.balanced

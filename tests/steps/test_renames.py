"""An item that comes back under another key with the same bytes is the same document."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from workspace import Workspace

from ingest.catalog import Catalog
from ingest.errors import RetriableError
from ingest.pipeline import Pipeline, open_catalog
from ingest.runner import plan_source, retire_source, run_stage
from ingest.sources.files import FilesConnector
from schemas.identity import document_id
from schemas.run import LedgerLine
from schemas.source import Item

STAGES = ("fetch", "extract", "chunk", "gate", "index", "audit", "publish")


def text(name: str) -> str:
    return f"A report on planning systems for the mid-market, called {name} in its first line."


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    """A source with three reports and two that stay, so that a listing is believed."""
    workspace = Workspace(tmp_path)
    workspace.add_source("reports")
    for name in ("a", "b", "c", "stays", "stays too"):
        workspace.write(f"reports/{name}.txt", text(name))
    assert workspace.run().balanced
    return workspace


def move(ws: Workspace, old: str, new: str) -> None:
    target = ws.folder / "reports" / new
    target.parent.mkdir(parents=True, exist_ok=True)
    (ws.folder / "reports" / old).rename(target)


def run(ws: Workspace) -> LedgerLine:
    ledger = ws.run()
    assert ledger.balanced, ledger
    (line,) = ledger.lines
    return line


def doc(key: str) -> str:
    return document_id("reports", key)


def live(ws: Workspace) -> dict[str, dict[str, Any]]:
    """Return the payload of each point that is not retired and in force, by its item's key."""
    return {
        point["source_key"]: point
        for point in ws.points().values()
        if point["retired_at"].startswith("9999") and point["effective_until"].startswith("9999")
    }


def catalog(ws: Workspace) -> Catalog:
    return open_catalog(ws.settings)


def assert_quiet(ws: Workspace) -> None:
    before = ws.points()
    line = run(ws)
    assert (line.new, line.changed, line.retired, line.chunks) == (0, 0, 0, 0)
    assert line.unchanged == line.listed
    assert ws.points() == before


def test_the_same_bytes_under_a_new_name_are_the_same_document(ws: Workspace) -> None:
    before = ws.points()
    move(ws, "a.txt", "moved/a, final.txt")
    line = run(ws)
    assert (line.new, line.published, line.retired) == (1, 1, 0)
    assert (line.points_new, line.points_reused, line.embedded) == (0, 1, 0)
    after = ws.points()
    assert after.keys() == before.keys()
    (point,) = [one for one in after.values() if one["doc_id"] == doc("a.txt")]
    assert point["source_key"] == "moved/a, final.txt"
    assert point["source_uri"].endswith("/reports/moved/a%2C%20final.txt")
    assert (point["version"], point["retired_at"][:4]) == (1, "9999")
    (version,) = catalog(ws).versions(doc("a.txt"))
    assert (version.source_key, version.state) == ("moved/a, final.txt", "published")
    known = catalog(ws).known_items("reports")
    assert "a.txt" not in known
    assert known["moved/a, final.txt"].doc_id == doc("a.txt")
    assert_quiet(ws)


def test_a_renamed_document_goes_on_under_its_new_name(ws: Workspace) -> None:
    move(ws, "a.txt", "x.txt")
    run(ws)
    ws.write("reports/x.txt", text("x, which says more"))
    run(ws)
    assert [one.version for one in catalog(ws).versions(doc("a.txt"))] == [1, 2]
    (ws.folder / "reports/x.txt").unlink()
    assert run(ws).retired == 1
    ws.write("reports/x.txt", text("x, back again"))
    run(ws)
    assert len(catalog(ws).versions(doc("a.txt"))) == 3
    assert catalog(ws).document(doc("x.txt")) is None


def test_other_bytes_under_a_new_name_are_another_document(ws: Workspace) -> None:
    move(ws, "a.txt", "x.txt")
    ws.write("reports/x.txt", text("A"))
    line = run(ws)
    assert (line.points_new, line.retired) == (1, 1)
    assert live(ws)["x.txt"]["doc_id"] == doc("x.txt")
    assert_quiet(ws)


def test_of_two_files_with_the_same_bytes_none_is_taken_for_the_other(ws: Workspace) -> None:
    ws.write("reports/twin.txt", text("a"))
    run(ws)
    move(ws, "twin.txt", "x.txt")
    # One is gone and one is new: which is the twin is beyond doubt, for a.txt is still listed.
    line = run(ws)
    assert (line.points_new, line.retired) == (0, 0)
    assert live(ws)["x.txt"]["doc_id"] == doc("twin.txt")
    move(ws, "a.txt", "y.txt")
    move(ws, "x.txt", "z.txt")
    line = run(ws)
    assert (line.points_new, line.retired) == (2, 2)
    assert {live(ws)[key]["doc_id"] for key in ("y.txt", "z.txt")} == {doc("y.txt"), doc("z.txt")}
    assert_quiet(ws)


def test_one_file_that_became_two_is_none_of_them(ws: Workspace) -> None:
    move(ws, "a.txt", "x.txt")
    ws.write("reports/y.txt", text("a"))
    line = run(ws)
    assert (line.points_new, line.retired) == (2, 1)


def test_names_that_were_swapped_are_two_changed_documents(ws: Workspace) -> None:
    move(ws, "a.txt", "aside")
    move(ws, "b.txt", "a.txt")
    move(ws, "aside", "b.txt")
    line = run(ws)
    assert (line.new, line.changed, line.retired) == (0, 2, 0)
    assert [one.version for one in catalog(ws).versions(doc("a.txt"))] == [1, 2]
    assert_quiet(ws)


def test_renamed_and_renamed_back(ws: Workspace) -> None:
    before = {key: (one["doc_id"], one["source_uri"]) for key, one in live(ws).items()}
    for old, new in (("a.txt", "x.txt"), ("x.txt", "a.txt")):
        move(ws, old, new)
        line = run(ws)
        assert (line.points_new, line.retired) == (0, 0)
    assert {key: (one["doc_id"], one["source_uri"]) for key, one in live(ws).items()} == before
    # The name in between is free again.
    ws.write("reports/x.txt", text("another x"))
    run(ws)
    assert live(ws)["x.txt"]["doc_id"] == doc("x.txt")
    assert_quiet(ws)


def test_a_folder_is_renamed_with_all_its_files(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports")
    for number in range(12):
        ws.write(f"reports/old/{number:02}.txt", text(f"number {number:02}"))
        ws.write(f"reports/kept/{number:02}.txt", text(f"kept {number}"))
    run(ws)
    before = {one["text"]: one["doc_id"] for one in live(ws).values()}
    move(ws, "old", "new")
    line = run(ws)
    assert (line.new, line.points_new, line.embedded, line.retired) == (12, 0, 0, 0)
    after = live(ws)
    assert {one["text"]: one["doc_id"] for one in after.values()} == before
    assert sum(key.startswith("new/") for key in after) == 12
    assert_quiet(ws)


def test_a_new_file_under_a_former_name_is_a_new_document(ws: Workspace) -> None:
    move(ws, "a.txt", "a-2025.txt")
    run(ws)
    ws.write("reports/a.txt", text("this year's a"))
    run(ws)
    points = live(ws)
    assert points["a-2025.txt"]["doc_id"] == doc("a.txt")
    second = points["a.txt"]["doc_id"]
    assert second == document_id("reports", "a.txt", 1)
    ws.write("reports/a.txt", text("this year's a, revised"))
    run(ws)
    assert [one.version for one in catalog(ws).versions(second)] == [1, 2]
    move(ws, "a.txt", "a-2026.txt")
    ws.write("reports/other.txt", text("other"))
    run(ws)
    ws.write("reports/a.txt", text("a third a"))
    run(ws)
    points = live(ws)
    assert points["a-2026.txt"]["doc_id"] == second
    assert points["a.txt"]["doc_id"] == document_id("reports", "a.txt", 2)
    assert_quiet(ws)


def test_in_a_listing_that_is_not_believed_nothing_is_a_rename(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports")
    for name in ("a", "b"):
        ws.write(f"reports/{name}.txt", text(name))
    run(ws)
    move(ws, "a.txt", "x.txt")
    move(ws, "b.txt", "y.txt")
    ledger = ws.run()
    assert "lists 0 of the 2" in ledger.alerts[0]
    assert (ledger.lines[0].points_new, ledger.lines[0].retired) == (2, 0)
    assert {one["doc_id"] for one in live(ws).values()} == {
        doc(f"{name}.txt") for name in ("a", "b", "x", "y")
    }


def test_a_file_that_a_manifest_puts_into_a_document_is_no_rename(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports", manifest="terms.csv")
    for name in ("a", "b", "c"):
        ws.write(f"reports/{name}.txt", text(name))
    ws.write("reports/terms.csv", "file,document\na.txt,annual\n")
    run(ws)
    move(ws, "a.txt", "x.txt")
    ws.write("reports/terms.csv", "file,document\n")
    assert run(ws).retired == 1
    assert live(ws)["x.txt"]["doc_id"] == doc("x.txt")


@pytest.mark.parametrize("stage", STAGES)
def test_killed_after_any_stage_it_ends_the_same(ws: Workspace, stage: str) -> None:
    before = ws.points().keys()
    move(ws, "a.txt", "x.txt")
    pipeline = ws.pipeline()
    (ref,) = plan_source(pipeline, "reports")
    for one in STAGES:
        run_stage(pipeline, one, ref)  # type: ignore[arg-type]
        if one == stage:
            break
    run(ws)
    assert ws.points().keys() == before
    assert live(ws)["x.txt"]["doc_id"] == doc("a.txt")
    assert catalog(ws).document(doc("x.txt")) is None
    assert_quiet(ws)


def test_a_batch_that_is_not_finished_leaves_what_may_be_renamed(ws: Workspace) -> None:
    move(ws, "a.txt", "x.txt")
    (ws.folder / "reports/b.txt").unlink()
    pipeline = ws.pipeline()
    plan_source(pipeline, "reports")
    retire_source(pipeline, "reports")
    assert catalog(ws).known_items("reports")["a.txt"].state == "indexed"
    assert {one["source_key"] for one in live(ws).values()} >= {"a.txt"}
    line = run(ws)
    assert (line.points_new, line.retired) == (0, 1)
    assert live(ws)["x.txt"]["doc_id"] == doc("a.txt")


def test_a_new_name_that_cannot_be_read_now_is_compared_later(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    move(ws, "a.txt", "x.txt")
    ws.write("reports/new.txt", text("new"))
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)
    fetch = FilesConnector.fetch

    def slow(self: FilesConnector, item: Item) -> Any:
        if item.source_key == "x.txt":
            raise RetriableError("source_unreachable", "x.txt: no answer.")
        return fetch(self, item)

    with monkeypatch.context() as patch:
        patch.setattr(FilesConnector, "fetch", slow)
        assert ws.run().lines[0].retired == 0
    line = run(ws)
    assert (line.points_new, line.retired) == (0, 0)
    assert live(ws)["x.txt"]["doc_id"] == doc("a.txt")


def test_a_renamed_file_that_is_refused_is_a_new_one_and_the_old_is_retired(
    tmp_path: Path,
) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports", name_pattern=r"-(?P<effective_from>\d{4}-\d\d-\d\d)")
    for name in ("a", "b", "c"):
        ws.write(f"reports/{name}.txt", text(name))
    run(ws)
    move(ws, "a.txt", "a-1066-10-14.txt")
    line = run(ws)
    assert (line.quarantined, line.retired) == (1, 1)
    assert [code for _, code in ws.quarantine()] == ["gate_failed"]
    known = catalog(ws).known_items("reports")
    assert known["a-1066-10-14.txt"].doc_id == doc("a-1066-10-14.txt")
    assert known["a.txt"].state == "gone"
    assert_quiet(ws)


def test_sizes_tell_what_to_compare(ws: Workspace) -> None:
    move(ws, "a.txt", "x.txt")
    for number in range(6):
        ws.write(f"reports/new {number}.txt", "Short. " * (number + 1))
    ws.settings = ws.settings.model_copy(update={"batch_cost": 1})
    pipeline: Pipeline = ws.pipeline()
    refs = plan_source(pipeline, "reports")
    batches = [pipeline.batch(ref) for ref in refs]
    assert [len(batch.items) for batch in batches] == [1] * 7
    (batch,) = [batch for batch in batches if batch.departed]
    assert batch.items[0].item.source_key == "x.txt"
    assert batch.departed[0].size == os.stat(ws.folder / "reports/x.txt").st_size  # noqa: PTH116

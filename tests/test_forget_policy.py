"""What its source no longer lists is erased where the policy says so, and may come back."""

from __future__ import annotations

from pathlib import Path

import pytest
from forgetting import HERON, LYNX, STAYS, doc, holders, mail, rows
from workspace import Workspace

from ingest.catalog import Catalog
from ingest.erasure.erase import erase_documents
from ingest.erasure.receipt import Receipt
from ingest.pipeline import open_catalog


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    ws = Workspace(tmp_path)
    for source_id in ("kept", "left"):
        ws.write(f"{source_id}/heron.txt", f"{HERON}.")
        ws.write(f"{source_id}/one.txt", f"{STAYS} one of {source_id}.")
        ws.write(f"{source_id}/two.txt", f"{STAYS} two of {source_id}.")
    ws.add_source("kept")
    ws.add_source("left", when_gone="erase")
    return ws


def receipts(ws: Workspace) -> list[Receipt]:
    records = open_catalog(ws.settings).erasures()
    return [Receipt.model_validate(record.receipt) for record in records]


def test_a_gone_document_is_retired_or_erased_as_its_source_says(ws: Workspace) -> None:
    ws.run()
    for source_id in ("kept", "left"):
        (ws.folder / source_id / "heron.txt").unlink()
    ledger = ws.run()
    kept, left = ledger.lines
    assert (kept.retired, kept.erased) == (1, 0)
    assert (left.retired, left.erased) == (1, 1)
    assert ledger.balanced
    assert doc("kept", "heron.txt") in rows(ws)
    assert doc("left", "heron.txt") not in rows(ws)
    (receipt,) = receipts(ws)
    assert receipt.reason == "no longer listed by source left"
    assert receipt.documents == (doc("left", "heron.txt"),)
    assert receipt.complete
    assert len(receipt.stayed) == 1  # the retired one has the same bytes
    assert [point["source_id"] for point in ws.points().values()].count("left") == 2
    assert ws.run().lines[1].erased == 0


def test_it_is_pulled_in_again_if_its_source_lists_it_again(ws: Workspace) -> None:
    ws.run()
    (ws.folder / "left" / "heron.txt").unlink()
    ws.run()
    ws.write("left/heron.txt", f"{HERON}.")
    line = ws.run().lines[1]
    assert (line.new, line.published, line.forgotten) == (1, 1, 0)
    assert doc("left", "heron.txt") in rows(ws)


def test_one_that_was_retired_before_is_erased_too(ws: Workspace) -> None:
    """The policy was set later, or the run that retired it got no further."""
    ws.run()
    (ws.folder / "kept" / "heron.txt").unlink()
    ws.run()
    assert receipts(ws) == []
    ws.sources[0]["when_gone"] = "erase"
    ws.save()
    assert ws.run().lines[0].erased == 1
    assert doc("kept", "heron.txt") not in rows(ws)


def test_too_short_a_listing_erases_nothing(ws: Workspace) -> None:
    ws.run()
    for name in ("heron.txt", "one.txt", "two.txt"):
        (ws.folder / "left" / name).unlink()
    ledger = ws.run()
    assert ledger.alerts
    assert receipts(ws) == []
    assert len(ws.points()) == 6


def test_a_file_gone_from_an_archive_that_stays_is_only_retired(
    ws: Workspace, tmp_path: Path
) -> None:
    ws.write("left/lynx.eml", mail())
    ws.run()
    ws.write("left/lynx.eml", f"From: a@example.com\nSubject: x\n\n{LYNX} in the mail alone.")
    ws.run()
    assert receipts(ws) == []
    (ws.folder / "left" / "lynx.eml").unlink()
    assert ws.run().lines[1].erased == 3
    assert holders(ws.settings.home, LYNX, "lynx") == set()


def test_what_was_worked_on_in_the_same_run_keeps_the_ledger_balanced(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a licence has ended that a document came in under."""
    from ingest import runner
    from ingest.pipeline import Pipeline

    gone = doc("left", "heron.txt")

    def sweep(pipeline: Pipeline) -> None:
        erase_documents(pipeline, [gone], "its licence has ended", lasting=False)

    monkeypatch.setattr(runner, "erase_gone", sweep)
    ledger = ws.run()
    assert ledger.balanced
    assert ledger.lines[1].published == 3
    assert len(ws.points()) == 5
    home = ws.settings.home
    report = next((home / "reports").rglob("quality.html"))
    assert report.exists()
    assert gone not in rows(ws)


def test_a_run_takes_an_erasure_to_its_end_before_it_lists(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws.run()
    gone = doc("left", "heron.txt")

    def killed(_: Catalog) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Catalog, "compact", killed)
        with pytest.raises(KeyboardInterrupt):
            erase_documents(ws.pipeline(), [gone], "asked for")
    ledger = ws.run()
    (receipt,) = receipts(ws)
    assert receipt.complete
    assert ledger.balanced
    assert ledger.alerts == ()

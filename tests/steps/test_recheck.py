"""recheck: what storage does to published points is found, and every document has its turn."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from workspace import Workspace

from ingest.runner import exit_status
from ingest.steps.recheck import recheck

TEXT = "Report {} on planning systems for the mid-market, with a sentence or two."
NOW = datetime(2026, 12, 1, 2, tzinfo=UTC)


def published(folder: Path, nights: int, documents: int) -> Workspace:
    ws = Workspace(folder, recheck_nights=nights)
    ws.add_source("reports")
    for number in range(documents):
        ws.write(f"reports/{number}.txt", TEXT.format(number))
    ws.run()
    return ws


def test_every_document_has_its_turn_once(tmp_path: Path) -> None:
    ws = published(tmp_path, nights=5, documents=12)
    turns = [recheck(ws.pipeline(), NOW + timedelta(days=night)) for night in range(5)]
    assert sum(turn.versions for turn in turns) == 12
    assert sum(turn.points for turn in turns) == 12
    assert max(turn.versions for turn in turns) < 12
    assert not any(turn.findings for turn in turns)


def test_what_this_run_published_is_not_proved_twice(tmp_path: Path) -> None:
    ws = Workspace(tmp_path, recheck_nights=1)
    ws.add_source("reports")
    ws.write("reports/a.txt", TEXT)
    assert ws.run().points_rechecked == 0
    assert ws.run().points_rechecked == 1


@pytest.mark.parametrize("harm", ["text", "gone", "vault"])
def test_harm_done_after_publishing_makes_the_run_fail(tmp_path: Path, harm: str) -> None:
    ws = published(tmp_path, nights=1, documents=1)
    with ws.pipeline().index() as index:
        (chunk_id,) = [chunk_id for chunk_id, _ in index.scroll()]
        if harm == "text":
            index._client.set_payload(index.collection, {"text": "Other."}, points=[chunk_id])
        elif harm == "gone":
            index.delete([chunk_id])
    if harm == "vault":
        (stored,) = [path for path in (ws.settings.home / "vault").rglob("*") if path.is_file()]
        stored.chmod(0o644)
        stored.write_bytes(b"Other.")
    ledger = ws.run()
    assert ledger.balanced
    assert ledger.unprovable
    assert all(finding.startswith("0.txt version 1: ") for finding in ledger.unprovable)
    assert exit_status(ledger) == 6
    assert ws.cli_json("status", "--json")["unprovable"] == list(ledger.unprovable)

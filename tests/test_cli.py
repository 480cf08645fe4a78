"""The command line: the JSON that other programs rely on, and the exit statuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result
from workspace import Workspace, pdf, scan

from ingest.cli import app

TEXT = "1. Market\n\nCorvane leads the mid-market with 21 percent of new contracts."


def invoke(ws: Workspace | None, *arguments: str) -> Result:
    environment = {} if ws is None else ws.environment()
    return CliRunner().invoke(app, list(arguments), env=environment)


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    workspace.add_source("reports")
    workspace.write("reports/erp.pdf", pdf(TEXT))
    return workspace


def test_help_lists_the_commands() -> None:
    result = invoke(None, "--help")
    assert result.exit_code == 0
    for command in (
        "run",
        "status",
        "search",
        "show",
        "prove",
        "extract",
        "chunk",
        "quarantine",
        "config",
    ):
        assert f"  {command} " in result.stdout


@pytest.mark.parametrize(
    "command",
    [
        "run",
        "status",
        "search",
        "show",
        "prove",
        "extract",
        "chunk",
        "quarantine list",
        "quarantine show",
        "quarantine retry",
        "quarantine dismiss",
        "config check",
    ],
)
def test_every_command_that_prints_takes_json(command: str) -> None:
    assert "--json" in invoke(None, *command.split(), "--help").stdout


def test_extract_gives_text_pages_words_and_elements(tmp_path: Path) -> None:
    file = tmp_path / "scan.pdf"
    file.write_bytes(scan(TEXT))
    result = invoke(None, "extract", str(file), "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert {"text", "pages", "words", "elements", "warnings"} <= set(found)
    page = found["pages"][0]
    assert (page["number"], page["rotation"]) == (1, 0)
    assert page["width"] == pytest.approx(595, abs=0.5)
    assert page["height"] == pytest.approx(842, abs=0.5)
    for word in found["words"]:
        assert found["text"][word["char_start"] : word["char_end"]].strip()
        x0, y0, x1, y1 = word["box"]
        assert 0 <= x0 < x1 <= page["width"]
        assert 0 <= y0 < y1 <= page["height"]
        assert (word["page"], word["source"]) == (1, "ocr")
        assert 0 <= word["confidence"] <= 100
    assert "Corvane" in found["text"]


def test_a_refused_file_says_why_and_exits_4(tmp_path: Path) -> None:
    file = tmp_path / "cut.pdf"
    file.write_bytes(pdf(TEXT)[:300])
    for command in ("extract", "chunk"):
        result = invoke(None, command, str(file), "--json")
        assert result.exit_code == 4
        error = json.loads(result.stdout)["error"]
        assert error["code"] == "damaged"
        assert "cut.pdf" in error["message"]


def test_chunk_gives_one_chunk_a_line_cut_from_the_text(tmp_path: Path) -> None:
    file = tmp_path / "report.pdf"
    file.write_bytes(pdf(*(f"{n}. Part\n\n" + "Systems are compared. " * 90 for n in (1, 2))))
    text = json.loads(invoke(None, "extract", str(file), "--json").stdout)["text"]
    result = invoke(None, "chunk", str(file), "--json")
    chunks = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(chunks) > 2
    for chunk in chunks:
        assert text[chunk["char_start"] : chunk["char_end"]] == chunk["text"]
        assert chunk["page_first"] <= chunk["page_last"]
        assert chunk["boxes"]
        assert chunk["tokens"] <= 256


def test_status_before_any_run(ws: Workspace) -> None:
    found = json.loads(invoke(ws, "status", "--json").stdout)
    assert found["run_id"] is None
    assert found["points"] == {"new": 0, "reused": 0, "retired": 0}


def test_run_status_search_show_and_prove(ws: Workspace, tmp_path: Path) -> None:
    result = invoke(ws, "run")
    assert result.exit_code == 0, result.output
    assert "The ledger balances" in result.stdout
    assert "quality.html" in result.stdout

    found = json.loads(invoke(ws, "status", "--json").stdout)
    assert found["balanced"] is True
    assert found["sources"]["reports"] == {
        "listed": 1,
        "new": 1,
        "changed": 0,
        "unchanged": 0,
        "forgotten": 0,
        "failed": 0,
        "members": 0,
        "opened": 0,
        "quarantined": 0,
        "retired": 0,
        "erased": 0,
    }
    assert found["points"]["new"] > 0

    hits = json.loads(invoke(ws, "search", "who leads the market?", "--json").stdout)
    assert set(hits[0]) == {"chunk_id", "score", "payload"}
    assert "Corvane" in hits[0]["payload"]["text"]
    assert json.loads(invoke(ws, "search", "x", "--as-of", "2001-01-01", "--json").stdout) == []
    assert "Corvane" in invoke(ws, "search", "who leads the market?").stdout

    chunk_id, doc_id = hits[0]["chunk_id"], hits[0]["payload"]["doc_id"]
    assert json.loads(invoke(ws, "show", chunk_id, "--json").stdout)["chunk_id"] == chunk_id
    assert json.loads(invoke(ws, "show", doc_id, "--json").stdout)["versions"][0]["version"] == 1

    result = invoke(ws, "prove", chunk_id, "--out", str(tmp_path / "out"), "--json")
    assert result.exit_code == 0, result.output
    proof: dict[str, Any] = json.loads(result.stdout)
    assert all(step["ok"] for step in proof["steps"])
    assert [Path(picture).read_bytes()[:4] for picture in proof["pictures"]] == [b"\x89PNG"]
    assert invoke(ws, "prove", chunk_id).stdout.rstrip().endswith("proved")


def test_exit_statuses(ws: Workspace) -> None:
    assert invoke(ws, "nonsense").exit_code == 2
    assert invoke(ws, "search", "x", "--as-of", "31/01/2024").exit_code == 2
    assert invoke(ws, "search", "x", "--as-of", "2024-01-31T10:00:00").exit_code == 2
    assert invoke(ws, "extract", "/nowhere.pdf").exit_code == 2
    assert invoke(ws, "show", "00000000-0000-0000-0000-000000000000").exit_code == 4
    assert invoke(ws, "run", "--source", "nosuch").exit_code == 3
    ws.licences.clear()
    ws.save()
    for command in (["config", "check"], ["run"]):
        result = invoke(ws, *command, "--json")
        assert result.exit_code == 3
        assert "sources.yaml:" in json.loads(result.stdout)["error"]["message"]


def test_a_wrong_setting_is_named(ws: Workspace) -> None:
    result = CliRunner().invoke(app, ["status", "--json"], env={"MUNIMENT_BATCH_COST": "many"})
    assert result.exit_code == 3
    assert "MUNIMENT_BATCH_COST" in json.loads(result.stdout)["error"]["message"]


def test_a_gate_that_stops_a_batch_exits_5_and_loads_nothing(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports", manifest="terms.csv")
    rows = ["file,effective_from"]
    for number in range(6):
        ws.write(f"reports/{number}.txt", f"Report {number} on planning systems.")
        rows.append(f"{number}.txt,1066-10-14")
    ws.write("reports/terms.csv", "\n".join(rows) + "\n")
    result = invoke(ws, "run", "--json")
    assert result.exit_code == 5, result.output
    found = json.loads(result.stdout)
    assert found["sources"]["reports"]["quarantined"] == 6
    assert found["balanced"] is True
    assert ws.points() == {}


def test_quarantine_is_listed_shown_retried_and_dismissed(ws: Workspace) -> None:
    ws.write("reports/bad.pdf", b"")
    assert invoke(ws, "run").exit_code == 0
    (entry,) = json.loads(invoke(ws, "quarantine", "list", "--json").stdout)
    assert (entry["source_key"], entry["code"]) == ("bad.pdf", "empty_file")
    assert "bad.pdf" in invoke(ws, "quarantine", "list").stdout
    number = str(entry["id"])
    shown = json.loads(invoke(ws, "quarantine", "show", number, "--json").stdout)
    assert shown == {**entry, "failed_chunks": [], "pictures": []}
    assert invoke(ws, "quarantine", "retry", number).exit_code == 0
    assert invoke(ws, "quarantine", "dismiss", number, "--reason", "an empty scan").exit_code == 0
    assert json.loads(invoke(ws, "quarantine", "list", "--json").stdout) == []
    assert invoke(ws, "quarantine", "show", "999").exit_code == 4

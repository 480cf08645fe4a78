"""The command line for versions: what it shows, corrects, withdraws and brings up to date."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner, Result
from workspace import Workspace

from ingest.cli import app

HEAD = "file,document,version_label,effective_from\n"


@pytest.fixture(scope="module")
def ws(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    ws = Workspace(tmp_path_factory.mktemp("versions"))
    ws.add_source("contracts", kind="contract", manifest="terms.csv")
    rows = HEAD
    for number, year in ((1, 2024), (2, 2025)):
        ws.write(f"contracts/{number}.txt", f"The notice period is {number}0 days.")
        rows += f"{number}.txt,msa,{number}.0,{year}-04-01\n"
    ws.write("contracts/terms.csv", rows)
    assert ws.run().balanced
    return ws


def cli(ws: Workspace, *arguments: str) -> Result:
    """Run a command in this process, which costs less than one of its own."""
    settings = ws.settings
    places = [
        *("--home", str(settings.home)),
        *("--sources", str(settings.sources_file)),
        *("--licences", str(settings.licences_file)),
    ]
    environment = {"MUNIMENT_EXTRACTION__LAYOUT": "false", "MUNIMENT_EXTRACTION__WORKERS": "1"}
    return CliRunner().invoke(app, [*places, *arguments], env=environment)


def cli_json(ws: Workspace, *arguments: str) -> Any:
    done = cli(ws, *arguments)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def found(ws: Workspace, *options: str) -> list[str]:
    hits = cli_json(ws, "search", "notice period", "--json", *options)
    return sorted(hit["payload"]["version_label"] for hit in hits)


def test_a_person_corrects_and_withdraws_and_readers_are_told_so(ws: Workspace) -> None:
    [document] = cli_json(ws, "versions", "list", "--json")
    assert (document["versions"], document["in_force"]) == (2, 2)
    doc = document["doc_id"]
    assert found(ws, "--as-of", "2025-04-15") == ["2.0"]

    corrected = cli_json(
        ws, "versions", "correct", doc, "2", "--effective-from", "2025-05-01",
        "--reason", "clause 14.1", "--json",
    )  # fmt: skip
    first, second = corrected["versions"]
    assert first["effective_until"] == second["effective_from"] == "2025-05-01T00:00:00Z"
    assert second["effective_basis"] == "correction"
    assert second["correction"]["reason"] == "clause 14.1"
    assert len(second["history"]) == 2
    assert found(ws, "--as-of", "2025-04-15") == ["1.0"]

    told = second["history"][0]["recorded_at"]
    assert found(ws, "--as-of", "2025-04-15", "--as-published", told) == ["2.0"]
    assert found(ws, "--all-versions") == ["1.0", "2.0"]
    before = cli_json(ws, "versions", "show", doc, "--as-published", told, "--json")
    assert before["versions"][1]["effective_from"] == "2025-04-01T00:00:00Z"

    # The correction outlasts a run in which the source says something else.
    rows = (ws.folder / "contracts/terms.csv").read_text()
    ws.write("contracts/terms.csv", rows.replace("2025-04-01", "2025-06-01"))
    assert ws.run().balanced
    assert found(ws, "--as-of", "2025-05-15") == ["2.0"]
    taken_back = cli_json(ws, "versions", "uncorrect", doc, "2", "--json")
    assert taken_back["versions"][1]["effective_from"] == "2025-06-01T00:00:00Z"

    withdrawn = cli_json(ws, "versions", "withdraw", doc, "2", "--reason", "unsigned", "--json")
    assert withdrawn["versions"][1]["state"] == "withdrawn"
    assert found(ws) == ["1.0"]
    shown = cli(ws, "versions", "show", doc).stdout
    assert "never in force" in shown
    assert "withdrawn, unsigned" in shown
    cli_json(ws, "versions", "reinstate", doc, "2", "--json")
    assert found(ws) == ["2.0"]


def test_what_there_is_not_is_said(ws: Workspace) -> None:
    [document] = cli_json(ws, "versions", "list", "--json")
    unknown = cli_json(ws, "versions", "show", "nothing", "--json")
    assert unknown["error"]["code"] == "document_unknown"
    number = cli(ws, "versions", "withdraw", document["doc_id"], "9", "--reason", "r")
    assert number.exit_code == 4
    assert "it has 1, 2" in number.stderr
    both = cli(ws, "search", "x", "--all-versions", "--as-of", "2025-01-01")
    assert both.exit_code == 2


def test_a_backfill_says_what_it_would_do_and_does_it(ws: Workspace) -> None:
    assert cli_json(ws, "backfill", "--reason", "r", "--dry-run", "--json")["work"] == []
    ws.licences[0]["attribution_required"] = True
    ws.licences[0]["attribution_text"] = "By permission"
    ws.save()
    planned = cli_json(ws, "backfill", "--reason", "renewed", "--dry-run", "--json")
    assert (planned["total"]["points_patched"], planned["done"]) == (2, None)
    done = cli(ws, "backfill", "--reason", "renewed")
    assert done.exit_code == 0, done.stderr
    assert "points that take other terms" in done.stdout
    assert "its terms or metadata change" in done.stdout
    assert {p["attribution_text"] for p in ws.points().values()} == {"By permission"}

"""muniment diff: which versions it takes, what it prints, and what the licence lets it show."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result
from workspace import OPEN_LICENCE, Workspace, pdf

from ingest.cli import app
from ingest.pipeline import open_catalog

CLAUSES = (
    "1. Services\n\nThe Supplier provides the services with care and skill.",
    "2. Fees\n\nThe Customer pays each invoice within {days} days of its receipt.",
    "3. Notices\n\nNotices are sent by registered post to the other party.",
)
PATTERN = r"(?P<document>[^/]+)_(?P<version_label>v\d+)_(?P<effective_from>\d{4}-\d{2}-\d{2})\."


def invoke(ws: Workspace, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["diff", *arguments], env=ws.environment())


def invoke_json(ws: Workspace, *arguments: str) -> Any:
    return json.loads(invoke(ws, *arguments, "--json").stdout)


@pytest.fixture(scope="module")
def ws(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A contract in three versions, the latest of which arrives first, and one in one version."""
    workspace = Workspace(tmp_path_factory.mktemp("diff"))
    workspace.add_source("contracts", kind="contract", name_pattern=PATTERN)
    for day, days in (("2025-01-01", "ninety"), ("2023-01-01", "thirty"), ("2024-01-01", "sixty")):
        text = [clause.format(days=days) for clause in CLAUSES]
        label = {"2023": "v1", "2024": "v2", "2025": "v3"}[day[:4]]
        workspace.write(f"contracts/msa_{label}_{day}.pdf", pdf("\n\n".join(text)))
        assert workspace.run().balanced
    workspace.write("contracts/nda_v1_2023-01-01.pdf", pdf("Secrets are kept secret for years."))
    workspace.run()
    return workspace


def doc_id(ws: Workspace, key: str) -> str:
    documents = {one.document_key: one.doc_id for one in open_catalog(ws.settings).documents()}
    return documents[key]


def test_the_last_two_by_effective_date_are_compared(ws: Workspace) -> None:
    found = invoke_json(ws, doc_id(ws, "msa"))
    assert [found[side]["version_label"] for side in ("before", "after")] == ["v2", "v3"]
    assert found["before"]["effective_until"] == found["after"]["effective_from"]
    changed = [clause for clause in found["clauses"] if clause["status"] != "unchanged"]
    assert len(changed) == found["counts"]["changed"] == 1
    words = [word for word in changed[0]["words"] if word["kind"] != "equal"]
    assert [(word["kind"], (word["before"] or word["after"])["text"]) for word in words] == [
        ("delete", "sixty"),
        ("insert", "ninety"),
    ]
    for side in ("before", "after"):
        clause = changed[0][side]
        assert (clause["page_first"], clause["page_last"]) == (1, 1)
        assert set(clause["boxes"][0]) == {"page", "x0", "y0", "x1", "y1"}
        assert clause["char_start"] < clause["char_end"]


def test_versions_are_named_in_either_order(ws: Workspace) -> None:
    numbers = {
        one.version_label: str(one.version)
        for one in open_catalog(ws.settings).versions(doc_id(ws, "msa"))
    }
    there = invoke(ws, doc_id(ws, "msa"), numbers["v1"], numbers["v3"]).stdout
    assert "[-thirty-] {+ninety+}" in there
    assert "§2 Fees" in there
    assert "p. 1 → p. 1" in there
    assert "1 changed, 0 moved, 0 added, 0 removed" in there
    back = invoke(ws, doc_id(ws, "msa"), numbers["v3"], numbers["v1"]).stdout
    assert "[-ninety-] {+thirty+}" in back


def test_what_there_is_none_of_is_said_with_what_there_is(ws: Workspace) -> None:
    for arguments, code, says in (
        (["no-such-document"], "document_unknown", "muniment versions list"),
        ([doc_id(ws, "msa"), "1", "9"], "version_unknown", "no version 9; it has 1, 2, 3."),
        ([doc_id(ws, "nda")], "nothing_to_compare", "it has 1"),
    ):
        result = invoke(ws, *arguments, "--json")
        assert result.exit_code == 4
        error = json.loads(result.stdout)["error"]
        assert error["code"] == code
        assert says in error["message"]
    assert invoke(ws, doc_id(ws, "msa"), "1").exit_code == 2
    assert invoke(ws, doc_id(ws, "msa"), "0", "1").exit_code == 2


def test_the_page_has_the_pages_with_their_marks(ws: Workspace, tmp_path: Path) -> None:
    out = tmp_path / "diff.html"
    result = invoke(ws, doc_id(ws, "msa"), "--html", str(out))
    assert result.exit_code == 0
    text = out.read_text(encoding="utf-8")
    assert text.count("data:image/png;base64,") == 2
    assert "<del>sixty</del>" in text
    assert "<ins>ninety</ins>" in text


@pytest.mark.parametrize(
    "terms",
    [{"display_allowed": False}, {"valid_until": "2024-06-01T00:00:00Z"}, {"id": "another"}],
)
def test_the_licence_as_it_is_now_decides_what_is_shown(
    ws: Workspace, tmp_path: Path, terms: dict[str, Any]
) -> None:
    ws.licences = [{**OPEN_LICENCE, **terms}]
    if "id" in terms:
        # The registry no longer has the licence that the documents were listed with.
        ws.licences.append({**OPEN_LICENCE, "id": "open", "allowed_uses": ["analysis"]})
    ws.save()
    out = tmp_path / "diff.html"
    try:
        result = invoke(ws, doc_id(ws, "msa"), "--html", str(out))
        as_json = invoke(ws, doc_id(ws, "msa"), "--json").stdout
    finally:
        ws.licences = [dict(OPEN_LICENCE)]
        ws.save()
    assert result.exit_code == 0, result.output
    assert "1 changed" in result.stdout
    page = out.read_text(encoding="utf-8")
    assert "data:image" not in page
    for text in (result.stdout, page, as_json):
        assert "ninety" not in text
        assert "registered post" not in text


@pytest.mark.parametrize("required", [True, False])
def test_the_credit_that_a_licence_requires_stands_below(
    ws: Workspace, tmp_path: Path, required: bool
) -> None:
    credit = "© Norvale Research"
    ws.licences = [{**OPEN_LICENCE, "attribution_required": required, "attribution_text": credit}]
    ws.save()
    out = tmp_path / "diff.html"
    try:
        result = invoke(ws, doc_id(ws, "msa"), "--html", str(out))
    finally:
        ws.licences = [dict(OPEN_LICENCE)]
        ws.save()
    assert (credit in result.stdout) == required
    assert (credit in out.read_text(encoding="utf-8")) == required

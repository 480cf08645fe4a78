"""A source that cannot be listed is shown with its age, and the others go on."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner
from workspace import Workspace

from ingest import secrets
from ingest.cli import app
from ingest.errors import RetriableError
from ingest.freshness import age_in_words, staleness_alert
from ingest.operations import source_health
from ingest.pipeline import open_catalog
from ingest.sources.files import FilesConnector
from schemas.base import utc_now
from schemas.run import SourceHealth

TEXT = "A report on planning systems for the mid-market, by {}."


@pytest.fixture
def ws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)
    workspace = Workspace(tmp_path)
    for name in ("first", "second"):
        workspace.add_source(name, stale_after_hours=12)
        workspace.write(f"{name}/a.txt", TEXT.format(name))
    return workspace


def fail(monkeypatch: pytest.MonkeyPatch, source_id: str, message: str) -> None:
    listing = FilesConnector.list

    def refuse(self: FilesConnector) -> object:
        if self._source.id == source_id:
            raise RetriableError("source_unreachable", message)
        return listing(self)

    monkeypatch.setattr(FilesConnector, "list", refuse)


def health(ws: Workspace) -> dict[str, SourceHealth]:
    return {one.source_id: one for one in source_health(ws.settings)}


def listed_before(ws: Workspace, source_id: str, hours: float) -> datetime:
    at = utc_now() - timedelta(hours=hours)
    open_catalog(ws.settings).source_listed(source_id, 1, at)
    return at


def test_a_source_is_fresh_once_it_was_listed(ws: Workspace) -> None:
    before = health(ws)
    assert {one.listed_at for one in before.values()} == {None}
    assert all(one.stale for one in before.values())
    assert ws.run().alerts == ()
    after = health(ws)
    assert [one.entries for one in after.values()] == [1, 1]
    assert not any(one.stale or one.error for one in after.values())


def test_what_cannot_be_listed_goes_stale_and_the_others_go_on(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws.run()
    ws.write("second/b.txt", TEXT.format("another"))
    at = listed_before(ws, "first", 50.2)
    with monkeypatch.context() as patch:
        fail(patch, "first", "first: the server does not answer.")
        ledger = ws.run()
    assert [line.published for line in ledger.lines] == [0, 1]
    (alert,) = ledger.alerts
    assert alert.startswith("first: it was last listed 2 d 2 h ago")
    assert alert.endswith("The reason: first: the server does not answer.")
    found = health(ws)
    assert found["first"].listed_at == at
    assert found["first"].stale
    assert found["first"].failed_at is not None
    assert not found["second"].stale

    environment = ws.environment()
    shown = CliRunner().invoke(app, ["status"], env={**environment, "COLUMNS": "200"}).stdout
    assert "stale" in shown
    assert "2 d 2 h" in shown
    assert "first: the server does not answer." in shown
    told = json.loads(CliRunner().invoke(app, ["status", "--json"], env=environment).stdout)
    assert told["listings"]["first"]["stale"] is True
    assert told["listings"]["first"]["age_hours"] == pytest.approx(50.2, abs=0.1)
    assert told["listings"]["second"]["error"] is None
    (page,) = (ws.settings.home / "reports" / ledger.run_id).glob("*.html")
    text = page.read_text("utf-8")
    assert ">stale<" in text
    assert "2 d 2 h" in text
    assert "Could not be listed" in text

    assert ws.run().alerts == ()
    cleared = health(ws)["first"]
    assert (cleared.failed_at, cleared.error, cleared.stale) == (None, None, False)


def test_a_source_that_failed_tonight_is_not_stale_yet(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws.run()
    fail(monkeypatch, "first", "first: the server does not answer.")
    ledger = ws.run()
    assert ledger.alerts == ()
    assert "does not answer" in (ledger.lines[0].error or "")
    found = health(ws)["first"]
    assert not found.stale
    assert "does not answer" in (found.error or "")


def test_a_source_that_was_never_listed_says_so(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(monkeypatch, "first", "first: the server does not answer.")
    (alert,) = ws.run().alerts
    assert alert.startswith("first: it has never been listed")


def test_no_secret_stands_in_an_error(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    secrets.register("hunter2-hunter2")
    fail(monkeypatch, "first", "first: 401 for user:hunter2-hunter2.")
    ledger = ws.run()
    assert "hunter2" not in ledger.model_dump_json()
    assert "hunter2" not in (health(ws)["first"].error or "")
    for path in ws.settings.home.rglob("*"):
        assert not path.is_file() or b"hunter2" not in path.read_bytes(), path


@pytest.mark.parametrize(
    ("hours", "words"), [(0.2, "12 min"), (1.5, "1 h 30 min"), (26, "1 d 2 h"), (None, "never")]
)
def test_ages_in_words(hours: float | None, words: str) -> None:
    found = SourceHealth(
        source_id="s",
        listed_at=None if hours is None else datetime(2026, 1, 1, tzinfo=UTC),
        entries=None,
        age_hours=hours,
        stale=True,
        stale_after_hours=1,
        failed_at=None,
        error=None,
    )
    assert age_in_words(found) == words
    assert "The reason" not in staleness_alert(found)

"""Alerts: each incident is told once, to a real mail server and a real web server."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from aiosmtpd.controller import Controller
from pydantic import SecretStr
from workspace import Workspace

from ingest.alerts.airflow import nightly_is_late
from ingest.alerts.watch import watch, watch_run
from ingest.pipeline import open_catalog
from ingest.settings import AlertSettings
from schemas.base import utc_now
from schemas.run import Ledger, LedgerLine

DAY = timedelta(days=1)


class Inbox:
    """Takes mail."""

    def __init__(self) -> None:
        self.mails: list[str] = []

    async def handle_DATA(self, server: object, session: object, envelope: Any) -> str:  # noqa: N802
        mail = message_from_bytes(envelope.content)
        parts = [p for p in mail.walk() if p.get_content_type() == "text/plain"]
        text = b"".join(p.get_payload(decode=True) for p in parts).decode()  # type: ignore[misc]
        self.mails.append(f"{mail['Subject']}\n{text}")
        return "250 OK"


@pytest.fixture
def inbox() -> Iterator[tuple[Inbox, str]]:
    handler = Inbox()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    controller = Controller(handler, hostname="127.0.0.1", port=port)
    controller.start()
    yield handler, f"mailto://127.0.0.1:{port}?to=data@example.org&from=alerts@example.org"
    controller.stop()


@contextmanager
def webhook(status: int = 200) -> Iterator[tuple[list[Any], str]]:
    taken: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            taken.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield taken, f"json://127.0.0.1:{server.server_port}/hook"
    finally:
        server.shutdown()
        server.server_close()


def workspace(folder: Path, *urls: str) -> Workspace:
    alerts = AlertSettings(urls=tuple(SecretStr(url) for url in urls))
    ws = Workspace(folder, alerts=alerts)
    ws.add_source("reports", stale_after_hours=48)
    ws.write("reports/a.txt", "A report on prices.")
    return ws


def told(ws: Workspace) -> list[tuple[str, str, bool, bool]]:
    found = open_catalog(ws.settings).incidents(only_open=False)
    return [
        (one.kind, one.subject, one.told_at is not None, one.end_told_at is not None)
        for one in reversed(found)
    ]


def ledger(*lines: LedgerLine, **fields: Any) -> Ledger:
    return Ledger(run_id="r", started_at=utc_now(), lines=lines, **fields)


def test_an_incident_is_told_once_and_its_end_once_by_mail_and_webhook(
    tmp_path: Path, inbox: tuple[Inbox, str]
) -> None:
    mails, address = inbox
    with webhook() as (hooks, hook):
        ws = workspace(tmp_path, address, hook)
        assert ws.run().balanced
        assert (mails.mails, hooks) == ([], [])
        (ws.folder / "reports").rename(ws.folder / "elsewhere")
        for _ in range(3):
            assert not ws.run().balanced
        assert len(mails.mails) == len(hooks) == 1
        assert mails.mails[0].startswith("Muniment: run incomplete\n")
        assert hooks[0]["title"] == "Muniment: run incomplete"
        for text in (mails.mails[0], hooks[0]["message"]):
            assert "reports: run " in text
            assert "did not get to its end" in text
        (ws.folder / "elsewhere").rename(ws.folder / "reports")
        for _ in range(2):
            assert ws.run().balanced
        assert [hook["title"] for hook in hooks[1:]] == ["Muniment: all clear"]
        assert "Over: run incomplete reports." in hooks[1]["message"]
        assert told(ws) == [("run_incomplete", "reports", True, True)]


def test_what_no_run_tells_is_found_between_runs(tmp_path: Path) -> None:
    with webhook() as (hooks, hook):
        ws = workspace(tmp_path, hook)
        now = utc_now()
        ws.licences[0]["valid_until"] = (now + 40 * DAY).isoformat()
        ws.save()
        assert ws.run().balanced
        pipeline = ws.pipeline()
        assert watch(pipeline, now + timedelta(hours=25)) == []
        [late] = watch(pipeline, now + timedelta(hours=27))
        assert late.kind == "run_late"
        assert {one.kind for one in watch(pipeline, now + 3 * DAY)} == {"run_late", "source_stale"}
        kinds = {one.kind for one in watch(pipeline, now + 11 * DAY)}
        assert kinds == {"run_late", "source_stale", "licence_ending"}
        assert [hook["title"] for hook in hooks] == [
            "Muniment: run late",
            "Muniment: source stale",
            "Muniment: licence ending",
        ]
        assert "documents under it: 1, of reports" in hooks[2]["message"]
        # Today the licence has more than thirty days left.
        assert ws.run().balanced
        assert {one[0] for one in told(ws) if one[3]} == kinds
        assert hooks[3]["title"] == "Muniment: all clear"


@pytest.mark.parametrize(
    ("bad", "good", "kind", "subject"),
    [
        (
            ledger(LedgerLine(source_id="s", listed=3)),
            ledger(LedgerLine(source_id="s")),
            "ledger_unbalanced",
            "s",
        ),
        (
            ledger(LedgerLine(source_id="s", stopped_in=("gate",), error="gate: too many")),
            ledger(LedgerLine(source_id="s")),
            "gate_stopped",
            "s",
        ),
        (
            ledger(LedgerLine(source_id="s"), unprovable=("a.pdf version 1: text differs",)),
            ledger(LedgerLine(source_id="s"), points_rechecked=4),
            "unprovable",
            "",
        ),
    ],
)
def test_what_a_ledger_says_is_an_incident_until_a_ledger_says_otherwise(
    tmp_path: Path, bad: Ledger, good: Ledger, kind: str, subject: str
) -> None:
    with webhook() as (hooks, hook):
        ws = workspace(tmp_path, hook)
        pipeline = ws.pipeline()
        other = ledger(LedgerLine(source_id="another"))
        watch_run(pipeline, bad)
        watch_run(pipeline, other)  # it looked at neither
        assert [hook["title"] for hook in hooks] == [f"Muniment: {kind.replace('_', ' ')}"]
        watch_run(pipeline, good)
        assert told(ws) == [(kind, subject, True, True)]
        watch_run(pipeline, bad)
        assert told(ws)[1:] == [(kind, subject, True, False)]


def test_what_nobody_took_is_told_again_and_no_run_fails_of_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bad = ledger(LedgerLine(source_id="s", listed=3))
    with webhook(500) as (refused, hook):
        ws = workspace(tmp_path, hook.replace("json://", "json://user:hunter2@"))
        watch_run(ws.pipeline(), bad)
        assert refused
    assert told(ws) == [("ledger_unbalanced", "s", False, False)]
    assert "could not be sent" in caplog.text
    assert "hunter2" not in caplog.text
    with webhook() as (hooks, hook):
        alerts = AlertSettings(urls=(SecretStr(hook),))
        ws.settings = ws.settings.model_copy(update={"alerts": alerts})
        watch_run(ws.pipeline(), bad)
        assert len(hooks) == 1


def test_what_was_over_before_anybody_was_told_is_not_told(tmp_path: Path) -> None:
    ws = workspace(tmp_path)
    watch_run(ws.pipeline(), ledger(LedgerLine(source_id="s", listed=3)))
    watch_run(ws.pipeline(), ledger(LedgerLine(source_id="s")))
    assert open_catalog(ws.settings).untold_incidents() == []


def test_a_deadline_that_was_missed_is_over_when_a_run_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws = workspace(tmp_path)
    for name, value in ws.environment().items():
        if name.startswith("MUNIMENT_"):
            monkeypatch.setenv(name, value)
    asyncio.run(nightly_is_late(context={}))
    [late] = open_catalog(ws.settings).incidents()
    assert late.kind == "deadline_missed"
    watch(ws.pipeline(), utc_now())
    assert open_catalog(ws.settings).incidents() == [late]
    watch_run(ws.pipeline(), ledger(LedgerLine(source_id="reports")))
    assert open_catalog(ws.settings).incidents() == []


def test_the_command_line_lists_checks_and_tries(tmp_path: Path) -> None:
    with webhook() as (hooks, hook):
        ws = workspace(tmp_path)
        assert "no incident" in ws.cli("alerts", "check").stdout
        environment = {"MUNIMENT_ALERTS__URLS": json.dumps([hook])}
        for name, value in environment.items():
            ws.more_environment[name] = value
        tried = ws.cli("alerts", "test")
        assert tried.returncode == 0, tried.stderr
        assert [one["message"] for one in hooks] == ["Alerts reach you."]
        ws.more_environment["MUNIMENT_ALERTS__URLS"] = json.dumps(["nosuch://x:hunter2@y"])
        for command in (("alerts", "test"), ("config", "check")):
            refused = ws.cli(*command)
            assert refused.returncode == 3
            assert "address number 1" in refused.stderr
            assert "hunter2" not in refused.stderr + refused.stdout
        watch_run(ws.pipeline(), ledger(LedgerLine(source_id="s", listed=3)))
        [listed] = ws.cli_json("alerts", "list", "--json")
        assert datetime.fromisoformat(listed["opened_at"]).tzinfo == UTC

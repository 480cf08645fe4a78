"""Secrets of connections are in nothing that a run writes, whatever goes wrong."""

from __future__ import annotations

import base64
import io
import json
import logging
import sqlite3
import traceback
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
import zstandard
from source_kit import Answer, site
from stores import PASSWORD, index_pages, s3_server, sftp_connection, sftp_server
from workspace import Workspace

from ingest.errors import MunimentError
from ingest.runner import plan_source
from ingest.sources import CONNECTORS

KEY_LINE = "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAA"
SECRETS = (
    *(PASSWORD, "S3/geheim+wort=9", "token-7fe1c0de-é", "Datenbank@Wort:3", "Basis Wort/5"),
    *('Verzeichnis "Wort"/6', "Falsche:Losung\\7", KEY_LINE),
)


def forms(secret: str) -> Iterator[bytes]:
    for text in (secret, quote(secret, safe=""), quote_plus(secret), repr(secret)[1:-1]):
        yield text.encode()
    yield json.dumps(secret)[1:-1].encode()
    for pair in (secret, f"reader:{secret}"):
        yield base64.b64encode(pair.encode()).rstrip(b"=")


def written(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Yield all files below a folder, unpacked."""
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        data = path.read_bytes()
        yield path, data
        if path.suffix == ".zst":
            with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)) as stream:
                yield path, stream.read()
        if path.suffix == ".db":
            with sqlite3.connect(path) as database:
                yield path, "\n".join(database.iterdump()).encode()


def test_a_run_whose_sources_fail_in_every_way_shows_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _, s3, token, database, basic, index, wrong, _ = SECRETS
    ws = Workspace(tmp_path)
    logs = io.StringIO()
    handler = logging.StreamHandler(logs)
    logging.getLogger().addHandler(handler)
    caplog.set_level(logging.DEBUG)
    (tmp_path / "served/in").mkdir(parents=True)
    (tmp_path / "served/in/a.txt").write_text("The tenant shall keep a register.")
    key = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{KEY_LINE}\n-----END OPENSSH PRIVATE KEY-----\n"
    with (
        sftp_server(tmp_path / "served") as (url, host_key),
        s3_server() as endpoint,
        site() as web,
        index_pages(tmp_path / "served", "reader", "something else") as pages,
    ):
        login = {"login": "reader"}
        connections = {
            "DROP": sftp_connection(host_key),
            "STRANGE": sftp_connection(
                "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
            ),
            "BUCKET": json.dumps(
                {**login, "password": s3, "extra": {"endpoint_url": endpoint, "region_name": "x"}}
            ),
            "WIRE": json.dumps({"password": token}),
            "CRM": json.dumps({"login": "nobody", "password": database}),
            "BASIC": json.dumps({**login, "password": basic}),
            "INDEX": json.dumps({**login, "password": index}),
            "LOCKED": sftp_connection(host_key, password=wrong),
            "KEYED": json.dumps({**login, "extra": {"private_key": key, "host_key": host_key}}),
        }
        for name, value in connections.items():
            monkeypatch.setenv(f"MUNIMENT_CONNECTION_{name}", value)
        web.answers["/denied.json"] = Answer(b"no", 403)
        web.answers["/denied.xml"] = Answer(b"no", 401)
        web.answers["/feed.xml"] = Answer(b"<rss version='2.0'><channel></channel></rss>")
        ws.add_source("good", address=f"{url}/in", connection="drop")
        ws.add_source("lost", address=f"{url}/lost", connection="drop")
        ws.add_source("strange", address=f"{url}/in", connection="strange")
        ws.add_source("nowhere", address="sftp://127.0.0.1:1/in", connection="drop")
        ws.add_source("bucket", address="s3://no-such-bucket/in", connection="bucket")
        records = {"key": "id", "text": ["note"]}
        ws.add_source(
            "table",
            **{"connector": "sql", "address": "postgresql+psycopg://127.0.0.1:5432/nowhere"},
            **{"connection": "crm", "table": "notes", **records},
        )
        ws.add_source(
            "lines",
            **{"connector": "jsonl", "address": "s3://no-such-bucket/x", "connection": "bucket"},
            **records,
        )
        ws.add_source(
            "portal",
            **{"connector": "portal", "address": f"{web.url}/denied.json", "auth": "bearer"},
            connection="wire",
        )
        ws.add_source(
            "wire",
            **{"connector": "feed", "address": f"{web.url}/feed.xml", "auth": "basic"},
            connection="basic",
        )
        ws.add_source("index", address=f"{pages}/in", connection="index")
        ws.add_source(
            "cells",
            **{"connector": "csv", "address": f"{url}/in/a.csv", "connection": "locked"},
            **records,
        )
        ws.add_source(
            "columns",
            **{"connector": "parquet", "address": f"{pages}/in/a.parquet", "connection": "index"},
            **records,
        )
        ws.add_source("keyed", address=f"{url}/in", connection="keyed")
        ws.add_source(
            "letters",
            **{"connector": "feed", "address": f"{web.url}/denied.xml", "auth": "bearer"},
            connection="wire",
        )
        assert {source["connector"] for source in ws.sources} == set(CONNECTORS)
        said = []
        pipeline = ws.pipeline()
        for source in ws.sources:
            try:
                plan_source(pipeline, source["id"])
            except MunimentError as error:
                said += traceback.format_exception(error)
        monkeypatch.setattr("tenacity.nap.time.sleep", lambda _: None)
        ledger = ws.run()
        failing = ("strange", "bucket", "index", "cells", "keyed", "letters")
        # What a library might say.
        logging.getLogger("library").debug("sent %r and %s", SECRETS, json.dumps(SECRETS))
        shown = ws.cli("run", *(f"--source={name}" for name in failing))
    logging.getLogger().removeHandler(handler)
    done = {line.source_id: line.error for line in ledger.lines}
    assert done["good"] is None
    assert [name for name, error in done.items() if error] == [
        *("lost", "strange", "nowhere", "bucket", "table", "lines", "portal"),
        *("index", "cells", "columns", "keyed", "letters"),
    ]
    places = [
        *written(ws.settings.home),
        (Path("logs"), logs.getvalue().encode()),
        (Path("tracebacks"), "".join(said).encode()),
        (Path("run"), (shown.stdout + shown.stderr).encode()),
        (Path("status"), ws.cli("status").stdout.encode()),
    ]
    assert len(places) > 20
    assert [name for name in failing if name not in shown.stdout] == []
    found = [
        (path, secret)
        for path, data in places
        for secret in SECRETS
        for form in forms(secret)
        if form in data
    ]
    assert found == []

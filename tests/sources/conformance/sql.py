from __future__ import annotations

import json
import os
import sqlite3
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from sources.conformance.case import LIMIT, Case, Maker
from sqlalchemy import make_url

ROWS = [("a", "one\nline"), ("b", "zwei Ü"), ("c", "three")]
SECRET = "Datenbank:wort/42"


def _sqlite(base: Path, environment: pytest.MonkeyPatch) -> Iterator[Case]:
    path = base / "crm.db"

    def run(statement: str, *values: str) -> None:
        with sqlite3.connect(path) as database:
            database.execute(statement, values)

    run("CREATE TABLE notes (id TEXT, note TEXT)")
    for row in ROWS:
        run("INSERT INTO notes VALUES (?, ?)", *row)
    yield Case(
        base,
        {
            **{"connector": "sql", "address": "sqlite:///crm.db", "table": "notes"},
            **{"key": "id", "text": ["note"], "page_rows": 2},
        },
        remove_first=lambda: run("DELETE FROM notes WHERE id = 'a'"),
        change_first=lambda: run("UPDATE notes SET note = 'another' WHERE id = 'a'"),
        break_source=path.unlink,
        grow_first=lambda: run("UPDATE notes SET note = ? WHERE id = 'a'", "x" * LIMIT),
    )


def _postgresql(base: Path, environment: pytest.MonkeyPatch) -> Iterator[Case]:
    server = os.environ.get(
        "MUNIMENT_TEST_POSTGRES_URL", "postgresql://postgres@127.0.0.1:5432/postgres"
    )
    try:
        admin = psycopg.connect(server, autocommit=True, connect_timeout=5)
    except psycopg.OperationalError as error:
        pytest.skip(f"no PostgreSQL answers at MUNIMENT_TEST_POSTGRES_URL: {error}")
    url = make_url(server)
    schema = f"crm_{uuid.uuid4().hex[:12]}"
    with admin:
        admin.execute(f"CREATE SCHEMA {schema}")
        admin.execute(f'CREATE TABLE {schema}.notes (id text PRIMARY KEY, "Note" text)')
        for row in ROWS:
            admin.execute(f"INSERT INTO {schema}.notes VALUES (%s, %s)", row)
        login = {"login": url.username, "password": url.password or SECRET}
        environment.setenv("MUNIMENT_CONNECTION_CRM", json.dumps(login))
        yield Case(
            base,
            {
                "connector": "sql",
                "address": f"postgresql+psycopg://{url.host}:{url.port}/{url.database}",
                "table": f"{schema}.notes",
                "connection": "crm",
                "key": "id",
                "text": ["Note"],
                "page_rows": 2,
            },
            remove_first=lambda: admin.execute(f"DELETE FROM {schema}.notes WHERE id = 'a'"),
            change_first=lambda: admin.execute(
                f"UPDATE {schema}.notes SET \"Note\" = 'another' WHERE id = 'a'"
            ),
            break_source=lambda: admin.execute(f"DROP TABLE {schema}.notes"),
            secrets=(str(login["password"]),),
        )
        admin.execute(f"DROP SCHEMA {schema} CASCADE")


CASES: dict[str, Maker] = {"sqlite": _sqlite, "postgresql": _postgresql}

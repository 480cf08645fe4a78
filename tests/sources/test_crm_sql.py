"""Tables and queries of databases."""

from __future__ import annotations

import json
import os
import sqlite3
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from source_kit import Whole, connector, keys, problems
from sqlalchemy import make_url

from ingest.errors import ConfigurationError, ItemError, RetriableError
from schemas.source import Item

SERVER = os.environ.get(
    "MUNIMENT_TEST_POSTGRES_URL", "postgresql://postgres@127.0.0.1:5432/postgres"
)


def sqlite(folder: Path, *rows: tuple[Any, ...], **source: Any) -> Whole:
    with sqlite3.connect(folder / "crm.db") as database:
        database.execute("CREATE TABLE IF NOT EXISTS notes (id, note, changed)")
        database.executemany("INSERT INTO notes VALUES (?, ?, ?)", rows)
    given = {"address": "sqlite:///crm.db", "table": "notes", "key": "id", "text": ["note"]}
    if "query" in source:
        del given["table"]
    return connector(folder, connector="sql", **{**given, "page_rows": 100, **source})


def test_many_pages_have_each_row_once(tmp_path: Path) -> None:
    rows = [(number, f"note {number}", 1) for number in range(12_000)]
    listing = sqlite(tmp_path, *rows, page_rows=1_000).list()
    assert keys(listing) == [str(number) for number in range(12_000)]


def test_a_query_is_read_like_a_table(tmp_path: Path) -> None:
    query = "SELECT id, upper(note) AS loud FROM notes WHERE id <> 'b' ORDER BY note;"
    source = sqlite(
        tmp_path, ("a", "x", 1), ("b", "y", 1), ("c", "z", 1), query=query, text=["loud"]
    )
    items = source.list().items
    assert [json.loads(source.fetch(item).data) for item in items] == [
        {"id": "a", "loud": "X"},
        {"id": "c", "loud": "Z"},
    ]


def test_rows_without_a_key_and_with_one_twice_are_named(tmp_path: Path) -> None:
    source = sqlite(tmp_path, (None, "x", 1), (None, "y", 1), ("a", "x", 1), ("a", "z", 1))
    listing = source.list()
    assert keys(listing) == ["a"]
    assert problems(listing) == [("rows without a key", "key_missing"), ("row 2", "key_duplicate")]
    assert "2 rows" in listing.problems[0].message


def test_a_changed_column_is_the_state(tmp_path: Path) -> None:
    source = sqlite(tmp_path, ("a", "x", 1), changed="changed")
    (before,) = source.list().items
    with sqlite3.connect(tmp_path / "crm.db") as database:
        database.execute("UPDATE notes SET note = 'y'")
    assert source.list().items[0].fingerprint == before.fingerprint
    with sqlite3.connect(tmp_path / "crm.db") as database:
        database.execute("UPDATE notes SET changed = 2")
    (after,) = source.list().items
    assert after.fingerprint != before.fingerprint
    assert source.fetch(after).fingerprint == after.fingerprint


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"table": "lost"}, "source_missing"),
        ({"text": ["lost"]}, "column_missing"),
        ({"text": ["Lost Notes"]}, "column_missing"),
        ({"query": "SELECT FROM"}, "source_missing"),
        ({"address": "sqlite:///lost.db"}, "source_missing"),
        ({"address": "nosuch://host/db"}, "address_unsupported"),
        ({"address": "no url"}, "address_unsupported"),
    ],
)
def test_what_is_not_there_is_a_wrong_configuration(
    tmp_path: Path, changes: dict[str, Any], code: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        sqlite(tmp_path, ("a", "x", 1), **changes).list()
    assert caught.value.code == code
    assert not (tmp_path / "lost.db").exists()


def test_names_cannot_smuggle_statements_in(tmp_path: Path) -> None:
    for changes in ({"table": 'notes"; DROP TABLE notes; --'}, {"key": "id; DROP TABLE notes"}):
        with pytest.raises(ConfigurationError):
            sqlite(tmp_path, ("a", "x", 1), **changes).list()
    assert keys(sqlite(tmp_path).list()) == ["a"]


@pytest.fixture
def schema() -> Iterator[tuple[psycopg.Connection[Any], str]]:
    try:
        admin = psycopg.connect(SERVER, autocommit=True, connect_timeout=5)
    except psycopg.OperationalError as error:
        pytest.skip(f"no PostgreSQL answers at MUNIMENT_TEST_POSTGRES_URL: {error}")
    name = f"crm_{uuid.uuid4().hex[:12]}"
    with admin:
        admin.execute(f"CREATE SCHEMA {name}")
        yield admin, name
        admin.execute(f"DROP SCHEMA {name} CASCADE")


def postgresql(folder: Path, environment: pytest.MonkeyPatch, table: str, **source: Any) -> Whole:
    url = make_url(SERVER)
    login = {"login": url.username, "password": url.password or "not asked for"}
    environment.setenv("MUNIMENT_CONNECTION_CRM", json.dumps({**login, **source.pop("login", {})}))
    given = {"address": f"postgresql+psycopg://{url.host}:{url.port}/{url.database}"}
    return connector(
        folder, connector="sql", table=table, connection="crm", key="id", **{**given, **source}
    )


def test_keys_and_values_of_postgresql_s_own_types(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schema: tuple[Any, str]
) -> None:
    admin, name = schema
    admin.execute(
        f'CREATE TABLE {name}."Deals" '
        "(id uuid, sum numeric, at timestamptz, doc jsonb, raw bytea, tags text[])"
    )
    row = (
        uuid.UUID(int=7),
        Decimal("12.50"),
        datetime(2026, 3, 1, 12, tzinfo=UTC),
        json.dumps({"a": [1, None]}),
        b"\x00\xff",
        ["x", "y"],
    )
    admin.execute(f'INSERT INTO {name}."Deals" VALUES (%s, %s, %s, %s, %s, %s)', row)
    source = postgresql(
        tmp_path, monkeypatch, f"{name}.Deals", text=["sum", "doc", "raw", "tags"], date="at"
    )
    (item,) = source.list().items
    assert item.source_key == str(uuid.UUID(int=7))
    assert item.effective_from == row[2]
    assert json.loads(source.fetch(item).data) == {
        "id": str(uuid.UUID(int=7)),
        "sum": "12.50",
        "doc": {"a": [1, None]},
        "raw": "AP8=",
        "tags": ["x", "y"],
        "at": "2026-03-01T12:00:00Z",
    }


def test_a_listing_shows_one_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schema: tuple[Any, str]
) -> None:
    admin, name = schema
    admin.execute(f"CREATE TABLE {name}.notes (id int PRIMARY KEY, note text)")
    admin.execute(f"INSERT INTO {name}.notes SELECT n, 'x' FROM generate_series(1, 30) n")
    source = postgresql(tmp_path, monkeypatch, f"{name}.notes", text=["note"], page_rows=10)
    entries = source.connector.list()
    seen = [next(entries)]
    admin.execute(f"DELETE FROM {name}.notes WHERE id > 15")
    admin.execute(f"INSERT INTO {name}.notes VALUES (99, 'late')")
    seen += entries
    assert [entry.source_key for entry in seen] == [str(number) for number in range(1, 31)]
    last = seen[-1]
    assert isinstance(last, Item)
    with pytest.raises(ItemError, match="30"):
        source.fetch(last)
    assert len(source.list().items) == 16


def test_keys_that_are_texts_are_ordered_by_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schema: tuple[Any, str]
) -> None:
    admin, name = schema
    odd = ["Z", "a", "Ä", "b", "_", "ä", "A", "-", "10", "9", "é", "e", "\U0001f600", " x"]
    admin.execute(f"CREATE TABLE {name}.notes (id text PRIMARY KEY, note text)")
    for key in odd:
        admin.execute(f"INSERT INTO {name}.notes VALUES (%s, 'x')", (key,))
    source = postgresql(tmp_path, monkeypatch, f"{name}.notes", text=["note"], page_rows=1)
    assert sorted(keys(source.list())) == sorted(key.strip() for key in odd)


def test_it_only_ever_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schema: tuple[Any, str]
) -> None:
    admin, name = schema
    admin.execute(f"CREATE TABLE {name}.notes (id int, note text)")
    source = postgresql(tmp_path, monkeypatch, f"{name}.notes", text=["note"])
    engine = source.connector._engine  # type: ignore[attr-defined]
    with engine.connect() as connection, pytest.raises(Exception, match="read-only"):
        connection.exec_driver_sql(f"INSERT INTO {name}.notes VALUES (1, 'x')")


def test_a_user_without_rights_and_a_server_that_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, schema: tuple[Any, str]
) -> None:
    _, name = schema
    login = {"login": "nobody", "password": "Vergebens#9"}
    with pytest.raises(ConfigurationError) as refused:
        postgresql(tmp_path, monkeypatch, f"{name}.notes", text=["note"], login=login).list()
    assert refused.value.code == "source_forbidden"
    assert "Vergebens" not in refused.value.message
    with pytest.raises(RetriableError) as away:
        postgresql(
            *(tmp_path, monkeypatch, f"{name}.notes"),
            text=["note"],
            address="postgresql+psycopg://127.0.0.1:1/crm",
        ).list()
    assert away.value.code == "source_unreachable"

"""The same tests on both databases: each PostgreSQL session makes a database and drops it."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url, select

from ingest.catalog import Catalog
from ingest.catalog.models import Base
from ingest.catalog.records import VersionDraft, VersionRecord
from schemas.run import Refusal

DEFAULT_POSTGRES = "postgresql://postgres@127.0.0.1:5432/postgres"

Dump = dict[str, list[tuple[Any, ...]]]


@pytest.fixture(scope="session")
def make_database() -> Iterator[Callable[[], str]]:
    """Return a function that makes an empty PostgreSQL database and returns its URL."""
    server = os.environ.get("MUNIMENT_TEST_POSTGRES_URL", DEFAULT_POSTGRES)
    try:
        admin = psycopg.connect(server, autocommit=True, connect_timeout=5)
    except psycopg.OperationalError as error:
        pytest.skip(f"no PostgreSQL answers at MUNIMENT_TEST_POSTGRES_URL: {error}")
    names: list[str] = []

    def make() -> str:
        name = f"muniment_test_{uuid.uuid4().hex[:12]}"
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        names.append(name)
        return make_url(server).set(database=name).render_as_string(hide_password=False)

    with admin:
        yield make
        for name in names:
            admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def postgres_url(make_database: Callable[[], str]) -> str:
    """URL of a PostgreSQL database with the catalogue's tables."""
    url = make_database()
    catalog = Catalog(url)
    catalog.migrate()
    catalog.close()
    return url


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of a database without tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'empty.db'}"
    make: Callable[[], str] = request.getfixturevalue("make_database")
    return make()


@pytest.fixture(params=["sqlite", "postgresql"])
def catalog_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """URL of a database with empty tables."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path / 'catalog.db'}"
    else:
        url = request.getfixturevalue("postgres_url")
    catalog = Catalog(url)
    catalog.migrate()
    with catalog.engine.begin() as connection:
        for table in reversed(Base.metadata.sorted_tables):
            connection.execute(table.delete())
    catalog.close()
    return url


@pytest.fixture
def catalog(catalog_url: str) -> Iterator[Catalog]:
    catalog = Catalog(catalog_url)
    yield catalog
    catalog.close()


class Clock:
    """Time that passes only when it is told to."""

    def __init__(self) -> None:
        self.now = datetime(2026, 5, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def tick(self, **span: int) -> datetime:
        self.now += timedelta(**(span or {"hours": 1}))
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    for module in ("documents", "erasures", "items", "quarantine", "runs"):
        monkeypatch.setattr(f"ingest.catalog.{module}.utc_now", clock)
    return clock


class Helper:
    """Short ways to get a catalogue into a state."""

    source_id = "contracts"
    pipeline_version = "0.1.0+test"

    def __init__(self, catalog: Catalog, clock: Clock) -> None:
        self.catalog = catalog
        self.clock = clock

    def day(self, day: int, year: int = 2026) -> datetime:
        return datetime(year, 1, day, tzinfo=UTC)

    def sha(self, letter: str) -> str:
        return letter * 64

    def register(self, doc_id: str = "doc-1", source_id: str = source_id) -> None:
        self.catalog.register_document(doc_id, source_id, f"key of {doc_id}", "Master agreement")

    def reserve(
        self, source_key: str = "a.pdf", sha: str = "a", doc_id: str = "doc-1", **changes: Any
    ) -> VersionRecord:
        values: dict[str, Any] = {
            "doc_sha256": self.sha(sha),
            "source_key": source_key,
            "text_sha256": self.sha("f"),
            "version_label": None,
            "title": "Master agreement",
            "source_uri": f"file:///in/{source_key}",
            "media_type": "application/pdf",
            "licence_id": "own",
            "confidentiality": "internal",
            "client_id": None,
            "effective_from": self.day(1),
            "effective_basis": "source",
            "received_at": self.clock.now,
            "extraction_uri": f"extractions/{sha}.json.zst",
            "run_id": "run-1",
        }
        how = {name: changes.pop(name) for name in ("renamed_from", "stored") if name in changes}
        return self.catalog.reserve_version(doc_id, VersionDraft(**values | changes), **how)

    def publish(self, record: VersionRecord, **changes: Any) -> None:
        values: dict[str, Any] = {
            "published_at": self.clock.now,
            "payloads_uri": f"chunks/{record.doc_id}/{record.version}.jsonl.zst",
            "chunk_count": 3,
            "source_key": record.source_key,
            "fingerprint": f"{record.source_key}@{record.doc_sha256[0]}",
            "pipeline_version": self.pipeline_version,
            "run_id": "run-1",
        }
        self.catalog.publish(record.doc_id, record.version, **values | changes)

    def published(self, *args: Any, **changes: Any) -> VersionRecord:
        record = self.reserve(*args, **changes)
        self.publish(record)
        found = self.catalog.version(record.doc_id, record.version)
        assert found is not None
        return found

    def refusal(self, **changes: Any) -> Refusal:
        values: dict[str, Any] = {
            "source_id": self.source_id,
            "source_key": "a.pdf",
            "doc_id": "doc-1",
            "stage": "extract",
            "code": "encrypted",
            "message": "a.pdf: it is encrypted. Give the password.",
            "evidence": {"page": "1"},
            "fingerprint": "a.pdf@x",
        }
        return Refusal(**values | changes)

    def refuse(self, run_id: str = "run-1", **changes: Any) -> None:
        self.catalog.record_refused(
            self.refusal(**changes), run_id, self.pipeline_version, "document"
        )

    def dump(self) -> Dump:
        """Return all rows of all tables."""
        with self.catalog.engine.connect() as connection:
            return {
                table.name: sorted(
                    (tuple(row) for row in connection.execute(select(table))), key=repr
                )
                for table in Base.metadata.sorted_tables
            }


@pytest.fixture
def helper(catalog: Catalog, clock: Clock) -> Helper:
    return Helper(catalog, clock)

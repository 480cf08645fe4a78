from __future__ import annotations

import multiprocessing
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from ingest.catalog import Catalog
from ingest.catalog.migrate import VERSION_TABLE, _config
from ingest.catalog.models import Base
from ingest.errors import ConfigurationError


def differences(catalog: Catalog) -> list[object]:
    with catalog.engine.connect() as connection:
        options = {
            "version_table": VERSION_TABLE,
            "compare_type": True,
            "compare_server_default": True,
        }
        context = MigrationContext.configure(connection, opts=options)
        return list(compare_metadata(context, Base.metadata))


def constraints(catalog: Catalog) -> dict[str, set[object]]:
    """What compare_metadata does not look at: checks, and conditions of indexes."""
    inspector = inspect(catalog.engine)
    return {
        table: {check["name"] for check in inspector.get_check_constraints(table)}
        | {(index["name"], index["unique"]) for index in inspector.get_indexes(table)}
        | {inspector.get_pk_constraint(table)["name"]}
        | {key["name"] for key in inspector.get_foreign_keys(table)}
        | {key["name"] for key in inspector.get_unique_constraints(table)}
        for table in Base.metadata.tables
    }


def test_migrations_and_models_agree(empty_url: str) -> None:
    catalog = Catalog(empty_url)
    catalog.migrate()
    assert differences(catalog) == []
    migrated = constraints(catalog)
    with catalog.engine.begin() as connection:
        for view in inspect(connection).get_view_names():
            connection.execute(text(f"DROP VIEW {view}"))
        Base.metadata.drop_all(connection)
        Base.metadata.create_all(connection)
    assert migrated == constraints(catalog)
    catalog.close()


def test_the_comparison_sees_a_difference(empty_url: str) -> None:
    catalog = Catalog(empty_url)
    catalog.migrate()
    with catalog.engine.begin() as connection:
        connection.execute(text("ALTER TABLE runs DROP COLUMN ledger"))
    assert differences(catalog)
    catalog.close()


def test_the_open_entry_index_is_partial(empty_url: str) -> None:
    catalog = Catalog(empty_url)
    catalog.migrate()
    index = next(
        index
        for index in inspect(catalog.engine).get_indexes("quarantine")
        if index["name"] == "uq_quarantine_open"
    )
    condition = index["dialect_options"][f"{catalog.engine.dialect.name}_where"]
    assert "open" in str(condition)
    catalog.close()


def test_migrating_again_changes_nothing(empty_url: str) -> None:
    catalog = Catalog(empty_url)
    catalog.migrate()
    catalog.start_run("run-1", datetime(2026, 5, 1, tzinfo=UTC))
    catalog.migrate()
    assert [run.run_id for run in catalog.runs(5)] == ["run-1"]
    catalog.close()


def test_a_crash_in_mid_migration_leaves_nothing(empty_url: str) -> None:
    catalog = Catalog(empty_url)
    with (
        mock.patch("sqlalchemy.engine.Connection.execute", _fail_at_table("versions")),
        pytest.raises(RuntimeError, match="crash"),
    ):
        catalog.migrate()
    assert inspect(catalog.engine).get_table_names() == []
    catalog.migrate()
    assert differences(catalog) == []
    catalog.close()


def _fail_at_table(name: str) -> object:
    from sqlalchemy.engine import Connection

    execute = Connection.execute

    def failing(self: Connection, statement: object, *args: object, **kwargs: object) -> object:
        element = getattr(statement, "element", None)
        if getattr(element, "name", None) == name:
            raise RuntimeError("crash")
        return execute(self, statement, *args, **kwargs)  # type: ignore[call-overload]

    return failing


def test_downgrade_leaves_no_table(empty_url: str) -> None:
    catalog = Catalog(empty_url)
    catalog.migrate()
    with catalog.engine.begin() as connection:
        config = _config()
        config.attributes["connection"] = connection
        command.downgrade(config, "base")
    assert set(inspect(catalog.engine).get_table_names()) <= {VERSION_TABLE}
    catalog.close()


def _migrate(url: str) -> None:
    catalog = Catalog(url)
    catalog.migrate()
    catalog.close()


def test_many_processes_may_migrate_at_once(empty_url: str) -> None:
    # Forked, because a test module can't be imported by name in a spawned process.
    with multiprocessing.get_context("fork").Pool(4) as pool:
        pool.map(_migrate, [empty_url] * 8, chunksize=1)
    catalog = Catalog(empty_url)
    assert differences(catalog) == []
    catalog.close()


def test_many_threads_may_migrate_at_once(empty_url: str) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(_migrate, [empty_url] * 8))
    catalog = Catalog(empty_url)
    assert differences(catalog) == []
    catalog.close()


def test_tables_of_a_newer_release_are_left_alone(empty_url: str) -> None:
    catalog = Catalog(empty_url)
    catalog.migrate()
    with catalog.engine.begin() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    with pytest.raises(ConfigurationError) as caught:
        catalog.migrate()
    assert caught.value.code == "catalog_newer"
    catalog.close()


def test_without_tables_it_says_to_migrate(empty_url: str) -> None:
    catalog = Catalog(empty_url)
    with pytest.raises(ConfigurationError, match="migrate") as caught:
        catalog.documents()
    assert caught.value.code == "catalog_not_migrated"
    catalog.close()


def test_works_from_any_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    catalog = Catalog("sqlite:///here.db")
    catalog.migrate()
    catalog.close()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here.db"]


def test_sqlite_is_in_wal_mode_with_foreign_keys(tmp_path: Path) -> None:
    catalog = Catalog(f"sqlite:///{tmp_path / 'c.db'}")
    catalog.migrate()
    with catalog.engine.connect() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA foreign_keys")).scalar() == 1
        assert connection.execute(text("PRAGMA busy_timeout")).scalar() == 30_000
    catalog.close()
    assert sqlite3.connect(tmp_path / "c.db").execute("PRAGMA journal_mode").fetchone() == ("wal",)

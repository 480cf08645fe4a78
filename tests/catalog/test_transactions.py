"""Crashes, locks, servers that do not answer, and URLs that are wrong."""

from __future__ import annotations

import multiprocessing
import pickle
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event, text
from sqlalchemy.exc import IntegrityError

from ingest.catalog import Catalog
from ingest.catalog.transactions import explain
from ingest.errors import ConfigurationError, FatalError, RetriableError
from schemas.run import Ledger


class Crash(BaseException):
    """Like a kill: no handler of the catalogue's sees it coming."""


def run_and_crash(catalog: Catalog, call: Callable[[], object], at: int | None) -> int:
    """Run ``call`` and crash before statement ``at``; return how many statements were begun."""
    count = 0

    def before(*_: object) -> None:
        nonlocal count
        count += 1
        if count == at:
            raise Crash

    event.listen(catalog._writer, "before_cursor_execute", before)
    try:
        call()
    finally:
        event.remove(catalog._writer, "before_cursor_execute", before)
    return count


def prepared(helper: Any) -> Any:
    helper.register()
    helper.published("a.pdf", "a")
    helper.reserve("a.pdf", "b", effective_from=helper.day(9))
    helper.refuse(source_key="b.pdf")
    return helper


CALLS: dict[str, Callable[[Catalog, Any], object]] = {
    "register_document": lambda catalog, helper: helper.register("doc-2"),
    "reserve_version": lambda catalog, helper: helper.reserve("c.pdf", "c"),
    "reserve_version again": lambda catalog, helper: helper.reserve("a.pdf", "b", title="New"),
    "correct": lambda catalog, helper: catalog.correct(
        "doc-1", 1, helper.day(20), reason="misread", at=helper.day(21)
    ),
    "withdraw": lambda catalog, helper: catalog.withdraw(
        "doc-1", 1, reason="never signed", at=helper.day(21)
    ),
    "postpone": lambda catalog, helper: catalog.postpone("doc-1", helper.clock.now, helper.day(21)),
    "mark_settled": lambda catalog, helper: catalog.mark_settled("doc-1", helper.clock.now),
    "publish": lambda catalog, helper: helper.publish(catalog.version("doc-1", 2)),
    "record_refused": lambda catalog, helper: helper.refuse("run-2"),
    "seen": lambda catalog, helper: catalog.seen(
        "contracts", [*map(str, range(600)), "a.pdf"], "run-2"
    ),
    "mark_gone": lambda catalog, helper: catalog.mark_gone(
        "contracts", ["a.pdf", *(f"z{number}" for number in range(600))]
    ),
    "retire": lambda catalog, helper: catalog.retire("doc-1", helper.day(20)),
    "restore": lambda catalog, helper: catalog.restore("doc-1"),
    "retry_quarantine": lambda catalog, helper: catalog.retry_quarantine(
        catalog.quarantine(None)[0].id
    ),
    "dismiss_quarantine": lambda catalog, helper: catalog.dismiss_quarantine(
        catalog.quarantine(None)[0].id, "Because."
    ),
    "start_run": lambda catalog, helper: catalog.start_run("run-2", helper.day(1)),
    "finish_run": lambda catalog, helper: catalog.finish_run(
        "run-2", Ledger(run_id="run-2", started_at=helper.day(1), finished_at=helper.day(2))
    ),
    "store_embeddings": lambda catalog, helper: catalog.store_embeddings(
        "m", {f"{number:064x}": np.ones(3, np.float32) for number in range(1_100)}
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_crash_before_any_statement_leaves_nothing(
    catalog: Catalog, helper: Any, name: str
) -> None:
    prepared(helper)
    if name == "restore":
        catalog.retire("doc-1", helper.day(20))
    before = helper.dump()

    def call() -> object:
        return CALLS[name](catalog, helper)

    at = 1
    while True:
        try:
            run_and_crash(catalog, call, at)
        except Crash:
            assert helper.dump() == before, f"crashed before statement {at}"
            at += 1
        else:
            break
    assert at > 1
    after = helper.dump()
    assert after != before
    call()
    assert helper.dump() == after


def test_a_crash_at_commit_leaves_nothing(catalog: Catalog, helper: Any) -> None:
    prepared(helper)
    before = helper.dump()

    def crash(_connection: object) -> None:
        raise Crash

    event.listen(catalog._writer, "commit", crash)
    with pytest.raises(Crash):
        helper.publish(catalog.version("doc-1", 2))
    event.remove(catalog._writer, "commit", crash)
    assert helper.dump() == before


def test_errors_of_a_program_are_not_dressed_up(catalog: Catalog) -> None:
    with (
        pytest.raises(IntegrityError),
        catalog._writing() as session,
    ):
        session.execute(
            text(
                "INSERT INTO interval_history (id, doc_id, version, effective_from, "
                "effective_until, recorded_at, superseded_at) VALUES (1, 'nobody', 1, "
                "'2026-01-01', '2026-01-02', '2026-01-01', '2026-01-02')"
            )
        )


def test_a_lock_that_is_held_is_retriable(catalog_url: str, helper: Any) -> None:
    helper.register()
    sqlite = catalog_url.startswith("sqlite")
    option = "?timeout=0.05" if sqlite else "?options=-c%20lock_timeout%3D50"
    other = Catalog(catalog_url)
    waiting = Catalog(catalog_url + option)
    with other._writing() as session:
        session.execute(text("UPDATE documents SET title = 'held'"))
        with pytest.raises(RetriableError) as caught:
            waiting.register_document("doc-1", "contracts", "key of doc-1", "New")
        assert caught.value.code == "catalog_locked"
        assert waiting.document("doc-1") is not None  # readers are not kept waiting
    waiting.register_document("doc-1", "contracts", "key of doc-1", "New")
    other.close()
    waiting.close()


def test_a_deadlock_is_retriable(catalog_url: str, helper: Any) -> None:
    if catalog_url.startswith("sqlite"):
        pytest.skip("SQLite has one writer at a time, so none waits for another in a circle")
    helper.register("doc-1")
    helper.register("doc-2")
    meet = threading.Barrier(2)
    codes: list[str] = []

    def cross(first: str, second: str) -> None:
        catalog = Catalog(catalog_url)
        update = text("UPDATE documents SET title = :title WHERE doc_id = :doc_id")
        try:
            with catalog._writing() as session:
                session.execute(update, {"title": first, "doc_id": first})
                meet.wait(10)
                session.execute(update, {"title": first, "doc_id": second})
        except RetriableError as error:
            codes.append(error.code)
        catalog.close()

    threads = [
        threading.Thread(target=cross, args=pair)
        for pair in (("doc-1", "doc-2"), ("doc-2", "doc-1"))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert codes == ["catalog_locked"]


def test_a_writer_waits_for_one_that_read_before_it_wrote(catalog_url: str, helper: Any) -> None:
    """With deferred transactions SQLite refuses the second at once: "database is locked"."""
    helper.register()
    threads = [
        threading.Thread(target=helper.reserve, args=(f"{number}.pdf",)) for number in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(helper.catalog.versions("doc-1")) == 8


def _register_in_child(catalog: Catalog, number: int) -> None:
    catalog.register_document(f"doc-{number}", "contracts", str(number), "From a child")


def test_a_forked_child_gets_connections_of_its_own(catalog: Catalog, helper: Any) -> None:
    helper.register("parent")
    context = multiprocessing.get_context("fork")
    children = [
        context.Process(target=_register_in_child, args=(catalog, number)) for number in range(4)
    ]
    for child in children:
        child.start()
    for number in range(4, 20):
        _register_in_child(catalog, number)
    for child in children:
        child.join(60)
    assert [child.exitcode for child in children] == [0] * 4
    assert len(catalog.documents()) == 21


def test_a_server_that_does_not_answer_is_retriable() -> None:
    catalog = Catalog("postgresql://user:hush@127.0.0.1:1/db")
    with pytest.raises(RetriableError) as caught:
        catalog.migrate()
    assert caught.value.code == "catalog_unreachable"
    assert "hush" not in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).code == "catalog_unreachable"  # noqa: S301


def test_a_connection_that_was_cut_is_replaced(postgres_url: str) -> None:
    catalog = Catalog(postgres_url)
    other = Catalog(postgres_url)
    catalog.documents()
    cut = text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with other.engine.connect() as connection:
        connection.execute(cut)
    catalog.documents()

    def cut_in_the_middle() -> None:
        with catalog._reading() as session, other.engine.connect() as connection:
            session.execute(text("SELECT 1"))
            connection.execute(cut)
            session.execute(text("SELECT 1"))

    with pytest.raises(RetriableError) as caught:
        cut_in_the_middle()
    assert caught.value.code == "catalog_unreachable"
    catalog.close()
    other.close()


def test_a_database_that_does_not_exist(postgres_url: str) -> None:
    catalog = Catalog(postgres_url.rpartition("/")[0] + "/muniment_no_such_database")
    with pytest.raises(ConfigurationError) as caught:
        catalog.documents()
    assert caught.value.code == "catalog_denied"


@pytest.mark.parametrize("scheme", ["postgres", "postgresql", "postgresql+psycopg2"])
def test_any_postgresql_url_gets_the_driver_that_is_there(postgres_url: str, scheme: str) -> None:
    catalog = Catalog(scheme + "://" + postgres_url.partition("://")[2])
    assert catalog.engine.url.drivername == "postgresql+psycopg"
    catalog.documents()
    catalog.close()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "catalog.db",
        "mysql://user:hush@host/db",
        "sqlite+aiosqlite:///x.db",
        "postgresql://user:hush@host:port/db",
    ],
)
def test_a_wrong_url(url: str) -> None:
    with pytest.raises(ConfigurationError, match="MUNIMENT_CATALOG_URL") as caught:
        Catalog(url)
    assert caught.value.code == "catalog_url"
    assert "hush" not in str(caught.value)


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    catalog = Catalog(f"sqlite:///{tmp_path / 'no' / 'c.db'}")
    with pytest.raises(ConfigurationError) as caught:
        catalog.migrate()
    assert caught.value.code == "catalog_denied"


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "c.db").write_bytes(b"not a database" * 1_000)
    with pytest.raises(FatalError) as caught:
        Catalog(f"sqlite:///{tmp_path / 'c.db'}").migrate()
    assert caught.value.code == "catalog_damaged"


def test_a_full_disk(tmp_path: Path) -> None:
    catalog = Catalog(f"sqlite:///{tmp_path / 'c.db'}")
    catalog.migrate()
    with catalog.engine.connect() as connection:
        connection.execute(text("PRAGMA max_page_count = 40"))
    vectors = {f"{number:064x}": np.ones(384, np.float32) for number in range(500)}
    with pytest.raises(FatalError, match="Free space") as caught:
        catalog.store_embeddings("m", vectors)
    assert caught.value.code == "disk_full"
    assert catalog.embeddings("m", vectors) == {}
    catalog.close()


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("40001", "catalog_locked"),
        ("40P01", "catalog_locked"),
        ("55P03", "catalog_locked"),
        ("08006", "catalog_unreachable"),
        ("53300", "catalog_unreachable"),
        ("57P03", "catalog_unreachable"),
        ("53100", "disk_full"),
        ("28P01", "catalog_denied"),
        ("3D000", "catalog_denied"),
        ("42501", "catalog_denied"),
        ("42P01", "catalog_not_migrated"),
        ("23505", "catalog_conflict"),
        ("22012", None),
    ],
)
def test_what_postgresql_codes_mean(state: str, code: str | None) -> None:
    from sqlalchemy.exc import DBAPIError

    original = Exception("why\nmore")
    original.sqlstate = state  # type: ignore[attr-defined]
    explained = explain(DBAPIError("SELECT", {}, original), "postgresql://host/db")
    assert (explained and explained.code) == code


def test_an_in_memory_catalogue() -> None:
    catalog = Catalog("sqlite://")
    catalog.migrate()
    catalog.register_document("doc-1", "s", "k", "t")
    assert len(catalog.documents()) == 1
    catalog.close()


def test_writes_begin_at_once(tmp_path: Path) -> None:
    """The option that asks for it must reach the event that sends BEGIN."""
    catalog = Catalog(f"sqlite:///{tmp_path / 'c.db'}")
    catalog.migrate()
    with catalog._writing() as session:
        session.connection()
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            sqlite3.connect(tmp_path / "c.db", timeout=0).execute("BEGIN IMMEDIATE")
    catalog.close()

"""From a URL to an engine whose transactions mean the same on SQLite and PostgreSQL."""

from __future__ import annotations

import sqlite3
from typing import Any

import tenacity
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError
from sqlalchemy.pool import ConnectionPoolEntry, Pool, StaticPool

from ingest.errors import ConfigurationError

WRITES = "muniment_writes"
"""Execution option of connections whose transactions write."""

_BUSY_SECONDS = 30
_CONNECT_SECONDS = 10
_POSTGRESQL_NAMES = {"postgres", "postgresql"}
_SQLITE_NAMES = {"sqlite", "sqlite+pysqlite"}

_inherited: list[Pool] = []
"""Connections that a forked child got from its parent: never used, and never closed under it."""


def parse_url(url: str) -> URL:
    """Return the URL with the driver that is installed: psycopg 3 for any PostgreSQL URL.

    Raises:
        ConfigurationError: not a URL, or neither SQLite nor PostgreSQL.
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:
        # The URL itself may hold a password, so it isn't repeated.
        raise _wrong_url("it is not a database URL") from error
    if parsed.drivername.partition("+")[0] in _POSTGRESQL_NAMES:
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.drivername in _SQLITE_NAMES:
        return parsed.set(drivername="sqlite")
    raise _wrong_url(f"{parsed.drivername!r} is not supported")


def make_engine(url: URL) -> Engine:
    """Return an engine for ``url``; connects only when it is used.

    Raises:
        ConfigurationError: the URL has an option that the driver does not know.
    """
    arguments: dict[str, Any] = {}
    if url.get_backend_name() == "sqlite":
        if "timeout" not in url.query:
            arguments["connect_args"] = {"timeout": _BUSY_SECONDS}
        if url.database in (None, "", ":memory:"):
            arguments["poolclass"] = StaticPool  # each connection would be a database of its own
    else:
        arguments["pool_pre_ping"] = True
        if "connect_timeout" not in url.query:
            arguments["connect_args"] = {"connect_timeout": _CONNECT_SECONDS}
    try:
        engine = create_engine(url, **arguments)
    except (ArgumentError, NoSuchModuleError, ValueError, TypeError) as error:
        raise _wrong_url(str(error)) from error
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def leave_inherited(engine: Engine) -> None:
    """Give a forked child's engine a pool of its own, and leave the parent's connections alone.

    Hooks on the pool come too late: its test whether a connection lives talks to the server first.
    """
    _inherited.append(engine.pool)
    engine.dispose(close=False)


def _wrong_url(reason: str) -> ConfigurationError:
    return ConfigurationError(
        "catalog_url",
        f"The catalogue's URL cannot be used: {reason}. Set MUNIMENT_CATALOG_URL to something like "
        "sqlite:////var/lib/muniment/catalog.db or postgresql://user:password@host/database.",
    )


def _prepare_sqlite(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
    # The driver's own way begins a transaction only at the first change, so that what was read
    # before it may be out of date. With None it leaves BEGIN to _begin_sqlite.
    connection.isolation_level = None
    connection.execute("PRAGMA foreign_keys = ON")
    # What is deleted is written over; without it, it stays readable in the file.
    connection.execute("PRAGMA secure_delete = ON")
    # In KiB where negative. With the default of 2 MB a listing of thousands of items reads the same
    # pages again and again.
    connection.execute("PRAGMA cache_size = -32768")
    _write_ahead(connection)


# Where several processes open a new file at once, switching fails whatever the busy timeout.
@tenacity.retry(
    retry=tenacity.retry_if_exception_type(sqlite3.OperationalError),
    stop=tenacity.stop_after_delay(_BUSY_SECONDS),
    wait=tenacity.wait_random(0.01, 0.1),
    reraise=True,
)
def _write_ahead(connection: sqlite3.Connection) -> None:
    # Asking first avoids the lock that switching takes: the mode is kept in the file.
    if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        connection.execute("PRAGMA journal_mode = WAL")


def _begin_sqlite(connection: Connection) -> None:
    # A deferred transaction that reads and then writes fails at once if another wrote in between,
    # whatever the busy timeout; an immediate one waits for its turn.
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

"""Transactions, and what a database's errors mean to an operator."""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar, cast

from more_itertools import chunked
from pydantic import BaseModel
from sqlalchemy import CursorResult, Delete, Engine, Update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.orm import Session

from ingest.catalog.engine import WRITES, leave_inherited, make_engine, parse_url
from ingest.catalog.models import Base
from ingest.errors import ConfigurationError, FatalError, MunimentError, RetriableError

T = TypeVar("T")
ModelT = TypeVar("ModelT", bound=BaseModel)

CONFLICT = "catalog_conflict"

_ATTEMPTS = 12
_PAUSE_SECONDS = 0.02
_BATCH = 500
"""Values in one IN list or statement: well below the limits of both databases."""

# PostgreSQL's codes, whole or their class of two characters (its manual, appendix A).
_LOCKED_STATES = {"40001", "40P01", "55P03"}
_UNREACHABLE_STATES = {"08", "53300", "57P01", "57P02", "57P03"}
_DENIED_STATES = {"28", "3D000", "42501"}
_UNIQUE_STATE = "23505"
_FULL_STATE = "53100"
_NO_TABLE_STATE = "42P01"
# A refused connection has no code, only the server's text.
_DENIED_TEXTS = ("authentication failed", "does not exist", "no pg_hba.conf", "no password")

_UNIQUE_CODES = {sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY}


class Transactions:
    """Gives the catalogue's methods their transactions."""

    def __init__(self, url: str) -> None:
        """Take the URL of the database; nothing is connected yet.

        Raises:
            ConfigurationError: ``catalog_url``.
        """
        parsed = parse_url(url)
        self._address = parsed.set(query={}).render_as_string(hide_password=True)
        self._engine = make_engine(parsed)
        self._engine_writing = self._engine.execution_options(**{WRITES: True})
        self._process = os.getpid()

    @property
    def engine(self) -> Engine:
        """The engine for transactions that read."""
        self._notice_fork()
        return self._engine

    @property
    def _writer(self) -> Engine:
        """The engine for transactions that write."""
        self._notice_fork()
        return self._engine_writing

    def _notice_fork(self) -> None:
        if self._process != os.getpid():
            leave_inherited(self._engine)
            self._process = os.getpid()

    def close(self) -> None:
        """Close the connections; the next call opens new ones."""
        self.engine.dispose()

    @contextmanager
    def _reading(self) -> Iterator[Session]:
        """Give a session on one consistent state of the database."""
        with self._explained(), Session(self.engine) as session, session.begin():
            yield session

    def reading(self) -> AbstractContextManager[Session]:
        """Give a session on one consistent state, for questions that only one caller has."""
        return self._reading()

    @contextmanager
    def _writing(self) -> Iterator[Session]:
        """Give a session whose changes are kept together when the block ends, or not at all."""
        with self._explained(), Session(self._writer) as session, session.begin():
            yield session

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            explained = explain(error, self._address)
            if explained is None:
                raise
            raise explained from error

    def _retrying(self, work: Callable[[], T]) -> T:
        """Run ``work``, a whole transaction, anew while others insert the same row before it."""
        for attempt in range(1, _ATTEMPTS):
            try:
                return work()
            except RetriableError as error:
                if error.code != CONFLICT:
                    raise
            # By chance, so that those who met don't meet again; no secret hangs on it.
            time.sleep(random.uniform(0, _PAUSE_SECONDS * attempt))  # noqa: S311
        return work()


def insert_into(session: Session, table: type[Base]) -> sqlite.Insert | postgresql.Insert:
    """Return the dialect's INSERT, which has ON CONFLICT."""
    if session.get_bind().dialect.name == "postgresql":
        return postgresql.insert(table)
    return sqlite.insert(table)


def change(session: Session, statement: Update | Delete) -> int:
    """Run an UPDATE or DELETE and return how many rows it met."""
    options = {"synchronize_session": False}  # no row is kept in memory past its use
    result = session.execute(statement, execution_options=options)
    return cast("CursorResult[Any]", result).rowcount


def to_record(kind: type[ModelT], row: Base) -> ModelT:
    """Return ``row`` as a record that outlives its session."""
    return kind.model_validate(row, from_attributes=True)


def batches(values: Iterable[T]) -> Iterator[list[T]]:
    """Yield ``values`` in lists that fit one statement."""
    return chunked(values, _BATCH)


def explain(error: SQLAlchemyError, address: str) -> MunimentError | None:
    """Return the error of the pipeline's own tree for ``error``; None for a programmer's mistake.

    Args:
        error: what SQLAlchemy raised.
        address: the catalogue's URL without password.
    """
    if isinstance(error, PoolTimeoutError):
        return locked(address, "all connections are in use")
    if not isinstance(error, DBAPIError):
        return None
    reason = str(error.orig).strip().partition("\n")[0]
    if isinstance(error.orig, sqlite3.Error):
        return _explain_sqlite(error.orig, address, reason)
    return _explain_postgresql(error, address, reason)


def _explain_sqlite(error: sqlite3.Error, address: str, reason: str) -> MunimentError | None:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:
        return None
    if code in _UNIQUE_CODES:
        return _conflict(address)
    # The low byte is the primary code (https://sqlite.org/rescode.html).
    match code & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return locked(address, reason)
        case sqlite3.SQLITE_FULL:
            return _full(address)
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return _denied(address, reason)
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB | sqlite3.SQLITE_IOERR:
            return FatalError(
                "catalog_damaged",
                f"The catalogue {address} cannot be read: {reason}. Check the disk, then restore "
                "the file from a backup.",
            )
    return _no_table(address, reason) if reason.startswith("no such table") else None


def _explain_postgresql(error: DBAPIError, address: str, reason: str) -> MunimentError | None:
    state = getattr(error.orig, "sqlstate", None)
    if state is None:
        if isinstance(error, OperationalError) and any(text in reason for text in _DENIED_TEXTS):
            return _denied(address, reason)
        if isinstance(error, OperationalError) or error.connection_invalidated:
            return _unreachable(address, reason)
        return None
    if state == _UNIQUE_STATE:
        return _conflict(address)
    if state == _FULL_STATE:
        return _full(address)
    if state == _NO_TABLE_STATE:
        return _no_table(address, reason)
    if state in _LOCKED_STATES:
        return locked(address, reason)
    if {state, state[:2]} & _UNREACHABLE_STATES:
        return _unreachable(address, reason)
    if {state, state[:2]} & _DENIED_STATES:
        return _denied(address, reason)
    return None


def locked(address: str, reason: str) -> RetriableError:
    """Return the error for a catalogue that others keep in use."""
    return RetriableError(
        "catalog_locked",
        f"The catalogue {address} is in use by others: {reason}. Try again; if it happens often, "
        "use PostgreSQL for the catalogue.",
    )


def _unreachable(address: str, reason: str) -> RetriableError:
    return RetriableError(
        "catalog_unreachable",
        f"The catalogue {address} does not answer: {reason}. Try again once its server is up.",
    )


def _conflict(address: str) -> RetriableError:
    return RetriableError(
        CONFLICT,
        f"The catalogue {address} got the same entry from another process at the same time. Try "
        "again: the entry is found then.",
    )


def _denied(address: str, reason: str) -> ConfigurationError:
    return ConfigurationError(
        "catalog_denied",
        f"The catalogue {address} cannot be opened: {reason}. Check MUNIMENT_CATALOG_URL, that "
        "the folder or database exists, and the rights of its user.",
    )


def _no_table(address: str, reason: str) -> ConfigurationError:
    return ConfigurationError(
        "catalog_not_migrated",
        f"The catalogue {address} lacks a table: {reason}. Call Catalog.migrate() first, as every "
        "muniment command does.",
    )


def _full(address: str) -> FatalError:
    return FatalError(
        "disk_full",
        f"The disk of the catalogue {address} is full. Free space on it, then run again; nothing "
        "half-written was kept.",
    )

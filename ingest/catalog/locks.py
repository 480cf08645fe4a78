"""The lock of a document: one process at a time brings the index up to date with it.

The database, or the kernel, drops a lock when its holder dies, so none is ever left behind.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from ingest.catalog.transactions import Transactions
from ingest.errors import RetriableError

_WAIT_SECONDS = 60.0
_POLL_SECONDS = 0.02
_STRIPES = 256
"""Lock files of a catalogue in SQLite: documents that share one wait for each other, no more."""
_LOCK_NOT_AVAILABLE = "55P03"


class Locks(Transactions):
    """The catalogue's locks."""

    @contextmanager
    def document_lock(self, doc_id: str) -> Iterator[None]:
        """Keep other processes and threads from changing the document's points meanwhile.

        A holder must not ask for a second one: two that wait for each other would both fail.

        Raises:
            RetriableError: ``document_locked`` where another one holds it for too long.
        """
        if self.engine.dialect.name == "postgresql":
            with self._advisory_lock(doc_id):
                yield
        else:
            with self._file_lock(doc_id):
                yield

    @contextmanager
    def _advisory_lock(self, doc_id: str) -> Iterator[None]:
        """Hold a session-level lock (PostgreSQL's manual, 13.3.5) on a connection of its own."""
        key = int.from_bytes(_digest(doc_id)[:8], "big", signed=True)
        with self._explained(), self.engine.connect() as connection:
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            connection.execute(text(f"SET lock_timeout = '{int(_WAIT_SECONDS)}s'"))
            try:
                connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": key})
            except OperationalError as error:
                if getattr(error.orig, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
                    raise _locked(doc_id) from error
                raise
            try:
                yield
            finally:
                connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": key})
                connection.execute(text("RESET lock_timeout"))

    @contextmanager
    def _file_lock(self, doc_id: str) -> Iterator[None]:
        database = self.engine.url.database
        if database in (None, "", ":memory:"):
            yield  # the database is this process's own
            return
        folder = Path(f"{database}.locks")
        folder.mkdir(parents=True, exist_ok=True)
        stripe = int.from_bytes(_digest(doc_id)[:2], "big") % _STRIPES
        descriptor = os.open(folder / f"{stripe:03d}", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _flock(descriptor, doc_id)
            yield
        finally:
            os.close(descriptor)


def _flock(descriptor: int, doc_id: str) -> None:
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                raise _locked(doc_id) from error
            time.sleep(_POLL_SECONDS)
        else:
            return


def _digest(doc_id: str) -> bytes:
    return hashlib.sha256(doc_id.encode()).digest()


def _locked(doc_id: str) -> RetriableError:
    return RetriableError(
        "document_locked",
        f"Document {doc_id} is being brought up to date by another run, and was for more than "
        f"{_WAIT_SECONDS:.0f} seconds. Try again; if it stays so, look for a run that hangs.",
    )

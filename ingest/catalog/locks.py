"""Locks: one process at a time changes the points of a document, or of all of them.

The database, or the kernel, drops a lock when its holder dies, so none is ever left behind.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Callable, Iterator
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
_INDEX = "index"
"""What all who change points hold together, and who changes the collection alone."""
_ALERTS = "alerts"
_LOCK_NOT_AVAILABLE = "55P03"


class Locks(Transactions):
    """The catalogue's locks."""

    @contextmanager
    def document_lock(self, doc_id: str) -> Iterator[None]:
        """Keep other processes and threads from changing the document's points meanwhile.

        A holder must not ask for a second one: two that wait for each other would both fail.

        Raises:
            RetriableError: ``document_locked`` where another one holds it for too long, or
                ``index_switching`` where readers are being turned to another collection.
        """
        with self._lock(_INDEX, _switching, shared=True), self._lock(doc_id, _document_locked):
            yield

    @contextmanager
    def index_lock(self) -> Iterator[None]:
        """Keep others from changing the points of any document meanwhile.

        Raises:
            RetriableError: ``index_in_use`` where others hold documents for too long.
        """
        with self._lock(_INDEX, _index_in_use):
            yield

    @contextmanager
    def alerts_lock(self) -> Iterator[None]:
        """Keep others from telling people of incidents meanwhile.

        Raises:
            RetriableError: ``alerts_locked`` where another one takes too long.
        """
        with self._lock(_ALERTS, _alerts_locked):
            yield

    @contextmanager
    def _lock(
        self, name: str, refusal: Callable[[str], RetriableError], *, shared: bool = False
    ) -> Iterator[None]:
        if self.engine.dialect.name == "postgresql":
            with self._advisory_lock(name, refusal, "_shared" if shared else ""):
                yield
        else:
            with self._file_lock(name, refusal, fcntl.LOCK_SH if shared else fcntl.LOCK_EX):
                yield

    @contextmanager
    def _advisory_lock(
        self, name: str, refusal: Callable[[str], RetriableError], kind: str
    ) -> Iterator[None]:
        """Hold a session-level lock (PostgreSQL's manual, 13.3.5) on a connection of its own."""
        key = {"key": int.from_bytes(_digest(name)[:8], "big", signed=True)}
        with self._explained(), self.engine.connect() as connection:
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            connection.execute(text(f"SET lock_timeout = '{int(_WAIT_SECONDS)}s'"))
            try:
                connection.execute(text(f"SELECT pg_advisory_lock{kind}(:key)"), key)
            except OperationalError as error:
                if getattr(error.orig, "sqlstate", None) == _LOCK_NOT_AVAILABLE:
                    raise refusal(name) from error
                raise
            try:
                yield
            finally:
                connection.execute(text(f"SELECT pg_advisory_unlock{kind}(:key)"), key)
                connection.execute(text("RESET lock_timeout"))

    @contextmanager
    def _file_lock(
        self, name: str, refusal: Callable[[str], RetriableError], kind: int
    ) -> Iterator[None]:
        database = self.engine.url.database
        if database in (None, "", ":memory:"):
            yield  # the database is this process's own
            return
        folder = Path(f"{database}.locks")
        folder.mkdir(parents=True, exist_ok=True)
        stripe = int.from_bytes(_digest(name)[:2], "big") % _STRIPES
        file = folder / (name if name in (_INDEX, _ALERTS) else f"{stripe:03d}")
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            deadline = time.monotonic() + _WAIT_SECONDS
            while not _flock(descriptor, kind):
                if time.monotonic() > deadline:
                    raise refusal(name)
                time.sleep(_POLL_SECONDS)
            yield
        finally:
            os.close(descriptor)


def _flock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _digest(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


def _document_locked(doc_id: str) -> RetriableError:
    return RetriableError(
        "document_locked",
        f"Document {doc_id} is being brought up to date by another run, and was for more than "
        f"{_WAIT_SECONDS:.0f} seconds. Try again; if it stays so, look for a run that hangs.",
    )


def _switching(_: str) -> RetriableError:
    return RetriableError(
        "index_switching",
        f"Readers are being turned to another collection, and were for more than "
        f"{_WAIT_SECONDS:.0f} seconds. Try again; if it stays so, look for a rebuild that hangs.",
    )


def _index_in_use(_: str) -> RetriableError:
    return RetriableError(
        "index_in_use",
        f"Others have been changing points of the index for more than {_WAIT_SECONDS:.0f} seconds "
        "without a break. Try again; what was filled so far stays.",
    )


def _alerts_locked(_: str) -> RetriableError:
    return RetriableError(
        "alerts_locked",
        f"Another process has been telling people of incidents for more than {_WAIT_SECONDS:.0f} "
        "seconds. Those it does not tell are told the next time.",
    )

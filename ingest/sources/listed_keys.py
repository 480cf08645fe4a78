"""Which keys a listing has had so far, in little memory however long it is."""

from __future__ import annotations

import sqlite3
from types import TracebackType
from typing import Self

_IN_MEMORY = 100_000
"""Hashes that are kept in memory, some 10 MB; what comes after them goes to disk."""


class ListedKeys:
    """A set of keys, kept as Python's hashes of them: eight bytes, with a secret of the process.

    Of ten million keys two have the same hash once in some 400,000 listings.
    """

    def __init__(self, in_memory: int = _IN_MEMORY) -> None:
        self._in_memory = in_memory
        self._hashes: set[int] = set()
        self._disk: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._disk is not None:
            self._disk.close()

    def add(self, key: str) -> bool:
        """Take a key in, and tell whether it is a new one."""
        hashed = hash(key)
        if hashed in self._hashes:
            return False
        if len(self._hashes) < self._in_memory:
            self._hashes.add(hashed)
            return True
        if self._disk is None:
            self._disk = _open()
        inserted = self._disk.execute("INSERT OR IGNORE INTO listed VALUES (?)", (hashed,))
        return inserted.rowcount == 1

    def __contains__(self, key: str) -> bool:
        hashed = hash(key)
        if hashed in self._hashes:
            return True
        if self._disk is None:
            return False
        found = self._disk.execute("SELECT 1 FROM listed WHERE hashed = ?", (hashed,))
        return found.fetchone() is not None


def _open() -> sqlite3.Connection:
    # Without a name it is a temporary file, which goes when it is closed or the process dies.
    disk = sqlite3.connect("", isolation_level=None)
    disk.execute("PRAGMA journal_mode = OFF")
    disk.execute("CREATE TABLE listed (hashed INTEGER PRIMARY KEY)")
    disk.execute("BEGIN")
    return disk

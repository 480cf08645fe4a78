"""The lock of the embedded index."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import IO

from ingest.errors import RetriableError


class IndexLock:
    """Keeps the embedded index to one process, from before it is read until it is closed.

    Qdrant's local mode has a lock of its own, but reads the whole collection first and locks
    afterwards: what another process writes in between is missing in memory, and would be written
    over. The kernel drops the lock when its holder dies, so none is ever left behind.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder.with_name(folder.name + ".lock")
        self._stream: IO[str] | None = None

    def acquire(self) -> None:
        """Take the lock.

        Raises:
            RetriableError: another process, or another object in this one, has it.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True)
        stream = self._path.open("a+")
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            stream.seek(0)
            holder = stream.read().strip()
            stream.close()
            raise index_locked(self._folder, f"process {holder}" if holder else None) from error
        stream.truncate(0)
        stream.write(str(os.getpid()))
        stream.flush()
        self._stream = stream

    def release(self) -> None:
        """Give the lock back; does nothing where it is not held."""
        if self._stream is not None:
            # Explicitly: a process forked in the meantime would keep it otherwise.
            fcntl.flock(self._stream, fcntl.LOCK_UN)
            self._stream.close()
            self._stream = None


def index_locked(folder: Path | str, holder: str | None = None) -> RetriableError:
    """Return the error for an index that someone else has open."""
    return RetriableError(
        "index_locked",
        f"The embedded index in {folder} is open in {holder or 'another process'}, and only one at "
        "a time may have it. Try again when that one is done, or run a Qdrant server and set "
        "MUNIMENT_QDRANT__URL.",
    )

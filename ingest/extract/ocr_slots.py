"""Turns at the processor: as many recognitions at once as there are cores, over all processes."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_POLL_SECONDS = 0.01
"""A page takes a tenth of a second at least, so looking this often loses little."""


class OcrSlots:
    """``count`` turns that threads and processes share through lock files in a folder.

    The kernel drops a lock when its holder dies, in whatever way, so no turn is ever lost. Only the
    first of those who wait looks for a free turn; the others sleep until they are first.
    """

    def __init__(self, folder: Path, count: int) -> None:
        """Use ``folder``, which is on this machine and is made where it is missing.

        Raises:
            ValueError: ``count`` is below 1.
            OSError: the folder cannot be made.
        """
        if count < 1:
            raise ValueError(f"{count} slots are none")
        folder.mkdir(parents=True, exist_ok=True)
        self._queue = folder / "queue.lock"
        self._slots = [folder / f"{number}.lock" for number in range(count)]

    @contextmanager
    def take(self) -> Iterator[None]:
        """Hold a turn; waits until one is free. A thread that holds one must not take another.

        Raises:
            OSError: the folder is gone or cannot be written.
        """
        slot = self._wait()
        try:
            yield
        finally:
            # Explicitly: a process forked in the meantime would keep it otherwise.
            fcntl.flock(slot, fcntl.LOCK_UN)
            os.close(slot)

    def _wait(self) -> int:
        """Return the open, locked file of a free turn."""
        queue = _open(self._queue)
        try:
            fcntl.flock(queue, fcntl.LOCK_EX)
            while True:
                for path in self._slots:
                    slot = _open(path)
                    try:
                        fcntl.flock(slot, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    except BlockingIOError:
                        os.close(slot)
                    else:
                        return slot
                time.sleep(_POLL_SECONDS)
        finally:
            fcntl.flock(queue, fcntl.LOCK_UN)
            os.close(queue)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT, 0o666)


_shared: OcrSlots | None = None


def share_slots(folder: Path, count: int) -> None:
    """Let all recognitions of this process take turns with the others that use ``folder``."""
    global _shared
    _shared = OcrSlots(folder, count)


def shared_slots() -> OcrSlots | None:
    """Return the turns that this process shares; None where it is alone."""
    return _shared

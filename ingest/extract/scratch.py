"""Scratch folders that a killed process does not leave behind for ever."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

_PREFIX = "muniment-extract-"
_LOCK = "lock"


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Yield a new folder, removed at the end; those of processes that were killed go as well.

    The owner holds a lock on a file inside. The kernel drops it when the owner dies, in whatever
    container it ran, so a folder whose lock is free belongs to nobody.
    """
    remove_abandoned()
    with TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with (folder / _LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield folder


def remove_abandoned() -> None:
    """Remove the folders of processes that were killed."""
    for folder in Path(gettempdir()).glob(f"{_PREFIX}*"):
        try:
            with (folder / _LOCK).open("r") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            # Held by its owner, not locked yet, another user's, or gone in the meantime.
            continue

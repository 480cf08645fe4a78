"""A way of starting children that does not depend on the program that starts them.

A child that ``multiprocessing`` spawns imports its parent's main module first. Under Airflow that
is all of Airflow, before any limit is set; under a script without an ``if __name__`` guard it is
the script itself, over and over; and where the main module is no importable file it fails. Workers
here need nothing of it, so it is hidden while one is started.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.popen_spawn_posix import Popen
from multiprocessing.process import BaseProcess
from types import ModuleType

_lock = threading.Lock()


@contextmanager
def _main_hidden() -> Iterator[None]:
    with _lock:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


class _Process(SpawnProcess):
    @staticmethod
    def _Popen(process_obj: BaseProcess) -> Popen:  # noqa: N802 - multiprocessing's name
        with _main_hidden():
            return Popen(process_obj)


class CleanSpawnContext(SpawnContext):
    """The spawn context of ``multiprocessing``, with children that ignore the main module."""

    Process = _Process

"""Progress: what a run is doing, as events that a display or another process can follow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Protocol

from schemas.base import Model
from schemas.run import Stage


class ProgressEvent(Model):
    """One thing that happened. ``done`` and ``total`` count items of the batch."""

    run_id: str
    stage: Stage
    source_id: str
    batch_id: str | None = None
    state: Literal["started", "advanced", "finished", "failed"]
    done: int = 0
    total: int = 0
    detail: str = ""


class ProgressSink(Protocol):
    """Whoever wants to know."""

    def emit(self, event: ProgressEvent) -> None:
        """Take one event; must not raise."""


class ProgressFile:
    """Appends events to a file as JSON lines, so that other processes can follow the run.

    Each event is written with a single ``write`` on a descriptor opened for appending, which keeps
    the lines of parallel tasks whole.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def emit(self, event: ProgressEvent) -> None:
        """Append ``event``; makes the file and its folder if need be."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = (event.model_dump_json() + "\n").encode()
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)


class ProgressReader:
    """Reads the events that were appended to a file since the last call."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0

    def new_events(self) -> Iterator[ProgressEvent]:
        """Yield events not yet seen; a half-written last line is left for the next call."""
        if not self.path.exists():
            return
        with self.path.open("rb") as stream:
            stream.seek(self._offset)
            data = stream.read()
        whole = data.rpartition(b"\n")[0]
        if not whole:
            return
        self._offset += len(whole) + 1
        for line in whole.splitlines():
            yield ProgressEvent.model_validate_json(line)

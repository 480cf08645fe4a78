"""Clocks, and ways to see what the pipeline gives its engines and how long they take."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

if TYPE_CHECKING:
    from PIL.Image import Image

    from schemas.document import BoxTuple

ENGINES = (
    ("ocr.tesseract", "TesseractEngine"),
    ("ocr.tesserocr_engine", "TesserocrEngine"),
    ("ocr.rapid", "RapidEngine"),
)
"""Module and class of every engine."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds that something took."""

    wall: float = 0.0
    cpu: float = 0.0
    """Of this process, all its threads, and the processes that it started and that have ended."""

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.wall + other.wall, self.cpu + other.cpu)

    def __sub__(self, other: Spent) -> Spent:
        return Spent(self.wall - other.wall, self.cpu - other.cpu)

    @classmethod
    def now(cls) -> Spent:
        """Return the clocks; only differences mean anything."""
        own = resource.getrusage(resource.RUSAGE_SELF)
        others = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime
        return cls(time.perf_counter(), cpu)


@dataclass(slots=True)
class Observation:
    """What the pipeline asked of its engines while it was observed."""

    images: list[tuple[Image, float, BoxTuple]] = field(default_factory=list)
    """Images given for recognition, each with its dpi and the area of the page that it shows."""
    calls: int = 0
    engines: Spent = Spent()
    """Time inside engines; only one page may be read at a time while this is counted."""


@contextmanager
def observed() -> Iterator[Observation]:
    """Observe all recognition in this process."""
    observation = Observation()
    with ExitStack() as stack:
        recogniser: Any = import_module("ocr.recognition").PageRecogniser
        read = recogniser.read

        def reading(
            self: object, image: Image, dpi: float, box: BoxTuple, *rest: Any, **more: Any
        ) -> Any:
            observation.images.append((image, dpi, box))
            return read(self, image, dpi, box, *rest, **more)

        stack.enter_context(patch.object(recogniser, "read", reading))
        for module, name in ENGINES:
            engine: Any = getattr(import_module(module), name)
            stack.enter_context(
                patch.object(engine, "recognise", _timed(engine.recognise, observation))
            )
        yield observation


def _timed(recognise: Any, observation: Observation) -> Any:
    def timed(*arguments: Any, **more: Any) -> Any:
        started = Spent.now()
        try:
            return recognise(*arguments, **more)
        finally:
            observation.engines += Spent.now() - started
            observation.calls += 1

    return timed

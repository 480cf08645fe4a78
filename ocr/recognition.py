"""Reading an area of a page: upright, level, and again where the first reading was not enough."""

from __future__ import annotations

import hashlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from ocr.attempts import Attempt, How, Subject, with_boxes
from ocr.engine import EngineUnavailableError, OcrEngine, OcrError, OcrWord
from ocr.stored_reading import cache_key, decode_reading, encode_reading
from schemas.document import Recognition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PIL.Image import Image

    from schemas.document import BoxTuple

log = logging.getLogger(__name__)

_RULES = "3"
"""Part of the cache's keys; to be changed with anything that changes what a reading will be."""
_FIRST = How()
_SECOND = How(enlarge=False, even_paper=False)
_AGAIN = (
    How(segmentation="sparse"),
    How(threshold="sauvola", even_paper=False),
    How(darken=True),
    How(segmentation="block"),
)
"""What the first engine tries where its first reading was not enough and there is no second."""
_UPRIGHT_CONFIDENCE = 56.0
"""Upright pages that could be read at all had a mean of this or more, turned ones of 47 or less."""
_UPRIGHT_UNCOVERED = 0.5
"""Of a turned page an engine may find a figure or two that look right, and nothing else."""
_MARGIN = 1.02
"""Another reading is chosen only if its score is higher than the first one's by this factor."""


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
        digest = _image_sha256(image)
        key = None
        if self._cache is not None:
            engines = [self._first] + ([self._second] if self._second else [])
            key = cache_key(digest, dpi, engines, _RULES)
            stored = self._cache.get(key)
            found = None if stored is None else decode_reading(stored, box)
            if found is not None:
                return Reading(*found)
        reading = self._read(image, dpi, box, digest)
        if self._cache is not None and key is not None:
            self._cache.put(key, encode_reading(reading.words, reading.record))
        return reading

    def _read(self, image: Image, dpi: float, box: BoxTuple, digest: str) -> Reading:
        subject = Subject(image, dpi)
        attempts = self._upright(subject)
        first = chosen = _best(attempts)
        if not first.enough:
            attempts += self._again(subject, first)
            chosen = _best(attempts)
            joined = _joined(subject, chosen, attempts)
            if joined is not chosen:
                attempts.append(joined)
                chosen = joined
        level = subject.level(chosen.turn)
        record = Recognition(
            box=box,
            image_sha256=digest,
            dpi=dpi,
            turn=chosen.turn,
            skew=round(level.skew, 3),
            attempts=tuple(attempt.record for attempt in attempts),
            chosen=attempts.index(chosen),
            reasons=_reasons(first),
            flagged=not chosen.enough,
        )
        boxes = level.to_displayed([word.box for word in chosen.words])
        return Reading(tuple(with_boxes(chosen.words, boxes)), record)

    def _upright(self, subject: Subject) -> list[Attempt]:
        """Read the image once, and in other turns where it seems to have been the wrong one."""
        orientation = subject.orientation
        try:
            attempts = [subject.attempt(self._first, _FIRST, orientation.turn)]
        except OcrError as error:
            if self._second is None or isinstance(error, EngineUnavailableError):
                raise
            return [subject.attempt(self._second, _SECOND, orientation.turn)]
        for turn in orientation.alternatives:
            # A handful of figures looks like others upside down.
            stands = attempts[-1].enough if orientation.unsure else _stands(attempts[-1])
            if stands:
                break
            attempts.append(subject.attempt(self._first, _FIRST, turn))
        return attempts

    def _again(self, subject: Subject, first: Attempt) -> list[Attempt]:
        """Read the image in other ways until one is enough."""
        if self._second is not None:
            try:
                return [subject.attempt(self._second, _SECOND, first.turn)]
            except OcrError as error:
                log.warning("%s is not used for an image: %s", self._second.name, error)
        attempts: list[Attempt] = []
        for how in _AGAIN:
            attempts.append(subject.attempt(self._first, how, first.turn))
            if attempts[-1].enough:
                break
        return attempts


def _image_sha256(image: Image) -> str:
    """Return the SHA-256 of the size and the pixels."""
    digest = hashlib.sha256(f"{image.mode} {image.width} {image.height} ".encode())
    digest.update(image.tobytes())
    return digest.hexdigest()


def _stands(attempt: Attempt) -> bool:
    """Say whether a reading is of an image that stands upright, or has nothing to be read."""
    confidence, uncovered = attempt.record.confidence, attempt.record.uncovered_ink
    if confidence is None:
        return uncovered == 0
    return confidence >= _UPRIGHT_CONFIDENCE and uncovered <= _UPRIGHT_UNCOVERED


def _best(attempts: Sequence[Attempt]) -> Attempt:
    """Return the attempt with the highest score; the first one if that is as good.

    Its paragraphs and the boxes of its words are better than those of the others.
    """
    best = max(attempts, key=lambda attempt: attempt.record.score)
    first = attempts[0]
    return first if first.record.score * _MARGIN >= best.record.score else best


def _joined(subject: Subject, chosen: Attempt, attempts: Sequence[Attempt]) -> Attempt:
    """Return the chosen attempt with words that only others found, while text is missing."""
    joined = chosen
    for other in sorted(attempts, key=lambda attempt: -attempt.record.score):
        if not joined.covered and other is not chosen and other.turn == chosen.turn:
            joined = subject.joined(joined, other)
    return joined


def _reasons(attempt: Attempt) -> tuple[Literal["low_confidence", "uncovered_ink"], ...]:
    """Say why an attempt is not enough."""
    reasons: list[Literal["low_confidence", "uncovered_ink"]] = []
    if not attempt.sure:
        reasons.append("low_confidence")
    if not attempt.covered:
        reasons.append("uncovered_ink")
    return tuple(reasons)

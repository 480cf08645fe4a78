"""One reading of an image by one engine in one way, and what is known of the image beforehand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from PIL import ImageOps

from ocr.cleaning import measure_shading
from ocr.components import find_components
from ocr.engine import mean_confidence
from ocr.ink import uncovered_ink
from ocr.orientation import find_orientation
from ocr.scoring import expected_accuracies, length, mean_accuracy, score
from ocr.supplement import missing_words, supplemented
from ocr.transform import Transform
from schemas.document import OcrAttempt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from PIL.Image import Image

    from ocr.cleaning import Shading
    from ocr.components import Components
    from ocr.engine import OcrEngine, OcrWord, PixelBox, Segmentation, Threshold
    from ocr.orientation import Orientation
    from ocr.transform import Turn

_ENLARGED, _REDUCED = 20.0, 40.0
"""Height in pixels to which letters are enlarged, and reduced. Tesseract reads both well, and
beside large letters there may be small ones."""
_SMALL, _HUGE = 14.0, 60.0
"""Letters between these heights are left as they are: resampling costs sharpness."""
_LARGEST_SCALE = 3.0
_MAX_PIXELS = 40_000_000
"""Images are not enlarged beyond this."""
_POINTS = (3.2, 9.0)
"""Heights of letters (between "x" and "X") in body text of 6 to 16 points. A stated resolution by
which they are smaller or larger is not the image's."""
_TYPICAL_POINTS = 5.2
_POINTS_PER_INCH = 72

ENOUGH_ACCURACY = 0.955
"""Expected share of right characters; what a mean confidence of 90 stands for in Tesseract."""
MAX_UNCOVERED_INK = 0.015
"""Up to this it is punctuation, handwriting and stamps. More had 66 of 67 pages that had lost over
5% of their text (31 of 32 held out), and 11 of 84 that had lost under 2%."""
_SPECK = 50.0
"""Confidence below which words of marks alone are left out, and counted. It halved the characters
that were read where there are none on dirty pages, and no text was lost by it."""
_SURE_WORD = 0.9
"""Expected accuracy of a word that is added from another reading. Where the chosen reading has
nothing, most words below this are noise."""


@dataclass(frozen=True, slots=True)
class How:
    """What an engine is asked to do with an image."""

    segmentation: Segmentation = "page"
    threshold: Threshold = "otsu"
    enlarge: bool = True
    """Whether small letters are enlarged first; engines that look for lines do so themselves."""
    even_paper: bool | None = None
    """Whether shading is taken out first; None: where the paper is uneven."""
    darken: bool = False
    """Whether shading is taken out and faint ink made black."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What was read."""

    words: list[OcrWord]
    """Boxes in pixels of the image turned upright and levelled, not scaled."""
    accuracy: float
    """Expected share of right characters."""
    engine: str
    """Name of the engine that read most of the words."""
    record: OcrAttempt
    turn: Turn

    @property
    def covered(self) -> bool:
        """True where no text seems to be missing."""
        return self.record.uncovered_ink <= MAX_UNCOVERED_INK

    @property
    def sure(self) -> bool:
        """True where the words are probably right; where there are none, nothing is doubtful."""
        return not self.words or self.accuracy >= ENOUGH_ACCURACY

    @property
    def enough(self) -> bool:
        """True where no other reading is needed."""
        return self.covered and self.sure


class Subject:
    """An image to be read, with what its letters tell before any engine has seen it."""

    def __init__(self, image: Image, dpi: float) -> None:
        """Take an 8-bit grey image as displayed."""
        self._stated_dpi = dpi
        self._prepared: dict[tuple[Transform, bool, bool], Image] = {}
        self.components: Components = find_components(image)
        self._image = ImageOps.invert(image) if self.components.negative else image
        self.orientation: Orientation = find_orientation(self.components)

    def level(self, turn: Turn) -> Transform:
        """Return how the image is made upright by ``turn``, and level."""
        return Transform(self._image.width, self._image.height, turn, skew=self.orientation.skew)

    def attempt(self, engine: OcrEngine, how: How, turn: Turn) -> Attempt:
        """Read the image.

        Raises:
            OcrError: the engine failed on it.
            EngineUnavailableError: the engine or a language is not installed.
        """
        transform = replace(self.level(turn), scale=self._scale(how))
        even = self._shading.uneven if how.even_paper is None else how.even_paper
        words = engine.recognise(
            self._to_read(transform, even=even, darken=how.darken),
            max(1, round(self._dpi * transform.scale)),
            segmentation=how.segmentation,
            threshold=how.threshold,
        )
        kept = [word for word in words if not _is_speck(word)]
        specks = len(words) - len(kept)
        words = with_boxes(kept, transform.unscaled([word.box for word in kept]))
        accuracies = expected_accuracies(engine.name, words)
        record = OcrAttempt(
            engine=f"{engine.name} {engine.version}",
            how=_described(
                how,
                transform.scale,
                even=even,
                specks=specks,
                negative=self.components.negative,
            ),
            words=len(words),
            confidence=mean_confidence(words),
            uncovered_ink=self._uncovered_ink(words, turn),
            score=max(0.0, score(words, accuracies)),
        )
        return Attempt(words, mean_accuracy(words, accuracies), engine.name, record, turn)

    def joined(self, base: Attempt, other: Attempt) -> Attempt:
        """Return ``base`` with the words that only ``other`` found and is sure of.

        Both are of the same turn. If there are no such words where letters are, it is ``base``.
        """
        accuracies = expected_accuracies(other.engine, other.words)
        sure = [
            word
            for word, accuracy in zip(other.words, accuracies, strict=True)
            if accuracy >= _SURE_WORD
        ]
        extra = missing_words(base.words, sure)
        words = supplemented(base.words, extra)
        uncovered = self._uncovered_ink(words, base.turn)
        if uncovered >= base.record.uncovered_ink:
            return base
        gained = expected_accuracies(other.engine, extra)
        before, more = length(base.words), length(extra)
        record = base.record.model_copy(
            update={
                "engine": _both(base.record.engine, other.record.engine),
                "how": f"{base.record.how}; with words that only {other.record.how} found",
                "words": len(words),
                "confidence": mean_confidence(words),
                "uncovered_ink": uncovered,
                "score": base.record.score + max(0.0, score(extra, gained)),
            }
        )
        accuracy = base.accuracy * before + mean_accuracy(extra, gained) * more
        return Attempt(words, accuracy / (before + more), base.engine, record, base.turn)

    def _uncovered_ink(self, words: Sequence[OcrWord], turn: Turn) -> float:
        return uncovered_ink(
            self.components,
            [word.box for word in words],
            self.level(turn),
            either_way=self.orientation.unsure,
        )

    @cached_property
    def _shading(self) -> Shading:
        return measure_shading(self._image, self.components.height)

    @cached_property
    def _dpi(self) -> float:
        """The stated resolution, or one by which the letters have the size of body text."""
        height = self.components.height
        points = height * _POINTS_PER_INCH / self._stated_dpi
        if not height or _POINTS[0] <= points <= _POINTS[1]:
            return self._stated_dpi
        return height * _POINTS_PER_INCH / _TYPICAL_POINTS

    def _scale(self, how: How) -> float:
        height = self.components.height
        if not height or _SMALL <= height <= _HUGE:
            return 1.0
        if height > _HUGE:
            return _REDUCED / height
        if not how.enlarge:
            return 1.0
        most = (_MAX_PIXELS / (self._image.width * self._image.height)) ** 0.5
        return float(max(1.0, min(_ENLARGED / height, _LARGEST_SCALE, most)))

    def _to_read(self, transform: Transform, *, even: bool, darken: bool) -> Image:
        key = transform, even, darken
        if key not in self._prepared:
            image = self._image
            if darken:
                image = self._shading.darkened(image)
            elif even:
                image = self._shading.taken_out(image)
            # One is kept, for the next try in another segmentation.
            self._prepared = {key: transform.apply(image)}
        return self._prepared[key]


def with_boxes(words: Sequence[OcrWord], boxes: Sequence[PixelBox]) -> list[OcrWord]:
    """Return the words with other boxes, one for each."""
    return [
        word if word.box == box else replace(word, box=box)
        for word, box in zip(words, boxes, strict=True)
    ]


def _is_speck(word: OcrWord) -> bool:
    """Say whether a word is dirt: a mark without a letter or figure that was hardly recognised."""
    return word.confidence < _SPECK and not any(sign.isalnum() for sign in word.text)


def _described(how: How, scale: float, *, even: bool, specks: int, negative: bool) -> str:
    parts = [{"page": "page", "sparse": "sparse text", "block": "one block"}[how.segmentation]]
    if how.threshold == "sauvola":
        parts.append("Sauvola")
    if negative:
        parts.append("inverted")
    if how.darken:
        parts.append("faint ink darkened")
    elif even:
        parts.append("shading taken out")
    if scale != 1:
        parts.append(f"{'enlarged' if scale > 1 else 'reduced'} {scale:.2g}×")
    if specks:
        parts.append(f"{specks} speck{'s' if specks > 1 else ''} left out")
    return ", ".join(parts)


def _both(one: str, other: str) -> str:
    return one if other in one.split(" + ") else f"{one} + {other}"

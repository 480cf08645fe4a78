"""Which pages, and which areas of pages, go through OCR.

Three things may be true of a page, and of several parts of one page at once: its text layer serves;
its text layer is no text; its words are pixels. What is decided here is decided from numbers and
boxes alone, so that it can be tested without a page.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from schemas.document import BoxTuple

Reason = Literal["no_text", "untrusted_text", "poor_ocr_layer"]
"""Why a whole page is recognised."""

FEW_CHARACTERS = 200
"""A stamp, a running head and a page number together seldom have more."""
SCAN_SHARE = 0.5
"""An image over this share of the page may be a scan of it."""
UNREADABLE_SHARE = 0.1
"""Good text has none at all, but for a bullet or a formula set in a font of its own."""
SUSPICION = 0.5
_TOUCHING = 2.0
"""Points between the strips and tiles into which software cuts one picture."""
_MIN_SIDE = 20.0
_MIN_AREA = 4_000.0
"""Points and square points; what is smaller is a bullet, a rule, or a line of a logo."""

_LETTERS_IN_LINE = 8
_CHAIN = 4
_COMPARED = 400
_TALLER = 2.2
"""A letter may be so many times as high as its neighbour."""
_INTO = 0.3
"""Share of its height by which a letter may reach into the next one's width."""
_MOST = 2_000

_GOOD_WORDS = 0.985
_SINGLE_LETTERS = 0.25
_COVERED_INK = 0.8
_INKED_WORDS = 0.97
_MUCH_LESS = 0.6
_SOLID = 0.6
_SIGNS_OF_PROSE = "-–—•·&§"
"""What stands alone in good text, too."""
_EDGES = ".,;:!?()[]{}<>\"'“”‘’„«»*/$€£%#=+|_~^،؛؟。、「」" + _SIGNS_OF_PROSE
_RUN = re.compile(r"[^\W\d_]+|\d+")
_CAPITALS_INSIDE = re.compile(r"(?:Mc|Mac|De|La|Le|Di|Van|O)[A-Z][a-z]+|[A-Z]{2,}s|[A-Z]{2,}ed")


@dataclass(frozen=True, slots=True)
class PictureArea:
    """A part of the displayed page that is a picture."""

    box: BoxTuple
    """Points of the displayed page."""
    dpi: float
    """Highest resolution of the images in it; 0 for an area that no image makes."""


def untrusted(*, characters: int, unreadable: int, suspicion: float = 0.0) -> bool:
    """Say whether a text layer is no text.

    Args:
        characters: non-blank characters of the text layer.
        unreadable: those of them that are no character: U+FFFD, controls, private use.
        suspicion: how likely the readable ones are codes of glyphs or mojibake, 0 to 1.
    """
    return characters > 0 and (unreadable > UNREADABLE_SHARE * characters or suspicion >= SUSPICION)


def merged(pictures: Iterable[PictureArea], width: float, height: float) -> list[PictureArea]:
    """Return the areas that pictures on a page of ``width`` × ``height`` points make together.

    Strips and tiles of one scan are joined, and areas too small to hold words are left out.
    """
    areas: list[PictureArea] = []
    for picture in pictures:
        x0, y0, x1, y1 = picture.box
        box = max(0.0, x0), max(0.0, y0), min(width, x1), min(height, y1)
        if box[0] >= box[2] or box[1] >= box[3]:
            continue
        area = PictureArea(box, picture.dpi)
        # What grew by one neighbour may touch the next.
        while touching := [other for other in areas if _touch(area.box, other.box)]:
            areas = [other for other in areas if other not in touching]
            together = [area, *touching]
            area = PictureArea(
                _bounds([one.box for one in together]), max(one.dpi for one in together)
            )
        areas.append(area)
    return [
        area
        for area in areas
        if min(area.box[2] - area.box[0], area.box[3] - area.box[1]) >= _MIN_SIDE
        and box_area(area.box) >= _MIN_AREA
    ]


def holds_text(components: NDArray[np.float64]) -> bool:
    """Say whether letter-like components (n, 4) stand in lines, as letters do and leaves do not.

    Lines may run across or down.
    """
    return _stand_in_line(components) or _stand_in_line(components[:, [1, 0, 3, 2]])


def _stand_in_line(boxes: NDArray[np.float64]) -> bool:
    """Say whether enough components have a neighbour of their size to the right.

    They count in chains of four up. A component further left makes a chain longer or begins one,
    so the rest need not be looked at once there are enough.
    """
    if len(boxes) < _CHAIN:
        return False
    if len(boxes) > _MOST:
        boxes = boxes[np.argsort(boxes[:, 1])][:_MOST]
    left, top, right, bottom = boxes[np.argsort(boxes[:, 0])].T
    height = bottom - top
    # Whatever fits begins between these.
    near = np.searchsorted(left, right - _INTO * height).tolist()
    far = np.searchsorted(left, right + _TALLER * height, side="right").tolist()
    chain = [1] * len(left)
    is_first = [True] * len(left)
    count = 0
    for one in range(len(left) - 2, -1, -1):
        start = max(near[one], one + 1)
        others = slice(start, min(far[one], one + 1 + _COMPARED))
        if others.start >= others.stop:
            continue
        smaller = np.minimum(height[one], height[others])
        larger = np.maximum(height[one], height[others])
        common = np.minimum(bottom[one], bottom[others]) - np.maximum(top[one], top[others])
        gap = left[others] - right[one]
        fits = (
            (common > 0.5 * smaller)
            & (larger < _TALLER * smaller)
            & (gap < larger)
            & (gap > -_INTO * height[one])
        )
        first = int(fits.argmax())
        if not fits[first]:
            continue
        following = start + first
        chain[one] += chain[following]
        if is_first[following] and chain[following] >= _CHAIN:
            count -= chain[following]
        is_first[following] = False
        if chain[one] >= _CHAIN:
            count += chain[one]
        if count >= _LETTERS_IN_LINE:
            return True
    return False


def trusts_layer(texts: Iterable[str], *, covered: float, inked: float) -> bool:
    """Say whether the invisible text over a scan is as good as OCR would make it.

    Args:
        texts: its words.
        covered: share of the scan's letters that lie under words.
        inked: share of the words that have ink under them.
    """
    return word_share(texts) >= _GOOD_WORDS and covered >= _COVERED_INK and inked >= _INKED_WORDS


def prefers_layer(texts: Iterable[str], *, suspicion: float, recognised: int) -> bool:
    """Say whether a text layer that is not trusted is still much better than what OCR reads.

    So it is where a script was not asked for, and where a scan is too bad for the engine at hand.

    Args:
        texts: words of the text layer.
        suspicion: how likely they are codes of glyphs or mojibake, 0 to 1.
        recognised: characters that were recognised surely.
    """
    good = sum(len(text) for text in texts if text.isprintable() and _is_word(text.strip(_EDGES)))
    return recognised < _MUCH_LESS * good * (1.0 - suspicion)


def covered_share(boxes: NDArray[np.float64], components: NDArray[np.float64]) -> float:
    """Return the share of components (m, 4) whose middle lies in or close to a box (n, 4)."""
    x = (components[:, 0] + components[:, 2]) / 2
    y = (components[:, 1] + components[:, 3]) / 2
    covered = np.zeros(len(components), dtype=bool)
    for x0, y0, x1, y1 in boxes:
        slack = 0.15 * (y1 - y0)
        covered |= (x >= x0 - slack) & (x <= x1 + slack) & (y >= y0 - slack) & (y <= y1 + slack)
    return float(covered.mean())


def word_share(texts: Iterable[str]) -> float:
    """Return the share of the texts that are shaped like words or numbers, 0 to 1.

    A word has capitals at its beginning or throughout. Bad OCR mixes them with digits and signs,
    takes specks for signs, and sets letters apart: more than a few single letters are no words.
    """
    good = total = single = 0
    for text in texts:
        total += 1
        core = text.strip().strip(_SIGNS_OF_PROSE)
        good += not core or _is_word(core)
        single += len(core) == 1 and core.lower() != core.upper() and core not in "aAI"
    if not total:
        return 1.0
    if single > _SINGLE_LETTERS * total:
        good = min(good, total - single)
    return good / total


def _is_word(text: str) -> bool:
    runs = _runs(text)
    letters = [run for run in runs if run[0].isalpha()]
    inside = sum(map(len, runs))
    if not runs or inside < _SOLID * len(text.strip(_EDGES)):
        return False
    if len(runs) > 2 and inside < 2 * len(runs) and letters:
        return False
    return all(
        run.islower()
        or run.isupper()
        or run[1:].islower()
        or run.lower() == run.upper()
        or bool(_CAPITALS_INSIDE.fullmatch(run))
        for run in letters
    )


def _runs(text: str) -> list[str]:
    """Return the runs of letters, and of digits, without accents that stand by themselves."""
    bare = "".join(
        character for character in text if unicodedata.category(character) not in ("Mn", "Mc", "Cf")
    )
    return _RUN.findall(bare)


def box_area(box: BoxTuple) -> float:
    """Return the area of ``box``; 0 where it has none."""
    return max(0.0, box[2] - box[0]) * max(0.0, box[3] - box[1])


def overlap(a: BoxTuple, b: BoxTuple) -> float:
    """Return the area that two boxes have in common."""
    return max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))


def _touch(a: BoxTuple, b: BoxTuple) -> bool:
    return (
        a[0] <= b[2] + _TOUCHING
        and b[0] <= a[2] + _TOUCHING
        and a[1] <= b[3] + _TOUCHING
        and b[1] <= a[3] + _TOUCHING
    )


def _bounds(boxes: Sequence[BoxTuple]) -> BoxTuple:
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)

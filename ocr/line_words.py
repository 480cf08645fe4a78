"""The words of a line that a network read, each with a box that fits its ink.

Such a network says which column of the line's picture each character was seen in, to about half a
character, and nothing about its height. The words' boxes are found from that and from the ink.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import cv2
import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from ocr.engine import PixelBox

    Grey = npt.NDArray[np.uint8]

_SPECK = 0.0004
"""Ink of a smaller area, as a share of the line's height squared, is dirt. A full stop has .01."""
_EDGE = 0.22
"""Ink that begins at the picture's edge and ends this close to it, as a share of the height, is of
the line above or below."""
_RULE_LENGTH, _RULE_THICKNESS = 2.0, 0.15
"""Ink longer and thinner than this, in heights of the line, is a ruled line."""
_FRAME_HEIGHT = 0.6
"""Thin ink at the picture's left or right edge and of this height at least is the side of a frame;
letters keep a distance."""


@dataclass(frozen=True, slots=True)
class LineWord:
    """A word of a line."""

    text: str
    box: PixelBox
    """In pixels of the line's picture."""
    confidence: float
    """0 to 1."""


def words_of_line(
    picture: Grey, text: str, centres: Sequence[float], confidences: Sequence[float]
) -> list[LineWord]:
    """Return the words of a line with boxes around their ink.

    Args:
        picture: the line, height × width, 8-bit grey.
        text: what it says; words are separated by white space.
        centres: where each of its characters that is no white space was seen, in pixels from the
            left, in increasing order.
        confidences: of the same characters, 0 to 1.
    """
    ink = _Ink(picture)
    runs = list(_runs(text))
    cuts = [0.0]
    for (_, _, end), (_, start, _) in pairwise(runs):
        cuts.append(ink.gap(centres[end - 1], centres[start]))
    cuts.append(float(picture.shape[1]))
    return [
        LineWord(word, ink.box(left, right), float(np.mean(confidences[start:end])))
        for (word, start, end), left, right in zip(runs, cuts[:-1], cuts[1:], strict=True)
    ]


def even_words(text: str, width: int, height: int, confidence: float) -> list[LineWord]:
    """Return the words of a line of which nothing but the text is known, each with its share.

    Args:
        text: what the line says; words are separated by white space.
        width: of the line's picture, in pixels.
        height: the same.
        confidence: of the line, 0 to 1.
    """
    step = width / len(text)
    return [
        LineWord(match[0], (match.start() * step, 0.0, match.end() * step, height), confidence)
        for match in re.finditer(r"\S+", text)
    ]


def _runs(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the words of ``text`` with their places among its characters without white space."""
    place = 0
    for word in text.split():
        yield word, place, place + len(word)
        place += len(word)


class _Ink:
    """The ink of a line's picture, without dirt, rules, and what reaches in from other lines."""

    def __init__(self, picture: Grey) -> None:
        self._height, self._width = picture.shape
        self._mask = _letters(picture)
        self._columns = self._mask.sum(axis=0, dtype=np.int64)

    def gap(self, left: float, right: float) -> float:
        """Return the middle of the widest run of columns without ink between two characters.

        Without such a run it is the column with the least ink.
        """
        first = int(np.clip(left, 0, self._width - 1))
        last = int(np.clip(np.ceil(right), first + 1, self._width))
        columns = self._columns[first:last]
        empty = np.flatnonzero(np.diff(np.concatenate(([0], columns == 0, [0]))))
        if empty.size:
            starts, ends = empty[::2], empty[1::2]
            widest = int(np.argmax(ends - starts))
            return first + float(starts[widest] + ends[widest]) / 2
        return first + float(np.argmin(columns)) + 0.5

    def box(self, left: float, right: float) -> PixelBox:
        """Return the box around the ink between two columns, all of that area where there is none.

        It is at least one pixel wide and high.
        """
        first = int(np.clip(left, 0, self._width - 1))
        last = int(np.clip(np.ceil(right), first + 1, self._width))
        part = self._mask[:, first:last]
        across = np.flatnonzero(part.any(axis=0))
        if not across.size:
            down = np.flatnonzero(self._mask.any(axis=1))
            top, bottom = (down[0], down[-1] + 1) if down.size else (0, self._height)
            return float(first), float(top), float(last), float(bottom)
        down = np.flatnonzero(part.any(axis=1))
        return (
            float(first + across[0]),
            float(down[0]),
            float(first + across[-1] + 1),
            float(down[-1] + 1),
        )


def _letters(picture: Grey) -> npt.NDArray[np.bool_]:
    """Return where the picture has ink that belongs to letters of the line."""
    height, width = picture.shape
    _, dark = cv2.threshold(picture, 0, 1, cv2.THRESH_BINARY_INV + cv2.THRESH_OTSU)
    if 2 * int(dark.sum()) > dark.size:
        # There is more paper than ink, so these are light letters.
        dark = 1 - dark
    length = round(_RULE_LENGTH * height)
    if length <= width:
        # Rules may touch letters, and one another, so they are taken out before what is connected.
        rules = cv2.morphologyEx(dark, cv2.MORPH_OPEN, np.ones((1, length), np.uint8))
        dark = cv2.subtract(dark, rules)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(dark.astype(np.uint8))
    wide, high, area = (
        stats[:, column] for column in (cv2.CC_STAT_WIDTH, cv2.CC_STAT_HEIGHT, cv2.CC_STAT_AREA)
    )
    top = stats[:, cv2.CC_STAT_TOP]
    bottom = top + high
    left = stats[:, cv2.CC_STAT_LEFT]
    right = left + wide
    dirt = area < _SPECK * height * height
    rule = (wide > _RULE_LENGTH * height) & (high < _RULE_THICKNESS * height)
    above = (top == 0) & (bottom < _EDGE * height)
    below = (bottom == height) & (top > (1 - _EDGE) * height)
    side = (left == 0) | (right == width)
    frame = side & (wide < _RULE_THICKNESS * height) & (high > _FRAME_HEIGHT * height)
    keep = ~(dirt | rule | above | below | frame)
    keep[0] = False
    kept: npt.NDArray[np.bool_] = keep[labels]
    return kept

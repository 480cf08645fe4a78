"""Adding to a reading the words that only another one found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ocr.engine import OcrWord, PixelBox

_OVERLAP = 0.15
"""Share of the smaller of two boxes that they have in common when they are of the same ink."""
_SAME_LINE = 0.5
_REACH = 4.0
"""A word this many heights beside a line still belongs to it."""


def missing_words(words: Sequence[OcrWord], others: Sequence[OcrWord]) -> list[OcrWord]:
    """Return those of ``others`` that lie where ``words`` has none."""
    if not words or not others:
        return list(others)
    own, other = _array(words), _array(others)
    low = np.maximum(other[:, None, :2], own[None, :, :2])
    high = np.minimum(other[:, None, 2:], own[None, :, 2:])
    shared = np.maximum(high - low, 0).prod(axis=2)
    smaller = np.minimum(_areas(other)[:, None], _areas(own)[None])
    free = (shared <= _OVERLAP * smaller).all(axis=1)
    return [word for word, is_free in zip(others, free, strict=True) if is_free]


def supplemented(words: Sequence[OcrWord], extra: Iterable[OcrWord]) -> list[OcrWord]:
    """Return ``words`` with ``extra`` put where they are read: in their line, or one of their own.

    A line of its own comes after the line above it. Boxes are of an upright, level image.
    """
    lines = [list(line) for _, line in groupby(words, key=_line_key)]
    alone: list[OcrWord] = []
    for word in extra:
        line = _line_of(word, lines)
        if line is None:
            alone.append(word)
        else:
            first = line[0]
            line.append(
                replace(word, block=first.block, paragraph=first.paragraph, line=first.line)
            )
            line.sort(key=lambda each: each.box[0])
    block = max((word.block for word in words), default=0)
    for _, run in groupby(alone, key=_line_key):
        block += 1
        new = [replace(word, block=block, paragraph=1, line=1) for word in run]
        lines.insert(_place_of(_hull(new), [_hull(line) for line in lines]), new)
    return [word for line in lines for word in line]


def _line_key(word: OcrWord) -> tuple[int, int, int]:
    return word.block, word.paragraph, word.line


def _line_of(word: OcrWord, lines: list[list[OcrWord]]) -> list[OcrWord] | None:
    """Return the line that the word stands in, the nearest if there are several."""
    x0, y0, x1, y1 = word.box
    best: tuple[float, list[OcrWord]] | None = None
    for line in lines:
        for other in line:
            left, top, right, bottom = other.box
            lower = min(y1 - y0, bottom - top)
            gap = max(left - x1, x0 - right)
            if min(y1, bottom) - max(y0, top) < _SAME_LINE * lower or gap > _REACH * (y1 - y0):
                continue
            # A word of another size beside it is no neighbour: a logo, or a drop capital.
            if max(y1 - y0, bottom - top) > 2 * lower:
                continue
            if best is None or gap < best[0]:
                best = gap, line
    return best[1] if best else None


def _place_of(box: PixelBox, lines: list[PixelBox]) -> int:
    """Return the index at which a line with ``box`` is read."""
    middle = (box[1] + box[3]) / 2
    column = [
        (index, (line[1] + line[3]) / 2)
        for index, line in enumerate(lines)
        if min(line[2], box[2]) > max(line[0], box[0])
    ]
    above = [(middle - y, -index) for index, y in column if y <= middle]
    if above:
        return 1 - min(above)[1]
    below = [index for index, y in column if y > middle]
    return min(below) if below else len(lines)


def _hull(words: Sequence[OcrWord]) -> PixelBox:
    boxes = _array(words)
    x0, y0 = (float(v) for v in boxes[:, :2].min(axis=0))
    x1, y1 = (float(v) for v in boxes[:, 2:].max(axis=0))
    return x0, y0, x1, y1


def _array(words: Sequence[OcrWord]) -> NDArray[np.float64]:
    return np.array([word.box for word in words], dtype=np.float64).reshape(-1, 4)


def _areas(boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    areas: NDArray[np.float64] = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)
    return areas

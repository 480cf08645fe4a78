"""The order in which the lines of a page are read, from their boxes alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ocr.engine import PixelBox


@dataclass(frozen=True, slots=True)
class Place:
    """Where a line, or a part of one, stands in the order."""

    index: int
    """Of its box in what was given."""
    block: int
    """From 1."""
    line: int
    """In its block, from 1; parts of one line have the same."""


def reading_order(boxes: Sequence[PixelBox]) -> list[Place]:
    """Return the places of lines, first to last.

    The page is cut along white bands (an XY cut): across where a band goes from side to side, and
    between columns of prose. Other columns, as in tables and forms, are read row by row.

    Args:
        boxes: of lines or parts of lines of a page that stands upright and level.
    """
    if not boxes:
        return []
    height = median(box[3] - box[1] for box in boxes)
    places: list[Place] = []
    for number, block in enumerate(_blocks(boxes, list(range(len(boxes))), height), start=1):
        for line, row in enumerate(_rows(boxes, block), start=1):
            places += [Place(index, number, line) for index in row]
    return places


_BAND = 0.8
"""White from side to side of this height parts blocks; in heights of a line, as are the others."""
_GUTTER = 1.0
"""White between columns is this wide at least; the space between words is half of it."""
_COLUMN_WIDTH, _COLUMN_LINES = 8.0, 3
_FILLED = 0.6
"""Lines of prose fill this share of their column; those of a form's field seldom do."""
_SAME_LINE = 0.5
"""Parts of one line overlap by this share of the lower one's height."""


def _blocks(boxes: Sequence[PixelBox], region: list[int], height: float) -> Iterator[list[int]]:
    """Yield the region's blocks, first to last."""
    waiting = [region]
    while waiting:
        part = waiting.pop()
        cut = _columns(boxes, part, height) or _bands(boxes, part, height)
        if cut is None:
            yield part
        else:
            waiting += reversed(cut)


def _columns(
    boxes: Sequence[PixelBox], region: list[int], height: float
) -> tuple[list[int], list[int]] | None:
    """Cut a region of prose in columns at its widest gutter; None where there is none."""
    for _, left, right in _gaps(boxes, region, 0, _GUTTER * height):
        if _is_prose(boxes, left, height) and _is_prose(boxes, right, height):
            return left, right
    return None


def _bands(
    boxes: Sequence[PixelBox], region: list[int], height: float
) -> tuple[list[int], list[int]] | None:
    """Cut a region at its highest white band, or the first of them; None where there is none."""
    for _, above, below in _gaps(boxes, region, 1, _BAND * height):
        return above, below
    return None


def _gaps(
    boxes: Sequence[PixelBox], region: list[int], axis: int, least: float
) -> list[tuple[float, list[int], list[int]]]:
    """Return the gaps of a region along an axis, and what is on either side; widest first."""
    ordered = sorted(region, key=lambda index: boxes[index][axis])
    gaps = []
    end = boxes[ordered[0]][axis + 2]
    for place, index in enumerate(ordered[1:], start=1):
        gap = boxes[index][axis] - end
        if gap >= least:
            gaps.append((gap, ordered[:place], ordered[place:]))
        end = max(end, boxes[index][axis + 2])
    return sorted(gaps, key=lambda gap: -gap[0])


def _is_prose(boxes: Sequence[PixelBox], region: list[int], height: float) -> bool:
    rows = _rows(boxes, region)
    width = _extent(boxes, region)
    if len(rows) < _COLUMN_LINES or width < _COLUMN_WIDTH * height:
        return False
    return median(_extent(boxes, row) for row in rows) >= _FILLED * width


def _extent(boxes: Sequence[PixelBox], region: list[int]) -> float:
    return max(boxes[index][2] for index in region) - min(boxes[index][0] for index in region)


def _rows(boxes: Sequence[PixelBox], region: list[int]) -> list[list[int]]:
    """Return the lines of a block from top to bottom, the parts of each from left to right."""
    rows: list[list[int]] = []
    for index in sorted(region, key=lambda index: boxes[index][1] + boxes[index][3]):
        _, top, _, bottom = boxes[index]
        if rows:
            _, before_top, _, before_bottom = boxes[rows[-1][-1]]
            shared = min(bottom, before_bottom) - max(top, before_top)
            if shared >= _SAME_LINE * min(bottom - top, before_bottom - before_top):
                rows[-1].append(index)
                continue
        rows.append([index])
    return [sorted(row, key=lambda index: boxes[index][0]) for row in rows]

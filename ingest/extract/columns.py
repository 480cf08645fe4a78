"""Columns: what stands side by side is read one column after the other.

Two inputs need this. The layout model now and then reads two columns of prose across, so that one
heading follows the other and a paragraph the wrong one (`by_column`). And where no model has seen
the page there are only lines with boxes, in the order in which the file draws them or the OCR
engine met them (`reading_order`).

Columns are taken apart only where each of them is prose, or where their lines do not stand at the
same heights: the cells of a table and the labels of a form, with their values beside them, are read
across.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from statistics import median
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from schemas.document import BoxTuple, ElementKind

Floats = npt.NDArray[np.float64]
_ASIDE: frozenset[ElementKind] = frozenset({"header", "footer", "footnote"})
_GUTTER = 6.0
"""Narrowest gap between columns, in points."""
_WIDE = 0.6
"""A region that takes this share of the text's width stands across the columns."""
_PROSE_HEIGHT = 36.0
"""About three lines. Labels with their values beside them are lower, and are read across."""
_PROSE_WIDTH = 100.0

_GUTTER_HEIGHTS = 0.7
"""Narrowest gap between columns of lines, in heights of a line: two spaces of running text."""
_PROSE_LINES = 3
_PROSE_WORDS = 4
_PROSE_SHARE = 0.25
"""A column is prose if it has so many lines of so many words, and they are this share of it."""
_LEVEL = 0.2
"""Lines whose middles differ by less than this share of a line's height stand side by side."""
_INDEPENDENT_LINES = 5
_INDEPENDENT_SHARE = 0.6
"""By chance a third of a column's lines have one beside them; in a table nearly all of them do."""
_NEAR = 3.0
"""A line alone joins the columns below it if it is not further away than so many lines."""


class Placed(Protocol):
    """Anything with a box on the page and a role."""

    @property
    def box(self) -> BoxTuple: ...  # noqa: D102 - see the class

    @property
    def kind(self) -> ElementKind: ...  # noqa: D102 - see the class


RegionT = TypeVar("RegionT", bound=Placed)


def by_column(regions: Sequence[RegionT]) -> list[RegionT]:
    """Return the regions with each band of prose columns in the order of its columns.

    Everything else, headers, footers and footnotes too, stays where it was in the order.
    """
    ordered = list(regions)
    for band in _bands(regions):
        columns = _columns([regions[index] for index in band])
        if len(columns) < 2 or not all(_is_prose(column) for column in columns):
            continue
        wanted = [
            region
            for column in columns
            for region in sorted(column, key=lambda region: region.box[1])
        ]
        for index, region in zip(sorted(band), wanted, strict=True):
            ordered[index] = region
    return ordered


def _bands(regions: Sequence[Placed]) -> Iterator[list[int]]:
    """Yield the indexes of narrow regions between one wide region and the next, down the page."""
    body = [index for index, region in enumerate(regions) if region.kind not in _ASIDE]
    if not body:
        return
    left = min(regions[index].box[0] for index in body)
    right = max(regions[index].box[2] for index in body)
    band: list[int] = []
    for index in sorted(body, key=lambda index: regions[index].box[1]):
        x0, _, x1, _ = regions[index].box
        if x1 - x0 < _WIDE * (right - left):
            band.append(index)
        else:
            yield band
            band = []
    yield band


def _columns(band: Sequence[RegionT]) -> list[list[RegionT]]:
    """Group regions whose horizontal extents touch, from left to right."""
    columns: list[list[RegionT]] = []
    edge = float("-inf")
    for region in sorted(band, key=lambda region: region.box[0]):
        if region.box[0] > edge + _GUTTER:
            columns.append([])
        columns[-1].append(region)
        edge = max(edge, region.box[2])
    return columns


def _is_prose(column: Sequence[Placed]) -> bool:
    return any(
        x1 - x0 >= _PROSE_WIDTH and y1 - y0 >= _PROSE_HEIGHT
        for x0, y0, x1, y1 in (region.box for region in column)
    )


@dataclass(frozen=True, slots=True)
class _Band:
    """Lines that share a height of the page with one another and with no other line."""

    lines: list[int]
    top: float
    bottom: float


def reading_order(
    boxes: Sequence[BoxTuple], words: Callable[[int], int], *, rightward: bool = True
) -> list[list[int]]:
    """Return runs of lines in reading order, as indexes; inside a run they go from top to bottom.

    A run is a column of prose, what stands between columns, or what is read across. The page is
    cut into bands where columns begin and end, and each band at its gutters, again and again (a
    recursive X-Y cut that looks for gutters before it looks for gaps between paragraphs).

    Args:
        boxes: of the lines, in any unit.
        words: gives the number of words in a line that begin with a letter.
        rightward: False where the columns follow one another to the left.
    """
    if not boxes:
        return []
    height = median(y1 - y0 for _, y0, _, y1 in boxes) or 1.0
    return _Cutter(boxes, words, height, rightward=rightward).runs(list(range(len(boxes))))


class _Cutter:
    def __init__(
        self,
        boxes: Sequence[BoxTuple],
        words: Callable[[int], int],
        height: float,
        *,
        rightward: bool,
    ) -> None:
        self._boxes = boxes
        self._words = cache(words)
        self._height = height
        self._rightward = rightward

    def runs(self, lines: list[int]) -> list[list[int]]:
        bands = self._bands(lines)
        runs: list[list[int]] = []
        done = at = 0
        while at < len(bands):
            gaps = self._gaps(bands[at].lines)
            if not gaps:
                at += 1
                continue
            first, stop, gaps = self._reach(bands, done, at, gaps)
            columns = self._columns(_lines(bands[first:stop]), gaps)
            if len(columns) < 2:
                # Read across: lines alone above and below have no part in it.
                first, stop = at, self._last_beside(bands, at, stop)
                columns = []
                if stop - first < 2:
                    # One line with a wide space in it.
                    at = stop
                    continue
            if first > done:
                runs.append(_lines(bands[done:first]))
            if columns:
                for column in columns if self._rightward else reversed(columns):
                    runs += self.runs(column)
            else:
                runs.append(_lines(bands[first:stop]))
            done = at = stop
        if done < len(bands):
            runs.append(_lines(bands[done:]))
        return runs

    def _bands(self, lines: list[int]) -> list[_Band]:
        bands: list[_Band] = []
        members: list[int] = []
        top = bottom = 0.0
        # Letters that hang below a line may touch the next one.
        slack = 0.15 * self._height
        for index in sorted(lines, key=lambda index: self._boxes[index][1]):
            _, y0, _, y1 = self._boxes[index]
            if members and y0 < bottom - slack:
                members.append(index)
                bottom = max(bottom, y1)
            else:
                if members:
                    bands.append(_Band(members, top, bottom))
                members, top, bottom = [index], y0, y1
        if members:
            bands.append(_Band(members, top, bottom))
        return bands

    def _gaps(self, lines: list[int]) -> list[tuple[float, float]]:
        """Return the gaps between lines that are wide enough for a gutter, from left to right."""
        if len(lines) < 2:
            return []
        gaps: list[tuple[float, float]] = []
        edge = float("inf")
        for x0, x1 in sorted((self._boxes[index][0], self._boxes[index][2]) for index in lines):
            if x0 - edge >= _GUTTER_HEIGHTS * self._height:
                gaps.append((edge, x0))
            edge = x1 if edge == float("inf") else max(edge, x1)
        return gaps

    def _left_free(
        self, gaps: list[tuple[float, float]], lines: list[int]
    ) -> list[tuple[float, float]]:
        """Return what the lines leave of the gaps."""
        least = _GUTTER_HEIGHTS * self._height
        for index in lines:
            x0, _, x1, _ = self._boxes[index]
            if all(x1 <= low or high <= x0 for low, high in gaps):
                continue
            gaps = [
                part
                for low, high in gaps
                for part in ((low, min(high, x0)), (max(low, x1), high))
                if part[1] - part[0] >= least
            ]
            # A line left of a gap leaves it whole on one side and nothing on the other.
            gaps = sorted(set(gaps))
        return gaps

    def _reach(
        self, bands: list[_Band], done: int, at: int, gaps: list[tuple[float, float]]
    ) -> tuple[int, int, list[tuple[float, float]]]:
        """Return the bands around the one at ``at`` that leave a gap of it open, and such gaps."""
        stop = at + 1
        while stop < len(bands):
            free = self._left_free(gaps, bands[stop].lines)
            if not free:
                break
            gaps, stop = free, stop + 1
        first = at
        while first > done:
            near = bands[first].top - bands[first - 1].bottom <= _NEAR * self._height
            free = self._left_free(gaps, bands[first - 1].lines)
            if not free or not near:
                break
            gaps, first = free, first - 1
        return first, stop, gaps

    def _last_beside(self, bands: list[_Band], at: int, stop: int) -> int:
        while stop > at + 1 and not self._gaps(bands[stop - 1].lines):
            stop -= 1
        return stop

    def _columns(self, lines: list[int], gaps: list[tuple[float, float]]) -> list[list[int]]:
        """Cut at the gaps; what is no prose, such as hanging numbers, joins its neighbour."""
        edges = [(low + high) / 2 for low, high in gaps]
        columns: list[list[int]] = [[] for _ in range(len(edges) + 1)]
        for index in lines:
            x0, _, x1, _ = self._boxes[index]
            columns[sum((x0 + x1) / 2 > edge for edge in edges)].append(index)
        columns = [column for column in columns if column]
        while len(columns) > 1:
            poor = next(
                (
                    number
                    for number, column in enumerate(columns)
                    if not (self._is_prose(column) or self._is_independent(number, columns))
                ),
                None,
            )
            if poor is None:
                break
            with_left = poor == len(columns) - 1 or (
                poor > 0
                and self._between(columns[poor - 1], columns[poor])
                < self._between(columns[poor], columns[poor + 1])
            )
            left = poor - 1 if with_left else poor
            columns[left : left + 2] = [columns[left] + columns[left + 1]]
        return columns

    def _between(self, left: list[int], right: list[int]) -> float:
        return min(self._boxes[index][0] for index in right) - max(
            self._boxes[index][2] for index in left
        )

    def _is_independent(self, number: int, columns: list[list[int]]) -> bool:
        """Say whether a column's lines stand at other heights than those of its neighbours."""
        heights = self._middles[columns[number]]
        if len(heights) < _INDEPENDENT_LINES:
            return False
        for other in (number - 1, number + 1):
            if not 0 <= other < len(columns):
                continue
            beside = np.sort(self._middles[columns[other]])
            if len(beside) < _INDEPENDENT_LINES:
                return False
            level = int((_nearest(beside, heights) < _LEVEL * self._height).sum())
            if level >= _INDEPENDENT_SHARE * len(heights):
                return False
        return True

    @cached_property
    def _middles(self) -> Floats:
        """Heights at which the lines stand."""
        return np.array([(y0 + y1) / 2 for _, y0, _, y1 in self._boxes])

    def _is_prose(self, column: list[int]) -> bool:
        long = sum(self._words(index) >= _PROSE_WORDS for index in column)
        return long >= _PROSE_LINES and long >= _PROSE_SHARE * len(column)


def _nearest(heights: Floats, wanted: Floats) -> Floats:
    """Return how far the nearest of the sorted heights is from each of those wanted."""
    at = np.searchsorted(heights, wanted)
    above = heights[np.maximum(at - 1, 0)]
    below = heights[np.minimum(at, len(heights) - 1)]
    return np.minimum(np.abs(above - wanted), np.abs(below - wanted))


def _lines(bands: list[_Band]) -> list[int]:
    return [index for band in bands for index in band.lines]

"""Columns: regions that stand side by side are read one column after the other.

The layout model now and then reads two columns of prose across, so that one heading follows the
other and a paragraph the wrong one. Where columns of prose are plain to see, geometry decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, TypeVar

from schemas.document import BoxTuple, ElementKind

_ASIDE: frozenset[ElementKind] = frozenset({"header", "footer", "footnote"})
_GUTTER = 6.0
"""Narrowest gap between columns, in points."""
_WIDE = 0.6
"""A region that takes this share of the text's width stands across the columns."""
_PROSE_HEIGHT = 36.0
"""About three lines. Labels with their values beside them are lower, and are read across."""
_PROSE_WIDTH = 100.0


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

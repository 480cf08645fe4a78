"""Pages as blocks of lines of words, in reading order: what every paged reader makes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from schemas.document import BoxTuple, ElementKind, ExtractionWarning, Page, TextSource

_STEP = 100
"""Boxes are rounded outward to hundredths of a point, a thirtieth of a pixel at 240 dpi."""
_MIN_SIDE = 0.5
"""A word whose glyphs leave no ink, such as a lone accent, still gets a box that can be seen."""


class PageWord(NamedTuple):
    """A word on a page: never blank, no white space inside, box inside the page.

    Pages have hundreds of them: a named tuple is made in a third of the time that a data class
    takes.
    """

    text: str
    box: BoxTuple
    confidence: float | None
    source: TextSource
    box_kind: Literal["word", "line"] = "word"
    """line: the word's share of a line's box by length."""
    bare_box: BoxTuple | None = None
    """Box without the hyphen at the word's end; None without one, or where its place is unknown."""


Line = tuple[PageWord, ...]


@dataclass(frozen=True, slots=True)
class CellSpan:
    """A cell of a table that is not empty, as a number of its row's words."""

    words: int
    column: int
    """From 1."""
    row_span: int = 1
    column_span: int = 1


@dataclass(frozen=True, slots=True)
class RowSpan:
    """A row of a table, as a number of the block's lines."""

    lines: int
    header: bool = False
    cells: tuple[CellSpan, ...] = ()
    """In the order of the row's words; they cover all of them, or there are none."""
    number: int | None = None
    """Number of the row in the table, from 1; None where it is the next one."""


@dataclass(frozen=True, slots=True)
class Block:
    """Lines with one role on one page."""

    kind: ElementKind
    lines: tuple[Line, ...]
    level: int | None = None
    size: float = 0.0
    """Font size of the largest part in points; 0 where it is not known."""
    bold: bool = False
    """True if all of it is known to be bold."""
    rows: tuple[RowSpan, ...] = ()
    """Rows of a table in order; they cover all lines, or there are none."""
    field: str | None = None
    """Name of the form field whose value it is."""

    @property
    def text(self) -> str:
        """The words, joined as the canonical text joins them."""
        return "\n".join(line_text(line) for line in self.lines)


@dataclass(slots=True)
class PageContent:
    """A page and its blocks."""

    page: Page
    blocks: list[Block] = field(default_factory=list)
    laid_out: bool = False
    """True where a layout model gave the roles."""
    warnings: list[ExtractionWarning] = field(default_factory=list)


def line_text(line: Line) -> str:
    """Return the words of ``line`` joined by single spaces."""
    return " ".join(word.text for word in line)


def clamp(box: tuple[float, float, float, float], width: float, height: float) -> BoxTuple | None:
    """Return ``box`` rounded outward and cut to the page; None if it lies wholly outside."""
    x0, y0, x1, y1 = box
    if 0 <= x0 <= x1 - _MIN_SIDE and 0 <= y0 <= y1 - _MIN_SIDE and x1 <= width and y1 <= height:
        # Nearly every word; NaN is never here.
        return (
            int(x0 * _STEP) / _STEP,
            int(y0 * _STEP) / _STEP,
            min(width, math.ceil(x1 * _STEP) / _STEP),
            min(height, math.ceil(y1 * _STEP) / _STEP),
        )
    if not all(math.isfinite(side) for side in box):
        return None
    x0, x1 = _clamp(min(box[0], box[2]), max(box[0], box[2]), width)
    y0, y1 = _clamp(min(box[1], box[3]), max(box[1], box[3]), height)
    return None if x0 >= x1 or y0 >= y1 else (x0, y0, x1, y1)


def _clamp(low: float, high: float, limit: float) -> tuple[float, float]:
    if high < 0 or low > limit:
        return 0.0, 0.0
    if high - low < _MIN_SIDE:
        middle = min(max((low + high) / 2, _MIN_SIDE / 2), limit - _MIN_SIDE / 2)
        low, high = middle - _MIN_SIDE / 2, middle + _MIN_SIDE / 2
    low, high = math.floor(low * _STEP) / _STEP, math.ceil(high * _STEP) / _STEP
    return max(0.0, low), min(limit, high)


def split_word(text: str, box: BoxTuple) -> list[tuple[str, BoxTuple]]:
    """Split ``text`` at white space, such as no-break spaces, and share its box by length."""
    pieces = text.split()
    if len(pieces) < 2:
        return [(pieces[0], box)] if pieces else []
    x0, y0, x1, y1 = box
    upright = x1 - x0 < y1 - y0
    shares: list[tuple[str, BoxTuple]] = []
    position = 0
    for piece in pieces:
        start = text.index(piece, position)
        position = start + len(piece)
        low, high = start / len(text), position / len(text)
        shares.append(
            (
                piece,
                (x0, y0 + low * (y1 - y0), x1, y0 + high * (y1 - y0))
                if upright
                else (x0 + low * (x1 - x0), y0, x0 + high * (x1 - x0), y1),
            )
        )
    return shares

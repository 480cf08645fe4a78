"""Roles and reading order of a digital page, from MuPDF's layout model where it has seen the page.

The layout model (pymupdf.layout, ONNX, offline) gives regions in reading order, each with a class.
Words are put into regions by their middle. Words outside every region are never lost: their MuPDF
blocks become regions of their own, placed by position.
"""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from ingest.extract.blocks import Block, RowSpan, line_text
from ingest.extract.columns import by_column
from ingest.extract.headings import clause_level, run_in_heading
from ingest.extract.lines import bounds, visual_lines
from ingest.extract.paragraphs import paragraphs
from ingest.extract.tables import Grid, table_block
from ingest.extract.text_line import TextLine
from ingest.extract.turns import Frame, Turn, main_turn
from ocr.mupdf import pymupdf
from schemas.document import BoxTuple, ElementKind

_KINDS: dict[str, ElementKind] = {
    "title": "title",
    "section-header": "heading",
    "list-item": "list_item",
    "table": "table",
    "caption": "caption",
    "footnote": "footnote",
    "page-header": "header",
    "page-footer": "footer",
}
"""The model's classes; text, picture and formula are paragraphs."""
_SLACK = 1.0
_MAX_PIXELS = 16_000_000
"""The model looks at the page at 72 dpi; on a wall-sized page it would look at gigabytes."""


@dataclass(frozen=True, slots=True)
class Region:
    """A region of the displayed page."""

    box: BoxTuple
    """In points; in the frame of the page's text, where that does not run to the right."""
    kind: ElementKind
    grid: Grid | None = None
    """Of a table."""


def layout_regions(page: pymupdf.Page) -> list[Region] | None:
    """Ask the layout model for the regions of ``page`` in reading order; None for huge pages."""
    if page.rect.width * page.rect.height > _MAX_PIXELS:
        return None
    turn = _turn(page)
    with _upright(page, turn) as upright:
        upright.get_layout(return_raw=True)
        groups: list[dict[str, Any]] | None = upright.layout_information
    if groups is None:
        raise ImportError("pymupdf.layout could not be imported")
    # The frame's origin is a corner of the displayed page; see `to_frame`.
    left = -page.rect.width if turn == 180 else -page.rect.height if turn == 270 else 0.0
    top = -page.rect.width if turn == 90 else -page.rect.height if turn == 180 else 0.0
    return by_column([_region(group, left, top) for group in groups])


def _turn(page: pymupdf.Page) -> Turn:
    """Return in which direction most of the page's text runs as displayed."""
    blocks = page.get_text("dict", flags=0)["blocks"]
    return main_turn(
        (
            math.degrees(math.atan2(line["dir"][1], line["dir"][0])) + page.rotation,
            sum(len(span["text"]) for span in line["spans"]),
        )
        for block in blocks
        for line in block["lines"]
    )


@contextmanager
def _upright(page: pymupdf.Page, turn: Turn) -> Iterator[pymupdf.Page]:
    """Give a page that needs no /Rotate and looks like ``page``, turned so that text is upright.

    The model works in unrotated coordinates, where the text of a turned page runs up or down and
    looks like a table. Only the regions come from the copy; word boxes come from the page itself.
    """
    rotation = page.rotation
    if rotation == turn == 0:
        yield page
        return
    width, height = page.rect.width, page.rect.height
    if turn in (90, 270):
        width, height = height, width
    page.set_rotation(0)
    try:
        with pymupdf.open() as copy:
            upright = copy.new_page(width=width, height=height)
            upright.show_pdf_page(upright.rect, page.parent, page.number, rotate=turn - rotation)
            yield upright
    finally:
        page.set_rotation(rotation)


def _region(group: dict[str, Any], left: float, top: float) -> Region:
    x0, y0, x1, y1 = (float(side) for side in group["group_bbox"][:4])
    x0, y0, x1, y1 = x0 + left, y0 + top, x1 + left, y1 + top
    kind = _KINDS.get(group["class_name"], "paragraph")
    prediction = group.get("table_grid")
    grid = None
    if kind == "table" and prediction is not None:
        grid = (
            tuple(sorted(y0 + float(y) for y in prediction.h_lines)),
            tuple(sorted(x0 + float(x) for x in prediction.v_lines)),
        )
    return Region((x0, y0, x1, y1), kind, grid)


def blocks_in_order(lines: Sequence[TextLine], regions: Iterable[Region] | None) -> list[Block]:
    """Return the page's blocks in reading order; see `paragraphs` for pages without regions."""
    turn: Turn = 0
    if any(line.angle for line in lines):
        turn = main_turn((line.angle, sum(len(word.text) for word in line.words)) for line in lines)
    if turn == 0:
        return _blocks_in_order(lines, regions)
    frame = Frame(lines, turn)
    return [frame.restored(block) for block in _blocks_in_order(frame.lines, regions)]


def _blocks_in_order(lines: Sequence[TextLine], regions: Iterable[Region] | None) -> list[Block]:
    if regions is None:
        return [part for block in paragraphs(lines) for part in split_headings(block)]
    placed = _place(lines, list(regions))
    return [_promoted(_block(parts, region.kind, region.grid)) for region, parts in placed if parts]


def split_headings(block: Block) -> list[Block]:
    """Split off a first line that is a clause heading; see `headings`."""
    if block.kind != "paragraph" or not block.lines:
        return [block]
    level = clause_level(line_text(block.lines[0]))
    if level is None or _goes_on(block):
        return [block]
    heading = replace(block, kind="heading", lines=block.lines[:1], level=level)
    rest = block.lines[1:]
    return [heading, replace(block, lines=rest)] if rest else [heading]


def _goes_on(block: Block) -> bool:
    """Say whether the heading in the first line ends in the next one, and runs into its clause."""
    words = [word.text for line in block.lines[:3] for word in line]
    found = run_in_heading(words)
    return found is not None and found[0] > len(block.lines[0])


def _promoted(block: Block) -> Block:
    """Make a one-line block a heading if it is a clause heading in capitals.

    The model takes "7. TERMINATION" for a list item now and then.
    """
    if block.kind in ("paragraph", "list_item") and len(block.lines) == 1:
        text = line_text(block.lines[0])
        level = clause_level(text)
        if level is not None and text.isupper():
            return replace(block, kind="heading", level=level)
    return block


def _place(lines: Sequence[TextLine], regions: list[Region]) -> list[tuple[Region, list[TextLine]]]:
    placed: list[list[TextLine]] = [[] for _ in regions]
    stray: dict[int, list[TextLine]] = {}
    for line in lines:
        homes = [_home(word.box, regions) for word in line.words]
        found = [home for home in homes if home is not None]
        # A bullet or a full stop beyond the region's edge belongs with the rest of its line.
        for home, run in groupby(
            zip(line.words, homes, strict=True),
            key=lambda pair: pair[1] if pair[1] is not None else (found[0] if found else None),
        ):
            part = replace(line, words=tuple(word for word, _ in run))
            if home is None:
                stray.setdefault(line.block, []).append(part)
            else:
                placed[home].append(part)
    result = list(zip(regions, placed, strict=True))
    for parts in stray.values():
        region = Region(bounds(word.box for part in parts for word in part.words), "paragraph")
        result.insert(
            _position(region.box, [placed_region for placed_region, _ in result]), (region, parts)
        )
    return result


def _home(box: BoxTuple, regions: list[Region]) -> int | None:
    """Return the index of the smallest region that the middle of ``box`` lies in."""
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    inside = [
        (_area(region.box), index)
        for index, region in enumerate(regions)
        if region.box[0] - _SLACK <= x <= region.box[2] + _SLACK
        and region.box[1] - _SLACK <= y <= region.box[3] + _SLACK
    ]
    return min(inside)[1] if inside else None


def _position(box: BoxTuple, regions: list[Region]) -> int:
    """Return where a block joins the order: after the last region above it in its column."""
    above = [
        index
        for index, region in enumerate(regions)
        if region.box[3] <= box[1] + _SLACK and region.box[0] < box[2] and box[0] < region.box[2]
    ]
    return above[-1] + 1 if above else 0


def _block(parts: list[TextLine], kind: ElementKind, grid: Grid | None) -> Block:
    size = max(part.size for part in parts)
    if kind == "table" and grid and grid[0] and all(part.horizontal for part in parts):
        return table_block(parts, grid, size)
    lines = tuple(visual_lines(parts))
    rows = tuple(RowSpan(1) for _ in lines) if kind == "table" else ()
    return Block(
        kind=kind,
        lines=lines,
        size=size,
        bold=all(part.bold for part in parts),
        rows=rows,
    )


def _area(box: BoxTuple) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])

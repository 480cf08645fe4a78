"""Roles and reading order of a digital page, from MuPDF's layout model or from its blocks.

The layout model (pymupdf.layout, ONNX, offline) gives regions in reading order, each with a class.
Words are put into regions by their middle. Words outside every region are never lost: their MuPDF
blocks become regions of their own, placed by position.
"""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from ingest.extract.blocks import Block, Line, RowSpan, line_text
from ingest.extract.columns import by_column
from ingest.extract.headings import clause_level
from ingest.extract.text_layer import TextLine
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
_NUMBER = re.compile(r"[^\w\s]*\d[\d.,:/-]*[^\w\s]*")
_SLACK = 1.0
_MAX_PIXELS = 16_000_000
"""The model looks at the page at 72 dpi; on a wall-sized page it would look at gigabytes."""


@dataclass(frozen=True, slots=True)
class Region:
    """A region of the displayed page."""

    box: BoxTuple
    kind: ElementKind
    grid: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    """Of a table: y of the lines between rows, x of the lines between columns; points, sorted."""


def layout_regions(page: pymupdf.Page) -> list[Region] | None:
    """Ask the layout model for the regions of ``page`` in reading order; None for huge pages."""
    if page.rect.width * page.rect.height > _MAX_PIXELS:
        return None
    with _upright(page) as upright:
        upright.get_layout(return_raw=True)
        groups: list[dict[str, Any]] | None = upright.layout_information
    if groups is None:
        raise ImportError("pymupdf.layout could not be imported")
    return by_column([_region(group) for group in groups])


@contextmanager
def _upright(page: pymupdf.Page) -> Iterator[pymupdf.Page]:
    """Give a page that looks like ``page`` as displayed but needs no /Rotate.

    The model works in unrotated coordinates, where the text of a turned page runs up or down and
    looks like a table. Only the regions come from the copy; word boxes come from the page itself.
    """
    rotation = page.rotation
    if rotation == 0:
        yield page
        return
    width, height = page.rect.width, page.rect.height
    page.set_rotation(0)
    try:
        with pymupdf.open() as copy:
            upright = copy.new_page(width=width, height=height)
            upright.show_pdf_page(upright.rect, page.parent, page.number, rotate=-rotation)
            yield upright
    finally:
        page.set_rotation(rotation)


def _region(group: dict[str, Any]) -> Region:
    x0, y0, x1, y1 = (float(side) for side in group["group_bbox"][:4])
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
    """Return the page's blocks in reading order; MuPDF's own blocks where there are no regions."""
    if regions is None:
        return [
            block
            for _, run in groupby(lines, key=lambda line: line.block)
            for block in split_headings(_block(list(run), "paragraph", None))
        ]
    placed = _place(lines, list(regions))
    return [_promoted(_block(parts, region.kind, region.grid)) for region, parts in placed if parts]


def split_headings(block: Block) -> list[Block]:
    """Split off a first line that is a clause heading; see `headings`."""
    if block.kind != "paragraph" or not block.lines:
        return [block]
    level = clause_level(line_text(block.lines[0]))
    if level is None:
        return [block]
    heading = replace(block, kind="heading", lines=block.lines[:1], level=level)
    rest = block.lines[1:]
    return [heading, replace(block, lines=rest)] if rest else [heading]


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
        region = Region(_bounds(word.box for part in parts for word in part.words), "paragraph")
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


def _block(
    parts: list[TextLine],
    kind: ElementKind,
    grid: tuple[tuple[float, ...], tuple[float, ...]] | None,
) -> Block:
    size = max(part.size for part in parts)
    if kind == "table" and grid and grid[0] and all(part.horizontal for part in parts):
        return _table(parts, grid, size)
    lines = tuple(visual_lines(parts))
    rows = tuple(RowSpan(1) for _ in lines) if kind == "table" else ()
    return Block(kind=kind, lines=lines, size=size, rows=rows)


def visual_lines(parts: Sequence[TextLine]) -> list[Line]:
    """Join what stands side by side on one line, and order the lines from top to bottom.

    MuPDF breaks a line at wide gaps, as between a number and its clause. Where blocks stand side
    by side, which the layout model should have told apart, MuPDF's own order is kept: ordering by
    height would mix columns line by line. So it is for text that does not run across the page.
    """
    if not all(part.horizontal for part in parts) or _has_columns(parts):
        return [part.words for part in parts]
    rows: list[list[TextLine]] = []
    bounds: list[BoxTuple] = []
    for part in sorted(parts, key=lambda part: _middle(_line_box(part))):
        box = _line_box(part)
        if bounds and _same_line(bounds[-1], box, rows[-1]):
            rows[-1].append(part)
            bounds[-1] = _bounds((bounds[-1], box))
        else:
            rows.append([part])
            bounds.append(box)
    return [_side_by_side(row) for row in rows]


def _same_line(bounds: BoxTuple, box: BoxTuple, row: list[TextLine]) -> bool:
    overlap = min(bounds[3], box[3]) - max(bounds[1], box[1])
    if overlap < 0.5 * min(bounds[3] - bounds[1], box[3] - box[1]):
        return False
    return all(
        other[2] <= box[0] + _SLACK or box[2] <= other[0] + _SLACK for other in map(_line_box, row)
    )


def _side_by_side(row: list[TextLine]) -> Line:
    if len(row) == 1:
        return row[0].words
    rightward = sum(_reads_rightward(part.words) for part in row) * 2 >= len(row)
    ordered = sorted(row, key=lambda part: _line_box(part)[0], reverse=not rightward)
    return tuple(word for part in ordered for word in part.words)


def _reads_rightward(words: Line) -> bool:
    """False where the words, which are in reading order, run to the left: Arabic, Hebrew."""
    return len(words) < 2 or words[0].box[0] <= words[-1].box[0]


def _has_columns(parts: Sequence[TextLine]) -> bool:
    blocks: dict[int, list[BoxTuple]] = {}
    for part in parts:
        blocks.setdefault(part.block, []).append(_line_box(part))
    tall = [_bounds(boxes) for boxes in blocks.values() if _stacked(boxes) >= 2]
    return any(
        (a[2] <= b[0] or b[2] <= a[0])
        and min(a[3], b[3]) - max(a[1], b[1]) > 0.5 * min(a[3] - a[1], b[3] - b[1])
        for index, a in enumerate(tall)
        for b in tall[index + 1 :]
    )


def _stacked(boxes: list[BoxTuple]) -> int:
    """Count the lines of a block that stand below one another."""
    count, bottom = 0, float("-inf")
    for box in sorted(boxes, key=_middle):
        if _middle(box) > bottom:
            count, bottom = count + 1, box[3]
    return count


def _table(
    parts: list[TextLine], grid: tuple[tuple[float, ...], tuple[float, ...]], size: float
) -> Block:
    """Order a table's words by row, then column, then line.

    A row of one-line cells is one line; otherwise each line of each cell is, so that a line's box
    never spans a neighbouring cell's lines.
    """
    between_rows, between_columns = grid
    cells: dict[tuple[int, int], list[TextLine]] = {}
    for part in parts:
        for (row, column), run in groupby(
            part.words,
            key=lambda word: (
                bisect.bisect(between_rows, (word.box[1] + word.box[3]) / 2),
                bisect.bisect(between_columns, (word.box[0] + word.box[2]) / 2),
            ),
        ):
            cells.setdefault((row, column), []).append(replace(part, words=tuple(run)))
    lines: list[Line] = []
    spans: list[int] = []
    texts: list[str] = []
    for _, row_cells in groupby(sorted(cells.items()), key=lambda item: item[0][0]):
        cell_lines = [visual_lines(cell) for _, cell in row_cells]
        if all(len(cell) == 1 for cell in cell_lines):
            row_lines: list[Line] = [tuple(word for cell in cell_lines for word in cell[0])]
        else:
            row_lines = [line for cell in cell_lines for line in cell]
        lines += row_lines
        spans.append(len(row_lines))
        texts.append(" ".join(map(line_text, row_lines)))
    header = _has_header(texts)
    rows = tuple(RowSpan(span, header and index == 0) for index, span in enumerate(spans))
    return Block(kind="table", lines=tuple(lines), size=size, rows=rows)


def _has_header(rows: list[str]) -> bool:
    """Take the first row for a header if it has no number and half of the others have one."""
    numbers = [any(_NUMBER.fullmatch(word) for word in row.split()) for row in rows]
    return len(rows) > 1 and not numbers[0] and sum(numbers) >= 0.5 * (len(rows) - 1)


def _line_box(part: TextLine) -> BoxTuple:
    return _bounds(word.box for word in part.words)


def _bounds(boxes: Iterable[BoxTuple]) -> BoxTuple:
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)


def _middle(box: BoxTuple) -> float:
    return (box[1] + box[3]) / 2


def _area(box: BoxTuple) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])

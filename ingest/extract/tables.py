"""Tables: from words and the lines between rows and columns to cells.

A row's cells are joined by a space and not by a tab: that is how the row reads, how a viewer copies
it, and how it is quoted; where each cell is, and in which column, its own record says.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby, pairwise

from ingest.extract.blocks import Block, CellSpan, Line, PageWord, RowSpan, line_text
from ingest.extract.lines import visual_lines
from ingest.extract.text_line import TextLine

Grid = tuple[tuple[float, ...], tuple[float, ...]]
"""y of the lines between rows, x of the lines between columns; points, sorted."""
_NUMBER = re.compile(r"[^\w\s]*\d[\d.,:/-]*[^\w\s]*")
_SPACE = 0.5
"""Widest space inside a cell's running text, in heights of its letters."""

_HEADS = 2
"""Most rows that head a table."""
_FIGURES = 0.9
_TOLERATED = 0.03
"""Share of a table's rows that may have figures with spaces, which look like two cells."""


def table_block(parts: list[TextLine], grid: Grid, size: float) -> Block:
    """Order a table's words by row, then column, then line.

    A row of one-line cells is one line; otherwise each line of each cell is, so that a line's box
    never spans a neighbouring cell's lines. A cell that runs over several columns counts with the
    first of them. A row whose cells are all empty has a number but no text.
    """
    between_rows = grid[0]
    between_columns = _needed(parts, grid)
    cells: dict[tuple[int, int], list[TextLine]] = {}
    last_columns: dict[tuple[int, int], int] = {}
    for part in parts:
        for words in _runs(part, between_columns):
            row = bisect.bisect(between_rows, _middle_y(words))
            first, last = _columns(words, between_columns)
            cells.setdefault((row, first), []).append(replace(part, words=words))
            last_columns[row, first] = max(last, last_columns.get((row, first), last))
    lines: list[Line] = []
    rows: list[RowSpan] = []
    # What lies before the first row or column that holds words is the table's edge.
    top, left = min(row for row, _ in cells), min(column for _, column in cells)
    inserted = 0
    for row, row_cells in groupby(sorted(cells.items()), key=lambda item: item[0][0]):
        whole = {column: visual_lines(cell) for (_, column), cell in row_cells}
        parted = _parted(whole)
        for part_number, cell_lines in enumerate(parted):
            row_lines = _row_lines(list(cell_lines.values()))
            columns = list(cell_lines)
            spans = tuple(
                CellSpan(
                    words=sum(map(len, cell_lines[column])),
                    column=column - left + 1,
                    column_span=max(1, min(last_columns[row, column] + 1, after) - column),
                )
                for column, after in zip(
                    columns, [*columns[1:], len(between_columns) + 1], strict=True
                )
            )
            lines += row_lines
            number = row - top + 1 + inserted + part_number
            rows.append(RowSpan(len(row_lines), cells=spans, number=number))
        inserted += len(parted) - 1
    return Block(
        kind="table", lines=tuple(lines), size=size, rows=tuple(_with_headers(rows, lines))
    )


def _needed(parts: list[TextLine], grid: Grid) -> tuple[float, ...]:
    """Return the lines between columns without those that only part a column's own cells.

    The model sees a line where a column's longer and shorter figures begin. Two columns are one if
    they stand over one another and next to no row has a cell in each of them.
    """
    between_rows, between_columns = grid
    rows: dict[int, set[int]] = {}
    extents: dict[int, tuple[float, float]] = {}
    for part in parts:
        for words in _runs(part, between_columns):
            column = _columns(words, between_columns)[0]
            rows.setdefault(column, set()).add(bisect.bisect(between_rows, _middle_y(words)))
            low, high = extents.get(column, (float("inf"), float("-inf")))
            extents[column] = (
                min(low, *(word.box[0] for word in words)),
                max(high, *(word.box[2] for word in words)),
            )
    heads = set(sorted(set().union(*rows.values()))[:_HEADS])
    tolerated = int(_TOLERATED * len(set().union(*rows.values())))
    dropped: set[int] = set()
    before = -1
    for column in sorted(rows):
        if before == column - 1 and before >= 0:
            both = rows[before] & rows[column]
            touch = extents[before][1] > extents[column][0]
            if touch and not both & heads and len(both) <= tolerated:
                dropped.add(before)
                rows[column] |= rows[before]
                low, high = extents[before]
                extents[column] = min(low, extents[column][0]), max(high, extents[column][1])
        before = column
    return tuple(line for index, line in enumerate(between_columns) if index not in dropped)


def _row_lines(cells: list[list[Line]]) -> list[Line]:
    if all(len(cell) == 1 for cell in cells):
        return [tuple(word for cell in cells for word in cell[0])]
    return [line for cell in cells for line in cell]


def _parted(cells: dict[int, list[Line]]) -> list[dict[int, list[Line]]]:
    """Part what the grid takes for one row where it is several.

    A number is never broken over lines: where a cell has one on each of several lines, these are
    rows, if every other cell has as many lines, or has numbers alone, at the same heights.
    """
    count = max(map(len, cells.values()))
    guides = [cell for cell in cells.values() if len(cell) == count and all(map(_is_figure, cell))]
    if count < 2 or not guides or len(cells) < 2:
        return [cells]
    heights = [_middle_y(line) for line in guides[0]]
    slack = min(high - low for low, high in pairwise(heights)) / 2
    parted: list[dict[int, list[Line]]] = [{} for _ in heights]
    for column, cell in cells.items():
        if len(cell) != count and not all(map(_is_figure, cell)):
            return [cells]
        for line in cell:
            away, number = min(
                (abs(_middle_y(line) - height), number) for number, height in enumerate(heights)
            )
            if away > slack or column in parted[number]:
                return [cells]
            parted[number][column] = [line]
    return parted


def _is_figure(line: Line) -> bool:
    return all(_NUMBER.fullmatch(word.text) for word in line)


def _runs(part: TextLine, between_columns: tuple[float, ...]) -> Iterator[Line]:
    """Cut a line where its columns change, but not inside the running text of one cell.

    The heading of several columns stands across the lines between them; figures never do.
    """
    run: list[PageWord] = []
    column = -1
    for word in part.words:
        own = bisect.bisect(between_columns, (word.box[0] + word.box[2]) / 2)
        if run and own != column and not _reads_on(run, word, between_columns):
            yield tuple(run)
            run = []
        run.append(word)
        column = own
    if run:
        yield tuple(run)


def _reads_on(run: list[PageWord], word: PageWord, between_columns: tuple[float, ...]) -> bool:
    before = run[-1]
    if _NUMBER.fullmatch(before.text) or _NUMBER.fullmatch(word.text):
        return False
    gap = word.box[0] - before.box[2]
    height = max(before.box[3] - before.box[1], word.box[3] - word.box[1])
    if not 0 <= gap <= _SPACE * height:
        return False
    # A line that runs through the gap tells two cells apart; one that a word covers tells nothing.
    low, high = before.box[2], word.box[0]
    at = bisect.bisect_left(between_columns, low)
    return not (at < len(between_columns) and between_columns[at] <= high)


def _columns(words: Line, between_columns: tuple[float, ...]) -> tuple[int, int]:
    """Return the first and the last column that the words lie in."""
    columns = [bisect.bisect(between_columns, (word.box[0] + word.box[2]) / 2) for word in words]
    return min(columns), max(columns)


def _middle_y(words: Line) -> float:
    return (min(word.box[1] for word in words) + max(word.box[3] for word in words)) / 2


def _with_headers(rows: list[RowSpan], lines: list[Line]) -> list[RowSpan]:
    """Mark the header: the first row, and the second if it is the last one without a number."""
    texts: list[str] = []
    first = 0
    for row in rows:
        texts.append(" ".join(map(line_text, lines[first : first + row.lines])))
        first += row.lines
    heads = 0
    if has_header(texts):
        heads = 1
        rest = texts[2:]
        figures = sum(_has_number(text) for text in rest)
        if (
            rest
            and len(rows[1].cells) > 1
            and not _has_number(texts[1])
            and figures >= _FIGURES * len(rest)
        ):
            heads = 2
    return [replace(row, header=index < heads) for index, row in enumerate(rows)]


def has_header(rows: list[str]) -> bool:
    """Take the first row for a header if it has no number and half of the others have one."""
    if len(rows) < 2 or _has_number(rows[0]):
        return False
    return sum(map(_has_number, rows[1:])) >= 0.5 * (len(rows) - 1)


def _has_number(row: str) -> bool:
    return any(_NUMBER.fullmatch(word) for word in row.split())

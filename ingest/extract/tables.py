"""Tables: from words and the lines between rows and columns to cells.

A row's cells are joined by a space and not by a tab: that is how the row reads, how a viewer copies
it, and how it is quoted; where each cell is, and in which column, its own record says.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from ingest.extract.blocks import Block, CellSpan, Line, PageWord, RowSpan, line_text
from ingest.extract.lines import visual_lines
from ingest.extract.text_layer import TextLine

Grid = tuple[tuple[float, ...], tuple[float, ...]]
"""y of the lines between rows, x of the lines between columns; points, sorted."""
_NUMBER = re.compile(r"[^\w\s]*\d[\d.,:/-]*[^\w\s]*")
_SPACE = 0.5
"""Widest space inside a cell's running text, in heights of its letters."""


def table_block(parts: list[TextLine], grid: Grid, size: float) -> Block:
    """Order a table's words by row, then column, then line.

    A row of one-line cells is one line; otherwise each line of each cell is, so that a line's box
    never spans a neighbouring cell's lines. A cell that runs over several columns counts with the
    first of them. A row whose cells are all empty has a number but no text.
    """
    between_rows, between_columns = grid
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
    # Lines above the first row or left of the first column are the table's edge.
    top, left = min(row for row, _ in cells), min(column for _, column in cells)
    for row, row_cells in groupby(sorted(cells.items()), key=lambda item: item[0][0]):
        keys: list[int] = []
        cell_lines: list[list[Line]] = []
        for (_, column), cell in row_cells:
            keys.append(column)
            cell_lines.append(visual_lines(cell))
        if all(len(cell) == 1 for cell in cell_lines):
            row_lines: list[Line] = [tuple(word for cell in cell_lines for word in cell[0])]
        else:
            row_lines = [line for cell in cell_lines for line in cell]
        following = [*keys[1:], len(between_columns) + 1]
        spans = tuple(
            CellSpan(
                words=sum(map(len, cell)),
                column=column - left + 1,
                column_span=max(1, min(last_columns[row, column] + 1, after) - column),
            )
            for cell, column, after in zip(cell_lines, keys, following, strict=True)
        )
        lines += row_lines
        rows.append(RowSpan(len(row_lines), cells=spans, number=row - top + 1))
    return Block(
        kind="table", lines=tuple(lines), size=size, rows=tuple(_with_headers(rows, lines))
    )


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
    """Mark the header: the first row, and the second where the first one only groups columns."""
    texts: list[str] = []
    first = 0
    for row in rows:
        texts.append(" ".join(map(line_text, lines[first : first + row.lines])))
        first += row.lines
    heads = 0
    if has_header(texts):
        heads = 1
        groups = any(cell.column_span > 1 for cell in rows[0].cells)
        if groups and len(rows[1].cells) > 1 and has_header(texts[1:]):
            heads = 2
    return [replace(row, header=index < heads) for index, row in enumerate(rows)]


def has_header(rows: list[str]) -> bool:
    """Take the first row for a header if it has no number and half of the others have one."""
    if len(rows) < 2:
        return False
    numbers = [any(_NUMBER.fullmatch(word) for word in row.split()) for row in rows]
    return not numbers[0] and sum(numbers) >= 0.5 * (len(rows) - 1)

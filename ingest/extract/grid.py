"""Tables in a sheet: blocks of rows with empty ones between, and which rows head them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ingest.extract.composing import Cell, Row

Range = tuple[int, int, int, int]
"""First row, first column, last row, last column, from 1."""
_HEADER_ROWS = 3
_FILLED = 0.5
"""A header names at least this share of the columns of the row below it."""


def tables_of(rows: Iterable[Row], headers: Collection[int]) -> Iterator[list[Row]]:
    """Yield the tables of a sheet, whose rows come in order and are not empty.

    A table ends before an empty row, unless that only sets its header off from numbers, and before
    the first row with several cells where all above it have one: those are its title or a note.
    Rows whose numbers are in ``headers`` head the table that they begin; where there is none, the
    first row does if it reads like names of columns.
    """
    table: list[Row] = []
    for row in rows:
        number = row.cells[0].row
        if table:
            space = number - table[-1].cells[0].row - 1
            gap = space > 0 and not (space == 1 and _heads(table, row))
            if space == 1 and not gap:
                for above in table:
                    above.header = True
            title = len(row.cells) > 1 and all(len(above.cells) == 1 for above in table)
            if gap or title:
                yield _headed(table, headers)
                table = []
        table.append(row)
    if table:
        yield _headed(table, headers)


def span_cells(rows: Iterable[Row], merged: Iterable[Range]) -> None:
    """Give the cells at the top left of merged ranges the spans of these."""
    spans = {(first_row, first): (last_row, last) for first_row, first, last_row, last in merged}
    if not spans:
        return
    for row in rows:
        for cell in row.cells:
            if end := spans.get((cell.row, cell.column)):
                cell.row_span = max(end[0] - cell.row + 1, 1)
                cell.column_span = max(end[1] - cell.column + 1, 1)


def _headed(table: list[Row], headers: Collection[int]) -> list[Row]:
    for row in table[:-1]:
        if row.cells[0].row not in headers:
            break
        row.header = True
    if len(table) > 1 and not table[0].header:
        table[0].header = _reads_as_header(table[0].cells, table[1].cells)
    return table


def _heads(table: list[Row], below: Row) -> bool:
    """Tell whether a table so far is nothing but names for the numbers in the row below it."""
    return (
        len(table) <= _HEADER_ROWS
        and len(table[-1].cells) > 1
        and all(_is_name(cell.text) for row in table for cell in row.cells)
        and sum(not _is_name(cell.text) for cell in below.cells) > 1
    )


def _is_name(text: str) -> bool:
    return any(map(str.isalpha, text))


def _reads_as_header(cells: list[Cell], below: list[Cell]) -> bool:
    texts = [cell.text.casefold() for cell in cells]
    return (
        len(cells) > 1
        and len(set(texts)) == len(texts)
        and len(cells) >= _FILLED * len(below)
        and all(map(_is_name, texts))
    )

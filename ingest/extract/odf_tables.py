"""Tables in Open Document texts, and sheets (Open Document 1.3 part 3 §9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from ingest.extract.composing import Cell, Composer, Row, tidy
from ingest.extract.grid import tables_of
from ingest.extract.odf_inline import OFFICE, TABLE, style_says
from ingest.extract.package import Node, integer

LinesOf = Callable[[Node], list[str]]
"""Returns the lines of a cell or a note."""

_ROW_GROUPS = frozenset(
    TABLE + tag for tag in ("table-header-rows", "table-rows", "table-row-group")
)
_COLUMN_GROUPS = frozenset(
    TABLE + tag for tag in ("table-header-columns", "table-columns", "table-column-group")
)
_MAX_COLUMN = 16_384


def read_table(table: Node, lines_of: LinesOf) -> list[Row]:
    """Return the rows of a table of a text or a slide."""
    rows: list[Row] = []
    for number, (node, header) in enumerate(_rows(table), start=1):
        row = Row(header=header)
        column = 1
        for cell in node:
            if cell.tag == f"{TABLE}table-cell":
                text = "\n".join(lines_of(cell))
                row.cells.append(
                    Cell(text, number, column, _span(cell, "rows"), _span(cell, "columns"))
                )
            column += integer(cell.get(f"{TABLE}number-columns-repeated"), 1)
        rows.append(row)
    return rows


class SheetReader:
    """Adds sheets to the text, and counts what they do not show."""

    def __init__(self, content: Node, composer: Composer, lines_of: LinesOf) -> None:
        self._content = content
        self._composer = composer
        self._lines_of = lines_of
        self.counts: Counter[str] = Counter()

    def add(self, sheet: Node) -> None:
        """Add the tables of a sheet, and behind the body what it hides.

        Raises:
            ItemError: too_many_characters.
        """
        name = tidy(sheet.get(f"{TABLE}name") or "") or "Sheet"
        visible = not style_says(
            self._content,
            sheet.get(f"{TABLE}style-name"),
            "table-properties",
            f"{TABLE}display",
            "false",
        )
        shown: list[Row] = []
        covert: list[Row] = []
        headers: set[int] = set()
        hidden_columns = _hidden_columns(sheet)
        number = 1
        characters = 0
        for node, header in _rows(sheet):
            repeated = max(integer(node.get(f"{TABLE}number-rows-repeated"), 1), 1)
            cells = self._cells(node)
            concealed = node.get(f"{TABLE}visibility") in ("collapse", "filter") or not visible
            for row_number in range(number, number + repeated) if cells else ():
                row, aside = Row(), Row()
                for cell in cells:
                    characters += len(cell.text) + 1
                    self._composer.check_length(characters)
                    target = aside if concealed or cell.column in hidden_columns else row
                    target.cells.append(
                        Cell(cell.text, row_number, cell.column, cell.row_span, cell.column_span)
                    )
                if row.cells:
                    shown.append(row)
                if aside.cells:
                    covert.append(aside)
                if header:
                    headers.add(row_number)
            number += repeated
        if shown:
            self._composer.add("heading", name, 1, sheet=name)
        for table in tables_of(shown, headers):
            self._composer.add_table(table, sheet=name)
        self.counts["hidden_sheets"] += not visible
        self.counts["hidden_rows"] += len(covert) if visible else 0
        lines = (" ".join(cell.text for cell in row.cells) for row in covert)
        self._composer.add("hidden", "\n".join(lines), sheet=name)

    def _cells(self, row: Node) -> list[Cell]:
        """Return the cells of a row that have text; each has its column, and row 1."""
        cells: list[Cell] = []
        column = 1
        for node in row:
            repeated = max(integer(node.get(f"{TABLE}number-columns-repeated"), 1), 1)
            if node.tag == f"{TABLE}table-cell" and len(node):
                text = "\n".join(self._lines_of(node))
                for note in node.iterfind(f"{OFFICE}annotation"):
                    self._composer.add("annotation", "\n".join(self._lines_of(note)))
                if text:
                    last = min(column + repeated, _MAX_COLUMN + 1)
                    spans = _span(node, "rows"), _span(node, "columns")
                    cells += (Cell(text, 1, at, *spans) for at in range(column, last))
            column += repeated
        return cells


def _rows(table: Node, *, header: bool = False) -> Iterator[tuple[Node, bool]]:
    for node in table:
        if node.tag == f"{TABLE}table-row":
            yield node, header
        elif node.tag in _ROW_GROUPS:
            yield from _rows(node, header=header or node.tag == f"{TABLE}table-header-rows")


def _hidden_columns(sheet: Node) -> set[int]:
    hidden: set[int] = set()
    column = 1
    for node in _columns(sheet):
        repeated = max(integer(node.get(f"{TABLE}number-columns-repeated"), 1), 1)
        if node.get(f"{TABLE}visibility") in ("collapse", "filter"):
            hidden.update(range(column, min(column + repeated, _MAX_COLUMN + 1)))
        column += repeated
    return hidden


def _columns(container: Node) -> Iterator[Node]:
    for node in container:
        if node.tag == f"{TABLE}table-column":
            yield node
        elif node.tag in _COLUMN_GROUPS:
            yield from _columns(node)


def _span(cell: Node, of: str) -> int:
    return max(integer(cell.get(f"{TABLE}number-{of}-spanned"), 1), 1)

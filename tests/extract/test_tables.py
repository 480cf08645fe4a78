"""Cells of a table: which words, in which row and column."""

from __future__ import annotations

from pathlib import Path

import pytest
from extract.checks import check_invariants

from ingest.extract import extract
from ingest.extract.assemble import assemble
from ingest.extract.blocks import Block, PageContent, PageWord
from ingest.extract.tables import has_header, table_block
from ingest.extract.text_line import TextLine
from ingest.settings import ExtractionSettings
from schemas.document import Element, Extraction, Page

COLUMN = 100.0
"""Width of a column in points."""
ROW = 20.0


def cell(text: str, row: float, column: float, line: int = 0) -> TextLine:
    """Return a line of a cell; ``column`` counts from 0 and may be between two columns."""
    x, y = 10 + COLUMN * column, 4 + ROW * row + 9 * line
    words = []
    for part in text.split():
        words.append(PageWord(part, (x, y, x + 5 * len(part), y + 8), None, "digital"))
        x += 5 * len(part) + 3
    return TextLine(tuple(words), block=0, size=8, horizontal=True)


def grid(rows: int, columns: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    return (
        tuple(ROW * row for row in range(1, rows)),
        tuple(COLUMN * column for column in range(1, columns)),
    )


def cells(block: Block) -> list[list[tuple[int, int, int, str]]]:
    """Return for each row the cells' rows, columns, spans and texts."""
    draft = assemble([PageContent(PAGE, [block])])
    [element] = draft.elements
    return cells_of(draft.text, element)


def cells_of(text: str, element: Element) -> list[list[tuple[int, int, int, str]]]:
    return [
        [(c.row, c.column, c.column_span, text[c.char_start : c.char_end]) for c in row.cells]
        for row in element.rows
    ]


PAGE = Page(number=1, width=600, height=800, rotation=0, text_source="digital")
HEAD = [cell("Item", 0, 0), cell("Price", 0, 1), cell("Note", 0, 2)]


def test_cells_have_their_row_and_column_and_empty_ones_count() -> None:
    parts = [*HEAD, cell("Desk", 1, 0), cell("9", 1, 1), cell("Lamp", 3, 0), cell("old", 3, 2)]
    block = table_block(parts, grid(4, 3), 8)
    assert cells(block) == [
        [(1, 1, 1, "Item"), (1, 2, 1, "Price"), (1, 3, 1, "Note")],
        [(2, 1, 1, "Desk"), (2, 2, 1, "9")],
        [(4, 1, 1, "Lamp"), (4, 3, 1, "old")],
    ]
    assert [row.header for row in block.rows] == [True, False, False]


def test_a_cell_of_several_lines_is_one_run() -> None:
    parts = [*HEAD, cell("Desk of", 1, 0), cell("oak", 1, 0, 1), cell("9", 1, 1)]
    assert cells(table_block(parts, grid(2, 3), 8))[1] == [
        (2, 1, 1, "Desk of\noak"),
        (2, 2, 1, "9"),
    ]


def test_a_word_goes_on_in_its_own_cell_only() -> None:
    parts = [*HEAD, cell("non-", 1, 0), cell("agree-", 1, 1), cell("ment", 1, 1, 1)]
    assert cells(table_block(parts, grid(2, 3), 8))[1] == [
        (2, 1, 1, "non-"),
        (2, 2, 1, "agreement"),
    ]


def test_a_heading_across_columns_is_one_cell() -> None:
    parts = [cell("Amounts in thousands of euros", 0, 0.7), *(cell("9", 1, n) for n in range(3))]
    head, figures = cells(table_block(parts, grid(2, 3), 8))
    assert head == [(1, 1, 3, "Amounts in thousands of euros")]
    assert [found[1] for found in figures] == [1, 2, 3]


def test_figures_side_by_side_are_cells_of_their_own() -> None:
    line = cell("1,200 3,400", 1, 0.7)
    assert [found[3] for found in cells(table_block([*HEAD, line], grid(2, 3), 8))[1]] == [
        "1,200",
        "3,400",
    ]


def test_rows_that_the_grid_runs_together_are_parted() -> None:
    lines = [cell("Ohio", 1, 0), cell("12", 1, 1), cell("Iowa", 1, 0, 1), cell("14", 1, 1, 1)]
    below = [cell("Utah", 2, 0), cell("16", 2, 1)]
    assert cells(table_block([*HEAD, *lines, *below], grid(3, 3), 8))[1:] == [
        [(2, 1, 1, "Ohio"), (2, 2, 1, "12")],
        [(3, 1, 1, "Iowa"), (3, 2, 1, "14")],
        [(4, 1, 1, "Utah"), (4, 2, 1, "16")],
    ]


def test_columns_that_the_grid_makes_up_are_none() -> None:
    """Long figures begin left of a line that short ones stand right of; two rows, one column."""
    between_rows, between_columns = grid(4, 2)
    parts = [
        cell("Item", 0, 0),
        cell("Price", 0, 1.5),
        cell("Desk", 1, 0),
        cell("1,234,567.00", 1, 1.05),
        cell("Lamp", 2, 0),
        cell("9", 2, 1.6),
    ]
    made_up = (*between_columns, 155.0)
    assert [
        [found[1] for found in row] for row in cells(table_block(parts, (between_rows, made_up), 8))
    ] == [
        [1, 2],
        [1, 2],
        [1, 2],
    ]


def test_columns_that_are_never_filled_together_stay_apart() -> None:
    parts = [cell("100", 0, 0), cell("200", 1, 1), cell("300", 2, 0)]
    assert [[found[1] for found in row] for row in cells(table_block(parts, grid(3, 2), 8))] == [
        [1],
        [2],
        [1],
    ]


def test_two_rows_head_a_table() -> None:
    parts = [
        cell("Corrosion", 0, 0),
        cell("Rate", 0, 1),
        cell("kind", 1, 0),
        cell("by year", 1, 1),
        *(cell(str(n), n, column) for n in (2, 3) for column in (0, 1)),
    ]
    block = table_block(parts, grid(4, 2), 8)
    assert [row.header for row in block.rows] == [True, True, False, False]


def test_headers_are_told_by_numbers() -> None:
    assert has_header(["Item Price", "Desk 9"])
    assert not has_header(["Item Price"])
    assert not has_header(["Desk 9", "Lamp 10"])
    assert not has_header(["Item Price", "Desk new", "Lamp old"])


def contents(*blocks: Block) -> list[PageContent]:
    return [
        PageContent(PAGE.model_copy(update={"number": number}), [block], laid_out=True)
        for number, block in enumerate(blocks, start=1)
    ]


def test_a_header_that_the_next_page_repeats_is_marked_and_stays() -> None:
    names = [cell("Name", 0, 0), cell("Role", 0, 1)]
    one = table_block([*names, cell("Ann", 1, 0), cell("Chair", 1, 1)], grid(2, 2), 8)
    two = table_block([*names, cell("Bob", 1, 0), cell("Clerk", 1, 1)], grid(2, 2), 8)
    draft = assemble(contents(one, two))
    assert draft.text == "Name Role\nAnn Chair\n\nName Role\nBob Clerk"
    assert [[row.header for row in e.rows] for e in draft.elements] == [[True, False]] * 2
    other = table_block([*names[:1], cell("Bob", 1, 0)], grid(2, 2), 8)
    draft = assemble(contents(one, other))
    assert not any(row.header for e in draft.elements for row in e.rows)


@pytest.mark.parametrize("name", ["", "-rotated"])
def test_a_large_table_upright_and_sideways(corpus: Path, name: str) -> None:
    """A page that shows its table sideways has the same cells as the upright one."""
    file = corpus / f"pdf_nasty/nics-background-checks-2015-11{name}.pdf"
    settings = ExtractionSettings(layout=True, workers=1)
    extraction: Extraction = extract(file.read_bytes(), name=file.name, settings=settings)
    check_invariants(extraction)
    [table] = [e for e in extraction.elements if e.kind == "table"]
    rows = cells_of(extraction.text, table)
    assert [row.header for row in table.rows][:3] == [True, True, False]
    alabama = next(row for row in rows if row[0][3] == "Alabama")
    assert [(column, text) for _, column, _, text in alabama[:7]] == [
        (1, "Alabama"),
        (2, "18,870"),
        (3, "23,022"),
        (4, "22,650"),
        (5, "859"),
        (6, "1,178"),
        (7, "0"),
    ]
    assert sum(row[0][3] in ("Mississippi", "Missouri") for row in rows) == 2

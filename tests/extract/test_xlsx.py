from __future__ import annotations

import io
import time
from datetime import date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import openpyxl  # type: ignore[import-untyped]
import pytest
from extract.checks import codes, kinds, limited, read, read_file
from extract.office import workbook
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.comments import Comment  # type: ignore[import-untyped]
from openpyxl.styles import Font  # type: ignore[import-untyped]
from strategies import counter

from ingest.chunking import Chunker
from ingest.errors import ItemError
from ingest.extract.number_formats import shown_number, shown_text
from ingest.settings import ChunkingSettings
from schemas.document import Extraction


def saved(book: openpyxl.Workbook) -> bytes:
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def cells(extraction: Extraction, number: int = 0) -> list[list[tuple[Any, ...]]]:
    """Return the cells of a table; spans only where a cell is merged."""
    tables = [element for element in extraction.elements if element.kind == "table"]
    found: list[list[tuple[Any, ...]]] = []
    for row in tables[number].rows:
        found.append([])
        for cell in row.cells:
            spans = (
                () if cell.row_span == cell.column_span == 1 else (cell.row_span, cell.column_span)
            )
            text = extraction.text[cell.char_start : cell.char_end]
            found[-1].append((text, cell.row, cell.column, *spans))
    return found


def test_values_as_the_sheet_shows_them() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Prices"
    rows: list[list[Any]] = [
        ["Item", "Price", "Rate", "From", "Good"],
        ["Desk", 1234.5, 0.125, date(2026, 3, 1), True],
        ["Chair", -7, 0.5, datetime.fromisoformat("2026-03-01T14:30"), False],
    ]
    for row in rows:
        sheet.append(row)
    sheet["B2"].number_format = '#,##0.00 "€"'
    sheet["B3"].number_format = "$#,##0;[Red]($#,##0)"
    sheet["C2"].number_format = sheet["C3"].number_format = "0.0%"
    sheet["A5"] = "Notes go over several columns"
    sheet.merge_cells("A5:C6")
    extraction = read(saved(book), "a.xlsx")
    assert kinds(extraction) == [
        ("heading", "Prices"),
        (
            "table",
            "Item Price Rate From Good\nDesk 1,234.50 € 12.5% 2026-03-01 TRUE\n"
            "Chair ($7) 50.0% 2026-03-01 14:30:00 FALSE",
        ),
        ("table", "Notes go over several columns"),
    ]
    assert {element.sheet for element in extraction.elements} == {"Prices"}
    assert cells(extraction)[1][:2] == [("Desk", 2, 1), ("1,234.50 €", 2, 2)]
    assert cells(extraction, 1) == [[("Notes go over several columns", 5, 1, 2, 3)]]
    assert [row.header for row in extraction.elements[1].rows] == [True, False, False]
    assert codes(extraction) == []


@pytest.mark.parametrize(
    ("value", "code", "shown"),
    [
        (0.1 + 0.2, "General", "0.3"),
        (123456789012, "General", "123456789012"),
        (1234567.891, "#,##0.00", "1,234,567.89"),
        (0.5, "0", "1"),
        (2.5, "0.##", "2.5"),
        (2, "0.##", "2"),
        (-3.14159, "0.00", "-3.14"),
        (-3, "0;(0);-", "(3)"),
        (0, "0;(0);-", "-"),
        (0, '0;(0);"nil"', "nil"),
        (0.07, "0%", "7%"),
        (12, "000", "012"),
        (12345, '#,##0,"k"', "12k"),
        (12345678, "0.0,,", "12.3"),
        (1500, "[$€-407] #,##0", "€ 1,500"),
        (0.000123, "0.00E+00", "1.23E-04"),
        (1.25, "# ?/?", "1 1/4"),
        (0.5, "?/?", "1/2"),
        (5551234, "000-0000", "555-1234"),
        (1234, "_-* #,##0_-;-* #,##0_-", "1,234"),
        (7, ";;;", ""),
        (45000, "dd/mm/yyyy", "2023-03-15"),
        (45000.75, "m/d/yy h:mm", "2023-03-15 18:00:00"),
        (0.75, "h:mm AM/PM", "18:00:00"),
        (1.5, "[h]:mm", "36:00:00"),
        (-1, "yyyy", "-1"),
        (1e300, "0.00", "1E+300"),
    ],
)
def test_number_formats(value: float, code: str, shown: str) -> None:
    assert shown_number(value, code) == shown


def test_formats_of_text_and_the_other_epoch() -> None:
    assert shown_text("x", "General") == "x"
    assert shown_text("x", '"Re: "@') == "Re: x"
    assert shown_text("x", '0;0;0;"[" @ "]"') == "[ x ]"
    assert shown_number(0.5 + 43_538, "yyyy-mm-dd", mac_epoch=True) == "2023-03-15 12:00:00"


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.text('0#?.,%E+-;/@"\\_*[]$€ dmyhs', max_size=12),
)
def test_no_format_breaks_the_reader(value: float, code: str) -> None:
    assert isinstance(shown_number(value, code), str)
    assert isinstance(shown_text("x", code), str)


def test_hidden_sheets_rows_and_columns_stand_behind_the_body() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (("a", "b", "c"), (1, 2, 3), (4, 5, 6)):
        sheet.append(row)
    sheet.row_dimensions[2].hidden = True
    sheet.column_dimensions["C"].hidden = True
    other = book.create_sheet("Secret")
    other["A1"] = "for no one"
    other.sheet_state = "veryHidden"
    extraction = read(saved(book), "a.xlsx")
    assert kinds(extraction) == [
        ("heading", "Sheet"),
        ("table", "a b\n4 5"),
        ("hidden", "c\n1 2 3\n6"),
        ("hidden", "for no one"),
    ]
    assert codes(extraction) == ["hidden_cells"]


def test_notes_formulas_and_errors() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet["A1"] = "Total"
    sheet["A1"].comment = Comment("checked by hand", "Ann")
    sheet["B1"] = "=SUM(B2:B9)"
    extraction = read(saved(book), "a.xlsx")
    assert ("annotation", "checked by hand") in kinds(extraction)
    assert codes(extraction) == ["formula_without_value"]
    shown = workbook(
        {
            "S": '<sheetData><row><c><f>1+1</f><v>2</v></c><c t="e"><v>#REF!</v></c>'
            '<c t="str"><f>A1</f><v>text</v></c><c t="inlineStr"><is><r><t>in</t></r><r><t>line</t>'
            '</r></is></c><c t="s"><v>0</v></c></row></sheetData>'
        },
        strings="<si><t>sha</t><rPh><t>not this</t></rPh></si>",
    )
    assert kinds(read(shown, "a.xlsx"))[1] == ("table", "2 #REF! text inline sha")


def test_headers_of_frozen_panes_and_titles() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Sales of the year"])
    sheet.append(["Region", "Q1"])
    sheet.append(["North", "n/a"])
    sheet["A2"].font = Font(bold=True)
    sheet.freeze_panes = "A3"
    extraction = read(saved(book), "a.xlsx")
    assert [text for _, text in kinds(extraction)] == [
        "Sheet",
        "Sales of the year",
        "Region Q1\nNorth n/a",
    ]
    assert [row.header for row in extraction.elements[2].rows] == [True, False]


def test_chunks_name_their_sheet_and_cells_and_never_mix_sheets() -> None:
    book = openpyxl.Workbook()
    book.active.title = "One"
    for name in ("One", "Two"):
        sheet = book[name] if name in book.sheetnames else book.create_sheet(name)
        sheet.append(["Name of the item", "Price in euro"])
        for number in range(60):
            sheet.append([f"Item number {number}", number * 10])
    extraction = read(saved(book), "a.xlsx")
    chunks = Chunker(counter(), ChunkingSettings(max_tokens=128)).chunk(extraction)
    locators = [chunk.locator for chunk in chunks]
    assert all(locator and locator.cells for locator in locators)
    assert [locator.sheet for locator in locators if locator] == sorted(
        locator.sheet or "" for locator in locators if locator
    )
    ranges = [locator.cells for locator in locators if locator and locator.sheet == "One"]
    assert (ranges[0] or "").startswith("A1:B")
    rows = [[int(end[1:]) for end in (found or "").split(":")] for found in ranges]
    assert rows[0][0] == 1
    assert rows[-1][1] == 61
    assert all(before[1] + 1 == after[0] for before, after in pairwise(rows))
    assert chunks[1].context == "Name of the item Price in euro"


def test_a_sheet_with_far_cells_is_cheap() -> None:
    far = workbook(
        {
            "S": "<sheetData>"
            + "".join(
                f'<row r="{r}"><c r="A{r}"><v>1</v></c><c r="XFD{r}"><v>2</v></c></row>'
                for r in range(1, 1_048_576, 20_000)
            )
            + "</sheetData>"
        }
    )
    start = time.process_time()
    extraction = read(far, "a.xlsx")
    assert time.process_time() - start < 2
    assert cells(extraction, 52)[0] == [("1", 1_040_001, 1), ("2", 1_040_001, 16_384)]


def test_limits_and_damage() -> None:
    book = openpyxl.Workbook()
    for _ in range(50):
        book.active.append(["x" * 100])
    with pytest.raises(ItemError) as caught:
        read(saved(book), "a.xlsx", limited(characters=1_000))
    assert caught.value.code == "too_many_characters"
    with pytest.raises(ItemError) as caught:
        read(workbook({"S": "<sheetData><row></sheetData>"}), "a.xlsx")
    assert caught.value.code == "damaged"
    with pytest.raises(ItemError) as caught:
        read(workbook({"S": "<sheetData/>"}), "a.xlsx")
    assert caught.value.code == "no_text"


def test_real_workbooks(corpus: Path) -> None:
    extraction = read_file(corpus / "crm_csv/csvkit_sheets.xlsx")
    assert "Chicago Reader 1971-01-01 40 TRUE 1 1971-01-01 04:14:00" in extraction.text
    extraction = read_file(corpus / "crm_csv/2023-half-year-analyses-by-segment.xlsx")
    assert "Zone NA 12,553 2,713 2,632 (81) (29) (44) (337)" in extraction.text


VALUES = st.one_of(
    st.text(
        st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff=_"),
        max_size=20,
    ),
    st.integers(-(10**9), 10**9),
    st.booleans(),
    st.dates(date(1901, 1, 1), date(2100, 1, 1)),
)


def expected(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    return value.isoformat() if isinstance(value, date) else str(value)


@settings(max_examples=30)
@given(st.lists(st.lists(VALUES, min_size=1, max_size=4), min_size=1, max_size=6))
def test_what_a_library_writes_comes_back(rows: list[list[Any]]) -> None:
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append([*row, "end"])
    extraction = read(saved(book), "a.xlsx")
    written = ["Sheet", *(expected(value) for row in rows for value in (*row, "end"))]
    assert extraction.text.split() == " ".join(written).split()


def test_times_are_kept_to_the_second() -> None:
    assert (
        shown_number(timedelta(hours=25, seconds=1) / timedelta(days=1), "[h]:mm:ss") == "25:00:01"
    )

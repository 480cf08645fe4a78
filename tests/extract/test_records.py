from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from extract.checks import FAST, check_invariants, codes, read, read_file
from hypothesis import given
from hypothesis import strategies as st

from ingest.errors import ItemError
from ingest.extract import extract
from ingest.extract.records import column_names, find_delimiter

CELLS = st.text(
    st.sampled_from("ab,;\t|\"' \n\r")
    | st.characters(exclude_categories=["Cs"], exclude_characters="\0"),
    max_size=8,
) | st.sampled_from(
    ["\r\n", "👩‍👩‍👧", "e\u0301", "ﬁ", "שלום", "条款", "\u2028", "\x85", " padded "]
)
TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=6)
)


def write(rows: list[list[str]], delimiter: str = ",") -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(rows)
    return buffer.getvalue().encode()


@given(TABLES, st.sampled_from(",;\t|"))
def test_every_cell_is_a_field_of_the_text(rows: list[list[str]], delimiter: str) -> None:
    header = [f"c{number}" for number in range(len(rows[0]))]
    if all(not cell.strip() for row in rows for cell in row):
        return
    extraction = extract(
        write([header, *rows], delimiter),
        name="a.csv",
        media_type="text/csv",
        options={"delimiter": delimiter},
        settings=FAST,
    )
    check_invariants(extraction)
    expected = [
        (str(number), name, cell)
        for number, row in enumerate(rows, start=1)
        for name, cell in zip(header, row, strict=True)
        if cell.strip()
    ]
    assert [
        (e.row, e.field, extraction.text[e.char_start : e.char_end]) for e in extraction.elements
    ] == expected
    assert {e.kind for e in extraction.elements} == {"field"}


def test_options_choose_and_order_columns() -> None:
    data = b"id,name,note,stage\nA1,Acme, wants a demo ,won\nA2,,,\n,Beta,calls back,lost\n"
    extraction = read(
        data, "crm.csv", options={"key": "id", "text": ["note", "name"], "title": "name"}
    )
    assert extraction.text == " wants a demo \nAcme\n\ncalls back\nBeta"
    assert [(e.row, e.field) for e in extraction.elements] == [
        ("A1", "note"),
        ("A1", "name"),
        ("3", "note"),
        ("3", "name"),
    ]
    assert extraction.title == "Acme"
    assert extraction.pages == ()


@pytest.mark.parametrize("option", ["key", "title", "text"])
def test_a_column_that_is_not_there(option: str) -> None:
    value = ["absent"] if option == "text" else "absent"
    with pytest.raises(ItemError) as caught:
        extract(b"id,name\n1,2\n", name="a.csv", options={option: value}, settings=FAST)
    assert caught.value.code == "column_missing"
    assert "'absent'" in caught.value.message
    assert "id, name" in caught.value.message


def test_ragged_rows_and_repeated_headers_and_nul() -> None:
    extraction = read(b"a,a,,a (2)\n1,2,3,4,5,\n6\n7,\x008,9,10\n", "a.csv")
    assert [(e.row, e.field) for e in extraction.elements][:5] == [
        ("1", "a"),
        ("1", "a (2)"),
        ("1", "column 3"),
        ("1", "a (2) (2)"),
        ("1", "column 5"),
    ]
    assert extraction.text == "1\n2\n3\n4\n5\n\n6\n\n7\n8\n9\n10"
    assert codes(extraction) == ["characters_removed", "ragged_row"]
    assert "2 rows" in extraction.warnings[1].message
    assert column_names(["x", "x", "x (2)"]) == ["x", "x (2)", "x (2) (2)"]


def test_a_cell_longer_than_the_csv_modules_limit() -> None:
    note = "word " * 40_000
    assert read(write([["note"], [note]]), "a.csv").text == note


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a,b\n1,2\n", ","),
        ("a;b\n1,5;2,5\n3,5;4,5\n", ";"),
        ("a\tb\n1\t2\n", "\t"),
        ("a|b\n1|2\n", "|"),
        ('name,"note; long"\nx,"a;b;c"\n', ","),
        ("single\nvalue\n", ","),
        ("", ","),
    ],
)
def test_delimiters(text: str, delimiter: str) -> None:
    assert find_delimiter(text) == delimiter


@pytest.mark.parametrize("name", ["json", "newlines", "newlines_crlf", "simple_crlf", "utf8"])
def test_csv_spectrum(corpus: Path, name: str) -> None:
    extraction = read_file(corpus / "crm_csv" / f"spectrum_{name}.csv")
    rows = json.loads((corpus / "crm_csv" / f"spectrum_{name}.json").read_text("utf-8"))
    expected = {
        (str(number), field, cell.replace("\r\n", "\n"))
        for number, row in enumerate(rows, start=1)
        for field, cell in row.items()
        if cell.strip()
    }
    assert {
        (e.row, e.field, extraction.text[e.char_start : e.char_end].replace("\r\n", "\n"))
        for e in extraction.elements
    } == expected


def test_real_exports_hold_the_invariants(corpus: Path) -> None:
    refused = {}
    for path in sorted((corpus / "crm_csv").glob("*.csv")):
        try:
            extraction = read_file(path)
        except ItemError as error:
            refused[path.name] = error.code
            continue
        assert "\ufeff" not in extraction.text, path.name
        assert all("\ufeff" not in (e.field or "") for e in extraction.elements), path.name
    assert set(refused.values()) <= {"no_text"}, refused

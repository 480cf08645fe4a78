"""Columns of prose are read one after the other; labels and their values across."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ingest.extract import extract
from ingest.extract.columns import by_column
from ingest.settings import ExtractionSettings
from schemas.document import BoxTuple, ElementKind


@dataclass(frozen=True)
class Region:
    name: str
    box: BoxTuple
    kind: ElementKind = "paragraph"


def names(regions: list[Region]) -> str:
    return " ".join(region.name for region in by_column(regions))


LEFT, RIGHT = (70.0, 287.0), (308.0, 525.0)


def at(name: str, column: tuple[float, float], y0: float, y1: float, **kind: ElementKind) -> Region:
    return Region(name, (column[0], y0, column[1], y1), **kind)


HEAD = at("head", (70, 179), 40, 48, kind="header")
TITLE = at("title", (70, 525), 60, 80, kind="heading")
A, A_TEXT = at("a", LEFT, 100, 110, kind="heading"), at("a.", LEFT, 115, 240)
B, B_TEXT = at("b", LEFT, 250, 260, kind="heading"), at("b.", LEFT, 265, 400)
C, C_TEXT = at("c", RIGHT, 100, 110, kind="heading"), at("c.", RIGHT, 115, 240)
D, D_TEXT = at("d", RIGHT, 250, 260, kind="heading"), at("d.", RIGHT, 265, 380)
NOTE = at("note", (70, 525), 420, 430)
FOOT = at("foot", (484, 525), 798, 806, kind="footer")


def test_columns_that_were_read_across_are_read_down() -> None:
    across = [HEAD, TITLE, A, C, A_TEXT, C_TEXT, B, D, B_TEXT, D_TEXT, NOTE, FOOT]
    assert names(across) == "head title a a. b b. c c. d d. note foot"


def test_a_wide_region_ends_the_columns_above_it() -> None:
    wide = at("wide", (70, 525), 245, 248, kind="table")
    regions = [A, C, A_TEXT, C_TEXT, wide, B, D, B_TEXT, D_TEXT]
    assert names(regions) == "a a. c c. wide b b. d d."


def test_three_columns() -> None:
    thirds = [(70.0, 215.0), (225.0, 370.0), (380.0, 525.0)]
    row = [at(f"{n}", column, 100, 200) for n, column in enumerate(thirds)]
    below = [at(f"{n}.", column, 210, 300) for n, column in enumerate(thirds)]
    assert names([*row, *below]) == "0 0. 1 1. 2 2."


def test_labels_with_values_beside_them_are_read_across() -> None:
    rows = []
    for n in range(4):
        rows += [
            at(f"l{n}", (70, 150), 100 + 20 * n, 112 + 20 * n),
            at(f"v{n}", (160, 300), 100 + 20 * n, 112 + 20 * n),
        ]
    assert names(rows) == "l0 v0 l1 v1 l2 v2 l3 v3"


def test_one_column_keeps_the_order_of_the_model() -> None:
    assert names([B, B_TEXT, A, A_TEXT]) == "b b. a a."


BOXES = st.tuples(st.floats(0, 500), st.floats(0, 700), st.floats(5, 200), st.floats(5, 200)).map(
    lambda box: (box[0], box[1], box[0] + box[2], box[1] + box[3])
)
KINDS = st.sampled_from(["paragraph", "heading", "table", "header", "footnote"])


@given(st.lists(st.tuples(BOXES, KINDS), max_size=12))
def test_nothing_is_lost_and_a_second_look_changes_nothing(
    drawn: list[tuple[BoxTuple, ElementKind]],
) -> None:
    regions = [Region(str(n), box, kind) for n, (box, kind) in enumerate(drawn)]
    once = by_column(regions)
    assert sorted(region.name for region in once) == sorted(region.name for region in regions)
    assert by_column(once) == once


def test_our_report_in_two_columns_reads_section_by_section() -> None:
    file = Path(__file__).parents[2] / "examples/reports/erp-implementation-risk-2025.pdf"
    found = extract(
        file.read_bytes(), name=file.name, settings=ExtractionSettings(layout=True, workers=1)
    )
    headings = [
        found.text[element.char_start : element.char_end].split()[0]
        for element in found.elements
        if element.kind == "heading"
    ]
    threes = [number for number in headings if number.startswith("3")]
    assert threes == ["3", "3.1", "3.2", "3.3", "3.4", "3.5"]

"""Columns of prose are read one after the other; labels and their values across."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ingest.extract import extract
from ingest.extract.columns import by_column, reading_order
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


# --- lines, where no model has seen the page ----------------------------------------------------


def column(x0: float, x1: float, y0: float, lines: int, pitch: float = 12.0) -> list[BoxTuple]:
    """Return the boxes of a column's lines, the last one short."""
    return [
        (x0, y0 + pitch * n, x1 if n < lines - 1 else (x0 + x1) / 2, y0 + pitch * n + 9)
        for n in range(lines)
    ]


def order(boxes: list[BoxTuple], words: int | dict[int, int] = 8, *, seed: int = 1) -> list[int]:
    """Shuffle the lines, put them in order, and return their numbers."""
    shuffled = list(range(len(boxes)))
    random.Random(seed).shuffle(shuffled)
    given = words if isinstance(words, dict) else dict.fromkeys(range(len(boxes)), words)
    runs = reading_order([boxes[n] for n in shuffled], lambda index: given[shuffled[index]])
    return [
        shuffled[index]
        for run in runs
        for index in sorted(run, key=lambda index: boxes[shuffled[index]][1])
    ]


def in_order(boxes: list[BoxTuple], words: int | dict[int, int] = 8) -> bool:
    return all(order(boxes, words, seed=seed) == list(range(len(boxes))) for seed in range(5))


def test_two_and_three_columns_of_lines() -> None:
    assert in_order([*column(50, 290, 100, 30), *column(310, 550, 100, 30)])
    assert in_order(
        [*column(40, 200, 90, 25), *column(215, 375, 90, 25), *column(390, 550, 90, 12)]
    )


def test_columns_whose_lines_do_not_match_in_height() -> None:
    assert in_order([*column(50, 290, 100, 30, 12), *column(310, 550, 104, 27, 13.3)])


def test_what_stands_across_cuts_the_columns() -> None:
    boxes = [
        (150, 40, 450, 60),  # the title
        *column(50, 290, 100, 10),
        *column(310, 550, 100, 12),
        *column(50, 550, 260, 3),  # a paragraph across
        *column(50, 290, 310, 14),
        *column(310, 550, 310, 9),
        (280, 760, 320, 769),  # the page's number
    ]
    assert in_order(boxes)


def test_a_column_cut_in_two_again() -> None:
    boxes = [
        *column(40, 190, 100, 40),
        *column(210, 560, 100, 10),
        *column(210, 375, 240, 20),
        *column(395, 560, 240, 20),
    ]
    assert in_order(boxes)


def test_a_sidebar_of_short_lines_is_a_column_of_its_own() -> None:
    side = column(40, 140, 100, 20, 15.5)
    boxes = [*side, *column(170, 560, 100, 40)]
    assert in_order(boxes, {n: 2 if n < len(side) else 12 for n in range(len(boxes))})


def test_tables_and_forms_are_read_across() -> None:
    rows = [
        box
        for n in range(20)
        for box in ((50, 100 + 15 * n, 120, 109 + 15 * n), (300, 100 + 15 * n, 340, 109 + 15 * n))
    ]
    [run] = reading_order(rows, lambda _: 1)
    assert len(run) == len(rows)
    # A term beside its definition: the term stands at the height of one of its lines.
    terms = [(50.0, 100.0 + 48 * n, 110.0, 109.0 + 48 * n) for n in range(6)]
    texts = [box for n in range(6) for box in column(150, 550, 100 + 48 * n, 3)]
    boxes = [*terms, *texts]
    runs = reading_order(boxes, lambda index: 1 if index < 6 else 10)
    tops = [boxes[index][1] for run in runs for index in sorted(run, key=lambda n: boxes[n][1])]
    assert tops == sorted(tops)


def test_a_wide_space_in_one_line_is_no_gutter() -> None:
    boxes = column(50, 550, 100, 10)
    boxes[4:5] = [(50, 148, 200, 157), (220, 148, 550, 157)]
    [run] = reading_order(boxes, lambda _: 8)
    assert len(run) == 11


def test_columns_that_follow_to_the_left() -> None:
    boxes = [*column(310, 550, 100, 20), *column(50, 290, 100, 20)]
    runs = reading_order(boxes, lambda _: 8, rightward=False)
    assert [index for run in runs for index in run] == list(range(40))


@given(st.lists(BOXES, max_size=25), st.integers(0, 9))
def test_every_line_is_in_one_run(boxes: list[BoxTuple], words: int) -> None:
    runs = reading_order(boxes, lambda _: words)
    assert sorted(index for run in runs for index in run) == list(range(len(boxes)))

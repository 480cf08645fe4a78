from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ocr.engine import PixelBox
from ocr.reading_order import reading_order

HEIGHT = 20


def line(left: float, top: float, width: float) -> PixelBox:
    return left, top, left + width, top + HEIGHT


def order(boxes: list[PixelBox]) -> list[int]:
    return [place.index for place in reading_order(boxes)]


def columns(top: float, lines: int, *lefts: float, width: float = 300) -> list[PixelBox]:
    """Return columns of prose, one after the other; the last line of each is short."""
    return [
        line(left, top + 26 * number, width if number < lines - 1 else width / 3)
        for left in lefts
        for number in range(lines)
    ]


def test_nothing_has_no_order() -> None:
    assert reading_order([]) == []


def test_columns_of_prose_are_read_one_after_the_other() -> None:
    boxes = columns(100, 6, 50, 400)
    assert order(boxes) == list(range(12))
    assert order(columns(100, 6, 50, 400, 750)) == list(range(18))


def test_a_heading_over_columns_comes_first_and_a_line_under_them_last() -> None:
    boxes = [line(50, 40, 650), *columns(100, 6, 50, 400), line(50, 300, 650)]
    assert order(boxes) == list(range(14))


def test_rows_of_a_table_are_read_across() -> None:
    boxes = [line(left, top, 60) for top in range(100, 250, 26) for left in (50, 250, 450)]
    places = reading_order(boxes)
    assert [place.index for place in places] == list(range(18))
    assert [place.line for place in places] == [row for row in range(1, 7) for _ in range(3)]


def test_parts_of_a_line_belong_together_though_one_is_lower() -> None:
    boxes = [line(300, 106, 80), line(50, 100, 200), line(50, 126, 330)]
    assert [(p.index, p.block, p.line) for p in reading_order(boxes)] == [
        (1, 1, 1),
        (0, 1, 1),
        (2, 1, 2),
    ]


def test_white_bands_part_blocks() -> None:
    boxes = [line(50, top, 400) for top in (100, 126, 152, 200, 226)]
    assert [place.block for place in reading_order(boxes)] == [1, 1, 1, 2, 2]


@given(
    st.lists(
        st.tuples(st.floats(0, 1000), st.floats(0, 1000), st.floats(1, 300), st.floats(1, 80)).map(
            lambda box: (box[0], box[1], box[0] + box[2], box[1] + box[3])
        ),
        max_size=25,
    )
)
def test_every_line_has_one_place_and_places_go_up(boxes: list[PixelBox]) -> None:
    places = reading_order(boxes)
    assert sorted(place.index for place in places) == list(range(len(boxes)))
    steps = [(place.block, place.line) for place in places]
    assert steps == sorted(steps)
    assert not steps or steps[0] == (1, 1)

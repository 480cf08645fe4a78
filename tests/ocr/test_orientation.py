from __future__ import annotations

import pytest
from page_images import draw, tilt, turn
from PIL import Image

from ocr.components import find_components
from ocr.orientation import Orientation, find_orientation

CAPITALS = (
    "INVOICE NO 4711   DATE 03 11 2026",
    "ITEM 0815         EUR 1 024 00",
    "ITEM 0816         EUR 96 50",
    "TOTAL             EUR 1 120 50",
)


def orientation_of(image: Image.Image) -> Orientation:
    return find_orientation(find_components(image))


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
@pytest.mark.parametrize("skew", [0.0, 2.0, -5.0])
def test_prose_says_which_way_up_it_is(degrees: int, skew: float) -> None:
    found = orientation_of(turn(tilt(draw(), skew), degrees).image)
    assert (found.turn + degrees) % 360 == 0
    # Other scripts stand the other way in their lines, so a turned page may be read both ways.
    assert found.alternatives == (((180 - degrees) % 360,) if degrees else ())
    assert found.skew == pytest.approx(skew, abs=0.15)


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_capitals_leave_the_other_way_up_possible(degrees: int) -> None:
    found = orientation_of(turn(draw(CAPITALS), degrees).image)
    right = -degrees % 360
    assert right in (found.turn, *found.alternatives)
    # Along or across is sure.
    assert found.turn % 180 == right % 180


def test_columns_of_a_table_are_no_lines() -> None:
    # Its columns stand more sharply in line than its rows.
    rows = tuple(f"{13 + n % 2} A        {100 + n}        {14 - n % 3} B" for n in range(24))
    found = orientation_of(draw(rows, leading=1.3).image)
    assert found.turn % 180 == 0


def test_a_blank_image_stands_as_it_is() -> None:
    found = orientation_of(Image.new("L", (300, 200), 255))
    assert (found.turn, found.skew) == (0, 0.0)


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
@pytest.mark.parametrize(
    "lines", [("Schedule 2",), ("SIGNED BY", "THE DIRECTOR"), ("4711", "0815")]
)
def test_a_few_letters_are_no_reason_to_turn_a_page(lines: tuple[str, ...], degrees: int) -> None:
    found = orientation_of(turn(draw(lines), degrees).image)
    assert (found.turn, found.skew, found.unsure) == (0, 0.0, True)
    assert sorted(found.alternatives) == [90, 180, 270]

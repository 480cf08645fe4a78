from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from page_images import ink_box
from PIL import Image, ImageDraw

from ocr.transform import Transform, Turn

TURNS: tuple[Turn, ...] = (0, 90, 180, 270)


def marked(width: int, height: int, box: tuple[int, int, int, int]) -> Image.Image:
    image = Image.new("L", (width, height), 255)
    left, top, right, bottom = box
    ImageDraw.Draw(image).rectangle((left, top, right - 1, bottom - 1), fill=0)
    return image


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("scale", [1.0, 1.7, 0.6])
def test_a_box_cut_from_what_is_read_comes_back_to_the_pixel(turn: Turn, scale: float) -> None:
    box = (40, 60, 130, 90)
    transform = Transform(300, 200, turn, scale)
    read = transform.apply(marked(300, 200, box))
    assert read.size == transform.size
    found = ink_box(read, (0, 0, *read.size))
    assert found is not None
    assert transform.to_displayed([found])[0] == pytest.approx(box, abs=0.0 if scale == 1 else 1.0)


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("skew", [-10.0, -2.0, 0.4, 7.0])
def test_levelling_moves_pixels_as_it_moves_points(turn: Turn, skew: float) -> None:
    box = (140, 90, 160, 110)
    transform = Transform(300, 240, turn, 2.0, skew)
    read = transform.apply(marked(300, 240, box))
    assert read.size == transform.size
    darkness = 255.0 - np.asarray(read)
    rows, columns = np.indices(darkness.shape) + 0.5
    middle = np.array([(columns * darkness).sum(), (rows * darkness).sum()]) / darkness.sum()
    assert middle == pytest.approx(transform.to_read(np.array([[150.0, 100.0]]))[0], abs=0.05)


@given(
    turn=st.sampled_from(TURNS),
    scale=st.floats(0.3, 3),
    skew=st.floats(-15, 15),
    left=st.floats(0, 380),
    top=st.floats(0, 280),
    width=st.floats(1, 20),
    height=st.floats(1, 20),
)
def test_the_hull_of_a_box_there_and_back_holds_the_box(
    turn: Turn, scale: float, skew: float, left: float, top: float, width: float, height: float
) -> None:
    transform = Transform(400, 300, turn, scale, skew)
    box = (left, top, left + width, top + height)
    corners = np.array([(x, y) for x in box[::2] for y in box[1::2]])
    there = transform.to_read(corners)
    low, high = there.min(axis=0), there.max(axis=0)
    assert (low > -1e-6).all()
    assert (high < np.array(transform.size) + 1e-6).all()
    x0, y0, x1, y1 = transform.to_displayed([(*low.tolist(), *high.tolist())])[0]
    assert x0 <= left + 1e-6
    assert y0 <= top + 1e-6
    assert x1 >= min(400, left + width) - 1e-6
    assert y1 >= min(300, top + height) - 1e-6
    if skew == 0:
        assert (x0, y0, x1, y1) == pytest.approx(box)


@given(turn=st.sampled_from(TURNS), scale=st.floats(0.3, 3), skew=st.floats(-15, 15))
def test_a_box_without_scaling_is_the_box_of_the_level_image(
    turn: Turn, scale: float, skew: float
) -> None:
    level, scaled = Transform(400, 300, turn, 1.0, skew), Transform(400, 300, turn, scale, skew)
    point = np.array([[123.0, 45.0]])
    x, y = scaled.to_read(point)[0]
    # The scaled image has whole pixels, so its two axes are scaled by a little less or more.
    assert scaled.unscaled([(x, y, x, y)])[0][:2] == pytest.approx(level.to_read(point)[0], abs=0.6)


def test_boxes_stay_inside_the_image() -> None:
    transform = Transform(400, 300, 0, 1.0, 10.0)
    # This corner of the level image is none of the displayed one.
    x0, y0, x1, y1 = transform.to_displayed([(0, 0, 5, 5)])[0]
    assert 0 <= x0 < x1 <= 400
    assert 0 <= y0 < y1 <= 300


def test_corners_get_the_greys_of_paper() -> None:
    image = Image.new("L", (200, 100), 200)
    assert Transform(200, 100, skew=5.0).apply(image).getextrema() == (200, 200)


def test_nothing_to_do_gives_the_same_pixels() -> None:
    image = marked(50, 40, (3, 4, 9, 8))
    transform = Transform(50, 40)
    assert transform.is_identity
    assert transform.apply(image) is image
    assert transform.to_displayed([(1.5, 2, 3, 4)]) == [(1.5, 2, 3, 4)]

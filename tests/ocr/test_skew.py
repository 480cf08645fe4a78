from __future__ import annotations

import numpy as np
import pytest
from page_images import PROSE, draw, tilt
from PIL import Image, ImageDraw

from ocr.components import find_components
from ocr.orientation import find_orientation
from ocr.skew import fit_lines


def skew_of(image: Image.Image) -> float:
    return find_orientation(find_components(image)).skew


@pytest.mark.parametrize("degrees", [-12.0, -7.3, -2.0, -0.5, 0.45, 1.0, 3.3, 10.0])
@pytest.mark.parametrize("size", [14, 32])
def test_the_angle_of_prose_is_found(degrees: float, size: int) -> None:
    drawn = tilt(draw(size=size), degrees)
    assert skew_of(drawn.image) == pytest.approx(degrees, abs=0.15)


@pytest.mark.parametrize("degrees", [0.0, 0.2, -0.25])
def test_what_is_almost_level_is_left_as_it_is(degrees: float) -> None:
    assert skew_of(tilt(draw(), degrees).image) == 0.0


def test_three_lines_are_enough() -> None:
    assert skew_of(tilt(draw(PROSE[:3]), 4.0).image) == pytest.approx(4.0, abs=0.15)


def test_grey_text_on_grey_noisy_paper() -> None:
    drawn = tilt(draw(ink=120, paper=205), -3.0)
    noise = np.random.default_rng(0).normal(0, 12, (drawn.image.height, drawn.image.width))
    noisy = np.clip(np.asarray(drawn.image) + noise, 0, 255).astype(np.uint8)
    assert skew_of(Image.fromarray(noisy)) == pytest.approx(-3.0, abs=0.15)


def test_rules_and_frames_at_another_angle_mislead_nobody() -> None:
    image = draw().image
    pen = ImageDraw.Draw(image)
    for y in range(100, image.height, 60):
        pen.line((0, y, image.width, y + 0.05 * image.width), fill=0, width=4)
    pen.rectangle((20, 20, image.width - 20, image.height - 20), outline=0, width=8)
    assert abs(skew_of(image)) <= 0.3


def test_there_is_no_skew_without_lines() -> None:
    blank = Image.new("L", (800, 600), 255)
    assert skew_of(blank) == 0.0
    pen = ImageDraw.Draw(blank)
    pen.line((50, 50, 700, 150), fill=0, width=5)
    assert skew_of(blank) == 0.0
    generator = np.random.default_rng(1)
    picture = Image.fromarray(generator.integers(0, 255, (60, 80), dtype=np.uint8))
    assert skew_of(picture.resize((1600, 1200), Image.Resampling.BICUBIC)) == 0.0


@pytest.mark.parametrize("count", [12, 40, 200, 2000])
def test_points_that_lie_anywhere_are_no_lines(count: int) -> None:
    generator = np.random.default_rng(count)
    found = []
    for _ in range(20):
        along, across = generator.uniform(0, 2000, (2, count))
        found.append(fit_lines(along, across, 20.0).found)
    assert sum(found) <= (3 if count < 40 else 0)


def test_the_contrast_of_lines_is_well_above_that() -> None:
    components = find_components(tilt(draw(), 2.0).image)
    middles = components.centres[:, 0]
    assert fit_lines(middles, components.boxes[:, 3], components.height).contrast > 3

from __future__ import annotations

import numpy as np
from page_images import PROSE, Drawn, draw, turn
from PIL import Image, ImageOps

from ocr.components import find_components
from ocr.ink import uncovered_ink
from ocr.orientation import find_orientation
from ocr.polarity import light_on_dark
from ocr.transform import Transform


def header_on_black() -> Drawn:
    """Draw a page whose first lines are white in a black block."""
    drawn = draw()
    image = drawn.image.copy()
    block = (60, 80, image.width - 60, round(drawn.words[drawn.lines.index(4)][1][1]) - 12)
    image.paste(ImageOps.invert(image.crop(block)), block)
    return Drawn(image, drawn.words, drawn.lines)


def test_white_on_black_has_the_letters_of_black_on_white() -> None:
    for degrees in (0, 90, 180, 270):
        drawn = turn(draw(), degrees)
        white = find_components(drawn.image)
        black = find_components(ImageOps.invert(drawn.image))
        assert not white.negative
        assert black.negative
        assert len(black) == len(white)
        assert np.abs(np.sort(black.boxes, axis=0) - np.sort(white.boxes, axis=0)).max() <= 1
        assert find_orientation(black) == find_orientation(white)


def test_letters_in_a_black_block_are_seen_among_others() -> None:
    drawn = header_on_black()
    light = light_on_dark(np.asarray(drawn.image))
    assert light is not None
    assert 0.05 < light.mean() < 0.5
    components = find_components(drawn.image)
    assert not components.negative
    assert len(components) > 0.95 * len(find_components(draw().image))
    level = Transform(*drawn.image.size)
    boxes = [box for _, box in drawn.words]
    assert uncovered_ink(components, boxes, level) < 0.02
    in_block = sum(line <= 3 for line in drawn.lines)
    assert uncovered_ink(components, boxes[in_block:], level) > 0.15


def test_black_letters_on_dark_paper_are_no_light_ones() -> None:
    assert light_on_dark(np.asarray(draw(ink=10, paper=90).image)) is None
    assert not find_components(draw(ink=10, paper=90).image).negative


def test_black_without_letters_and_small_images_have_none() -> None:
    assert light_on_dark(np.zeros((300, 200), np.uint8)) is None
    assert light_on_dark(np.zeros((7, 200), np.uint8)) is None
    assert light_on_dark(np.asarray(draw(PROSE[:2], size=160).image)) is None


def test_dotted_rules_are_no_letters() -> None:
    drawn = draw(("Phone",))
    pixels = np.array(drawn.image)
    letters = len(find_components(drawn.image))
    pixels[40:44, 20:-20:8] = 0
    for x in range(22, drawn.image.width - 20, 8):
        pixels[40:44, x : x + 3] = 0
        pixels[60:64, x : x + 6] = 0
    assert len(find_components(Image.fromarray(pixels))) == letters


def test_dots_that_the_grid_makes_unlike_are_no_letters() -> None:
    drawn = draw(("Phone",))
    pixels = np.array(drawn.image)
    letters = len(find_components(drawn.image))
    x, number = 20, 0
    while x < drawn.image.width - 30:
        wide = (7, 5, 3, 3, 4, 3)[number % 6]
        pixels[40:43, x : x + wide] = 0
        pixels[x : x + wide, 20:23] = 0
        x, number = x + wide + 3 + number % 2, number + 1
    assert len(find_components(Image.fromarray(pixels))) == letters

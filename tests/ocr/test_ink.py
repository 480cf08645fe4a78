from __future__ import annotations

import numpy as np
import pytest
from page_images import Drawn, draw, tilt, turn
from PIL import Image, ImageDraw

from ocr.components import find_components
from ocr.ink import text_like, uncovered_ink
from ocr.transform import Transform, Turn


def uncovered(drawn: Drawn, share: float = 1.0, image: Image.Image | None = None) -> float:
    """Return the uncovered ink where only the first words were found."""
    image = image or drawn.image
    found = drawn.words[: round(share * len(drawn.words))]
    transform = Transform(image.width, image.height)
    return uncovered_ink(find_components(image), [box for _, box in found], transform)


def test_all_words_cover_all_ink() -> None:
    assert uncovered(draw()) == 0.0
    assert uncovered(tilt(draw(), 6.0)) == 0.0


@pytest.mark.parametrize("share", [0.0, 0.5, 0.8, 0.93])
def test_missing_words_are_seen(share: float) -> None:
    assert uncovered(draw(), share) == pytest.approx(1 - share, abs=0.03)


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_boxes_are_of_the_image_that_was_read(degrees: Turn) -> None:
    upright = tilt(draw(), 0)
    displayed = turn(upright, degrees).image
    transform = Transform(displayed.width, displayed.height, (360 - degrees) % 360, 2.0)  # type: ignore[arg-type]
    boxes = [tuple(2 * side for side in box) for _, box in upright.words]
    components = find_components(displayed)
    assert uncovered_ink(components, boxes, transform) == 0.0  # type: ignore[arg-type]
    half = uncovered_ink(components, boxes[: len(boxes) // 2], transform)  # type: ignore[arg-type]
    assert half == pytest.approx(0.5, abs=0.05)


def test_words_of_a_tilted_page_read_without_levelling() -> None:
    drawn = tilt(draw(), 2.0)
    kept = Drawn(drawn.image, tuple(word for word in drawn.words if word[1][0] < 700))
    lost = 1 - len(kept.words) / len(drawn.words)
    assert uncovered(kept) == pytest.approx(lost, abs=0.1)


def test_what_is_no_text_is_not_counted() -> None:
    drawn = draw()
    image = drawn.image.copy()
    pen = ImageDraw.Draw(image)
    width, height = image.size
    for x in range(20, width - 20, 24):  # dashed rules
        for y in (40, 60, height - 50):
            pen.line((x, y, x + 14, y), fill=0, width=3)
    pen.rectangle((10, 10, width - 10, height - 10), outline=0, width=3)  # a frame
    pen.rectangle((0, 0, 6, height), fill=60)  # a scanner's edge
    for y in (height // 4, 3 * height // 4):  # punch holes
        pen.ellipse((20, y, 64, y + 44), fill=30)
    generator = np.random.default_rng(3)
    for x, y in generator.integers(0, (width, height), (300, 2)).tolist():  # specks
        pen.point([(x, y), (x + 1, y)], fill=0)
    assert uncovered(drawn, image=image) <= 0.01
    assert uncovered(drawn, 0.9, image=image) == pytest.approx(0.1, abs=0.03)


def test_a_rule_through_text_does_not_hide_it() -> None:
    drawn = draw()
    image = drawn.image.copy()
    for y in range(0, image.height, 37):
        ImageDraw.Draw(image).line((0, y, image.width, y), fill=0, width=2)
    assert uncovered(drawn, 0.5, image=image) == pytest.approx(0.5, abs=0.15)


def test_an_image_without_text_has_nothing_uncovered() -> None:
    blank = Image.new("L", (400, 300), 255)
    nothing = find_components(blank)
    assert uncovered_ink(nothing, [], Transform(400, 300)) == 0.0
    assert text_like(nothing, level=True).shape == (0,)
    ImageDraw.Draw(blank).ellipse((100, 100, 140, 140), fill=0)
    assert uncovered_ink(find_components(blank), [], Transform(400, 300)) == 0.0

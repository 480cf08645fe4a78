from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from ocr.line_words import LineWord, even_words, words_of_line

FONT = ImageFont.load_default(size=36)
HEIGHT = 60


def line(
    *words: tuple[int, str], width: int = 500, paper: int = 255, ink: int = 0
) -> tuple[Image.Image, str, list[float]]:
    """Return a picture with words that begin at given columns, its text, its letters' centres."""
    image = Image.new("L", (width, HEIGHT), paper)
    pen = ImageDraw.Draw(image)
    centres: list[float] = []
    for left, word in words:
        pen.text((left, 8), word, font=FONT, fill=ink)
        ends = [left + FONT.getlength(word[:count]) for count in range(len(word) + 1)]
        centres += [(a + b) / 2 for a, b in pairwise(ends)]
    return image, " ".join(word for _, word in words), centres


def found(image: Image.Image, text: str, centres: list[float]) -> list[LineWord]:
    return words_of_line(np.asarray(image), text, centres, [0.5] * len(centres))


def ink_of(left: int, word: str) -> tuple[int, int, int, int]:
    alone = Image.new("L", (1000, HEIGHT), 0)
    ImageDraw.Draw(alone).text((left, 8), word, font=FONT, fill=255)
    box = alone.point(lambda value: 255 * (value > 127)).getbbox()
    assert box is not None
    return box


def check(words: list[LineWord], *expected: tuple[int, str]) -> None:
    assert [word.text for word in words] == [word for _, word in expected]
    for word, (left, text) in zip(words, expected, strict=True):
        assert word.box == pytest.approx(ink_of(left, text), abs=1), text


TWO = ((20, "jury,"), (140, "acts"))


def test_boxes_are_around_the_ink() -> None:
    check(found(*line(*TWO)), *TWO)


def test_light_letters_on_dark_paper() -> None:
    check(found(*line(*TWO, paper=40, ink=230)), *TWO)


@pytest.mark.parametrize("shift", [-9.0, 9.0])
def test_centres_may_be_off_by_half_a_letter(shift: float) -> None:
    image, text, centres = line(*TWO)
    check(found(image, text, [centre + shift for centre in centres]), *TWO)


def test_rules_dirt_and_other_lines_are_no_ink_of_the_word() -> None:
    image, text, centres = line(*TWO)
    pen = ImageDraw.Draw(image)
    pen.line((0, 53, 499, 53), fill=0, width=2)  # a rule below
    pen.rectangle((120, 0, 130, 6), fill=0)  # reaches in from the line above
    pen.rectangle((300, 54, 320, 59), fill=0)  # and from the line below
    pen.line((0, 0, 0, 59), fill=0, width=3)  # the frame of a cell
    pen.point((130, 30), fill=0)
    check(found(image, text, centres), *TWO)


def test_dots_and_commas_are_ink_of_the_word() -> None:
    words = ((20, "i.e.,"), (160, "é"))
    check(found(*line(*words)), *words)


def test_words_without_ink_have_a_box_all_the_same() -> None:
    words = words_of_line(np.full((20, 90), 255, np.uint8), "a b c", [15, 45, 75], [0.1, 0.2, 0.9])
    assert [word.confidence for word in words] == pytest.approx([0.1, 0.2, 0.9])
    boxes = [word.box for word in words]
    assert all(0 <= x0 < x1 <= 90 and 0 <= y0 < y1 <= 20 for x0, y0, x1, y1 in boxes)
    assert [box[0] for box in boxes] == sorted({box[0] for box in boxes})


def test_confidence_is_that_of_the_words_own_letters() -> None:
    image, text, centres = line((20, "on"), (140, "x"))
    words = words_of_line(np.asarray(image), text, centres, [0.4, 0.6, 0.9])
    assert [word.confidence for word in words] == pytest.approx([0.5, 0.9])


def test_letters_that_touch_are_cut_where_there_is_least_ink() -> None:
    image, text, centres = line((20, "HH"), (92, "HH"))
    pen = ImageDraw.Draw(image)
    pen.line((60, 45, 100, 45), fill=0)
    left, right = found(image, text, centres)
    assert left.box[2] == pytest.approx(right.box[0], abs=1)
    assert 66 <= left.box[2] <= 96


def test_words_share_a_line_by_their_length() -> None:
    assert even_words("ab c", 400, 30, 0.7) == [
        LineWord("ab", (0, 0, 200, 30), 0.7),
        LineWord("c", (300, 0, 400, 30), 0.7),
    ]

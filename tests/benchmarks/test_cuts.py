"""The check of cut words passes right boxes and fails every kind of wrong one."""

from __future__ import annotations

from typing import Any

import pymupdf
import pytest

from benchmarks.extract.cuts import CutScore, CutWord, check_cuts

LINES = ("The supplier delivers", "fourteen days later.")
FONT, SIZE = pymupdf.Font("helv"), 14


def page_and_words(rotation: int = 0, *, ground: bool = False) -> tuple[Any, list[CutWord]]:
    """Set lines on an unrotated page and return the words with boxes of the displayed page."""
    document = pymupdf.open()
    page: Any = document.new_page(width=300, height=200)
    if ground:
        page.draw_rect((30, 30, 270, 120), color=(0, 0, 0.4), fill=(0, 0, 0.4))
    words: list[CutWord] = []
    color = (1, 1, 1) if ground else (0, 0, 0)
    for number, line in enumerate(LINES):
        x, y = 50.0, 60.0 + 30 * number
        for text in line.split():
            page.insert_text((x, y), text, fontname="helv", fontsize=SIZE, color=color)
            end = x + FONT.text_length(text, SIZE)
            box = pymupdf.Rect(x, y - 0.78 * SIZE, end, y + 0.24 * SIZE)
            words.append(CutWord(text, tuple(box)))
            x = end + 4
    page.set_rotation(rotation)
    turned = [
        CutWord(word.text, tuple(pymupdf.Rect(word.box) * page.rotation_matrix)) for word in words
    ]
    return page, turned


def moved(word: CutWord, *by: float) -> CutWord:
    x0, y0, x1, y1 = (side + shift for side, shift in zip(word.box, by, strict=True))
    return CutWord(word.text, (x0, y0, x1, y1))


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("ground", [False, True])
def test_right_boxes_pass(rotation: int, ground: bool) -> None:
    page, words = page_and_words(rotation, ground=ground)
    assert check_cuts(page, words) == (CutScore(words=6, passed=6), [])


def test_a_box_that_cuts_a_letter() -> None:
    page, words = page_and_words()
    score, faults = check_cuts(page, [moved(words[0], 0, 0, -4, 0), *words[1:]])
    assert (score.passed, score.cut_off) == (5, 1)
    assert "cut off" in faults[0]


def test_a_box_that_holds_a_neighbour() -> None:
    page, words = page_and_words()
    score, _ = check_cuts(page, [words[0], *words[2:], moved(words[1], 0, 0, 40, 0)])
    assert score.other_letters == 0, "the neighbour's own box is there"
    page, words = page_and_words()
    score, _ = check_cuts(page, [moved(words[0], 0, 0, 40, 0)])
    assert (score.passed, score.other_letters) == (0, 1)


def test_boxes_of_another_rotation() -> None:
    page, words = page_and_words(90)
    _, straight = page_and_words(0)
    score, _ = check_cuts(page, straight)
    assert score.passed == 0
    assert score.words == len(words)


def test_another_text_and_an_empty_place() -> None:
    page, words = page_and_words()
    score, _ = check_cuts(page, [CutWord("Tho", words[0].box), *words[1:]])
    assert (score.passed, score.other_letters) == (5, 1)
    page, words = page_and_words()
    score, faults = check_cuts(page, [*words, CutWord("ghost", (50, 150, 90, 165))])
    assert (score.passed, score.no_ink) == (6, 1)
    assert "no ink" in faults[0]


def test_a_text_layer_over_a_picture_is_counted_apart() -> None:
    page, words = page_and_words()
    picture = page.get_pixmap(dpi=100)
    with pymupdf.open() as document:
        scan: Any = document.new_page(width=300, height=200)
        scan.insert_image(scan.rect, pixmap=picture)
        for word in words:
            scan.insert_text((word.box[0], word.box[3] - 3), word.text, fontsize=14, render_mode=3)
        assert check_cuts(scan, words)[0] == CutScore(on_pictures=len(words))

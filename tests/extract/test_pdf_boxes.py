"""Guarantee 2: cutting the page at a box shows the word, whatever the page's geometry."""

from __future__ import annotations

import colorsys

import numpy as np
import pymupdf
import pytest
from extract.checks import check_invariants, page_image, read, word_text

from ingest.extract.text_layer import to_displayed

WORDS = ("Termination", "notice", "of", "ninety", "days", "(90)", "gives", "jgpq", "Ågrad", "final")
COLOURS = [colorsys.hsv_to_rgb(n / len(WORDS), 1, 0.8) for n in range(len(WORDS))]
DPI = 144


def coloured_pdf(
    rotation: int,
    *,
    crop: tuple[float, float, float, float] | None = None,
    media_origin: tuple[float, float] = (0, 0),
    user_unit: float = 1,
    turn: int = 0,
) -> bytes:
    """Make a page on which every word has a colour of its own."""
    with pymupdf.open() as document:
        page = document.new_page(width=400, height=320)
        for number, (word, colour) in enumerate(zip(WORDS, COLOURS, strict=True)):
            across = (80 + 140 * (number % 2), 60 + 40 * (number // 2))
            where = (90 + 28 * number, 250) if turn else across
            page.insert_text(where, word, fontsize=15, color=colour, rotate=turn)
        if crop:
            page.set_cropbox(pymupdf.Rect(crop))
        x, y = media_origin
        if (x, y) != (0, 0):
            page.set_mediabox(pymupdf.Rect(x, y, x + 400, y + 320))
        if user_unit != 1:
            document.xref_set_key(page.xref, "UserUnit", str(user_unit))
        page.set_rotation(rotation)
        return bytes(document.tobytes())


GEOMETRIES = {
    "plain": {},
    "crop box": {"crop": (60, 30, 380, 300)},
    "media box origin": {"media_origin": (-30, 25)},
    "user unit": {"user_unit": 1.5},
    "all of them": {"crop": (60, 30, 380, 300), "user_unit": 2, "turn": 90},
}


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_each_box_holds_its_word_and_no_ink_is_outside(rotation: int, geometry: str) -> None:
    data = coloured_pdf(rotation, **GEOMETRIES[geometry])
    extraction = read(data, "boxes.pdf")
    page = extraction.pages[0]
    assert page.rotation == rotation
    image = page_image(data, DPI)
    assert (page.width, page.height) == pytest.approx(
        (image.width * 72 / DPI, image.height * 72 / DPI), abs=0.6
    )
    pixels = np.asarray(image).astype(int)
    free = (pixels < 200).any(axis=2)
    found = {}
    for word in extraction.words:
        x0, y0, x1, y1 = (side * DPI / 72 for side in word.box)
        left, top, right, bottom = int(x0), int(y0), int(np.ceil(x1)), int(np.ceil(y1))
        cut = pixels[top:bottom, left:right]
        ink = cut[(cut < 140).any(axis=2)]
        assert len(ink), f"{word_text(extraction, word)} has no ink in its box"
        found[word_text(extraction, word)] = ink.mean(axis=0) / 255
        free[max(0, top - 1) : bottom + 1, max(0, left - 1) : right + 1] = False
        # The box is that of the ink, not of the line; only a letter's own space is left beside it.
        rows, columns = (cut < 200).any(axis=2).any(axis=1), (cut < 200).any(axis=2).any(axis=0)
        slack = 3.5 * GEOMETRIES[geometry].get("user_unit", 1) * DPI / 72
        assert rows.size - np.ptp(np.flatnonzero(rows)) <= slack
        assert columns.size - np.ptp(np.flatnonzero(columns)) <= slack
    assert not free.any(), "ink outside every box"
    for word, colour in zip(WORDS, COLOURS, strict=True):
        nearest = min(COLOURS, key=lambda other: np.abs(found[word] - other).sum())
        assert nearest == colour, f"the box of {word} shows another word"


def test_displayed_coordinates_agree_with_pymupdf_where_it_is_right() -> None:
    for rotation in (0, 90, 180, 270):
        with pymupdf.open() as document:
            page = document.new_page(width=400, height=300)
            page.set_rotation(rotation)
            box = pymupdf.Rect(10, 20, 110, 35)
            expected = tuple(box * page.rotation_matrix)
            assert to_displayed(
                tuple(box), rotation, page.rect.width, page.rect.height
            ) == pytest.approx(expected)


def test_words_outside_the_crop_box_are_counted_not_read() -> None:
    with pymupdf.open() as document:
        page = document.new_page(width=400, height=300)
        page.insert_text((100, 100), "visible words stay")
        page.insert_text((20, 280), "cut away")
        page.set_cropbox(pymupdf.Rect(80, 50, 380, 250))
        data = bytes(document.tobytes())
    extraction = read(data, "crop.pdf")
    assert extraction.text == "visible words stay"
    [warning] = extraction.warnings
    assert (warning.code, warning.page) == ("words_outside_page", 1)
    assert warning.message.startswith("2 words")


def test_a_word_cut_by_the_page_edge_keeps_a_box_inside() -> None:
    with pymupdf.open() as document:
        page = document.new_page(width=200, height=100)
        page.insert_text((150, 50), "overflowing", fontsize=20)
        page.insert_text((-15, 90), "underflow", fontsize=20)
        data = bytes(document.tobytes())
    extraction = read(data, "edge.pdf")
    assert len(extraction.words) == 2


def test_no_break_spaces_split_words() -> None:
    with pymupdf.open() as document:
        page = document.new_page()
        page.insert_text((72, 72), "ten\u00a0thousand dollars")
        data = bytes(document.tobytes())
    extraction = read(data, "nbsp.pdf")
    assert [word_text(extraction, word) for word in extraction.words] == [
        "ten",
        "thousand",
        "dollars",
    ]
    ten, thousand, _ = extraction.words
    assert ten.box[2] <= thousand.box[0] + 0.02


def test_scripts_of_all_directions_keep_their_invariants() -> None:
    html = "<p>office ﬁnance naïve 合同条款第七条 עברית שלום العربية é\u0301 ½ € 😀</p>"
    with pymupdf.open() as document:
        document.new_page().insert_htmlbox(pymupdf.Rect(72, 72, 500, 200), html)
        data = bytes(document.tobytes())
    extraction = read(data, "scripts.pdf")
    for expected in ("finance", "合同条款第七条", "שלום", "½"):
        assert expected in extraction.text
    check_invariants(extraction)

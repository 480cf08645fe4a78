"""Guarantee 2: cutting the page at a box shows the word, whatever the page's geometry."""

from __future__ import annotations

import colorsys

import numpy as np
import pymupdf
import pytest
from extract.checks import check_invariants, page_image, read, word_text
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.extract.text_layer import read_text_layer, to_displayed

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


ROTATIONS = {
    "0": 0,
    "90": 90,
    "180": 180,
    "270": 270,
    "-90": 270,
    "450": 90,
    "720": 0,
}
BOXES = {
    "at the origin": ((0, 0, 400, 320), None),
    "elsewhere": ((-130, 45, 270, 365), None),
    "cropped": ((0, 0, 400, 320), (40, 20, 390, 300)),
    "both": ((90, 184, 490, 504), (130, 204, 480, 484)),
    "crop beyond the sheet": ((0, 0, 400, 320), (-50, -50, 390, 700)),
    "corners the wrong way round": ((400, 320, 0, 0), (390, 300, 40, 20)),
}


def raw_pdf(
    rotate: str, boxes: str, *, unit: float, inherited: bool, indirect: bool, turn: int
) -> bytes:
    """Write a page whose geometry is given in each way that PDF knows (32000-1 §7.7.3.3)."""
    media, crop = BOXES[boxes]
    left, bottom = min(media[0], media[2]), min(media[1], media[3])
    content = ["BT /F 15 Tf"]
    cosine, sine = {0: (1, 0), 90: (0, 1), 180: (-1, 0), 270: (0, -1)}[turn]
    for number, (word, colour) in enumerate(zip(WORDS, COLOURS, strict=True)):
        x, y = left + 110 + 26 * number, bottom + 130 + 12 * (number % 3)
        if turn in (0, 180):
            x, y = left + 110 + 140 * (number % 2), bottom + 60 + 42 * (number // 2)
            x += 60 if turn == 180 else 0
        red, green, blue = colour
        encoded = "".join(f"{byte:02x}" for byte in word.encode("cp1252"))
        content.append(
            f"{red:.3f} {green:.3f} {blue:.3f} rg {cosine} {sine} {-sine} {cosine} {x} {y} Tm "
            f"<{encoded}> Tj"
        )
    stream = "\n".join([*content, "ET"]).encode()
    geometry = f"/MediaBox [{' '.join(map(str, media))}] /Rotate {'6 0 R' if indirect else rotate}"
    if crop:
        geometry += f" /CropBox {'7 0 R' if indirect else [*crop]}".replace(",", "")
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[3 0 R]/Count 1 {geometry if inherited else ''}>>",
        f"<</Type/Page/Parent 2 0 R/Contents 4 0 R/UserUnit {unit} "
        f"/Resources<</Font<</F 5 0 R>>>> {'' if inherited else geometry}>>",
        f"<</Length {len(stream)}>>\nstream\n{stream.decode()}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Times-Italic/Encoding/WinAnsiEncoding>>",
        rotate,
        f"[{' '.join(map(str, crop or media))}]",
    ]
    body, offsets = b"%PDF-1.7\n", []
    for number, text in enumerate(objects, 1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{text}\nendobj\n".encode()
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    return (
        body
        + (
            f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
            f"trailer<</Root 1 0 R/Size {len(objects) + 1}>>\nstartxref\n{len(body)}\n%%EOF"
        ).encode()
    )


@settings(max_examples=50)
@given(
    rotate=st.sampled_from(list(ROTATIONS)),
    boxes=st.sampled_from(list(BOXES)),
    unit=st.sampled_from([1, 0.5, 2.5]),
    inherited=st.booleans(),
    indirect=st.booleans(),
    turn=st.sampled_from([0, 90, 180, 270]),
)
def test_boxes_lie_on_ink_whatever_the_page_says_of_itself(
    rotate: str, boxes: str, unit: float, inherited: bool, indirect: bool, turn: int
) -> None:
    data = raw_pdf(rotate, boxes, unit=unit, inherited=inherited, indirect=indirect, turn=turn)
    with pymupdf.open(stream=data, filetype="pdf") as document:
        page = document[0]
        assert page.rotation == ROTATIONS[rotate]
        text = read_text_layer(page, page.rotation, page.rect.width, page.rect.height)
        zoom = 2 / unit
        shown = page.get_pixmap(matrix=pymupdf.Matrix(zoom, zoom), alpha=False)
        assert (shown.width, shown.height) == pytest.approx(
            (page.rect.width * zoom, page.rect.height * zoom), abs=1.01
        )
    pixels = np.frombuffer(shown.samples, np.uint8).reshape(shown.height, shown.width, 3)
    pixels = pixels.astype(int)
    free = (pixels < 160).any(axis=2)
    assert free.any()
    assert not text.hidden
    words = [word for line in text.lines for word in line.words]
    assert sorted(word.text for word in words) == sorted(WORDS)
    for word in words:
        x0, y0, x1, y1 = (side * zoom for side in word.box)
        left, top, right, bottom = int(x0), int(y0), int(np.ceil(x1)), int(np.ceil(y1))
        cut = pixels[top:bottom, left:right]
        ink = cut[(cut < 140).any(axis=2)]
        assert len(ink)
        colour = COLOURS[WORDS.index(word.text)]
        # Antialiased edges of a neighbour may reach into the box, but not its colour.
        nearest = min(COLOURS, key=lambda other: np.abs(np.median(ink, axis=0) / 255 - other).sum())
        assert nearest == colour, f"the box of {word.text} shows another word"
        rows, columns = (cut < 200).any(axis=2).any(axis=1), (cut < 200).any(axis=2).any(axis=0)
        # Italic letters lean out of their places by different widths.
        assert rows.size - np.ptp(np.flatnonzero(rows)) <= 15
        assert columns.size - np.ptp(np.flatnonzero(columns)) <= 15
        free[max(0, top - 1) : bottom + 1, max(0, left - 1) : right + 1] = False
    assert not free.any(), "ink outside every box"


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


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_letters_that_reach_out_of_their_width_are_whole_in_their_box(turn: int) -> None:
    with pymupdf.open() as document:
        page = document.new_page(width=300, height=540)
        for number, word in enumerate(("of", "off", "fjord", "leaf", "VT")):
            page.insert_text(
                (150, 80 + 90 * number), word, fontsize=24, fontname="tiro", rotate=turn
            )
        data = bytes(document.tobytes())
    extraction = read(data, "overhang.pdf")
    assert len(extraction.words) == 5
    ink = np.asarray(page_image(data, 288).convert("L")) < 160
    for word in extraction.words:
        x0, y0, x1, y1 = (round(side * 4) for side in word.box)
        ink[max(0, y0 - 1) : y1 + 1, max(0, x0 - 1) : x1 + 1] = False
    assert not ink.any()

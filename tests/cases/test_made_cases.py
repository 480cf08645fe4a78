"""Field cases of PDFs and office files, on documents that the tests make.

The same cases on real files are in the modules beside this one.
"""

from __future__ import annotations

import io
import math
from typing import Any

import numpy as np
import pymupdf
import pytest
from docx import Document
from docx.enum.text import WD_BREAK
from extract.checks import (
    FAST,
    LETTER,
    codes,
    image_bytes,
    kinds,
    limited,
    page_image,
    read,
    text_pdf,
    word_text,
)
from PIL import Image

from ingest.errors import ItemError
from ingest.extract import extract
from ingest.settings import ExtractionSettings
from schemas.document import Extraction

ONE_ENGINE = ExtractionSettings(layout=False, ocr_second_engine="none")


def refusal(data: bytes, name: str, settings: ExtractionSettings = FAST) -> ItemError:
    with pytest.raises(ItemError) as caught:
        extract(data, name=name, settings=settings)
    assert caught.value.message.startswith(f"{name}: ")
    assert "retry the item" in caught.value.message
    return caught.value


def words(extraction: Extraction, page: int = 1) -> list[str]:
    return [word_text(extraction, word) for word in extraction.words if word.page == page]


def pdf_of(picture: Image.Image, dpi: int) -> bytes:
    with pymupdf.open() as document:
        page = document.new_page(width=picture.width * 72 / dpi, height=picture.height * 72 / dpi)
        page.insert_image(page.rect, stream=image_bytes(picture, "PNG"))
        return bytes(document.tobytes())


def assert_on_ink(data: bytes, extraction: Extraction, dpi: int = 150) -> None:
    """Every word of the page has a box inside it, with ink."""
    grey = np.asarray(page_image(data, dpi).convert("L"))
    page = extraction.pages[0]
    assert extraction.words
    for word in extraction.words:
        x0, y0, x1, y1 = word.box
        assert 0 <= x0 < x1 <= page.width
        assert 0 <= y0 < y1 <= page.height
        left, top, right, bottom = (int(side * dpi / 72) for side in word.box)
        assert np.ptp(grey[top : bottom + 1, left : right + 1]) > 60, word_text(extraction, word)


def test_four_rotations_of_a_made_scan() -> None:
    upright = page_image(text_pdf(), 200).convert("L")
    for turn in (0, 90, 180, 270):
        data = pdf_of(upright.rotate(-turn, expand=True), 200)
        extraction = read(data, "turned.pdf", ONE_ENGINE)
        assert words(extraction) == " ".join(LETTER).split(), turn
        # What was turned one way on its page has to be turned back.
        assert extraction.pages[0].recognitions[0].turn == -turn % 360
        assert_on_ink(data, extraction)


def test_skewed_made_scan() -> None:
    picture = page_image(text_pdf(), 200).convert("L")
    data = pdf_of(picture.rotate(-2, Image.Resampling.BICUBIC, fillcolor=255), 200)
    extraction = read(data, "skew.pdf", ONE_ENGINE)
    assert words(extraction) == " ".join(LETTER).split()
    assert extraction.pages[0].recognitions[0].skew == pytest.approx(2, abs=0.3)
    assert_on_ink(data, extraction)


def test_invisible_layer_made() -> None:
    """What is written without ink stands behind the body and is reported, never in between."""
    with pymupdf.open(stream=text_pdf()) as document:
        document[0].insert_text((40, 250), "Never shown to anybody", fontsize=14, render_mode=3)
        extraction = read(bytes(document.tobytes()), "layers.pdf")
    assert extraction.text[: extraction.body_end].split() == " ".join(LETTER).split()
    assert ("hidden", "Never shown to anybody") in kinds(extraction)
    assert "hidden_text" in codes(extraction)


def test_skipped_page_made() -> None:
    with pymupdf.open(stream=text_pdf(pages=3)) as document:
        document.new_page(1, width=420, height=300)
        extraction = read(bytes(document.tobytes()), "blank.pdf")
    assert [page.text_source for page in extraction.pages] == ["digital", "none"] + ["digital"] * 2
    assert {word.page for word in extraction.words} == {1, 3, 4}
    assert [w.page for w in extraction.warnings if w.code == "page_without_text"] == [2]


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_out_of_page_boxes_made(rotation: int) -> None:
    """The sheet begins below zero and is cropped through the text."""
    with pymupdf.open(stream=text_pdf()) as document:
        page = document[0]
        page.set_mediabox(pymupdf.Rect(-30, -20, 420, 300))
        page.set_cropbox(pymupdf.Rect(60, 40, 250, 170))
        page.set_rotation(rotation)
        data = bytes(document.tobytes())
    extraction = read(data, "cropped.pdf")
    assert "Supplier" not in extraction.text, "it lies beyond the right edge"
    assert "party" in extraction.text
    assert "words_outside_page" in codes(extraction)
    assert_on_ink(data, extraction)


def test_fake_bold_made() -> None:
    """Letters that are drawn twice, a third of a point apart, to look bold are there once."""
    with pymupdf.open() as document:
        page = document.new_page(width=300, height=100)
        for shift in (0, 0.3):
            page.insert_text((40 + shift, 50), "Statement of 11 accounts", fontsize=14)
        extraction = read(bytes(document.tobytes()), "bold.pdf")
    assert extraction.text == "Statement of 11 accounts"


_PRIVATE = b"""/CIDInit /ProcSet findresource begin begincmap
1 begincodespacerange <0000> <ffff> endcodespacerange
1 beginbfrange <0000> <00ff> <e000> endbfrange
endcmap end"""
"""Says that glyphs 0 to 255 are characters for private use."""


def test_untrusted_text_layer_made() -> None:
    """A font that says nothing of its characters: what the page shows is indexed, not its codes."""
    with pymupdf.open() as document:
        page = document.new_page(width=420, height=300)
        font = page.insert_font(fontname="F0", fontbuffer=pymupdf.Font("helv").buffer)
        for number, line in enumerate(LETTER):
            page.insert_text((40, 60 + 18 * number), line, fontsize=14, fontname="F0")
        stream = document.get_new_xref()
        document.update_object(stream, "<<>>")
        document.update_stream(stream, _PRIVATE)
        document.xref_set_key(font, "ToUnicode", f"{stream} 0 R")
        data = bytes(document.tobytes())
    with pymupdf.open(stream=data) as document:
        codes_alone = document[0].get_text().split()
    assert all("\ue000" <= word[0] < "\uf900" for word in codes_alone), "the case needs codes"
    extraction = read(data, "codes.pdf", ONE_ENGINE)
    assert words(extraction) == " ".join(LETTER).split()
    assert extraction.pages[0].text_source == "ocr"
    assert "text_layer_replaced" in codes(extraction)
    assert_on_ink(data, extraction)


def test_pixel_bomb_made() -> None:
    """A picture 200,000 pixels wide costs a refusal, or is read within the limit."""
    wide = image_bytes(Image.new("1", (200_000, 1_000), 1), "PNG")
    error = refusal(wide, "wide.png", limited(pixels_per_page=20_000_000))
    assert error.code == "image_too_large"
    assert "200,000" in error.message

    settings = limited(pixels_per_page=1_000_000)
    with pymupdf.open() as document:
        page = document.new_page(width=14_400, height=9_000)
        letters = page_image(text_pdf(), 100)
        page.insert_image(page.rect, stream=image_bytes(letters, "PNG"))
        extraction = read(bytes(document.tobytes()), "poster.pdf", settings)
    for recognition in extraction.pages[0].recognitions:
        x0, y0, x1, y1 = recognition.box
        assert (x1 - x0) * (y1 - y0) * (recognition.dpi / 72) ** 2 <= 1_010_000
    assert "Agreement" in extraction.text


def test_page_labels_made() -> None:
    """Both the physical number and the label that the document prints are kept."""
    with pymupdf.open(stream=text_pdf(pages=5)) as document:
        roman: dict[str, Any] = {"startpage": 0, "style": "r", "firstpagenum": 3}
        arabic: dict[str, Any] = {"startpage": 2, "prefix": "A-", "style": "D", "firstpagenum": 1}
        document.set_page_labels([roman, arabic])
        extraction = read(bytes(document.tobytes()), "labels.pdf")
    assert [(page.number, page.label) for page in extraction.pages] == [
        *((1, "iii"), (2, "iv")),
        *((3, "A-1"), (4, "A-2"), (5, "A-3")),
    ]
    assert {word.page for word in extraction.words} == {1, 2, 3, 4, 5}


def test_hidden_annotation_made() -> None:
    with pymupdf.open(stream=text_pdf()) as document:
        shown = document[0].add_freetext_annot((40, 150, 300, 180), "Shown to the reader")
        hidden = document[0].add_freetext_annot((40, 200, 300, 230), "Secret remark")
        shown.update()
        hidden.set_flags(pymupdf.PDF_ANNOT_IS_HIDDEN | pymupdf.PDF_ANNOT_IS_NO_VIEW)
        hidden.update()
        extraction = read(bytes(document.tobytes()), "notes.pdf")
    assert "Shown to the reader" in extraction.text
    assert "Secret" not in extraction.text
    assert "annotations_hidden" in codes(extraction)


def test_permissions_made() -> None:
    with pymupdf.open(stream=text_pdf()) as document:
        locked, free = (
            bytes(document.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="o", **more))
            for more in ({"user_pw": "u"}, {"permissions": 0})
        )
    assert refusal(locked, "locked.pdf").code == "password_needed"
    assert words(read(free, "free.pdf")) == " ".join(LETTER).split()


def test_broken_made() -> None:
    """Cut anywhere, a file is read with a record of the repair, or refused with the reason."""
    whole = text_pdf(pages=4)
    repaired = 0
    refused: set[str] = set()
    for share in range(1, 20):
        cut = whole[: math.ceil(len(whole) * share / 20)]
        try:
            extraction = read(cut, "cut.pdf")
        except ItemError as error:
            refused.add(error.code)
        else:
            assert {"repaired", "pages_unreadable", "page_unreadable"} & set(codes(extraction))
            repaired += 1
    assert repaired
    assert refused <= {"damaged", "no_pages", "no_text"}
    assert refusal(b"%PDF-1.7\n" + b"junk" * 100, "junk.pdf").code in ("damaged", "no_pages")


def test_docx_pages_made() -> None:
    """Three pages in Word are paragraphs here, and nothing says that they are all on page 1."""
    document = Document()
    for number in range(1, 4):
        paragraph = document.add_paragraph(f"This paragraph is printed on page {number}.")
        paragraph.add_run().add_break(WD_BREAK.PAGE)
    file = io.BytesIO()
    document.save(file)
    extraction = read(file.getvalue(), "pages.docx")
    assert extraction.pages == ()
    assert extraction.words == ()
    assert [element.paragraph for element in extraction.elements] == [1, 2, 3]

"""Pages that are text in one part and pixels in another."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pymupdf
import pytesseract
import pytest
from extract.checks import (
    FAST,
    LETTER,
    codes,
    image_bytes,
    iou,
    kinds,
    page_image,
    read,
    scanned_pdf,
    text_pdf,
    word_text,
)
from PIL import Image

from ingest.settings import ExtractionSettings
from ocr.recognition import PageRecogniser
from schemas.document import Extraction

ABOVE, BELOW = "The figure below shows the parties.", "The figure above showed the parties."
IN_FIGURE = ("Supplier delivers goods", "Customer pays the price")


def figure(lines: tuple[str, ...] = IN_FIGURE) -> bytes:
    picture = page_image(text_pdf(lines, size=(240, 110)), 150)
    return image_bytes(picture, "PNG")


def page_with(picture: bytes, box: tuple[float, float, float, float]) -> bytes:
    """Make a page with a line of text above and below a picture."""
    with pymupdf.open() as document:
        page = document.new_page(width=420, height=300)
        page.insert_text((40, 40), ABOVE, fontsize=12)
        page.insert_image(pymupdf.Rect(box), stream=picture)
        page.insert_text((40, 270), BELOW, fontsize=12)
        return bytes(document.tobytes())


def words_of(extraction: Extraction, source: str) -> str:
    return " ".join(word_text(extraction, w) for w in extraction.words if w.source == source)


def test_a_figures_text_stands_where_the_figure_does_and_is_flagged() -> None:
    extraction = read(page_with(figure(), (90, 90, 330, 200)), "figure.pdf")
    assert kinds(extraction) == [
        ("paragraph", ABOVE),
        ("caption", "\n".join(IN_FIGURE)),
        ("paragraph", BELOW),
    ]
    [page] = extraction.pages
    assert page.text_source == "mixed"
    [recognition] = page.recognitions
    assert recognition.box == pytest.approx((90, 90, 330, 200), abs=0.5)
    assert words_of(extraction, "ocr") == " ".join(IN_FIGURE)
    for word in extraction.words:
        if word.source == "ocr":
            assert 90 <= word.box[0] <= word.box[2] <= 330
            assert 90 <= word.box[1] <= word.box[3] <= 200


def test_figures_are_left_alone_where_that_is_set() -> None:
    settings = ExtractionSettings(layout=False, ocr_figures=False)
    extraction = read(page_with(figure(), (90, 90, 330, 200)), "figure.pdf", settings)
    assert extraction.pages[0].text_source == "digital"
    assert extraction.pages[0].recognitions == ()


def test_digital_words_on_a_picture_are_not_read_twice() -> None:
    with pymupdf.open(stream=page_with(figure(), (90, 90, 330, 200))) as document:
        document[0].insert_text((100, 185), "Drawn by the registry", fontsize=12)
        extraction = read(bytes(document.tobytes()), "figure.pdf")
    assert extraction.text.count("Drawn") == 1
    assert "Drawn" not in words_of(extraction, "ocr")
    assert words_of(extraction, "ocr") == " ".join(IN_FIGURE)


def test_photographs_and_small_logos_cost_no_ocr() -> None:
    random = np.random.default_rng(3)
    clouds = Image.fromarray(random.integers(60, 200, (24, 40), dtype=np.uint8))
    photo = image_bytes(clouds.resize((960, 576), Image.Resampling.BICUBIC), "PNG")
    extraction = read(page_with(photo, (90, 70, 330, 230)), "photo.pdf")
    assert extraction.pages[0].recognitions == ()
    logo = read(page_with(figure(("ACME",)), (90, 90, 150, 110)), "logo.pdf")
    assert logo.pages[0].recognitions == ()


def test_what_was_typed_into_a_scanned_form_joins_its_line() -> None:
    form = ("Name of the Supplier:", "Name of the Customer:", "Date of the signature:")
    with pymupdf.open(stream=scanned_pdf(text_pdf(form))) as document:
        page = document[0]
        for row, value in enumerate(("Brightledger Limited", "Halvorsen AS", "1 March 2026")):
            page.insert_text((200, 60 + 18 * row), value, fontsize=12, fontname="cour")
        extraction = read(bytes(document.tobytes()), "form.pdf")
    assert extraction.pages[0].text_source == "mixed"
    assert "Name of the Supplier: Brightledger Limited" in extraction.text
    assert "Date of the signature: 1 March 2026" in extraction.text
    assert extraction.text.count("Halvorsen") == 1


def outlined(lines: tuple[str, ...]) -> bytes:
    """Make a page whose letters are curves."""
    with pymupdf.open(stream=text_pdf(lines)) as document:
        svg = document[0].get_svg_image(text_as_path=True)
    with pymupdf.open(stream=svg.encode(), filetype="svg") as drawing:
        return bytes(drawing.convert_to_pdf())


@pytest.mark.parametrize("header", [None, "Registry of Agreements"])
def test_letters_drawn_as_curves_are_recognised(header: str | None) -> None:
    with pymupdf.open(stream=outlined(LETTER)) as document:
        assert not document[0].get_text().strip()
        if header:
            document[0].insert_text((40, 24), header, fontsize=10)
        extraction = read(bytes(document.tobytes()), "curves.pdf")
    assert extraction.pages[0].text_source == ("mixed" if header else "ocr")
    assert words_of(extraction, "ocr") == " ".join(LETTER)
    assert words_of(extraction, "digital") == (header or "")


# --- OCR layers -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def searchable() -> bytes:
    """Return a scan with an invisible text layer, as OCR software makes it."""
    picture = page_image(text_pdf(), 200)
    made = pytesseract.image_to_pdf_or_hocr(picture, extension="pdf", config="--dpi 200")
    return bytes(made)


def test_a_good_ocr_layer_is_used(searchable: bytes) -> None:
    extraction = read(searchable, "searchable.pdf")
    truth = read(text_pdf(), "digital.pdf")
    assert extraction.pages[0].text_source == "digital"
    assert extraction.pages[0].recognitions == ()
    assert codes(extraction) == ["ocr_layer_used"]
    assert extraction.text == truth.text
    overlaps = [iou(a.box, b.box) for a, b in zip(extraction.words, truth.words, strict=True)]
    assert sum(overlaps) / len(overlaps) > 0.5


def test_an_ocr_layer_that_lies_elsewhere_is_replaced(searchable: bytes) -> None:
    """The layer of another page, or of another resolution, is not the page's text."""
    with pymupdf.open(stream=searchable) as document:
        page = document[0]
        width, height = page.rect.width, page.rect.height
        [[image, *_]] = page.get_images()
        pixels = pymupdf.Pixmap(document, image)
        with pymupdf.open() as other:
            moved = other.new_page(width=width, height=height + 90)
            moved.insert_image(pymupdf.Rect(0, 90, width, height + 90), pixmap=pixels)
            for number, line in enumerate(LETTER):
                moved.insert_text((40, 60 + 18 * number), line, fontsize=14, render_mode=3)
            extraction = read(bytes(other.tobytes()), "moved.pdf")
    assert extraction.text[: extraction.body_end] == "\n".join(LETTER)
    assert words_of(extraction, "ocr") == " ".join(LETTER)
    assert min(word.box[1] for word in extraction.words if word.source == "ocr") > 120


def test_a_garbled_ocr_layer_is_replaced() -> None:
    with pymupdf.open(stream=scanned_pdf(text_pdf())) as document:
        for number, line in enumerate(LETTER):
            garbled = " ".join(" ".join(word) for word in line.split())
            start = pymupdf.Point(40, 60 + 18 * number)
            narrow = pymupdf.get_text_length(line) / pymupdf.get_text_length(garbled)
            document[0].insert_text(
                start,
                garbled,
                fontsize=14,
                render_mode=3,
                morph=(start, pymupdf.Matrix(narrow, 1)),
            )
        extraction = read(bytes(document.tobytes()), "garbled.pdf")
    assert extraction.pages[0].text_source == "ocr"
    assert extraction.text == "\n".join(LETTER)
    assert codes(extraction) == ["text_layer_replaced"]


def test_what_was_blacked_out_of_a_scan_stays_out_of_its_text() -> None:
    lines = (*LETTER, "The price is known to nobody", "and the rest of this page is plain")
    with pymupdf.open(stream=text_pdf(lines)) as document:
        [secret] = document[0].search_for("nobody")
    picture = page_image(text_pdf(lines), 200).convert("L")
    picture.paste(0, tuple(round(side * 200 / 72) for side in secret))
    with pymupdf.open() as document:
        page = document.new_page(width=420, height=300)
        page.insert_image(page.rect, stream=image_bytes(picture, "PNG"))
        for number, line in enumerate(lines):
            page.insert_text((40, 60 + 18 * number), line, fontsize=14, render_mode=3)
        extraction = read(bytes(document.tobytes()), "redacted.pdf")
    assert "nobody" not in extraction.text[: extraction.body_end]
    assert "The price is known to" in extraction.text[: extraction.body_end]
    if extraction.pages[0].text_source == "digital":
        assert "hidden_text" in codes(extraction)


def test_a_bad_layer_is_still_used_where_ocr_reads_far_less(
    searchable: bytes, monkeypatch: pytest.MonkeyPatch, corpus: Path
) -> None:
    def nothing(self: PageRecogniser, image: Image.Image, dpi: float, box: object) -> object:
        reading = real(self, image.point(lambda _: 255), dpi, box)
        assert not reading.words
        return reading

    real = PageRecogniser.read
    monkeypatch.setattr(PageRecogniser, "read", nothing)
    with pymupdf.open(corpus / "pdf_nasty/scanned.pdf") as document:
        extraction = read(bytes(document.tobytes()), "scanned.pdf")
    assert extraction.pages[0].text_source == "digital"
    assert "STATE UNIVERSITIES" in extraction.text
    assert "text_layer_doubtful" in codes(extraction)


def test_glyph_codes_are_no_text_even_where_ocr_reads_nothing(
    monkeypatch: pytest.MonkeyPatch, corpus: Path
) -> None:
    def nothing(self: PageRecogniser, image: Image.Image, dpi: float, box: object) -> object:
        return real(self, image.point(lambda _: 255), dpi, box)

    real = PageRecogniser.read
    monkeypatch.setattr(PageRecogniser, "read", nothing)
    with pymupdf.open(corpus / "pdf_nasty/non_ascii_text.pdf") as document:
        document.select([1])
        data = bytes(document.tobytes())
    with pymupdf.open(stream=text_pdf()) as both:
        with pymupdf.open(stream=data) as codes_:
            both.insert_pdf(codes_)
        extraction = read(bytes(both.tobytes()), "codes.pdf", FAST)
    assert extraction.text[: extraction.body_end] == "\n".join(LETTER)
    assert "unreadable_text_layer" in codes(extraction)
    assert {kind for kind, _ in kinds(extraction)[1:]} == {"hidden"}


def test_hidden_text_is_kept_apart_and_counted() -> None:
    with pymupdf.open(stream=text_pdf()) as document:
        document[0].insert_text((40, 200), "Nobody sees this", fontsize=12, render_mode=3)
        extraction = read(bytes(document.tobytes()), "hidden.pdf")
    assert extraction.text[: extraction.body_end] == "\n".join(LETTER)
    assert kinds(extraction)[-1] == ("hidden", "Nobody sees this")
    [warning] = extraction.warnings
    assert warning.code == "hidden_text"
    assert warning.message.startswith("14 characters")


def test_the_pictures_are_what_they_are_meant_to_be() -> None:
    """The figure can be read at all, and holds no text layer."""
    data = page_with(figure(), (90, 90, 330, 200))
    with pymupdf.open(stream=data) as document:
        assert "Supplier" not in document[0].get_text()
    assert Image.open(io.BytesIO(figure())).width == 500

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from extract.checks import (
    FAST,
    codes,
    iou,
    kinds,
    limited,
    read,
    read_file,
    scanned_pdf,
    text_pdf,
    word_text,
)

from ingest.errors import ConfigurationError, ItemError
from ingest.extract import extract, layout
from ingest.settings import ExtractionSettings
from ocr.engine import OcrError
from ocr.recognition import PageRecogniser

LAYOUT = ExtractionSettings()


def refusal(data: bytes, settings: ExtractionSettings = FAST) -> str:
    with pytest.raises(ItemError) as caught:
        extract(data, name="file.pdf", settings=settings)
    assert caught.value.message.startswith("file.pdf: ")
    assert "retry the item" in caught.value.message
    return caught.value.code


def make(**options: Any) -> bytes:
    with pymupdf.open(stream=text_pdf()) as document:
        return bytes(document.tobytes(**options))


def test_a_digital_page() -> None:
    extraction = read(text_pdf(pages=2), "letter.pdf")
    assert extraction.text.startswith("This Agreement is made between the Supplier\nand the Cust")
    assert [page.text_source for page in extraction.pages] == ["digital", "digital"]
    assert (extraction.pages[0].width, extraction.pages[0].height) == (420, 300)
    assert extraction.language == "en"
    assert extraction.warnings == ()


def test_passwords() -> None:
    locked = make(encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="o", user_pw="u")
    assert refusal(locked) == "password_needed"
    open_to_all = make(encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="o", permissions=0)
    assert read(open_to_all, "a.pdf").text == read(text_pdf(), "a.pdf").text


def test_damage() -> None:
    data = text_pdf()
    repaired = read(data[: data.rindex(b"xref")], "cut.pdf")
    assert repaired.text == read(data, "a.pdf").text
    assert codes(repaired) == ["repaired"]
    assert refusal(b"%PDF-1.7\n") == "damaged"
    assert refusal(b"%PDF-1.7\n" + bytes(range(256)) * 20) == "damaged"
    assert refusal(bytes(range(256)) * 20) == "damaged", "a PDF that lost its beginning"


def test_no_pages() -> None:
    data = text_pdf().replace(b"/Count 1", b"/Count 0").replace(b"/Kids[", b"/Kidz[")
    assert refusal(data) == "no_pages"


def test_limits() -> None:
    assert refusal(text_pdf(pages=3), limited(pages=2)) == "too_many_pages"
    assert refusal(text_pdf(), limited(characters=20)) == "too_many_characters"


def test_a_blank_page_keeps_its_number_and_is_reported() -> None:
    with pymupdf.open(stream=text_pdf(pages=2)) as document:
        document.new_page(pno=1)
        extraction = read(bytes(document.tobytes()), "a.pdf")
    assert [page.text_source for page in extraction.pages] == ["digital", "none", "digital"]
    assert [(w.code, w.page) for w in extraction.warnings] == [("page_without_text", 2)]
    with pymupdf.open() as document:
        document.new_page()
        assert refusal(bytes(document.tobytes())) == "no_text"


def test_page_labels() -> None:
    with pymupdf.open(stream=text_pdf(pages=3)) as document:
        document.set_page_labels(
            [
                {"startpage": 0, "prefix": "", "style": "r", "firstpagenum": 1},
                {"startpage": 2, "prefix": "A-", "style": "D", "firstpagenum": 7},
            ]
        )
        extraction = read(bytes(document.tobytes()), "a.pdf")
    assert [page.label for page in extraction.pages] == ["i", "ii", "A-7"]
    assert [page.label for page in read(text_pdf(), "a.pdf").pages] == [None]


def test_title_and_author_from_the_metadata() -> None:
    with pymupdf.open(stream=text_pdf()) as document:
        document.set_metadata({"title": " Master\nAgreement ", "author": "Jane Roe"})
        extraction = read(bytes(document.tobytes()), "a.pdf")
        assert (extraction.title, extraction.author) == ("Master Agreement", "Jane Roe")
        for made_up in ("Microsoft Word - x", "Untitled", "scan 3.png", "10811.exe", "12-34"):
            document.set_metadata({"title": made_up})
            assert read(bytes(document.tobytes()), "a.pdf").title is None


def test_hidden_annotations_are_not_text(corpus: Path) -> None:
    assert read_file(corpus / "pdf_nasty/annotation_hidden_noview.pdf").text == "Show"


# --- layout ---------------------------------------------------------------------------------------


def report_pdf(rotation: int = 0) -> bytes:
    """Two pages in columns' width with running head and foot, headings, a list and a table."""
    page_html = """
    <h1 style="font-size:20pt">Annual Report of the Registry</h1>
    <h2 style="font-size:14pt">1. Introduction</h2>
    <p>{words}</p><p>{words}</p>
    <h2 style="font-size:14pt">2. Results of the Year</h2><p>{words}</p>
    """
    words = "The registry keeps a record of every agreement and shows it to those who ask. " * 4
    with pymupdf.open() as document:
        for number in (1, 2):
            page = document.new_page(width=595, height=842)
            page.insert_text((72, 40), "Registry of Agreements - Annual Report", fontsize=8)
            page.insert_text((280, 815), f"Page {number} of 2", fontsize=8)
            page.insert_htmlbox(pymupdf.Rect(72, 90, 523, 760), page_html.format(words=words))
            if rotation:  # draw sideways and turn back, as landscape pages come out of Word
                page.set_rotation(rotation)
        if not rotation:
            return bytes(document.tobytes())
        with pymupdf.open() as turned:
            for page in document:
                page.set_rotation(0)
                size = page.rect.width, page.rect.height
                width, height = size[::-1] if rotation in (90, 270) else size
                sideways = turned.new_page(width=width, height=height)
                sideways.show_pdf_page(sideways.rect, document, page.number, rotate=rotation)
                sideways.set_rotation(rotation)
            return bytes(turned.tobytes())


def test_layout_gives_roles_and_moves_furniture_behind_the_body() -> None:
    extraction = read(report_pdf(), "report.pdf", LAYOUT)
    roles = kinds(extraction)
    assert ("heading", "1. Introduction") in roles
    assert ("heading", "2. Results of the Year") in roles
    assert ("title", "Annual Report of the Registry") in roles or (
        ("heading", "Annual Report of the Registry") in roles
    )
    furniture = extraction.text[extraction.body_end :]
    for number in (1, 2):
        assert f"Page {number} of 2" in furniture
    assert "Page 1" not in extraction.text[: extraction.body_end]


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_layout_of_turned_pages_is_that_of_upright_ones(rotation: int) -> None:
    upright = read(report_pdf(), "report.pdf", LAYOUT)
    turned = read(report_pdf(rotation), "report.pdf", LAYOUT)
    assert turned.pages[0].rotation == rotation
    assert turned.text == upright.text
    assert kinds(turned) == kinds(upright)
    for a, b in zip(upright.words, turned.words, strict=True):
        assert a.box == pytest.approx(b.box, abs=0.1)


def test_without_layout_headings_and_furniture_come_from_words() -> None:
    extraction = read(report_pdf(), "report.pdf")
    assert ("heading", "1. Introduction") in kinds(extraction)
    assert ("footer", "Page 2 of 2") in kinds(extraction)
    assert ("header", "Registry of Agreements - Annual Report") in kinds(extraction)


def test_tables_have_rows(corpus: Path) -> None:
    extraction = read_file(corpus / "pdf_reports/embedded-images-tables.pdf", LAYOUT)
    [table] = [element for element in extraction.elements if element.kind == "table"]
    rows = [extraction.text[row.char_start : row.char_end] for row in table.rows]
    assert table.rows[0].header
    assert rows[0].startswith("Inhibitor")
    assert "2 1.9460 0.0596 �0.8276 0.0002 121.440 1.5054" in rows
    assert not any(row.header for row in table.rows[2:])


def test_words_outside_every_region_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "layout_regions", lambda page: [])
    monkeypatch.setattr("ingest.extract.pdf_page.layout_regions", lambda page: [])
    extraction = read(text_pdf(), "a.pdf", LAYOUT)
    assert extraction.text == read(text_pdf(), "a.pdf").text


def test_a_failing_layout_model_costs_its_roles_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(page: pymupdf.Page) -> None:
        raise IndexError("no boxes")

    monkeypatch.setattr("ingest.extract.pdf_page.layout_regions", fail)
    extraction = read(text_pdf(), "a.pdf", LAYOUT)
    assert codes(extraction) == ["layout_failed"]
    assert extraction.text == read(text_pdf(), "a.pdf").text


def test_out_of_memory_is_not_a_reason_to_leave_something_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(page: pymupdf.Page) -> None:
        raise RuntimeError("std::bad_alloc")

    monkeypatch.setattr("ingest.extract.pdf_page.layout_regions", fail)
    with pytest.raises(MemoryError):
        extract(text_pdf(), name="a.pdf", settings=LAYOUT)


# --- OCR ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rotation", "margin"), [(0, 0.0), (90, 0.0), (180, 40.0), (270, 40.0)])
def test_scans_are_recognised_with_boxes_on_the_true_place(rotation: int, margin: float) -> None:
    truth = read(text_pdf(), "digital.pdf")
    scan = read(scanned_pdf(text_pdf(), rotation=rotation, margin=margin), "scan.pdf")
    [page] = scan.pages
    assert (page.text_source, page.rotation) == ("ocr", rotation)
    assert (page.width, page.height) == pytest.approx((420, 300), abs=0.5)
    assert page.ocr_confidence is not None
    assert page.ocr_confidence > 85
    assert scan.text == truth.text
    overlaps = [iou(a.box, b.box) for a, b in zip(truth.words, scan.words, strict=True)]
    assert min(overlaps) > 0.5
    assert sum(overlaps) / len(overlaps) > 0.75


def test_a_digital_page_and_a_scan_in_one_document() -> None:
    with pymupdf.open(stream=text_pdf()) as document:
        with pymupdf.open(stream=scanned_pdf(text_pdf(("7. TERMINATION", "By notice.")))) as scan:
            document.insert_pdf(scan)
        extraction = read(bytes(document.tobytes()), "mixed.pdf")
    assert [page.text_source for page in extraction.pages] == ["digital", "ocr"]
    assert kinds(extraction)[-2:] == [("heading", "7. TERMINATION"), ("paragraph", "By notice.")]
    assert {word.source for word in extraction.words} == {"digital", "ocr"}


def test_a_picture_with_a_caption_keeps_the_captions_own_letters() -> None:
    with pymupdf.open() as document:
        page = document.new_page(width=300, height=300)
        page.draw_rect(pymupdf.Rect(0, 0, 300, 250), fill=(0.8, 0.9, 1))
        pixels = page.get_pixmap(clip=pymupdf.Rect(0, 0, 300, 250))
        page.insert_image(pymupdf.Rect(0, 0, 300, 250), pixmap=pixels)
        page.insert_text((40, 280), "Figure 1: the sky at noon", fontsize=12)
        extraction = read(bytes(document.tobytes()), "picture.pdf")
    assert extraction.pages[0].text_source == "digital"
    assert extraction.text == "Figure 1: the sky at noon"


def test_a_text_layer_of_glyph_codes_is_not_trusted(corpus: Path) -> None:
    with pymupdf.open(corpus / "pdf_nasty/TAMReview.pdf") as document:
        document.select([1])
        extraction = read(bytes(document.tobytes()), "codes.pdf")
    assert extraction.pages[0].text_source == "ocr"
    assert extraction.language == "en"


def test_a_scan_that_lies_upside_down_is_turned() -> None:
    with pymupdf.open(stream=scanned_pdf(text_pdf())) as document:
        document[0].set_rotation(180)
        extraction = read(bytes(document.tobytes()), "upside-down.pdf")
    assert extraction.text == read(text_pdf(), "digital.pdf").text
    assert extraction.pages[0].recognitions[0].turn == 180
    first, last = extraction.words[0].box, extraction.words[-1].box
    assert first[1] > last[1], "boxes are those of the page as displayed"


def test_missing_ocr_data_stops_the_run_with_the_command_that_helps() -> None:
    settings = ExtractionSettings(layout=False, ocr_languages="eng+xyz")
    assert extract(text_pdf(), name="digital.pdf", settings=settings).text
    with pytest.raises(ConfigurationError) as caught:
        extract(scanned_pdf(text_pdf()), name="scan.pdf", settings=settings)
    assert caught.value.code == "ocr_unavailable"
    assert "apt-get install tesseract-ocr-xyz" in caught.value.message


def test_a_page_that_ocr_fails_on_is_reported_with_its_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> None:
        raise OcrError("Tesseract failed: no reason")

    monkeypatch.setattr(PageRecogniser, "read", fail)
    with pymupdf.open(stream=text_pdf()) as document:
        with pymupdf.open(stream=scanned_pdf(text_pdf())) as scan:
            document.insert_pdf(scan)
        extraction = read(bytes(document.tobytes()), "mixed.pdf")
    assert [(w.code, w.page) for w in extraction.warnings] == [
        ("ocr_failed", 2),
        ("page_without_text", 2),
    ]


def test_words_of_an_invisible_text_layer_have_boxes_that_can_be_seen() -> None:
    """Glyphs without outlines, as OCR software writes them, have no ink to measure."""
    import pytesseract
    from extract.checks import page_image

    made = pytesseract.image_to_pdf_or_hocr(
        page_image(text_pdf(), 200), extension="pdf", config="--dpi 200"
    )
    extraction = read(made, "searchable.pdf")
    truth = read(text_pdf(), "digital.pdf")
    assert extraction.pages[0].text_source == "digital"
    boxes = {word_text(truth, word): word.box for word in truth.words}
    overlaps = [
        iou(word.box, boxes[word_text(extraction, word)])
        for word in extraction.words
        if word_text(extraction, word) in boxes
    ]
    assert len(overlaps) > 20
    assert math.fsum(overlaps) / len(overlaps) > 0.4

"""What holds for every extraction, and PDFs that tests make."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pymupdf
from PIL import Image

from ingest.extract import extract
from ingest.settings import ExtractionLimits, ExtractionSettings
from schemas.document import BEHIND_BODY, BoxTuple, Extraction, Word

FAST = ExtractionSettings(layout=False)
"""Without the layout model, which takes seconds to load and is tested by itself."""


def read(data: bytes, name: str, settings: ExtractionSettings = FAST, **more: Any) -> Extraction:
    """Extract in this process and check the invariants."""
    extraction = extract(data, name=name, settings=settings, **more)
    check_invariants(extraction)
    return extraction


def read_file(path: Path, settings: ExtractionSettings = FAST) -> Extraction:
    return read(path.read_bytes(), path.name, settings)


def limited(**limits: Any) -> ExtractionSettings:
    return ExtractionSettings(layout=False, limits=ExtractionLimits(**limits))


def check_invariants(extraction: Extraction) -> None:
    """Check guarantees 1 to 3, as far as extraction alone can keep them."""
    text = extraction.text
    assert extraction.text_sha256, "the text can be written as UTF-8"
    assert "\0" not in text
    elements = covered(text, [(e.char_start, e.char_end) for e in extraction.elements])
    assert all(elements[i] for i, c in enumerate(text) if not c.isspace())
    for element in extraction.elements:
        run = text[element.char_start : element.char_end]
        assert run.strip(), "no element is blank"
        assert (element.kind in BEHIND_BODY) == (element.char_start >= extraction.body_end)
        if element.kind != "field":
            assert run == run.strip()
        assert (element.level is not None) == (element.kind in ("title", "heading"))
        end = element.char_start
        for row in element.rows:
            assert end <= row.char_start < row.char_end <= element.char_end
            end = row.char_start
            for cell in row.cells:
                assert end <= cell.char_start < cell.char_end <= row.char_end
                assert text[cell.char_start : cell.char_end].strip()
                end = cell.char_end
            if row.cells:
                held = covered(text, [(c.char_start, c.char_end) for c in row.cells])
                between = range(row.char_start, row.char_end)
                # Bars divide the cells of a row in Markdown.
                bare = "".join(text[i] for i in between if not held[i])
                assert not bare.strip("| \t\n"), "cells cover their row"
            end = row.char_end
        if element.rows:
            assert end == element.char_end
    if extraction.pages:
        check_words(extraction)
    else:
        assert not extraction.words


def check_words(extraction: Extraction) -> None:
    text = extraction.text
    words = covered(text, [(w.char_start, w.char_end) for w in extraction.words])
    for index, character in enumerate(text):
        assert words[index] == (not character.isspace()), (index, character)
    assert [page.number for page in extraction.pages] == list(range(1, len(extraction.pages) + 1))
    pages = {page.number: page for page in extraction.pages}
    lines: dict[int, int] = {}
    previous = -1
    for word in extraction.words:
        page = pages[word.page]
        x0, y0, x1, y1 = word.box
        assert 0 <= x0 < x1 <= page.width
        assert 0 <= y0 < y1 <= page.height
        assert (word.confidence is None) == (word.source == "digital")
        assert page.text_source in (word.source, "mixed")
        assert word.line >= previous
        previous = word.line
        assert lines.setdefault(word.line, word.page) == word.page, "a line is on one page"
    with_words = {word.page for word in extraction.words}
    reported = {w.page for w in extraction.warnings if w.code == "page_without_text"}
    for page in extraction.pages:
        assert (page.number in with_words) == (page.text_source != "none")
        assert (page.number in reported) == (page.text_source == "none")
        assert (page.ocr_confidence is not None) == (page.text_source in ("ocr", "mixed"))


def covered(text: str, runs: list[tuple[int, int]]) -> bytearray:
    """Mark the characters of the runs; the contract has checked that they are disjoint."""
    marks = bytearray(len(text))
    for start, end in runs:
        marks[start:end] = b"\1" * (end - start)
    return marks


def word_text(extraction: Extraction, word: Word) -> str:
    return extraction.text[word.char_start : word.char_end]


def codes(extraction: Extraction) -> list[str]:
    return [warning.code for warning in extraction.warnings]


def kinds(extraction: Extraction) -> list[tuple[str, str]]:
    return [(e.kind, extraction.text[e.char_start : e.char_end]) for e in extraction.elements]


def iou(a: BoxTuple, b: BoxTuple) -> float:
    """Intersection over union of two boxes."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    common = width * height
    return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common)


LETTER = (
    "This Agreement is made between the Supplier",
    "and the Customer on the date of signature.",
    "Either party may terminate it by notice of",
    "ninety days in writing to the other party.",
)


def text_pdf(
    lines: tuple[str, ...] = LETTER, *, pages: int = 1, size: tuple[float, float] = (420, 300)
) -> bytes:
    """Make a PDF with the same lines on each page."""
    with pymupdf.open() as document:
        for _ in range(pages):
            page = document.new_page(width=size[0], height=size[1])
            for number, line in enumerate(lines):
                page.insert_text((40, 60 + 18 * number), line, fontsize=14)
        return bytes(document.tobytes())


def page_image(data: bytes, dpi: int = 200, page: int = 0) -> Image.Image:
    """Render a page as displayed."""
    with pymupdf.open(stream=data, filetype="pdf") as document:
        pixels = document[page].get_pixmap(dpi=dpi, colorspace=pymupdf.csRGB, alpha=False)
        return Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples)


def image_bytes(image: Image.Image, format_: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format_, **options)
    return buffer.getvalue()


def scanned_pdf(data: bytes, *, dpi: int = 200, rotation: int = 0, margin: float = 0.0) -> bytes:
    """Make an image-only PDF that looks like the first page of ``data``.

    With ``rotation`` the picture is turned the other way and /Rotate turns it back; with ``margin``
    the page has a crop box inside a larger, dark sheet.
    """
    picture = page_image(data, dpi).convert("L").rotate(rotation, expand=True)
    width, height = picture.width * 72 / dpi, picture.height * 72 / dpi
    with pymupdf.open() as document:
        page = document.new_page(width=width + 2 * margin, height=height + 2 * margin)
        page.draw_rect(page.rect, color=None, fill=(0.2, 0.2, 0.2))
        inner = pymupdf.Rect(margin, margin, margin + width, margin + height)
        page.insert_image(inner, stream=image_bytes(picture, "PNG"))
        if margin:
            page.set_cropbox(inner)
        page.set_rotation(rotation)
        return bytes(document.tobytes())

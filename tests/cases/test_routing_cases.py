"""Field cases of scans, mixed and damaged PDFs: what went wrong for users of other tools."""

from __future__ import annotations

import difflib
from pathlib import Path

import pymupdf
import pytest
from extract.checks import (
    FAST,
    codes,
    kinds,
    page_image,
    read,
    read_file,
    scanned_pdf,
    text_pdf,
)

from ingest.errors import ItemError
from ingest.extract import extract
from ingest.settings import ExtractionLimits, ExtractionSettings
from schemas.document import Extraction

ONE_ENGINE = ExtractionSettings(
    layout=False,
    ocr_second_engine="none",
    limits=ExtractionLimits(pixels_per_page=9_000_000),
)
"""Where the first engine reads all there is at 300 dpi, more only takes time."""
SENTINELS = (
    "First sentinel of the scanned body",
    "Second sentinel stands below it",
    "Third sentinel of the same page",
    "Fourth sentinel ends the body",
)


def page_words(extraction: Extraction, page: int) -> list[str]:
    return [
        extraction.text[word.char_start : word.char_end]
        for word in extraction.words
        if word.page == page
    ]


def likeness(a: list[str], b: list[str]) -> float:
    return difflib.SequenceMatcher(a=a, b=b, autojunk=False).ratio()


def selected(path: Path, *pages: int) -> bytes:
    with pymupdf.open(path) as document:
        document.select([page - 1 for page in pages])
        return bytes(document.tobytes())


def refusal(path: Path) -> ItemError:
    with pytest.raises(ItemError) as caught:
        extract(path.read_bytes(), name=path.name, settings=FAST)
    assert caught.value.message.startswith(f"{path.name}: ")
    assert "retry the item" in caught.value.message
    return caught.value


def test_digital_frame_scanned_body() -> None:
    with pymupdf.open(stream=scanned_pdf(text_pdf(SENTINELS))) as document:
        page = document[0]
        page.insert_text((40, 20), "Digital header of the Registry", fontsize=9)
        page.insert_text((40, 290), "Digital footer, page 1", fontsize=9)
        extraction = read(bytes(document.tobytes()), "frame.pdf")
    [page_] = extraction.pages
    assert page_.text_source == "mixed"
    assert page_.ocr_confidence is not None
    assert len(page_.recognitions) == 1
    for line in (*SENTINELS, "Digital header of the Registry", "Digital footer, page 1"):
        assert extraction.text.count(line) == 1
    sources = {
        source: " ".join(
            extraction.text[word.char_start : word.char_end]
            for word in extraction.words
            if word.source == source
        )
        for source in ("digital", "ocr")
    }
    assert sources["ocr"] == " ".join(SENTINELS)
    assert "header" in sources["digital"]
    assert "footer" in sources["digital"]
    places = [extraction.text.index(line) for line in ("Digital header", *SENTINELS)]
    assert places == sorted(places)


def test_mixed_document(corpus: Path) -> None:
    with pymupdf.open(stream=text_pdf()) as document:
        with pymupdf.open(stream=scanned_pdf(text_pdf(SENTINELS))) as scan:
            document.insert_pdf(scan)
        made = read(bytes(document.tobytes()), "mixed.pdf")
    assert [page.text_source for page in made.pages] == ["digital", "ocr"]
    assert " ".join(page_words(made, 2)) == " ".join(SENTINELS)

    real = read_file(corpus / "pdf_nasty/Seige_of_Vicksburg_Sample_OCR-crazyones-merged.pdf")
    assert len(real.pages) == 7
    assert {word.page for word in real.words} == set(range(1, 8))
    assert "The Crazy Ones" in " ".join(page_words(real, 2))
    assert "THE SIEGE OF VICKSBURG" in " ".join(page_words(real, 1))


@pytest.mark.parametrize(
    ("name", "page", "shown", "source"),
    [
        ("horribleocr.pdf", 1, "Christians behaving themselves like", "ocr"),
        ("non_ascii_text.pdf", 1, "AMTSBLATT", "ocr"),
        ("TAMReview.pdf", 2, "", "ocr"),
        ("badlines.pdf", 2, "feedforward mixture of RNNs", "digital"),
    ],
)
def test_untrusted_text_layer(name: str, page: int, shown: str, source: str, corpus: Path) -> None:
    settings = FAST if name == "horribleocr.pdf" else ONE_ENGINE
    extraction = read(selected(corpus / "pdf_nasty" / name, page), name, settings)
    body = extraction.text[: extraction.body_end]
    assert extraction.pages[0].text_source == source
    assert ("text_layer_replaced" in codes(extraction)) == (source == "ocr")
    assert shown in body
    strange = sum(
        not character.isprintable() or 0xE000 <= ord(character) < 0xF900 or character == "\ufffd"
        for character in body.replace("\n", " ")
    )
    assert strange < 0.02 * len(body)


def test_an_untrusted_text_layer_that_ocr_cannot_replace_is_no_body(corpus: Path) -> None:
    """A document whose pages show nothing but glyph codes is not indexed by them."""
    path = corpus / "pdf_nasty/type3_font_nomapping.pdf"
    extraction = read_file(path)
    assert extraction.text[: extraction.body_end] != "\x01\x02"
    assert not any(ord(character) < 0x20 for character in extraction.text.replace("\n", ""))


def test_skipped_page(corpus: Path) -> None:
    folder = corpus / "pdf_nasty"
    skipped = read_file(folder / "skipped_1page.pdf", ONE_ENGINE)
    assert [page.number for page in skipped.pages] == [1, 2, 3]
    assert {word.page for word in skipped.words} == {1, 2, 3}
    empty = read_file(folder / "layout-parser-paper-with-empty-pages.pdf")
    assert [page.text_source for page in empty.pages] == ["digital", "none", "digital", "digital"]
    assert [w.page for w in empty.warnings if w.code == "page_without_text"] == [2]


def test_four_rotations(corpus: Path) -> None:
    folder = corpus / "pdf_nasty"
    upright = read_file(folder / "ocr_test.pdf", ONE_ENGINE)
    words = page_words(upright, 1)
    assert " ".join(words).startswith("Docling bundles PDF document conversion to JSON and")
    assert upright.pages[0].recognitions[0].turn == 0
    for turn in (180, 270):
        turned = read_file(folder / f"ocr_test_rotated_{turn}.pdf", ONE_ENGINE)
        assert page_words(turned, 1) == words
        assert turned.pages[0].recognitions[0].turn == turn
        assert turned.pages[0].recognitions[0].dpi == upright.pages[0].recognitions[0].dpi


@pytest.mark.parametrize(
    ("name", "turns"),
    [("nemotron_multipage.pdf", [0, 180, 270, 90]), ("cardinal.pdf", [0, 270, 180, 90])],
)
def test_four_rotations_in_one_document(name: str, turns: list[int], corpus: Path) -> None:
    extraction = read_file(corpus / "pdf_nasty" / name, ONE_ENGINE)
    first = page_words(extraction, 1)
    assert len(first) > 10
    for page in extraction.pages:
        assert likeness(page_words(extraction, page.number), first) > 0.9, page.number
        assert page.ocr_confidence is not None
        assert page.ocr_confidence > 80
    assert [page.recognitions[0].turn for page in extraction.pages] == turns
    assert "low_ocr_confidence" not in codes(extraction)


def test_rotation_mismatch(corpus: Path) -> None:
    path = corpus / "pdf_nasty/sample_with_rotation_mismatch.pdf"
    extraction = read_file(path)
    [page] = extraction.pages
    assert page.rotation == 90
    assert page.ocr_confidence is not None
    assert page.ocr_confidence > 80
    assert len(extraction.words) > 50
    # Each box holds ink of its word: darker than the paper of the page as displayed.
    picture = page_image(path.read_bytes(), 100).convert("L")
    scale = 100 / 72
    for word in extraction.words:
        x0, y0, x1, y1 = (side * scale for side in word.box)
        low, high = picture.crop((int(x0), int(y0), int(x1) + 1, int(y1) + 1)).getextrema()
        assert high - low > 60, word


def test_permissions(corpus: Path) -> None:
    folder = corpus / "pdf_nasty"
    assert "LayoutParser" in read_file(folder / "copy-protected.pdf").text
    blank = refusal(folder / "empty_protected.pdf")
    assert blank.code == "no_text", "it is opened, and its only page is empty"
    for name in ("password.pdf", "r4-aes-user-password.pdf", "rc4-40.pdf", "r6-both-passwords.pdf"):
        assert refusal(folder / name).code == "password_needed"


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("poppler-395-0-fuzzed.pdf", "no_pages"),
        ("poppler-742-0-fuzzed.pdf", "damaged"),
        ("poppler-85140-0.pdf", "damaged"),
        ("REDHAT-1531897-0.pdf", "no_pages"),
        ("GHOSTSCRIPT-698804-1-fuzzed.pdf", "no_pages"),
        ("invalid.pdf", "damaged"),
        ("pdfplumber__empty.pdf", "empty_file"),
    ],
)
def test_broken_beyond_repair(name: str, code: str, corpus: Path) -> None:
    path = corpus / "pdf_nasty" / name
    with pytest.raises(ItemError) as caught:
        extract(path.read_bytes(), name=name, settings=FAST)
    assert caught.value.code == code


def test_broken_but_repaired(corpus: Path) -> None:
    folder = corpus / "pdf_nasty"
    tree = read_file(folder / "Pages-tree-refs.pdf")
    assert len(tree.pages) == 2
    [said] = [w for w in tree.warnings if w.code == "pages_unreadable"]
    assert said.page is None
    assert said.message == "1 of 2 pages could not be read: 2."
    assert [w.page for w in tree.warnings if w.code == "page_unreadable"] == [2]
    whole = text_pdf(pages=3)
    repaired = read(whole[: whole.rindex(b"xref")], "cut.pdf")
    assert codes(repaired) == ["repaired"]


@pytest.mark.parametrize("name", ["hugemono.pdf", "poster.pdf", "skinnypage.pdf"])
def test_pixel_bomb(name: str, corpus: Path) -> None:
    settings = ONE_ENGINE.model_copy(
        update={"limits": ExtractionLimits(pixels_per_page=20_000_000)}
    )
    extraction = read_file(corpus / "pdf_nasty" / name, settings)
    assert extraction.words
    for page in extraction.pages:
        for recognition in page.recognitions:
            x0, y0, x1, y1 = recognition.box
            pixels = (x1 - x0) * (y1 - y0) * (recognition.dpi / 72) ** 2
            assert pixels <= 20_100_000


def test_skewed(corpus: Path) -> None:
    folder = corpus / "pdf_nasty"
    straight = page_words(read_file(folder / "ccitt.pdf", ONE_ENGINE), 1)
    for name in ("skew.pdf", "rotated_skew.pdf"):
        extraction = read_file(folder / name, ONE_ENGINE)
        assert likeness(page_words(extraction, 1), straight) > 0.9, name
        assert abs(extraction.pages[0].recognitions[0].skew) > 1
    squeezed = read_file(folder / "aspect.pdf", ONE_ENGINE)
    assert kinds(squeezed)[0][1] == "This should be a perfect circle."

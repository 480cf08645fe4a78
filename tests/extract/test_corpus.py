"""Real files: the invariants hold, or the file is refused with a reason."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from extract.checks import FAST, codes, iou, read, word_text

from ingest.errors import ItemError
from ingest.settings import ExtractionSettings

LAYOUT = ExtractionSettings()

READ = {
    "pdf_nasty/ArabicCIDTrueType.pdf": "انواع",
    "pdf_nasty/bad-PageLabels.pdf": "PDF document with bad Page Labels.",
    "pdf_nasty/copy-protected.pdf": "LayoutParser",
    "pdf_nasty/fake-bold-sample.pdf": "Fake bold text",
    "pdf_nasty/habibi-rotated.pdf": "habibi",
    "pdf_nasty/hello_world_rotated.pdf": "Hello world",
    "pdf_nasty/issue-1054-example.pdf": "HERAUSGEBER",
    "pdf_nasty/issue5946.pdf": "This should be visible",
    "pdf_nasty/issue-848.pdf": "The movie opens with",
    "pdf_nasty/layout-parser-paper-with-empty-pages.pdf": "LayoutParser",
    "pdf_nasty/negative-coords.pdf": "AirPort Extreme",
    "pdf_nasty/nics-background-checks-2015-11-rotated.pdf": "Alabama",
    "pdf_nasty/ocr_test.pdf": "Docling bundles PDF document conversion",
    "pdf_nasty/ocr_test_rotated_270.pdf": "Docling bundles PDF document conversion",
    "pdf_nasty/Pages-tree-refs.pdf": "Testcase",
    "pdf_nasty/rotated-page-90.pdf": "Second line of text",
    "pdf_nasty/searchable.pdf": "Sample PDF",
    "pdf_nasty/senate-expenditures.pdf": "DOCUMENT NO.",
    "pdf_nasty/skinnypage.pdf": "IODP Expedition",
    "pdf_nasty/sizes.pdf": "Landscape",
    "pdf_reports/chevron-page.pdf": "eastern mediterranean",
    "pdf_reports/list-item-example.pdf": "",
    "pdf_reports/scotus-transcript-p1.pdf": "",
    "scans_tesseract/phototest.tif": "The quick brown dog jumped over the",
}
REFUSED = {
    "pdf_nasty/blank.pdf": "no_text",
    "pdf_nasty/GHOSTSCRIPT-698804-1-fuzzed.pdf": "no_pages",
    "pdf_nasty/invalid.pdf": "damaged",
    "pdf_nasty/issue9105_other.pdf": "no_pages",
    "pdf_nasty/password.pdf": "password_needed",
    "pdf_nasty/pdfplumber__empty.pdf": "empty_file",
    "pdf_nasty/poppler-395-0-fuzzed.pdf": "no_pages",
    "pdf_nasty/poppler-742-0-fuzzed.pdf": "damaged",
    "pdf_nasty/poppler-85140-0.pdf": "damaged",
    "pdf_nasty/r4-aes-user-password.pdf": "password_needed",
    "pdf_nasty/REDHAT-1531897-0.pdf": "no_pages",
    "feeds/atom_0.3.xml": "unsupported_format",
}


@pytest.mark.parametrize("name", READ)
def test_what_can_be_read_is_exact(name: str, corpus: Path) -> None:
    path = corpus / name
    extraction = read(path.read_bytes(), path.name, LAYOUT)
    assert READ[name] in extraction.text


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_is_refused_with_a_reason(name: str, corpus: Path) -> None:
    path = corpus / name
    with pytest.raises(ItemError) as caught:
        read(path.read_bytes(), path.name)
    assert caught.value.code == REFUSED[name]
    assert caught.value.message.startswith(f"{path.name}: ")


def test_pages_without_text_keep_their_numbers(corpus: Path) -> None:
    path = corpus / "pdf_nasty/layout-parser-paper-with-empty-pages.pdf"
    extraction = read(path.read_bytes(), path.name)
    assert [page.text_source for page in extraction.pages] == [
        "digital",
        "none",
        "digital",
        "digital",
    ]
    assert {word.page for word in extraction.words} == {1, 3, 4}


def test_a_broken_page_tree_keeps_the_page_count(corpus: Path) -> None:
    path = corpus / "pdf_nasty/Pages-tree-refs.pdf"
    extraction = read(path.read_bytes(), path.name)
    assert len(extraction.pages) == 2
    assert {"page_unreadable", "page_without_text"} <= set(codes(extraction))


def test_news_pages(corpus: Path) -> None:
    for path in sorted((corpus / "news_html").glob("*.gz"))[:10]:
        extraction = read(gzip.decompress(path.read_bytes()), path.name.removesuffix(".gz"))
        assert len(extraction.text) > 200
        assert extraction.title


def test_contracts_as_text(corpus: Path) -> None:
    with_headings = 0
    paths = sorted((corpus / "contracts_text").glob("*.txt"))
    for path in paths:
        extraction = read(path.read_bytes(), path.name)
        with_headings += any(element.kind == "heading" for element in extraction.elements)
        assert extraction.language == "en", path.name
    assert with_headings > 0.8 * len(paths)


def upright_pages(
    path: Path, truth: dict[str, Any], count: int
) -> tuple[bytes, list[dict[str, Any]]]:
    upright = [page for page in truth["pages"] if not page["content_rotation"]][:count]
    with pymupdf.open(path) as document:
        document.select([page["page"] - 1 for page in upright])
        return bytes(document.tobytes()), upright


def recall(extraction: Any, truth: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the share of true words found with their letters and place, and their mean IoU."""
    found: dict[tuple[int, str], list[Any]] = {}
    for word in extraction.words:
        found.setdefault((word.page, word_text(extraction, word)), []).append(word.box)
    overlaps: list[float] = []
    total = 0
    for number, page in enumerate(truth, start=1):
        for word in page["words"]:
            total += 1
            boxes = found.get((number, word["t"]), [])
            best = max((iou(tuple(word["box"]), box) for box in boxes), default=0.0)
            if best > 0.4:
                overlaps.append(best)
    return len(overlaps) / total, sum(overlaps) / len(overlaps)


@pytest.mark.parametrize(
    ("name", "pages", "least"), [("ghcorp_s1", 2, 0.95), ("seriesseed_s1", 1, 0.95)]
)
def test_scanned_contracts_against_the_truth(
    name: str, pages: int, least: float, corpus: Path
) -> None:
    folder = corpus / "scans_synth"
    truth = json.loads((folder / f"{name}.json").read_text("utf-8"))
    data, upright = upright_pages(folder / f"{name}.pdf", truth, pages)
    extraction = read(data, f"{name}.pdf", FAST)
    assert {page.text_source for page in extraction.pages} == {"ocr"}
    for page, true in zip(extraction.pages, upright, strict=True):
        assert (page.width, page.height) == pytest.approx((true["width_pt"], true["height_pt"]))
    found, overlap = recall(extraction, upright)
    assert found > least
    assert overlap > 0.8

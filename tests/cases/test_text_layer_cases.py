"""Field cases of text layers in PDFs: what went wrong for users of other tools."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pymupdf
import pytest
from extract.checks import FAST, kinds, read, read_file, word_text

from ingest.errors import ItemError
from ingest.extract.text_layer import TextLayer, read_text_layer
from schemas.document import Extraction


def layers(path: Path) -> list[TextLayer]:
    with pymupdf.open(path) as document:
        return [
            read_text_layer(page, page.rotation, page.rect.width, page.rect.height)
            for page in document
        ]


def words_of(layer: TextLayer) -> Counter[str]:
    return Counter(word.text for line in layer.lines for word in line.words)


def assert_on_ink(data: bytes, extraction: Extraction, pages: int = 3) -> None:
    """Every word lies inside its page, and the page as displayed has ink in its box."""
    unseen = [
        range(element.char_start, element.char_end)
        for element in extraction.elements
        if element.kind in ("hidden", "annotation")
    ]
    seen = [word for word in extraction.words if not any(word.char_start in run for run in unseen)]
    assert seen
    with pymupdf.open(stream=data, filetype="pdf") as document:
        for page in extraction.pages[:pages]:
            zoom = 2.0
            shown = document[page.number - 1].get_pixmap(
                matrix=pymupdf.Matrix(zoom, zoom), colorspace=pymupdf.csGRAY, alpha=False
            )
            grey = np.frombuffer(shown.samples, np.uint8).reshape(shown.height, shown.width)
            for word in seen:
                if word.page != page.number:
                    continue
                x0, y0, x1, y1 = word.box
                assert 0 <= x0 < x1 <= page.width
                assert 0 <= y0 < y1 <= page.height
                cut = grey[int(y0 * zoom) : int(y1 * zoom) + 1, int(x0 * zoom) : int(x1 * zoom) + 1]
                assert np.ptp(cut) > 25, (page.number, word_text(extraction, word), word.box)


def test_rotation_mismatch() -> None:
    """The page's /Rotate says one thing, the direction of its text another."""
    with pymupdf.open() as document:
        for turn in (0, 90, 180, 270):
            page = document.new_page(width=300, height=200)
            page.insert_text((150, 100), "Termination notice", rotate=turn, fontsize=14)
            page.set_rotation(90)
        data = bytes(document.tobytes())
    extraction = read(data, "mismatch.pdf")
    assert [(page.rotation, page.width, page.height) for page in extraction.pages] == [
        (90, 200, 300)
    ] * 4
    assert extraction.text.split() == ["Termination", "notice"] * 4
    assert_on_ink(data, extraction, pages=4)
    upright = [word for word in extraction.words if word.page == 2]
    assert all(w.box[2] - w.box[0] > w.box[3] - w.box[1] for w in upright)


def test_four_rotations_of_digital_pages(corpus: Path) -> None:
    four = layers(corpus / "pdf_nasty/habibi-rotated.pdf")
    assert len(four) == 4
    assert all(words_of(layer) == words_of(four[0]) for layer in four)
    straight, turned = (
        words_of(layers(corpus / f"pdf_nasty/nics-background-checks-2015-11{name}.pdf")[0])
        for name in ("", "-rotated")
    )
    assert sum(straight.values()) > 1_000
    assert straight == turned


def test_invisible_layer(corpus: Path) -> None:
    extraction = read_file(corpus / "pdf_nasty/invisible_text_layer.pdf")
    assert extraction.text[: extraction.body_end] == "Visible heading line"
    assert ("hidden", "Invisible OCR text layer") in kinds(extraction)


@pytest.mark.parametrize(
    "name",
    [
        "rotated-page-90.pdf",
        "negative-coords.pdf",
        "issue5946.pdf",
        "ti89_guidebook_programming.pdf",
        "issue-1054-example.pdf",
    ],
)
def test_out_of_page_boxes(corpus: Path, name: str) -> None:
    data = (corpus / "pdf_nasty" / name).read_bytes()
    with pymupdf.open(stream=data, filetype="pdf") as document:
        document.select([0])
        data = bytes(document.tobytes())
    settings = FAST.model_copy(update={"ocr_figures": False})
    assert_on_ink(data, read(data, name, settings))


def test_out_of_page_boxes_of_a_sheet_around_its_origin(corpus: Path) -> None:
    """The real page shows no letters, and is refused for it; a line that is added has its place."""
    path = corpus / "pdf_nasty/bug852992_reduced.pdf"
    with pytest.raises(ItemError) as caught:
        read_file(path)
    assert caught.value.code == "no_text"
    with pymupdf.open(path) as document:
        document[0].insert_text((300, 100), "Notice of termination", fontsize=16)
        data = bytes(document.tobytes())
    extraction = read(data, path.name)
    assert extraction.text == "Notice of termination"
    assert extraction.words[0].box[0] == pytest.approx(300, abs=3)
    assert_on_ink(data, extraction)


def test_fake_bold(corpus: Path) -> None:
    sample = read_file(corpus / "pdf_nasty/fake-bold-sample.pdf").text
    assert "BOLD TEXT SAMPLE" in sample
    assert "'BBOOLLDD' instead of 'BOLD'" in sample, "what is doubled on purpose stays"
    for layer in layers(corpus / "pdf_nasty/issue-71-duplicate-chars.pdf"):
        places = Counter(
            (word.text, round(word.box[0] / 3), round(word.box[1] / 3))
            for line in layer.lines
            for word in line.words
        )
        assert max(places.values()) == 1
        assert not any(word[::2] == word[1::2] for word in words_of(layer) if len(word) > 3)


def test_hidden_annotation(corpus: Path) -> None:
    extraction = read_file(corpus / "pdf_nasty/annotation_hidden_noview.pdf")
    assert "Hello" not in extraction.text
    assert "World" not in extraction.text


def test_page_labels(corpus: Path) -> None:
    with pymupdf.open(corpus / "pdf_nasty/labelled_pages.pdf") as document:
        labels = [page.get_label() for page in document]
        for page in document:
            page.insert_text((72, 72), f"Physical page {page.number + 1}")
        data = bytes(document.tobytes())
    assert labels != [str(number) for number in range(1, len(labels) + 1)]
    extraction = read(data, "labelled.pdf")
    assert [page.number for page in extraction.pages] == list(range(1, len(labels) + 1))
    assert [page.label for page in extraction.pages] == labels
    for word in extraction.words:
        if word_text(extraction, word).isdigit():
            assert word.page == int(word_text(extraction, word))
    bad = read_file(corpus / "pdf_nasty/bad-PageLabels.pdf")
    assert [(page.number, page.label) for page in bad.pages] == [(1, "X3")]

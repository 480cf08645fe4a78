from __future__ import annotations

import io
import zipfile

import pptx
import pytest
from extract.checks import codes, kinds, limited, read
from extract.office import zipped
from pptx.util import Inches
from strategies import counter

from ingest.chunking import Chunker
from ingest.errors import ItemError
from ingest.settings import ChunkingSettings


def saved(show: object) -> bytes:
    buffer = io.BytesIO()
    show.save(buffer)  # type: ignore[attr-defined]
    return buffer.getvalue()


def presentation() -> bytes:
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[0])
    slide.shapes.title.text = "Annual Review"
    slide.placeholders[1].text = "Board meeting\nMay 2026"
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.placeholders[1].text = "First point\nSecond point"
    slide.shapes.title.text = "Results"
    slide.notes_slide.notes_text_frame.text = "Thank the staff"
    sides = [Inches(1)] * 4
    table = slide.shapes.add_table(3, 3, *sides).table
    for number, text in enumerate(("Item", "Q1", "Q2", "a", "1", "", "b", "", "4")):
        table.cell(number // 3, number % 3).text = text
    table.cell(1, 1).merge(table.cell(2, 1))
    group = slide.shapes.add_group_shape()
    group.shapes.add_textbox(*sides).text_frame.text = "In a group"
    hidden = show.slides.add_slide(show.slide_layouts[1])
    hidden.shapes.title.text = "Left out"
    hidden._element.set("show", "0")
    return saved(show)


def test_slides_in_order_with_notes_behind_them() -> None:
    extraction = read(presentation(), "a.pptx")
    assert kinds(extraction) == [
        ("heading", "Annual Review"),
        ("paragraph", "Board meeting"),
        ("paragraph", "May 2026"),
        ("heading", "Results"),
        ("list_item", "First point"),
        ("list_item", "Second point"),
        ("table", "Item Q1 Q2\na 1\nb 4"),
        ("paragraph", "In a group"),
        ("annotation", "Thank the staff"),
        ("hidden", "Left out"),
    ]
    assert [e.slide for e in extraction.elements] == [1, 1, 1, 2, 2, 2, 2, 2, 2, 3]
    assert codes(extraction) == ["hidden_slides"]
    assert extraction.title == "Annual Review"
    table = extraction.elements[6]
    assert [row.header for row in table.rows] == [True, False, False]
    assert [(c.column, c.row_span) for c in table.rows[1].cells] == [(1, 1), (2, 2)]
    assert [c.column for c in table.rows[2].cells] == [1, 3]


def test_chunks_name_their_slides() -> None:
    extraction = read(presentation(), "a.pptx")
    [chunk] = Chunker(counter(), ChunkingSettings()).chunk(extraction)
    assert chunk.locator
    assert (chunk.locator.slide_first, chunk.locator.slide_last) == (1, 2)
    assert chunk.locator.cells is None
    assert "Thank the staff" not in chunk.text


def test_automatic_numbers_are_text() -> None:
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    frame = slide.shapes.add_textbox(*[Inches(1)] * 4).text_frame
    frame.text = "one\ntwo\ndeep\nthree"
    for paragraph, style in zip(
        frame.paragraphs,
        ("arabicPeriod", "arabicPeriod", "alphaLcParenBoth", "arabicPeriod"),
        strict=True,
    ):
        properties = paragraph._p.get_or_add_pPr()
        if style.startswith("alpha"):
            properties.set("lvl", "1")
        properties.append(
            properties.makeelement(
                "{http://schemas.openxmlformats.org/drawingml/2006/main}buAutoNum", {"type": style}
            )
        )
    assert [text for _, text in kinds(read(saved(show), "a.pptx"))] == [
        "1. one",
        "2. two",
        "(a) deep",
        "3. three",
    ]


def test_slides_that_are_missing_or_too_many() -> None:
    with zipfile.ZipFile(io.BytesIO(presentation())) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    del parts["ppt/slides/slide1.xml"]
    extraction = read(zipped(parts), "a.pptx")
    assert "slides_missing" in codes(extraction)
    assert extraction.elements[0].slide == 2
    with pytest.raises(ItemError) as caught:
        read(presentation(), "a.pptx", limited(pages=2))
    assert caught.value.code == "too_many_pages"

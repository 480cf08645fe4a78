from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from extract.checks import codes, kinds, read, read_file

from ingest.errors import ItemError
from ingest.extract.pdf_annotations import Annotations, read_annotations
from ingest.extract.pdf_forms import CHECKED, CHOSEN
from schemas.document import BoxTuple

Draw = Callable[[pymupdf.Page], object]


def annotated(draw: Draw, *, rotation: int = 0) -> bytes:
    with pymupdf.open() as document:
        page = document.new_page(width=400, height=300)
        page.insert_text((50, 30), "The page itself says this.")
        draw(page)
        page.set_rotation(rotation)
        return bytes(document.tobytes())


def annotations(data: bytes) -> Annotations:
    with pymupdf.open(stream=data, filetype="pdf") as document:
        page = document[0]
        return read_annotations(page, page.rotation, page.rect.width, page.rect.height)


def widget(
    page: pymupdf.Page, kind: int, name: str, value: Any, box: BoxTuple, **more: Any
) -> None:
    field = pymupdf.Widget()
    field.field_type, field.field_name, field.field_value = kind, name, value
    field.rect = pymupdf.Rect(box)
    for key, setting in more.items():
        setattr(field, key, setting)
    page.add_widget(field)


def form(page: pymupdf.Page) -> None:
    widget(page, pymupdf.PDF_WIDGET_TYPE_TEXT, "name", "Jane Doe", (20, 50, 120, 70))
    widget(page, pymupdf.PDF_WIDGET_TYPE_CHECKBOX, "agreed", True, (20, 80, 35, 95))
    widget(page, pymupdf.PDF_WIDGET_TYPE_CHECKBOX, "refused", False, (40, 80, 55, 95))
    choices = {"choice_values": ["red", "green", "blue"]}
    widget(page, pymupdf.PDF_WIDGET_TYPE_COMBOBOX, "one", "red", (20, 100, 90, 115), **choices)
    widget(page, pymupdf.PDF_WIDGET_TYPE_LISTBOX, "list", "blue", (20, 120, 90, 190), **choices)
    secret = {"field_flags": pymupdf.PDF_TX_FIELD_IS_PASSWORD}
    widget(page, pymupdf.PDF_WIDGET_TYPE_TEXT, "secret", "hunter2", (20, 200, 90, 220), **secret)


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_fields_have_their_names_and_values_as_displayed(rotation: int) -> None:
    data = annotated(form, rotation=rotation)
    fields = annotations(data).fields
    assert [(block.field, block.text) for block in fields] == [
        ("name", "Jane Doe"),
        ("agreed", CHECKED),
        ("one", "red"),
        ("list", "blue"),
    ]
    extraction = read(data, "form.pdf")
    assert extraction.text.count("Jane Doe") == 1
    named = {e.field: extraction.text[e.char_start : e.char_end] for e in extraction.elements}
    assert named["name"] == "Jane Doe"
    assert {kind for kind, text in kinds(extraction) if text == "Jane Doe"} == {"field"}
    with pymupdf.open(stream=data, filetype="pdf") as document:
        page = document[0]
        shown = page.get_pixmap(dpi=144, colorspace=pymupdf.csGRAY)
        for block in fields:
            for word in block.lines[0]:
                box = pymupdf.IRect(pymupdf.Rect(word.box) * 2)
                ink = [
                    shown.pixel(x, y)[0]
                    for x in range(box.x0, box.x1)
                    for y in range(box.y0, box.y1)
                ]
                assert min(ink) < 128, f"{word.text} has ink in its box"


def test_a_value_that_is_not_drawn_has_the_fields_box() -> None:
    with pymupdf.open(stream=annotated(form), filetype="pdf") as document:
        [name, *_] = document[0].widgets()
        document.xref_set_key(name.xref, "AP", "null")
        page = document[0]
        fields = read_annotations(page, 0, page.rect.width, page.rect.height).fields
    assert fields[0].text == "Jane Doe"


def test_radio_buttons(corpus: Path) -> None:
    def draw(page: pymupdf.Page) -> None:
        widget(page, pymupdf.PDF_WIDGET_TYPE_RADIOBUTTON, "size", True, (20, 50, 35, 65))

    assert [block.text for block in annotations(annotated(draw)).fields] in ([CHOSEN], [])


def test_letters_in_a_comb_are_words(corpus: Path) -> None:
    extraction = read_file(corpus / "pdf_nasty/annotation-text-widget.pdf")
    values = [text for kind, text in kinds(extraction) if kind == "field"]
    assert "abcdefghijklmnopqrstuvwxyz" in values
    assert values.count("Lorem ipsu") == 1


@pytest.mark.parametrize("rotation", [0, 90])
def test_what_annotations_show_is_text_of_the_page_once(rotation: int) -> None:
    def draw(page: pymupdf.Page) -> None:
        page.add_freetext_annot((50, 60, 250, 90), "Written on top", fontsize=12)
        page.add_stamp_annot((200, 100, 350, 150), 0)

    extraction = read(annotated(draw, rotation=rotation), "stamped.pdf")
    for words in ("Written on top", "APPROVED", "The page itself says this."):
        assert extraction.text[: extraction.body_end].count(words) == 1
    assert "annotation" not in {kind for kind, _ in kinds(extraction)}


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_notes_stand_behind_the_body_with_their_author(rotation: int) -> None:
    def draw(page: pymupdf.Page) -> None:
        note = page.add_text_annot((300, 200), "Is this right?\nPlease check.")
        note.set_info(title="Ann Other")
        page.add_text_annot((-100, 900), "outside the page")
        page.add_highlight_annot(page.search_for("itself")[0])
        page.insert_link(
            {"kind": pymupdf.LINK_URI, "from": pymupdf.Rect(50, 50, 90, 60), "uri": "http://a.b"}
        )

    data = annotated(draw, rotation=rotation)
    extraction = read(data, "notes.pdf")
    assert extraction.text[: extraction.body_end] == "The page itself says this."
    assert [text for kind, text in kinds(extraction) if kind == "annotation"] == [
        "Ann Other: Is this right?\nPlease check.",
        "outside the page",
    ]
    width, height = extraction.pages[0].width, extraction.pages[0].height
    # The icon of a note is not turned with the page; its corner stays where it was.
    x, y = {0: (309, 209), 90: (109, 309), 180: (109, 109), 270: (209, 109)}[rotation]
    box = next(w.box for w in extraction.words if extraction.text[w.char_start :].startswith("Ann"))
    assert box[0] <= x <= box[2]
    assert box[1] <= y <= box[3]
    assert (box[2] - box[0]) < 30 < min(width, height)


def test_hidden_annotations_are_counted_and_not_read(corpus: Path) -> None:
    extraction = read_file(corpus / "pdf_nasty/annotation_hidden_noview.pdf")
    assert extraction.text == "Show"
    [warning] = [w for w in extraction.warnings if w.code == "annotations_hidden"]
    assert warning.message.startswith("2 annotations")


def test_a_broken_annotation_costs_only_itself() -> None:
    def draw(page: pymupdf.Page) -> None:
        page.add_text_annot((100, 100), "first")
        page.add_freetext_annot((50, 60, 250, 90), "second", fontsize=12)

    with pymupdf.open(stream=annotated(draw), filetype="pdf") as document:
        first = next(iter(document[0].annots()))
        document.xref_set_key(first.xref, "Rect", "[(a) /b null]")
        extraction = read(bytes(document.tobytes()), "broken.pdf")
    assert "second" in extraction.text


def test_xfa_forms_are_reported(corpus: Path) -> None:
    with pymupdf.open(corpus / "pdf_nasty/livecycle.pdf") as document:
        page = document[0]
        found = read_annotations(page, 0, page.rect.width, page.rect.height)
    assert [code for code, _ in found.problems] == ["xfa_form"]
    # A form that has its fields in both ways is read like any other.
    assert "xfa_form" not in codes(read_file(corpus / "pdf_nasty/annotation-text-widget.pdf"))


def test_a_refused_form_says_what_was_found_instead_of_text(corpus: Path) -> None:
    with pytest.raises(ItemError, match=r"no text was found .*XFA form"):
        read_file(corpus / "pdf_nasty/livecycle.pdf")

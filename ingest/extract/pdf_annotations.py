"""Annotations of a PDF's page: the text they show, the notes of reviewers, and form fields.

MuPDF's text pages mix what annotations show into the page's text. Here each is read by itself, so
that it is known whose text it is, and none is read twice.
"""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from xml.etree.ElementTree import ParseError

import defusedxml.ElementTree  # type: ignore[import-untyped]  # it ships no stubs
from defusedxml.common import DefusedXmlException  # type: ignore[import-untyped]

from ingest.extract.blocks import Block, PageWord, clamp
from ingest.extract.faults import raise_if_memory
from ingest.extract.pdf_forms import form_problems, read_field
from ingest.extract.text_layer import PDF_ERRORS, Rotation
from ingest.extract.text_line import TextLine
from ingest.extract.text_page import read_lines, text_page, tidy
from ocr.mupdf import pymupdf
from schemas.document import BoxTuple

mupdf = pymupdf.mupdf

_HIDDEN = mupdf.PDF_ANNOT_IS_HIDDEN | mupdf.PDF_ANNOT_IS_NO_VIEW
"""Flags of annotations that are not displayed (PDF 32000-1 §12.5.3)."""
_SILENT = frozenset({mupdf.PDF_ANNOT_LINK, mupdf.PDF_ANNOT_POPUP})
"""Links have no text of their own; a pop-up shows that of the annotation it belongs to."""
_SAYS_WHAT_IT_SHOWS = frozenset({mupdf.PDF_ANNOT_FREE_TEXT})
_BLOCKS = 1_000_000
"""Numbers of the first annotation's blocks; those of the page itself stay below."""
_BLOCKS_EACH = 1_000


@dataclass(frozen=True)
class Annotations:
    """What the annotations of a page hold."""

    shown: tuple[TextLine, ...] = ()
    """Text that the page displays: free text, stamps, captions of buttons."""
    notes: tuple[Block, ...] = ()
    """What reviewers said, as "author: comment"; every word has the annotation's box."""
    fields: tuple[Block, ...] = ()
    """Values of form fields as displayed, with the field's name."""
    problems: tuple[tuple[str, str], ...] = ()
    """Codes and messages of what a reader should know."""


def read_annotations(
    page: pymupdf.Page, rotation: Rotation, width: float, height: float
) -> Annotations:
    """Return the annotations of ``page``, which is ``width`` × ``height`` points as displayed."""
    shown: list[TextLine] = []
    notes: list[Block] = []
    fields: list[Block] = []
    problems = list(form_problems(page))
    hidden = 0
    try:
        listed = page.annot_xrefs()
    except PDF_ERRORS as error:
        raise_if_memory(error)
        problems.append(("annotations_unreadable", f"The annotations could not be read: {error}"))
        return Annotations(problems=tuple(problems))
    for number, (xref, kind, *_) in enumerate(listed):
        if kind in _SILENT:
            continue
        try:
            widget = page.load_widget(xref) if kind == mupdf.PDF_ANNOT_WIDGET else None
            annotation = widget._annot if widget is not None else page.load_annot(xref)
            if annotation.flags & _HIDDEN:
                hidden += 1
                continue
            lines = [
                replace(line, block=line.block + _BLOCKS + number * _BLOCKS_EACH)
                for line in read_lines(text_page(annotation), width, height).lines
                if line.opacity > 0
            ]
            box = _displayed_box(annotation, width, height)
            if widget is not None:
                field = read_field(widget, lines, box)
                shown += field.shown
                fields += field.blocks
                problems += field.problems
            else:
                shown += lines
                notes += _notes(annotation, kind, lines, box)
        except PDF_ERRORS as error:
            raise_if_memory(error)
            problems.append(("annotation_unreadable", f"An annotation could not be read: {error}"))
    if hidden:
        message = f"{hidden} annotations or form fields are hidden and are not in the text."
        problems.append(("annotations_hidden", message))
    return Annotations(tuple(shown), tuple(notes), tuple(fields), tuple(problems))


def _displayed_box(annotation: pymupdf.Annot, width: float, height: float) -> BoxTuple:
    """Return an annotation's rectangle, moved into the page where it lies outside."""
    bounds = mupdf.pdf_bound_annot(annotation.this)
    x0, x1 = (min(max(x, 0.0), width) for x in (bounds.x0, bounds.x1))
    y0, y1 = (min(max(y, 0.0), height) for y in (bounds.y0, bounds.y1))
    return clamp((x0, y0, x1, y1), width, height) or (0.0, 0.0, width, height)


def _notes(
    annotation: pymupdf.Annot, kind: int, lines: list[TextLine], box: BoxTuple
) -> Iterator[Block]:
    comment = _comment(annotation)
    displayed = "".join(word.text for line in lines for word in line.words)
    if displayed and (
        kind in _SAYS_WHAT_IT_SHOWS or "".join(comment.split()).lower() == displayed.lower()
    ):
        return
    author = " ".join(annotation.info["title"].split())
    text = f"{author}: {comment}" if author else comment
    note = tuple(
        tuple(PageWord(word, box, None, "digital", "line") for word in words)
        for line in text.splitlines()
        if (words := [tidied for word in line.split() if (tidied := tidy(word))])
    )
    if note:
        yield Block("annotation", note)


def _comment(annotation: pymupdf.Annot) -> str:
    """Return what an annotation says: its plain contents, else its rich ones (XHTML)."""
    plain: str = annotation.info["content"]
    if plain.strip():
        return plain
    kind, rich = annotation.parent.parent.xref_get_key(annotation.xref, "RC")
    if kind != "string":
        return ""
    try:
        return " ".join(defusedxml.ElementTree.fromstring(rich).itertext())
    except (ParseError, DefusedXmlException, ValueError):
        return ""

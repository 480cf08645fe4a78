"""Form fields of a PDF's page: their values as displayed, with the names of the fields."""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingest.extract.blocks import Block, Line, PageWord
from ingest.extract.text_line import TextLine, hull
from ingest.extract.text_page import tidy
from ocr.mupdf import pymupdf
from schemas.document import BoxTuple

mupdf = pymupdf.mupdf

CHECKED, CHOSEN = "☒", "◉"
"""What stands in the text for a checked box and for a chosen radio button."""
_PASSWORD = mupdf.PDF_TX_FIELD_IS_PASSWORD


@dataclass(frozen=True, slots=True)
class Field:
    """What one field on the page gives."""

    blocks: tuple[Block, ...] = ()
    shown: tuple[TextLine, ...] = ()
    """Text that belongs to the page and not to the field's value, such as a button's caption."""
    problems: tuple[tuple[str, str], ...] = ()


def form_problems(page: pymupdf.Page) -> Iterator[tuple[str, str]]:
    """Yield, with the first page, what is wrong with the document's form as a whole."""
    if page.number != 0:
        return
    document = page.parent
    catalog = document.pdf_catalog()
    rendering = document.xref_get_key(catalog, "NeedsRendering")[1] == "true"
    has_xfa = document.xref_get_key(catalog, "AcroForm/XFA")[0] != "null"
    fields = document.xref_get_key(catalog, "AcroForm/Fields")
    if rendering or (has_xfa and fields[0] in ("null", "array") and not fields[1].strip("[] nul")):
        yield (
            "xfa_form",
            "The document is an XFA form, which only Adobe's software can display; its pages hold "
            "no more than a notice. Print it to a new PDF there, and bring that in instead.",
        )


def read_field(widget: pymupdf.Widget, lines: Sequence[TextLine], box: BoxTuple) -> Field:
    """Return the value of a field.

    Args:
        widget: the field's place on the page.
        lines: the text that it displays.
        box: its rectangle on the displayed page.
    """
    match widget.field_type:
        case mupdf.PDF_WIDGET_TYPE_BUTTON:
            return Field(shown=tuple(lines))
        case mupdf.PDF_WIDGET_TYPE_CHECKBOX:
            return _mark(widget, CHECKED, box)
        case mupdf.PDF_WIDGET_TYPE_RADIOBUTTON:
            return _mark(widget, CHOSEN, box)
        case mupdf.PDF_WIDGET_TYPE_TEXT if widget.field_flags & _PASSWORD:
            return Field()
        case mupdf.PDF_WIDGET_TYPE_LISTBOX:
            return _chosen(widget, lines, box)
        case _:
            return _value(widget, lines, box)


def _mark(widget: pymupdf.Widget, mark: str, box: BoxTuple) -> Field:
    if widget.field_value in (False, None, "", "Off"):
        return Field()
    return _field(widget, ((PageWord(mark, box, None, "digital"),),))


def _value(widget: pymupdf.Widget, lines: Sequence[TextLine], box: BoxTuple) -> Field:
    """Return the text of a text field, a combo box or a signature, as it is displayed."""
    value = _text(widget)
    displayed = tuple(
        words for line in lines if (words := tuple(w for w in line.words if _inside(w.box, box)))
    )
    letters, wanted = _letters(displayed), "".join(value.split())
    if not letters:
        # Nothing is drawn, but a viewer draws the value when it opens the document.
        return _field(widget, _as_lines(value, box))
    if letters == wanted and sum(map(len, displayed)) > len(value.split()):
        displayed = _regrouped(displayed, value)
    problems: tuple[tuple[str, str], ...] = ()
    if wanted.startswith(letters) and len(wanted) > len(letters):
        cut = len(wanted) - len(letters)
        message = f"{cut} characters of the field {widget.field_name!r} do not fit into it."
        problems = (("field_cut", message),)
    field = _field(widget, displayed)
    return Field(field.blocks, problems=problems)


def _chosen(widget: pymupdf.Widget, lines: Sequence[TextLine], box: BoxTuple) -> Field:
    """Return the chosen ones of a list of which all are displayed."""
    value = widget.field_value
    chosen = [value] if isinstance(value, str) else list(value or ())
    by_text = {_letters((line.words,)): line.words for line in lines}
    found: list[Line] = []
    for text in chosen:
        words = by_text.get("".join(text.split()))
        found += [words] if words else _as_lines(text, box)
    return _field(widget, tuple(found))


def _field(widget: pymupdf.Widget, lines: tuple[Line, ...]) -> Field:
    if not lines:
        return Field()
    return Field((Block("field", lines, field=widget.field_name or None),))


def _text(widget: pymupdf.Widget) -> str:
    value = widget.field_value
    return value.replace("\r", "\n") if isinstance(value, str) else ""


def _inside(word: BoxTuple, field: BoxTuple) -> bool:
    """Say whether the middle of a word can be seen; what does not fit into a field is cut off."""
    x, y = (word[0] + word[2]) / 2, (word[1] + word[3]) / 2
    return field[0] <= x <= field[2] and field[1] <= y <= field[3]


def _letters(lines: Sequence[Line]) -> str:
    return "".join(word.text for line in lines for word in line)


def _as_lines(text: str, box: BoxTuple) -> tuple[Line, ...]:
    return tuple(
        tuple(PageWord(word, box, None, "digital", "line") for word in words)
        for line in text.splitlines()
        if (words := [tidied for word in line.split() if (tidied := tidy(word))])
    )


def _regrouped(lines: Sequence[Line], value: str) -> tuple[Line, ...]:
    """Join letters that stand in boxes of their own, as in a comb, to the words of ``value``."""
    pieces = [word for line in lines for word in line]
    words: list[PageWord] = []
    for text in value.split():
        parts: list[PageWord] = []
        while pieces and sum(len(part.text) for part in parts) < len(text):
            parts.append(pieces.pop(0))
        if "".join(part.text for part in parts) != text:
            return tuple(lines)
        words.append(PageWord(text, hull(part.box for part in parts), None, "digital"))
    return (tuple(words),)

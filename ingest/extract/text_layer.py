"""The text layer of a PDF's page: words with the boxes of their ink, as the page is displayed.

Only what the page shows is its text. What is there without being seen is kept apart, with the
reason: text without ink or opacity, text that is painted over or clipped away, and text in the
colour of its background. Such text over an image is what OCR software leaves behind; whether it is
to be trusted is decided elsewhere.

Annotations and form fields are no part of it; see `pdf_annotations`.
"""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ingest.extract.faults import raise_if_memory
from ingest.extract.painting import PageImage, read_painting
from ingest.extract.text_line import Hidden, TextLine
from ingest.extract.text_page import read_lines, text_page
from ingest.extract.text_trust import is_unreadable, suspicion, unreadable_count
from ingest.extract.visibility import split_by_visibility
from ingest.extract.watermarks import mark_watermarks
from ocr.mupdf import pymupdf
from schemas.document import BoxTuple

__all__ = [
    "PDF_ERRORS",
    "Hidden",
    "PageImage",
    "Rotation",
    "TextLayer",
    "TextLine",
    "is_unreadable",
    "read_text_layer",
    "to_displayed",
]

PDF_ERRORS = (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase)
"""PyMuPDF raises plain RuntimeErrors and ValueErrors beside MuPDF's own, which are neither."""
Rotation = Literal[0, 90, 180, 270]
_OVER_IMAGE = 0.5
"""Share of the hidden words that lie on images where the hidden text is that of a scan."""


@dataclass(frozen=True)
class TextLayer:
    """What the page's text layer holds, the shown and the hidden apart."""

    lines: tuple[TextLine, ...] = ()
    """Lines that the page shows."""
    hidden: tuple[TextLine, ...] = ()
    """Lines that it does not show, such as the invisible layer over a scan; each says why."""
    problems: tuple[tuple[str, str], ...] = ()
    """Codes and messages of what a reader should know."""
    images: tuple[PageImage, ...] = ()
    """Every image that the page paints."""

    @cached_property
    def characters(self) -> int:
        """Non-blank characters that the page shows."""
        return len(self._text)

    @cached_property
    def unreadable(self) -> int:
        """Those of them that are no character."""
        return unreadable_count(self._text)

    @cached_property
    def _text(self) -> str:
        return "".join([word.text for line in self.lines for word in line.words])

    @cached_property
    def suspicion(self) -> float:
        """How likely it is, 0 to 1, that the text shown is not what the page says."""
        return suspicion(self.lines)

    @cached_property
    def over_image(self) -> bool:
        """True where most of the hidden text lies on images, as OCR software leaves it."""
        words = [
            word
            for line in self.hidden
            if line.hidden in ("invisible", "transparent", "covered")
            for word in line.words
        ]
        boxes = [image.box for image in self.images]
        return bool(words) and sum(
            any(_middle_inside(word.box, box) for box in boxes) for word in words
        ) >= _OVER_IMAGE * len(words)


def read_text_layer(
    page: pymupdf.Page, rotation: Rotation, width: float, height: float
) -> TextLayer:
    """Return the text layer of ``page``, which is ``width`` × ``height`` points as displayed."""
    try:
        display = page.get_displaylist(annots=0)
        found = read_lines(text_page(display), width, height)
        painting = read_painting(display, width, height)
        shown, hidden = split_by_visibility(
            found.lines, painting, display, width, height, transparent=found.transparent
        )
    except PDF_ERRORS as error:
        raise_if_memory(error)
        return TextLayer(
            problems=(("text_layer_unreadable", f"The text layer could not be read: {error}"),)
        )
    return TextLayer(
        tuple(mark_watermarks(shown)),
        tuple(hidden),
        problems=_words_outside(found.outside),
        images=tuple(painting.images),
    )


def _words_outside(count: int) -> tuple[tuple[str, str], ...]:
    """Report words that only a larger crop box would display; they are no text of the page."""
    if not count:
        return ()
    message = f"{count} words lie outside the page as displayed and are not in the text."
    return (("words_outside_page", message),)


def _middle_inside(box: BoxTuple, outer: BoxTuple) -> bool:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return outer[0] <= x <= outer[2] and outer[1] <= y <= outer[3]


def to_displayed(box: BoxTuple, rotation: Rotation, width: float, height: float) -> BoxTuple:
    """Turn a box from unrotated coordinates to those of the displayed page.

    Args:
        box: x0, y0, x1, y1 in points, origin top left, before /Rotate.
        rotation: /Rotate, clockwise.
        width: of the displayed page.
        height: of the displayed page.
    """
    x0, y0, x1, y1 = box
    match rotation:
        case 90:
            return width - y1, x0, width - y0, x1
        case 180:
            return width - x1, height - y1, width - x0, height - y0
        case 270:
            return y0, height - x1, y1, height - x0
        case _:
            return box

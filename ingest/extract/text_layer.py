"""The text layer of a PDF's page: words with the boxes of their ink, as the page is displayed.

MuPDF gives boxes (its accurate ones, of the glyphs' ink) in unrotated coordinates; they are turned
here and not with ``page.rotation_matrix``, which forgets UserUnit (PDF 32000-1 §7.7.3.3, table 30).

Ligatures are expanded ("ﬁ" becomes "fi", an Arabic presentation form its letter): what a reader
types must find what the page shows. A glyph without a Unicode value becomes U+FFFD, never its
number in the font.
"""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from ingest.extract.blocks import Line, PageWord, clamp, split_word
from ingest.extract.decode import clean
from ingest.extract.faults import raise_if_memory
from ocr.mupdf import pymupdf
from schemas.document import BoxTuple

PDF_ERRORS = (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase)
"""PyMuPDF raises plain RuntimeErrors and ValueErrors beside MuPDF's own, which are neither."""
Rotation = Literal[0, 90, 180, 270]
_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_ACCURATE_BBOXES


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line as MuPDF groups it: words in order, with what it knows of them."""

    words: Line
    block: int
    """Number of MuPDF's block on the page."""
    size: float
    horizontal: bool
    bold: bool = False


@dataclass(frozen=True)
class TextLayer:
    """What the page's text layer holds, the shown and the hidden apart."""

    lines: tuple[TextLine, ...] = ()
    """Lines that the page shows."""
    hidden: tuple[TextLine, ...] = ()
    """Lines that it does not show, such as the invisible layer over a scan."""
    problems: tuple[tuple[str, str], ...] = ()
    """Codes and messages of what a reader should know."""

    @property
    def characters(self) -> int:
        """Non-blank characters that the page shows."""
        return sum(len(word.text) for line in self.lines for word in line.words)

    @property
    def unreadable(self) -> int:
        """Those of them that are no character."""
        return sum(
            is_unreadable(character)
            for line in self.lines
            for word in line.words
            for character in word.text
        )


def read_text_layer(
    page: pymupdf.Page, rotation: Rotation, width: float, height: float
) -> TextLayer:
    """Return the text layer of ``page``, which is ``width`` × ``height`` points as displayed."""
    try:
        textpage = page.get_textpage(flags=_FLAGS)
        rows = textpage.extractWORDS()
        styles = {
            (block["number"], index): line
            for block in textpage.extractDICT()["blocks"]
            for index, line in enumerate(block.get("lines", ()))
        }
    except PDF_ERRORS as error:
        raise_if_memory(error)
        return TextLayer(
            problems=(("text_layer_unreadable", f"The text layer could not be read: {error}"),)
        )
    lines = tuple(_lines(rows, styles, rotation, width, height))
    return TextLayer(lines, problems=_words_outside(page))


def _words_outside(page: pymupdf.Page) -> tuple[tuple[str, str], ...]:
    """Report words that only a larger crop box would display; they are no text of the page."""
    try:
        cropbox = page.cropbox
        if cropbox.width >= page.mediabox.width and cropbox.height >= page.mediabox.height:
            return ()
        page.set_cropbox(page.mediabox)
        try:
            rows = page.get_textpage(flags=_FLAGS).extractWORDS()
        finally:
            page.set_cropbox(cropbox)
    except PDF_ERRORS as error:
        raise_if_memory(error)
        return ()
    outside = sum(
        not cropbox.contains(pymupdf.Point((row[0] + row[2]) / 2, (row[1] + row[3]) / 2))
        for row in rows
    )
    if not outside:
        return ()
    message = f"{outside} words lie outside the page as displayed and are not in the text."
    return (("words_outside_page", message),)


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


def _lines(
    rows: Iterable[tuple[Any, ...]],
    styles: dict[tuple[int, int], dict[str, Any]],
    rotation: Rotation,
    width: float,
    height: float,
) -> list[TextLine]:
    words: dict[tuple[int, int], list[PageWord]] = {}
    for x0, y0, x1, y1, text, block, line, _ in rows:
        for piece, part in split_word(clean(text), (x0, y0, x1, y1)):
            box = clamp(to_displayed(part, rotation, width, height), width, height)
            if box is not None:
                words.setdefault((block, line), []).append(PageWord(piece, box, None, "digital"))
    lines: list[TextLine] = []
    for (block, number), line_words in words.items():
        style = styles.get((block, number), {})
        along_x = abs(style.get("dir", (1.0, 0.0))[0]) >= 0.5
        lines.append(
            TextLine(
                words=tuple(line_words),
                block=block,
                size=max((span["size"] for span in style.get("spans", ())), default=0.0),
                horizontal=along_x == (rotation in (0, 180)),
            )
        )
    return lines


def is_unreadable(character: str) -> bool:
    """Say whether ``character`` is none: a control, private use, or U+FFFD."""
    code = ord(character)
    return code < 0x20 or 0x7F <= code < 0xA0 or 0xE000 <= code < 0xF900 or code == 0xFFFD

"""Words of a MuPDF text page with the boxes of their ink, fast where the text is plain.

``extractWORDS`` and ``extractDICT`` are a quarter of the cost of looking at every character, so the
characters are looked at only where words alone would be wrong: doubled glyphs, soft hyphens, and
scripts that run from right to left (see `glyphs`).

MuPDF expands ligatures ("ﬁ" becomes "fi", an Arabic presentation form its letter): what a reader
types must find what the page shows. A glyph without a Unicode value becomes U+FFFD, never its
number in the font.
"""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from ingest.extract.blocks import PageWord, clamp
from ingest.extract.decode import clean
from ingest.extract.glyphs import HYPHENS, glyph_lines
from ingest.extract.text_line import TextLine, hull
from ocr.mupdf import pymupdf
from schemas.document import BoxTuple

mupdf = pymupdf.mupdf

FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_ACCURATE_BBOXES
_STEP = 100
_BOLD_FONT, _BOLD_GLYPH, _ITALIC_FONT = 16, 8, 2
_LEAN = 0.15
"""How far italic letters lean out of the width they take, as a share of the font's size.

MuPDF's boxes are as high as the ink and as wide as the space that a letter takes."""
_REACHES_BACK, _REACHES_ON = frozenset("fj"), frozenset("fTVWYFPECK")
"""Letters whose ink often begins before, or ends behind, the width that they take…"""
_OVERHANG = 0.08
"""…by up to this share of the font's size."""
_STRAIGHT = 0.94
"""Cosine of 20°."""
_BY_GLYPH = re.compile("[\u00ad\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
"""Soft hyphens, and letters of scripts that run from right to left."""
_BLANKS = re.compile(r"[^\S\t-\r\x1c-\x20\xa0]")
"""White space at which MuPDF does not end a word by itself."""
_UNSEEN = re.compile("[\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
"""Characters that only steer the layout: zero-width spaces and joiners, marks of direction."""
_COMBINED = re.compile("[^\\W\\d_][\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]+")
_UNTIDY = re.compile(
    "[\0\ud800-\udfff\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
    "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]"
)
"""What `tidy` may change."""
_BLANK = 0x20
_ROW = 1e6
_CELL = 2.0
"""Words that begin within about this many points of each other may be drawn over each other."""

Floats = npt.NDArray[np.float64]
Rows = Sequence[tuple[Any, ...]]
"""x0, y0, x1, y1, text, block, line, number in the line."""


@dataclass(frozen=True, slots=True)
class PageText:
    """Lines of a text page, in MuPDF's order."""

    lines: list[TextLine]
    outside: int
    """Words that lie outside the displayed page, and are not among the lines."""
    transparent: bool = False
    """True where some of it was painted without opacity."""


def text_page(source: Any, flags: int = FLAGS) -> pymupdf.TextPage:
    """Return the text page of a display list, or of an annotation.

    Its coordinates are those of the displayed page. What lies outside the page is in it too.
    """
    options = mupdf.FzStextOptions()
    options.flags = flags
    page = mupdf.FzStextPage(source.this, options)
    # PyMuPDF leaves out what lies outside the page's own rectangle; how much that is, is wanted.
    bounds = page.m_internal.mediabox
    bounds.x0 = bounds.y0 = pymupdf.FZ_MIN_INF_RECT
    bounds.x1 = bounds.y1 = pymupdf.FZ_MAX_INF_RECT
    return pymupdf.TextPage(page)


def read_lines(page: pymupdf.TextPage, width: float, height: float) -> PageText:
    """Return the lines of a text page on a displayed page of ``width`` × ``height`` points."""
    rows: Rows = page.extractWORDS()
    if not rows:
        return PageText([], 0)
    x0, y0, x1, y1, texts, blocks, numbers, places = zip(*rows, strict=True)
    characters = "".join(sorted(set("".join(texts))))
    blanks = _BLANKS.findall(characters)
    if blanks:
        rows = page.extractWORDS("".join(blanks))
        x0, y0, x1, y1, texts, blocks, numbers, places = zip(*rows, strict=True)
    sides = np.array((x0, y0, x1, y1))
    if _BY_GLYPH.search(characters) or _may_be_doubled(sides, texts):
        return _by_glyphs(page, width, height)
    starts = [index for index, place in enumerate(places) if not place]
    ends = [*starts[1:], len(rows)]
    known = {block["number"]: block["lines"] for block in page.extractDICT()["blocks"]}
    styles = [_style(known[blocks[start]][numbers[start]]) for start in starts]
    for start, stop, style in zip(starts, ends, styles, strict=True):
        if style.italics:
            _widen_italics(sides[:, start:stop], style)
    _widen_overhanging(sides, texts, starts, ends, styles)
    boxes = _on_page(sides, width, height)
    if _UNTIDY.search(characters):
        texts = tuple(map(tidy, texts))
    bare: list[BoxTuple | None] = [None] * len(rows)
    for index, box in _bare_boxes(page, rows, starts, width, height).items():
        bare[index] = box
    # As `PageWord._make` makes them, which counts the fields of each.
    words: list[PageWord] = list(
        map(
            tuple.__new__,
            repeat(PageWord),
            zip(texts, boxes, repeat(None), repeat("digital"), repeat("word"), bare),
        )
    )
    outside = boxes.count(None)
    some_go = bool(outside) or "" in texts
    lines: list[TextLine] = []
    for start, stop, style in zip(starts, ends, styles, strict=True):
        run = words[start:stop]
        if some_go:
            run = [word for word in run if word.text and word.box is not None]
        if run:
            lines.append(_line(run, blocks[start], style))
    return PageText(lines, outside, any(style.transparent for style in styles))


def _by_glyphs(page: pymupdf.TextPage, width: float, height: float) -> PageText:
    lines: list[TextLine] = []
    outside = 0
    transparent = False
    for block, line, found in glyph_lines(page.extractRAWDICT()["blocks"]):
        for span in line["spans"]:
            span["text"] = span["chars"]
        style = _style(line)
        transparent = transparent or style.transparent
        words: list[PageWord] = []
        for word in found:
            text = tidy(word.text)
            sides = np.array([word.box]).T
            _widen_overhanging(sides, [word.text], [0], [1], [style])
            x0, y0, x1, y1 = sides[:, 0].tolist()
            box = clamp((x0, y0, x1, y1), width, height)
            if box is None:
                outside += 1
            elif text:
                bare = clamp(word.bare_box, width, height) if word.bare_box else None
                words.append(PageWord(text, box, None, "digital", "word", bare))
        if words:
            lines.append(_line(words, block, style))
    return PageText(lines, outside, transparent)


def tidy(text: str) -> str:
    """Return a word without characters that cannot be seen, its accents joined to their letters.

    Only a letter with marks after it is composed (Unicode NFC): composing everything would also
    replace signs such as the ohm by letters that look alike.
    """
    text = _UNSEEN.sub("", clean(text))
    return _COMBINED.sub(lambda match: unicodedata.normalize("NFC", match[0]), text)


@dataclass(slots=True)
class _Style:
    """What MuPDF knows of a line beside its words."""

    size: float
    """Of the largest font; 0 where that is not known."""
    bold: bool
    colour: int
    opacity: float
    direction: tuple[float, float]
    transparent: bool
    """True where some of it has no opacity."""
    italics: list[dict[str, Any]]
    """Spans in italics."""


def _style(line: dict[str, Any]) -> _Style:
    spans: list[dict[str, Any]] = line["spans"]
    if not spans:
        # PyMuPDF leaves out some that are no character.
        return _Style(0.0, False, 0, 1.0, line["dir"], False, [])
    first = spans[0]
    alpha = first["alpha"]
    if len(spans) == 1:
        bold = bool(first["flags"] & _BOLD_FONT or first["char_flags"] & _BOLD_GLYPH)
        italics = spans if first["flags"] & _ITALIC_FONT else []
        return _Style(
            first["size"], bold, first["color"], alpha / 255, line["dir"], not alpha, italics
        )
    size = 0.0
    letters = heavy = 0
    transparent = False
    italics = []
    for span in spans:
        if span["size"] > size:
            size = span["size"]
        flags, count = span["flags"], len(span["text"])
        letters += count
        if flags & _BOLD_FONT or span["char_flags"] & _BOLD_GLYPH:
            heavy += count
        if flags & _ITALIC_FONT:
            italics.append(span)
        if not span["alpha"]:
            transparent = True
    return _Style(
        size, 2 * heavy > letters, first["color"], alpha / 255, line["dir"], transparent, italics
    )


def _line(words: list[PageWord], block: int, style: _Style) -> TextLine:
    along, down = style.direction
    box = words[0].box
    return TextLine(
        tuple(words),
        block,
        style.size or min(box[2] - box[0], box[3] - box[1]),
        along >= _STRAIGHT,
        style.bold,
        None,
        False,
        0.0 if down == 0 and along > 0 else math.degrees(math.atan2(down, along)),
        style.colour,
        style.opacity,
    )


def _widen_italics(sides: Floats, style: _Style) -> None:
    """Make the boxes of a line's words in italics as wide as their letters lean out of them."""
    across, down = style.direction
    axis = 0 if abs(across) >= abs(down) else 1
    middles = ((sides[axis] + sides[axis + 2]) / 2).tolist()
    for index, middle in enumerate(middles):
        for span in style.italics:
            if span["bbox"][axis] <= middle <= span["bbox"][axis + 2]:
                sides[axis, index] -= _LEAN * span["size"]
                sides[axis + 2, index] += _LEAN * span["size"]
                break


def _widen_overhanging(
    sides: Floats,
    texts: Sequence[str],
    starts: Sequence[int],
    ends: Sequence[int],
    styles: Sequence[_Style],
) -> None:
    """Make the boxes of words that begin or end with a letter that reaches out of its width wider.

    Args:
        sides: x0, y0, x1 and y1, one row each.
        texts: the words.
        starts: numbers of the words that begin a line.
        ends: numbers behind the words that end one.
        styles: of the lines.
    """
    back = [index for index, text in enumerate(texts) if text[0] in _REACHES_BACK]
    on = [index for index, text in enumerate(texts) if text[-1] in _REACHES_ON]
    if not back and not on:
        return
    line_of = np.repeat(np.arange(len(starts)), np.subtract(ends, starts))
    margins = np.array(
        [[_OVERHANG * style.size * part for part in style.direction] for style in styles]
    )[line_of].T
    # A margin that points to the right or down moves the far side, any other one the near side.
    for found, outward in ((back, -margins), (on, margins)):
        sides[:2, found] += np.minimum(outward[:, found], 0.0)
        sides[2:, found] += np.maximum(outward[:, found], 0.0)


def _on_page(sides: Floats, width: float, height: float) -> list[BoxTuple | None]:
    """Return boxes as `blocks.clamp` would, all at once.

    Args:
        sides: x0, y0, x1 and y1, one row each.
        width: of the page.
        height: of the page.
    """
    low, high, limits = sides[:2], sides[2:], np.array([[width], [height]])
    rounded = np.vstack((np.floor(low * _STEP), np.ceil(high * _STEP))) / _STEP
    np.clip(rounded, 0.0, np.vstack((limits, limits)), out=rounded)
    boxes: list[BoxTuple | None] = list(zip(*rounded.tolist(), strict=True))
    # What is thin or cut off is left to the careful way.
    size = np.minimum(high - low, rounded[2:] - rounded[:2])
    for index in np.flatnonzero(~(size >= 1.0).all(axis=0)).tolist():
        x0, y0, x1, y1 = sides[:, index].tolist()
        boxes[index] = clamp((x0, y0, x1, y1), width, height)
    for index in np.flatnonzero(((high < 0) | (low > limits)).any(axis=0)).tolist():
        boxes[index] = None
    return boxes


def _may_be_doubled(sides: Floats, texts: Sequence[str]) -> bool:
    """Say whether two words begin at about the same place with the same letter."""
    starts = np.vstack((sides[0], (sides[1] + sides[3]) / 2)) / _CELL
    if not np.isfinite(starts).all():
        return False
    # Neighbours may fall into different cells of one grid, but not of the other one as well.
    for shift in (0.0, 0.5):
        across, down = np.floor(starts + shift)
        cells = across * _ROW + down
        ordered = np.sort(cells)
        if (ordered[1:] == ordered[:-1]).any():
            letters = [text[0] for text in texts]
            if len(set(zip(cells.tolist(), letters, strict=True))) < len(letters):
                return True
    return False


def _bare_boxes(
    page: pymupdf.TextPage, rows: Rows, starts: Sequence[int], width: float, height: float
) -> dict[int, BoxTuple]:
    """Return the boxes without the hyphen of words that end a line with one, by their row.

    Args:
        page: the text page.
        rows: its words.
        starts: numbers of the rows that begin a line.
        width: of the page.
        height: of the page.
    """
    wanted: dict[tuple[int, int], int] = {}
    for index in (*(start - 1 for start in starts[1:]), len(rows) - 1):
        text = rows[index][4]
        if text[-1] in HYPHENS and len(text) > 1 and text[-2].isalpha():
            wanted[rows[index][5], rows[index][6]] = index
    if not wanted:
        return {}
    boxes: dict[int, BoxTuple] = {}
    blocks = {block for block, _ in wanted}
    for number, block in enumerate(page.this):
        for place, line in enumerate(block) if number in blocks else ():
            if (number, place) not in wanted:
                continue
            row = wanted[number, place]
            bare = _without_last(line, rows[row][4], rows[row][:4])
            box = clamp(bare, width, height) if bare else None
            if box is not None:
                boxes[row] = box
    return boxes


def _without_last(line: Any, word: str, box: BoxTuple) -> BoxTuple | None:
    """Return the box of a line's last word without its last letter, which is a hyphen."""
    letters = []
    letter = line.m_internal.first_char
    while letter:
        letters.append(letter)
        letter = letter.next
    while letters and letters[-1].c == _BLANK:
        letters.pop()
    letters = letters[-len(word) :]
    if [letter.c for letter in letters] != list(map(ord, word)):
        return None
    direction = line.m_internal.dir
    level = direction.x > 0 and direction.y == 0
    # A hyphen is no higher than the letter before it, so its end is all that is to be known.
    found = [
        pymupdf.JM_char_bbox(line, mupdf.FzStextChar(letter))
        for letter in (letters[-2:-1] if level else letters[:-1])
    ]
    if level:
        return box[0], box[1], found[0].x1, box[3]
    return hull([(one.x0, one.y0, one.x1, one.y1) for one in found])

"""Which words of a page can be seen, and why the others cannot.

Cheap signs, from what the page paints, choose the words to look at; only for these are single
glyphs traced or pixels rendered.
"""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from ingest.extract.painting import Painting, Rgb, common, read_painting, touch
from ingest.extract.text_line import Hidden, TextLine, hull
from ingest.extract.text_page import FLAGS, text_page
from ocr.mupdf import pymupdf
from schemas.document import BoxTuple

mupdf = pymupdf.mupdf
Floats = npt.NDArray[np.float64]
Indexes = npt.NDArray[np.intp]

CLIPPED_FLAGS = FLAGS | pymupdf.TEXT_CLIP

_PALE = 0.9
"""Luminance from which text on white paper may be too pale to be seen."""
_ALIKE = 0.04
"""Largest difference, in each of red, green and blue, of colours that look the same."""
_WHITE = (1.0, 1.0, 1.0)
_BLANK = 0x20
_ACROSS = 0.45
"""How far a glyph's middle may lie above or below its word's ink, as a share of the font's size."""
_ZOOM = 1.5
_MAX_PIXELS = 4_000_000
_CONTRAST = 10
"""Least difference of pixels, of 255, where something is to be seen."""


def split_by_visibility(
    lines: Sequence[TextLine],
    painting: Painting,
    display: pymupdf.DisplayList,
    width: float,
    height: float,
    *,
    transparent: bool = False,
) -> tuple[list[TextLine], list[TextLine]]:
    """Return the lines that the page shows and those that it does not, with the reason.

    A line of which only some words can be seen is split.

    Args:
        lines: of the text page.
        painting: what the page paints, looked at without being thorough.
        display: the page's display list.
        width: of the page.
        height: of the page.
        transparent: True where some of the text has no opacity of its own.
    """
    if not lines:
        return [], []
    if not painting.shows_text:
        reason: Hidden = next(iter(painting.unseen.values()), "invisible")
        return [], [replace(line, hidden=reason) for line in lines]
    if not (
        painting.unseen
        or painting.covers
        or painting.clipped
        or transparent
        or any(_is_pale(_rgb(colour)) for colour in {line.colour for line in lines})
    ):
        return list(lines), []
    boxes = np.array([word.box for line in lines for word in line.words])
    middles = (boxes[:, :2] + boxes[:, 2:]) / 2
    reasons: dict[int, Hidden] = {}
    first = painting.first_text or 0
    later = {
        number: found
        for number, cover in enumerate(painting.covers)
        if cover.order > first and len(found := _inside(middles, cover.box))
    }
    areas = {
        number: common(painting.covers[number].box, hull(boxes[found].tolist()))
        for number, found in later.items()
    }
    if (
        painting.unseen
        or transparent
        or (areas and read_painting(display, width, height, areas=areas).overpainted)
    ):
        thorough = read_painting(display, width, height, thorough=True)
        reasons |= _traced(lines, boxes, thorough, later, display)
    if painting.clipped:
        reasons |= {index: "clipped" for index in _clipped(boxes, display) if index not in reasons}
    for index in _like_background(lines, boxes, middles, painting, display, (width, height)):
        reasons.setdefault(index, "unseen")
    return _split(lines, reasons) if reasons else (list(lines), [])


def _inside(middles: Floats, box: BoxTuple) -> Indexes:
    """Return the indexes of the boxes whose middle lies in ``box``."""
    return np.flatnonzero(((middles > box[:2]) & (middles < box[2:])).all(axis=1))


def _traced(
    lines: Sequence[TextLine],
    boxes: Floats,
    painting: Painting,
    later: Mapping[int, Indexes],
    display: pymupdf.DisplayList,
) -> dict[int, Hidden]:
    """Return the words that were painted without ink, or below something opaque.

    Args:
        lines: with all words.
        boxes: of the words.
        painting: of the page.
        later: the words inside what was painted after the first text, by the cover's index.
        display: the page's display list.
    """
    covered: dict[int, int] = {}
    for number, found in later.items():
        for index in found.tolist():
            covered[index] = max(covered.get(index, 0), painting.covers[number].order)
    suspects = list(range(len(boxes)) if painting.unseen else covered)
    if not suspects:
        return {}
    owners = [(line, word.text) for line in lines for word in line.words]
    reach = max(owners[index][0].size for index in suspects)
    x0, y0, x1, y1 = hull(boxes[suspects].tolist())
    glyphs = _trace(display, (x0 - reach, y0 - reach, x1 + reach, y1 + reach))
    unseen = np.isin(glyphs[:, 2], list(painting.unseen))
    reasons: dict[int, Hidden] = {}
    for index in suspects:
        line, text = owners[index]
        slack = _slack(line)
        left, top = boxes[index, :2] - slack
        right, bottom = boxes[index, 2:] + slack
        of_word = (
            (left <= glyphs[:, 0])
            & (glyphs[:, 0] <= right)
            & (top <= glyphs[:, 1])
            & (glyphs[:, 1] <= bottom)
            # A watermark across the word has glyphs of another size.
            & (glyphs[:, 3] > 0.5 * line.size)
            & (glyphs[:, 3] < 1.5 * line.size)
        )
        # Where something else was written over a word, only its own letters count.
        own = of_word & np.isin(glyphs[:, 4], list(map(ord, text)))
        of_word = own if own.any() else of_word
        orders = glyphs[of_word, 2]
        if not len(orders):
            continue
        seen = orders[~unseen[of_word]]
        below = int((seen < covered.get(index, 0)).sum())
        if not len(seen):
            reasons[index] = painting.unseen[int(orders[0])]
        elif below > 2 * (len(seen) - below):
            # A letter or two of what was written over it may stand in the same places.
            reasons[index] = "covered"
    return reasons


def _slack(line: TextLine) -> tuple[float, float]:
    """Return how far, across and down, a glyph's middle may lie outside the ink of its word."""
    along, across = 0.05, _ACROSS * line.size
    if abs(line.angle) % 90 not in (0.0, 90.0):
        return across, across
    return (along, across) if abs(line.angle) % 180 < 45 else (across, along)


def _trace(display: pymupdf.DisplayList, area: BoxTuple) -> Floats:
    """Return the glyphs of all text that touches ``area`` and are no blanks.

    Each has its middle, number of operation, size and code.
    """
    spans: list[dict[str, Any]] = []
    device = pymupdf.extra.JM_new_texttrace_device(spans)
    everywhere = mupdf.FzRect(mupdf.FzRect.Fixed_INFINITE)
    mupdf.fz_run_display_list(display.this, device, mupdf.FzMatrix(), everywhere, mupdf.FzCookie())
    mupdf.fz_close_device(device)
    glyphs = [
        ((box[0] + box[2]) / 2, (box[1] + box[3]) / 2, span["seqno"], span["size"], code)
        for span in spans
        if touch(span["bbox"], area)
        for code, _, _, box in span["chars"]
        if code != _BLANK
    ]
    return np.array(glyphs, dtype=np.float64).reshape(-1, 5)


def _clipped(boxes: Floats, display: pymupdf.DisplayList) -> list[int]:
    """Return the words of which MuPDF finds no glyph inside the clips."""
    rows = text_page(display, CLIPPED_FLAGS).extractWORDS()
    left = np.array([row[:4] for row in rows], dtype=np.float64).reshape(-1, 4)
    # Most words are the same with and without the clips.
    same = {(x0, y0) for x0, y0 in (np.floor(left[:, :2] * 10)).tolist()}
    starts = np.floor(boxes[:, :2] * 10).tolist()
    x, y = (left[:, 0] + left[:, 2]) / 2, (left[:, 1] + left[:, 3]) / 2
    gone = []
    for index, (start, (x0, y0, x1, y1)) in enumerate(zip(starts, boxes.tolist(), strict=True)):
        if tuple(start) in same:
            continue
        if not ((x0 - 0.1 <= x) & (x <= x1 + 0.1) & (y0 - 0.1 <= y) & (y <= y1 + 0.1)).any():
            gone.append(index)
    return gone


def _like_background(
    lines: Sequence[TextLine],
    boxes: Floats,
    middles: Floats,
    painting: Painting,
    display: pymupdf.DisplayList,
    page: tuple[float, float],
) -> list[int]:
    """Return the words that have the colour of what they stand on.

    Where that is not paper or a plain area, pixels decide.
    """
    colours = {number: _rgb(number) for number in {line.colour for line in lines}}
    pale = {number for number, colour in colours.items() if _is_pale(colour)}
    plain = {cover.colour for cover in painting.covers if cover.colour is not None}
    suspects = pale | {
        number
        for number, colour in colours.items()
        if any(_look_alike(colour, other) for other in plain)
    }
    if not suspects:
        return []
    of_words = np.repeat([line.colour for line in lines], [len(line.words) for line in lines])
    top = _last_inside(middles, [cover.box for cover in painting.covers])
    found: list[int] = []
    doubtful: list[int] = []
    for number in suspects:
        for cover in set(top[of_words == number].tolist()):
            paper = painting.covers[cover].colour if cover >= 0 else _WHITE
            alike = paper is not None and _look_alike(colours[number], paper)
            if not alike and number not in pale:
                continue
            words = np.flatnonzero((of_words == number) & (top == cover))
            unclear = np.any(_which_inside(middles[words], painting.shapes), axis=0)
            if paper is None:
                doubtful += words.tolist()
            else:
                doubtful += words[unclear].tolist()
                found += words[~unclear].tolist() if alike else []
    return found + _without_contrast(doubtful, boxes, display, *page)


def _last_inside(middles: Floats, boxes: Sequence[BoxTuple]) -> Indexes:
    """Return for each middle the index of the last of the boxes it lies in; −1 for none."""
    if not boxes:
        return np.full(len(middles), -1)
    within = _which_inside(middles, boxes)
    last = len(boxes) - 1 - np.argmax(within[::-1], axis=0)
    return np.where(np.any(within, axis=0), last, -1)


def _which_inside(middles: Floats, boxes: Sequence[BoxTuple]) -> npt.NDArray[np.bool_]:
    """Say for each of the boxes (rows) which middles (columns) lie in it."""
    sides = np.array(boxes, dtype=np.float64).reshape(-1, 1, 4)
    x, y = middles.T
    left, top, right, bottom = sides.transpose(2, 0, 1)
    within: npt.NDArray[np.bool_] = (left < x) & (x < right) & (top < y) & (y < bottom)
    return within


def _rgb(colour: int) -> Rgb:
    return (colour >> 16) / 255, (colour >> 8 & 255) / 255, (colour & 255) / 255


def _look_alike(a: Rgb, b: Rgb) -> bool:
    return all(abs(one - other) <= _ALIKE for one, other in zip(a, b, strict=True))


def _is_pale(colour: Rgb) -> bool:
    red, green, blue = colour
    return 0.299 * red + 0.587 * green + 0.114 * blue >= _PALE


def _without_contrast(
    words: Sequence[int],
    boxes: Floats,
    display: pymupdf.DisplayList,
    width: float,
    height: float,
) -> list[int]:
    """Return those of the words in whose boxes the rendered page is of one colour."""
    if not words or width * height * _ZOOM**2 > _MAX_PIXELS:
        return []
    area = pymupdf.Rect(*hull(boxes[list(words)].tolist()))
    pixels = display.get_pixmap(matrix=pymupdf.Matrix(_ZOOM, _ZOOM), alpha=0, clip=area)
    image = np.frombuffer(pixels.samples, np.uint8).reshape(pixels.height, pixels.width, pixels.n)
    plain = []
    for index in words:
        left, top, right, bottom = (boxes[index] * _ZOOM).tolist()
        cut = image[
            int(top) - pixels.y : int(bottom) + 1 - pixels.y,
            int(left) - pixels.x : int(right) + 1 - pixels.x,
        ].reshape(-1, pixels.n)
        if len(cut) and int(np.ptp(cut, axis=0).max()) < _CONTRAST:
            plain.append(index)
    return plain


def _split(
    lines: Sequence[TextLine], reasons: dict[int, Hidden]
) -> tuple[list[TextLine], list[TextLine]]:
    shown: list[TextLine] = []
    hidden: list[TextLine] = []
    first = 0
    for line in lines:
        start, first = first, first + len(line.words)
        if reasons.keys().isdisjoint(range(start, first)):
            shown.append(line)
            continue
        numbered = list(enumerate(line.words, start))
        for reason, run in groupby(numbered, key=lambda pair: reasons.get(pair[0])):
            part = replace(line, words=tuple(word for _, word in run), hidden=reason)
            (shown if reason is None else hidden).append(part)
    return shown, hidden

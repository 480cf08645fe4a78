"""Watermarks: large words across a page that are no part of what it says."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ingest.extract.text_line import TextLine, hull

_LARGE = 20.0
"""Least size of a watermark's font in points."""
_LARGER = 1.6
"""Least ratio of its size to that of the page's text."""
_SLANT = 10.0
"""Least angle in degrees to the page's edges of text that is slanted."""
_PALE = 0.7
"""Luminance from which black's opposite is near enough for text to be read through."""
_TRANSPARENT = 0.7
_CROSSED = 2
"""Least number of the page's words that a watermark lies on."""


def mark_watermarks(lines: Sequence[TextLine]) -> list[TextLine]:
    """Return the lines of a page with its watermarks marked as such.

    A watermark is large beside the page's text, and slanted, pale or transparent, and lies across
    words that are none of its own. Pale text that stands by itself, such as a title, is none; so is
    a slanted label in a chart.
    """
    if not any(line.size >= _LARGE and _is_faint(line) for line in lines):
        return list(lines)
    body = _body_size(lines)
    middles = [
        (number, (word.box[0] + word.box[2]) / 2, (word.box[1] + word.box[3]) / 2)
        for number, line in enumerate(lines)
        for word in line.words
    ]
    return [
        replace(line, watermark=True)
        if line.size >= max(_LARGE, _LARGER * body)
        and _is_faint(line)
        and _crossed(number, line, middles) >= _CROSSED
        else line
        for number, line in enumerate(lines)
    ]


def _is_faint(line: TextLine) -> bool:
    return _is_slanted(line) or line.opacity <= _TRANSPARENT or _luminance(line.colour) >= _PALE


def _is_slanted(line: TextLine) -> bool:
    return _SLANT <= abs(line.angle) % 90 <= 90 - _SLANT


def _luminance(colour: int) -> float:
    red, green, blue = colour >> 16, colour >> 8 & 255, colour & 255
    return (0.299 * red + 0.587 * green + 0.114 * blue) / 255


def _body_size(lines: Sequence[TextLine]) -> float:
    """Return the size of the font in which most of the page's letters are set."""
    letters: dict[float, int] = {}
    for line in lines:
        if not _is_slanted(line):
            size = round(line.size * 2) / 2
            letters[size] = letters.get(size, 0) + sum(len(word.text) for word in line.words)
    return max(letters, key=lambda size: letters[size], default=0.0)


def _crossed(number: int, line: TextLine, middles: Sequence[tuple[int, float, float]]) -> int:
    """Count the words of other lines that the letters of ``line`` lie across."""
    x0, y0, x1, y1 = hull(word.box for word in line.words)
    angle = math.radians(line.angle)
    across, down = -math.sin(angle), math.cos(angle)
    middle = across * (x0 + x1) / 2 + down * (y0 + y1) / 2
    return sum(
        x0 <= x <= x1 and y0 <= y <= y1 and abs(across * x + down * y - middle) <= line.size / 2
        for other, x, y in middles
        if other != number
    )

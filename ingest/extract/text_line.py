"""A line of a page's text layer, with what is known of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from ingest.extract.blocks import Line
from schemas.document import BoxTuple

Hidden = Literal["invisible", "transparent", "covered", "clipped", "unseen"]
"""Why a page does not show a text: painted without ink (text rendering mode 3, PDF 32000-1 §9.3.6)
or without opacity, painted over afterwards, clipped away, or in the colour of its background."""


@dataclass(slots=True)
class TextLine:
    """A line as MuPDF groups it: words in order, with what it knows of them.

    It is not to be changed; not frozen, for making a frozen one takes four times as long.
    """

    words: Line
    block: int
    """Number of MuPDF's block on the page."""
    size: float
    """Of the largest font in the line, in points."""
    horizontal: bool
    """True where it runs from left to right, or for Arabic and Hebrew from right to left, across
    the displayed page, give or take 20°."""
    bold: bool = False
    """True where most of it is, by its font."""
    hidden: Hidden | None = None
    """None where the page shows it."""
    watermark: bool = False
    """True for large slanted, pale or transparent text across the page's own."""
    angle: float = 0.0
    """Degrees clockwise from left-to-right, −180 to 180, on the displayed page."""
    colour: int = 0
    """sRGB, 0xRRGGBB, of its first words."""
    opacity: float = 1.0


def hull(boxes: Iterable[BoxTuple]) -> BoxTuple:
    """Return the smallest box around ``boxes``, of which there is at least one."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)

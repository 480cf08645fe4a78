"""Pages and parts of pages as images: at which resolution, and how pixels map back to points."""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from ocr.mupdf import pymupdf

if TYPE_CHECKING:
    from ocr.engine import PixelBox
    from schemas.document import BoxTuple

POINTS_PER_INCH = 72.0
MAX_SIDE = 32_000
"""Tesseract refuses images with a side above 32,767 pixels."""
_ROUND_WORD = 0.12
"""How far, as a share of a word's height, the edges of its letters reach beyond its box."""


@dataclass(frozen=True, slots=True)
class PixelMap:
    """Where the pixels of an image lie on the displayed page."""

    points_per_pixel: tuple[float, float]
    """Along x and y; both are 72 / dpi unless the source's pixels were not square."""
    origin: tuple[float, float] = (0.0, 0.0)
    """Of the image's top left corner on the page, in points."""

    def to_points(self, box: PixelBox) -> BoxTuple:
        """Map a box from pixels of the image to points of the displayed page."""
        (sx, sy), (x, y) = self.points_per_pixel, self.origin
        return x + box[0] * sx, y + box[1] * sy, x + box[2] * sx, y + box[3] * sy

    def to_pixels(self, box: BoxTuple) -> PixelBox:
        """Map a box from points of the displayed page to pixels of the image."""
        (sx, sy), (x, y) = self.points_per_pixel, self.origin
        return (box[0] - x) / sx, (box[1] - y) / sy, (box[2] - x) / sx, (box[3] - y) / sy


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page as displayed, or a part of it: cropped, turned, 8-bit grey."""

    image: Image.Image
    dpi: float
    """The same on both axes."""
    pixel_map: PixelMap

    @property
    def blank(self) -> bool:
        """True where every pixel has the same value, so that there is nothing to read."""
        low, high = self.image.getextrema()
        return bool(low == high)

    def contrast(self, box: BoxTuple) -> int:
        """Return the difference between the lightest and the darkest pixel inside ``box``."""
        x0, y0, x1, y1 = self.pixel_map.to_pixels(box)
        left, top = max(0, math.floor(x0)), max(0, math.floor(y0))
        right, bottom = min(self.image.width, math.ceil(x1)), min(self.image.height, math.ceil(y1))
        if left >= right or top >= bottom:
            return 0
        part = self.image.crop((left, top, right, bottom))
        low, high = part.getextrema()
        return int(high) - int(low)  # type: ignore[arg-type]  # one channel has plain numbers

    def without(self, words: Iterable[BoxTuple]) -> RenderedPage:
        """Return the image with the given boxes painted over in the colour around them.

        What is known already is not recognised once more.
        """
        words = list(words)
        if not words:
            return self
        pixels = np.array(self.image)
        for box in words:
            x0, y0, x1, y1 = self.pixel_map.to_pixels(box)
            edge = max(1.0, _ROUND_WORD * min(x1 - x0, y1 - y0))
            left, top = max(0, math.floor(x0 - edge)), max(0, math.floor(y0 - edge))
            right, bottom = math.ceil(x1 + edge), math.ceil(y1 + edge)
            part = pixels[top:bottom, left:right] if right > left and bottom > top else None
            if part is not None and part.size:
                part[:] = np.median(
                    np.concatenate([part[0], part[-1], part[:, 0], part[:, -1]])
                ).astype(np.uint8)
        return RenderedPage(Image.fromarray(pixels), self.dpi, self.pixel_map)


def rendering_dpi(
    width: float, height: float, *, wanted: float, embedded: float, max_pixels: int
) -> float:
    """Choose the resolution for a page of ``width`` × ``height`` points.

    It is ``wanted``, raised to that of the page's own scan (``embedded``), and lowered where the
    image would have more than ``max_pixels`` pixels or too long a side.
    """
    dpi = max(wanted, embedded)
    by_pixels = POINTS_PER_INCH * math.sqrt(max_pixels / (width * height))
    by_side = POINTS_PER_INCH * MAX_SIDE / max(width, height)
    return min(dpi, by_pixels, by_side)


def render(
    page: pymupdf.Page,
    box: BoxTuple | None = None,
    *,
    wanted_dpi: float,
    embedded_dpi: float = 0.0,
    max_pixels: int,
) -> RenderedPage:
    """Render ``page`` as a viewer displays it.

    Args:
        page: the page.
        box: the part of it to render, in points of the displayed page; all of it without.
        wanted_dpi: resolution where nothing asks for another.
        embedded_dpi: resolution of what is on the page; see `rendering_dpi`.
        max_pixels: what the image may have at most.

    Raises:
        RuntimeError, pymupdf.mupdf.FzErrorBase: MuPDF cannot render the page.
    """
    clip = page.rect if box is None else pymupdf.Rect(box)
    dpi = rendering_dpi(
        clip.width,
        clip.height,
        wanted=wanted_dpi,
        embedded=embedded_dpi,
        max_pixels=max_pixels,
    )
    zoom = dpi / POINTS_PER_INCH
    pixels = page.get_pixmap(
        matrix=pymupdf.Matrix(zoom, zoom), clip=clip, colorspace=pymupdf.csGRAY, alpha=False
    )
    image = Image.frombytes("L", (pixels.width, pixels.height), pixels.samples_mv)
    # The image begins at the whole pixel at or before the area's corner.
    origin = pixels.x / zoom, pixels.y / zoom
    return RenderedPage(image, dpi, PixelMap((1 / zoom, 1 / zoom), origin))

"""Pages as images: at which resolution, and how their pixels map back to points."""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PIL import Image

from ocr.mupdf import pymupdf

if TYPE_CHECKING:
    from ocr.engine import PixelBox

POINTS_PER_INCH = 72.0
MAX_SIDE = 32_000
"""Tesseract refuses images with a side above 32,767 pixels."""
_SCAN_SHARE = 0.25
"""Smaller images are logos and stamps; their resolution says nothing about the page's."""


@dataclass(frozen=True, slots=True)
class RenderedPage:
    """A page as displayed: cropped, turned, 8-bit grey."""

    image: Image.Image
    dpi: float
    """The same on both axes."""
    points_per_pixel: tuple[float, float]
    """Along x and y; both are 72 / dpi unless the source's pixels were not square."""

    def to_points(self, box: PixelBox) -> tuple[float, float, float, float]:
        """Map a box from pixels of the image to points of the displayed page."""
        sx, sy = self.points_per_pixel
        return box[0] * sx, box[1] * sy, box[2] * sx, box[3] * sy

    @property
    def blank(self) -> bool:
        """True where every pixel has the same value, so that there is nothing to read."""
        low, high = self.image.getextrema()
        return bool(low == high)


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


def image_coverage(page: pymupdf.Page) -> float:
    """Return the share of the page that its images cover, 0 to 1 (overlaps count twice)."""
    displayed = _unrotated_rect(page)
    area = sum(
        (pymupdf.Rect(info["bbox"]) & displayed).get_area() for info in page.get_image_info()
    )
    return min(1.0, float(area) / float(displayed.get_area()))


def embedded_dpi(page: pymupdf.Page) -> float:
    """Return the highest resolution among the page's large images; 0 without any."""
    displayed = _unrotated_rect(page)
    best = 0.0
    for info in page.get_image_info():
        a, b, c, d, _, _ = info["transform"]
        across, down = math.hypot(a, b), math.hypot(c, d)
        covered = (pymupdf.Rect(info["bbox"]) & displayed).get_area()
        if covered < _SCAN_SHARE * displayed.get_area():
            continue
        if across > 0 and down > 0:
            best = max(best, info["width"] / across, info["height"] / down)
    return best * POINTS_PER_INCH


def render_page(page: pymupdf.Page, *, wanted_dpi: float, max_pixels: int) -> RenderedPage:
    """Render ``page`` as a viewer displays it.

    Raises:
        RuntimeError, pymupdf.mupdf.FzErrorBase: MuPDF cannot render the page.
    """
    dpi = rendering_dpi(
        page.rect.width,
        page.rect.height,
        wanted=wanted_dpi,
        embedded=embedded_dpi(page),
        max_pixels=max_pixels,
    )
    zoom = dpi / POINTS_PER_INCH
    pixels = page.get_pixmap(
        matrix=pymupdf.Matrix(zoom, zoom), colorspace=pymupdf.csGRAY, alpha=False
    )
    image = Image.frombytes("L", (pixels.width, pixels.height), pixels.samples)
    return RenderedPage(image=image, dpi=dpi, points_per_pixel=(1 / zoom, 1 / zoom))


def _unrotated_rect(page: pymupdf.Page) -> pymupdf.Rect:
    """Return the page's rectangle in the coordinates that MuPDF gives image boxes in."""
    width, height = page.rect.width, page.rect.height
    if page.rotation in (90, 270):
        width, height = height, width
    return pymupdf.Rect(0, 0, width, height)

"""TIFF, PNG and JPEG: every frame is a page, and every page goes through OCR.

A page's size comes from the image's resolution. Where that is missing or would make a page that no
paper has (a 300 dpi scan labelled 72 dpi is 90 cm wide), the shorter side is taken for that of A4,
with a warning: boxes are then right in proportion, which is all that a highlight needs.
"""

from __future__ import annotations

import io
import math
import warnings
from typing import Literal

from PIL import ExifTags, Image, ImageOps, ImageSequence, UnidentifiedImageError

from ingest.errors import ItemError
from ingest.extract.assemble import assemble
from ingest.extract.blocks import PageContent
from ingest.extract.draft import Draft, SourceBytes, damaged, too_many_pages
from ingest.extract.faults import raise_if_memory
from ingest.extract.furniture import mark_furniture
from ingest.extract.scans import Recogniser, recognised_content
from ocr.engine import OcrError, OcrWord
from ocr.render import MAX_SIDE, POINTS_PER_INCH, RenderedPage
from schemas.document import ExtractionWarning, Page

_A4_INCHES = 8.27
_PLAUSIBLE_DPI = (50.0, 2_400.0)
_PLAUSIBLE_INCHES = 24.0
"""Longest side of a page that someone scans or photographs: A2."""
_DECODE_FACTOR = 8
"""Images up to this many times the limit of pixels are decoded and reduced, larger ones refused."""
_EXIF_TURNS: dict[int, Literal[0, 90, 180, 270]] = {3: 180, 4: 180, 5: 90, 6: 90, 7: 270, 8: 270}
"""Clockwise turn of EXIF's orientations (CIPA DC-008 §4.6.5.1.1); 2, 4, 5 and 7 also mirror."""


def read_image(source: SourceBytes) -> Draft:
    """Read an image file, one page a frame.

    Raises:
        ItemError: damaged, image_too_large, too_many_pages.
        ConfigurationError: the OCR engine or a language of it is not installed.
    """
    recogniser = Recogniser(source.settings.ocr_languages)
    contents: list[PageContent] = []
    # Pillow's own limit only warns or raises at sizes of its choosing; ours is checked per frame.
    Image.MAX_IMAGE_PIXELS = None
    try:
        # Pillow warns of odd metadata on stderr; whether the pixels can be read is what counts.
        with (
            warnings.catch_warnings(action="ignore"),
            Image.open(io.BytesIO(source.data)) as image,
        ):
            frames = getattr(image, "n_frames", 1)
            if frames > source.settings.limits.pages:
                raise too_many_pages(source.name, frames, source.settings.limits.pages)
            for number, frame in enumerate(ImageSequence.Iterator(image), start=1):
                contents.append(_read_frame(frame, number, source, recogniser))
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise_if_memory(error)
        raise damaged(source.name, error) from error
    mark_furniture(contents)
    return assemble(contents)


def _read_frame(
    frame: Image.Image, number: int, source: SourceBytes, recogniser: Recogniser
) -> PageContent:
    notes: list[ExtractionWarning] = []
    limit = source.settings.limits.pixels_per_page
    if frame.width * frame.height > _DECODE_FACTOR * limit:
        raise ItemError(
            "image_too_large",
            f"{source.name}: page {number} has {frame.width:,} × {frame.height:,} pixels. Get a "
            "smaller copy, or raise MUNIMENT_EXTRACTION__LIMITS__PIXELS_PER_PAGE, then retry the "
            "item.",
        )
    dpi_x, dpi_y, assumed = _resolution(frame)
    turn: Literal[0, 90, 180, 270] = _EXIF_TURNS.get(
        frame.getexif().get(ExifTags.Base.Orientation, 1), 0
    )
    if turn in (90, 270):
        dpi_x, dpi_y = dpi_y, dpi_x
    image = _as_grey(ImageOps.exif_transpose(frame))
    width, height = (
        image.width * POINTS_PER_INCH / dpi_x,
        image.height * POINTS_PER_INCH / dpi_y,
    )
    if assumed:
        notes.append(
            ExtractionWarning(
                code="resolution_assumed",
                message="The image states no plausible resolution; its shorter side was taken for "
                f"A4's, which makes {dpi_x:.0f} dpi.",
                page=number,
            )
        )
    rendered = _for_recognition(image, dpi_x, dpi_y, limit)
    words: list[OcrWord] = []
    try:
        words = recogniser.read(rendered)
    except OcrError as error:
        raise_if_memory(error)
        notes.append(ExtractionWarning(code="ocr_failed", message=str(error), page=number))
    page = Page(number=number, width=width, height=height, rotation=turn, text_source="ocr")
    return recognised_content(page, words, rendered, notes)


def _resolution(frame: Image.Image) -> tuple[float, float, bool]:
    """Return the resolution along x and y, and whether it was assumed."""
    stated = frame.info.get("dpi")
    if stated is not None:
        dpi_x, dpi_y = float(stated[0]), float(stated[1])
        low, high = _PLAUSIBLE_DPI
        if (
            all(math.isfinite(dpi) and low <= dpi <= high for dpi in (dpi_x, dpi_y))
            and max(frame.width / dpi_x, frame.height / dpi_y) <= _PLAUSIBLE_INCHES
        ):
            return dpi_x, dpi_y, False
    dpi = max(1.0, min(frame.width, frame.height) / _A4_INCHES)
    return dpi, dpi, True


def _as_grey(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I;16"):
        # Pillow clips 16-bit grey instead of scaling it.
        return image.convert("I").point(lambda value: value / 256).convert("L")
    if image.has_transparency_data:
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image.convert("RGBA"))
    return image.convert("L")


def _for_recognition(
    image: Image.Image, dpi_x: float, dpi_y: float, max_pixels: int
) -> RenderedPage:
    """Make the pixels square (a fax has 204 × 98 dpi) and keep within the limits."""
    dpi = max(dpi_x, dpi_y)
    width, height = image.width * dpi / dpi_x, image.height * dpi / dpi_y
    shrink = min(1.0, math.sqrt(max_pixels / (width * height)), MAX_SIDE / max(width, height))
    size = max(1, round(width * shrink)), max(1, round(height * shrink))
    points = (
        image.width * POINTS_PER_INCH / dpi_x / size[0],
        image.height * POINTS_PER_INCH / dpi_y / size[1],
    )
    resized = image if size == image.size else image.resize(size, Image.Resampling.LANCZOS)
    return RenderedPage(image=resized, dpi=dpi * shrink, points_per_pixel=points)

"""Image files: every page goes through OCR.

TIFF and HEIF hold pages, one a frame; of other formats, whose further frames are an animation or a
phone's depth map, the first is read. A TIFF's reduced copies of its pages are left aside.

A page's size comes from the image's resolution. Where that is missing or would make a page that no
paper has, the shorter side is taken for that of A4, with a warning: boxes are then right in
proportion, which is all that a highlight needs.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from PIL import ExifTags, Image, ImageFile, ImageOps, UnidentifiedImageError
from pillow_heif import register_heif_opener

from ingest.errors import ItemError
from ingest.extract.assemble import assemble
from ingest.extract.blocks import Block, PageContent
from ingest.extract.decode import clean
from ingest.extract.draft import Draft, SourceBytes, damaged, too_many_pages
from ingest.extract.faults import raise_if_memory
from ingest.extract.furniture import mark_furniture
from ingest.extract.scans import Recognised, Recogniser, mean_of_words, recognised_blocks
from ocr.engine import OcrError
from ocr.render import MAX_SIDE, POINTS_PER_INCH, PixelMap, RenderedPage
from schemas.document import ExtractionWarning, Page, Recognition

if TYPE_CHECKING:
    from numpy.typing import NDArray

_A4_INCHES = 8.27
_LETTER = (612.0, 792.0)
_PLAUSIBLE_DPI = (50.0, 2_400.0)
_PLAUSIBLE_INCHES = 24.0
"""Longest side of a page that someone scans or photographs: A2."""
_SCREEN_DPI = 100.0
_SCREEN_INCHES = 12.0
"""Software that does not know the resolution writes a screen's, 72 or 96. Where that makes the
shorter side longer than A3's, it is not the scanner's."""
_DECODE_FACTOR = 8
"""Images up to this many times the limit of pixels are decoded and reduced, larger ones refused."""
_PAGED = frozenset({"TIFF", "HEIF"})
"""Pillow's names of the formats whose frames are pages."""
_REDUCED = 1
"""Bit of NewSubfileType (TIFF 6.0 §8): a reduced copy of another frame."""
_EXIF_TURNS: dict[int, Literal[0, 90, 180, 270]] = {3: 180, 4: 180, 5: 90, 6: 90, 7: 270, 8: 270}
"""Clockwise turn of EXIF's orientations (CIPA DC-008 §4.6.5.1.1); 2, 4, 5 and 7 also mirror."""
_PILLOW_ERRORS = (OSError, SyntaxError, ValueError, EOFError, IndexError, TypeError, KeyError)
"""What Pillow's decoders raise on broken files, not all of it on purpose."""

register_heif_opener()


def read_image(source: SourceBytes) -> Draft:
    """Read an image file.

    Raises:
        ItemError: damaged, image_too_large, too_many_pages.
        ConfigurationError: the OCR engine or a language of it is not installed.
    """
    # Pillow's own limit only warns or raises at sizes of its choosing; ours is checked per frame.
    Image.MAX_IMAGE_PIXELS = None
    # Pillow warns of odd metadata on stderr; whether the pixels can be read is what counts.
    with warnings.catch_warnings(action="ignore"), Recogniser(source.settings) as recogniser:
        try:
            pages = list(_frames(source, recogniser))
        except (UnidentifiedImageError, Image.DecompressionBombError, *_PILLOW_ERRORS) as error:
            raise_if_memory(error)
            raise damaged(source.name, error) from error
        contents = [page.finish() for page in pages]
    unread = [page for page in pages if page.future is None and page.unreadable]
    if len(unread) == len(pages):
        raise damaged(source.name, unread[0].unreadable if unread else "it holds no image")
    mark_furniture(contents)
    return assemble(contents)


@dataclass
class _Frame:
    """A page that is being recognised."""

    page: Page
    pixel_map: PixelMap | None = None
    future: Future[Recognised] | None = None
    unreadable: str | None = None
    notes: list[ExtractionWarning] = field(default_factory=list)

    def finish(self) -> PageContent:
        blocks: list[Block] = []
        records: tuple[Recognition, ...] = ()
        if self.future is not None and self.pixel_map is not None:
            try:
                reading = self.future.result()
            except OcrError as error:
                raise_if_memory(error)
                self.note("ocr_failed", f"The page could not be recognised: {error}")
            else:
                records = (reading.record,)
                blocks = recognised_blocks(
                    reading.words, self.pixel_map, self.page.width, self.page.height
                )
                for code, message in reading.problems:
                    self.note(code, message)
        if not blocks:
            self.note("page_without_text", "OCR gave no words.")
        words = [word for block in blocks for line in block.lines for word in line]
        page = self.page.model_copy(
            update={
                "text_source": "ocr" if blocks else "none",
                "ocr_confidence": mean_of_words(words),
                "recognitions": records,
            }
        )
        return PageContent(page, blocks, False, self.notes)

    def note(self, code: str, message: str) -> None:
        self.notes.append(
            ExtractionWarning(code=code, message=clean(message), page=self.page.number)
        )


def _frames(source: SourceBytes, recogniser: Recogniser) -> Iterator[_Frame]:
    limit = source.settings.limits.pages
    with Image.open(io.BytesIO(source.data)) as image:
        frames = getattr(image, "n_frames", 1)
        paged = image.format in _PAGED
        if paged and frames > limit:
            raise too_many_pages(source.name, frames, limit)
        number = 0
        for index in range(frames if paged else 1):
            number += 1
            page = Page(
                number=number, width=_LETTER[0], height=_LETTER[1], rotation=0, text_source="none"
            )
            try:
                image.seek(index)
                if index and _is_reduced(image):
                    number -= 1
                    continue
                frame = _read(image, number, source, recogniser)
            except _PILLOW_ERRORS as error:
                raise_if_memory(error)
                # Its size is unknown, but its number must not go to the next page.
                frame = _Frame(page, unreadable=str(error) or type(error).__name__)
                frame.note("page_unreadable", f"The page could not be read: {error}")
            if frames > 1 and not paged:
                frame.note(
                    "frames_left_out",
                    f"The image holds {frames} frames, such as an animation's; the first was read.",
                )
            yield frame


def _is_reduced(image: Image.Image) -> bool:
    tags = getattr(image, "tag_v2", {})
    return bool(int(tags.get(254, 0)) & _REDUCED)


def _read(image: Image.Image, number: int, source: SourceBytes, recogniser: Recogniser) -> _Frame:
    limit = source.settings.limits.pixels_per_page
    if image.width * image.height > _DECODE_FACTOR * limit:
        raise ItemError(
            "image_too_large",
            f"{source.name}: page {number} has {image.width:,} × {image.height:,} pixels. Get a "
            "smaller copy, or raise MUNIMENT_EXTRACTION__LIMITS__PIXELS_PER_PAGE, then retry the "
            "item.",
        )
    dpi_x, dpi_y, assumed = _resolution(image)
    decoded, cut = _decoded(image, source.data)  # before its EXIF, which may stand at its end
    turn: Literal[0, 90, 180, 270] = _EXIF_TURNS.get(
        decoded.getexif().get(ExifTags.Base.Orientation, 1), 0
    )
    if turn in (90, 270):
        dpi_x, dpi_y = dpi_y, dpi_x
    grey = _as_grey(ImageOps.exif_transpose(decoded))
    width, height = grey.width * POINTS_PER_INCH / dpi_x, grey.height * POINTS_PER_INCH / dpi_y
    page = Page(number=number, width=width, height=height, rotation=turn, text_source="none")
    frame = _Frame(page)
    if cut:
        frame.note("image_truncated", f"The image is damaged; its end may be missing: {cut}")
    if assumed:
        frame.note(
            "resolution_assumed",
            "The image states no plausible resolution; its shorter side was taken for A4's, "
            f"which makes {dpi_x:.0f} dpi.",
        )
    rendered = _for_recognition(grey, dpi_x, dpi_y, limit)
    if not rendered.blank:
        frame.pixel_map = rendered.pixel_map
        frame.future = recogniser.submit(rendered, (0.0, 0.0, width, height))
    return frame


def _decoded(image: Image.Image, data: bytes) -> tuple[Image.Image, str | None]:
    """Return the image's pixels, and what was wrong where only some of them could be read."""
    try:
        image.load()
    except OSError as error:
        raise_if_memory(error)
        # A file that lost its end still shows its beginning. A decoder that failed is of no more
        # use, so the file is opened anew.
        again = Image.open(io.BytesIO(data))
        again.seek(image.tell())
        with _truncated_allowed():
            again.load()
        return again, str(error)
    return image, None


@contextmanager
def _truncated_allowed() -> Iterator[None]:
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    try:
        yield
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = False


def _resolution(frame: Image.Image) -> tuple[float, float, bool]:
    """Return the resolution along x and y, and whether it was assumed."""
    stated = frame.info.get("dpi")
    if stated is not None:
        dpi_x, dpi_y = float(stated[0]), float(stated[1])
        if _is_plausible(frame.width, dpi_x, frame.height, dpi_y):
            return dpi_x, dpi_y, False
    dpi = max(1.0, min(frame.width, frame.height) / _A4_INCHES)
    return dpi, dpi, True


def _is_plausible(width: int, dpi_x: float, height: int, dpi_y: float) -> bool:
    low, high = _PLAUSIBLE_DPI
    if not all(math.isfinite(dpi) and low <= dpi <= high for dpi in (dpi_x, dpi_y)):
        return False
    sides = width / dpi_x, height / dpi_y
    if max(sides) > _PLAUSIBLE_INCHES:
        return False
    return max(dpi_x, dpi_y) > _SCREEN_DPI or min(sides) <= _SCREEN_INCHES


def _as_grey(image: Image.Image) -> Image.Image:
    if image.mode.startswith(("I", "F")):
        # Pillow clips what is deeper than 8 bits instead of scaling it.
        return Image.fromarray(_to_bytes(np.asarray(image)))
    if image.has_transparency_data:
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image.convert("RGBA"))
    return image.convert("L")


def _to_bytes(pixels: NDArray[Any]) -> NDArray[np.uint8]:
    if pixels.dtype.itemsize == 2:
        return (pixels >> 8).astype(np.uint8)
    values = np.nan_to_num(pixels.astype(np.float32))
    low, high = float(values.min()), float(values.max())
    if low >= 0 and high <= 255 and values.dtype.kind != "f":
        return values.astype(np.uint8)
    return ((values - low) * (255.0 / max(high - low, 1e-9))).astype(np.uint8)


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
    return RenderedPage(resized, dpi * shrink, PixelMap(points))

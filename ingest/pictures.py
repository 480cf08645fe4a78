"""Pictures for people: a page as displayed, or the text where there are no pages, with a mark."""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

import io
import math
import re
from collections.abc import Sequence
from html import escape

import pymupdf
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageOps

from ingest.errors import ItemError
from schemas.chunk import PageBox
from schemas.document import Page

DPI = 110
_POINT = 72
_MAX_PIXELS = 8_000_000
"""Larger pages are drawn at a lower resolution: a picture is for the eye, and posters exist."""

_FILL = (255, 235, 105)
_EDGE = (222, 150, 0)
_WASH = 0.12
"""Share of plain yellow laid over the mark, so that it shows on dark ground as well."""
_MARGIN = 1.0
"""Points around a box, so that its edge does not touch the letters."""

_CONTEXT_LINES = 4
_CONTEXT_CHARS = 500
_TEXT_WIDTH = 540
_TEXT_MARGIN = 28
_LONGEST_TEXT = 4_000
"""Points; what is longer is cut off at the foot of the picture."""
_LINE_END = re.compile("\r\n?|[\v\f\x85\u2028\u2029]")
_NOT_XML = re.compile("[\x00-\x08\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_CSS = f"""
* {{ font-family: sans-serif; font-size: 11pt; line-height: 1.35; }}
body {{ margin: 0; }}
p {{ margin: 0 0 3pt 0; color: #666; white-space: pre-wrap; overflow-wrap: break-word; }}
p.blank {{ font-size: 5pt; }}
p.place {{ font-size: 8.5pt; color: #888; margin-bottom: 9pt; }}
span {{ color: #000; background-color: rgb{_FILL}; }}
"""


def draw_page(
    data: bytes, media_type: str, page: Page, boxes: Sequence[PageBox], *, dpi: int = DPI
) -> bytes:
    """Draw a page of a PDF or an image as a PNG, as displayed, with ``boxes`` marked on it.

    Args:
        data: the source bytes.
        media_type: of the bytes.
        page: the page as extraction recorded it; its size in points gives the scale.
        boxes: of the passage; those on other pages are left out.
        dpi: of the picture; less where the page is very large or the image has less to show.

    Raises:
        ItemError: the bytes cannot be drawn any more.
    """
    render = _render_pdf if media_type == "application/pdf" else _render_frame
    try:
        image = render(data, page, _scale(page, dpi))
    # MuPDF and Pillow raise errors of many unrelated classes for bytes that they cannot read.
    except Exception as error:
        raise ItemError(
            "picture_failed",
            f"Page {page.number} cannot be drawn ({type(error).__name__}: {error}). The text and "
            "its boxes are not affected.",
        ) from error
    return _png(_mark(image, page, [box for box in boxes if box.page == page.number]))


def _scale(page: Page, dpi: int) -> float:
    """Return pixels per point."""
    return min(dpi / _POINT, math.sqrt(_MAX_PIXELS / (page.width * page.height)))


def _render_pdf(data: bytes, page: Page, scale: float) -> Image.Image:
    with pymupdf.open(stream=data, filetype="pdf") as document:
        source = document[page.number - 1]
        # The extraction's own size is the measure, so that its boxes land where it saw the words.
        matrix = pymupdf.Matrix(
            scale * page.width / source.rect.width, scale * page.height / source.rect.height
        )
        pixmap = source.get_pixmap(matrix=matrix, colorspace=pymupdf.csRGB, alpha=False)
        return Image.frombytes("RGB", (pixmap.width, pixmap.height), pixmap.samples)


def _render_frame(data: bytes, page: Page, scale: float) -> Image.Image:
    with Image.open(io.BytesIO(data)) as source:
        source.seek(page.number - 1)
        frame = _on_white(ImageOps.exif_transpose(source))
    scale = min(scale, max(frame.width / page.width, frame.height / page.height))
    # Width and height each by their own measure: fax pages have taller pixels than wide ones.
    size = (max(1, round(page.width * scale)), max(1, round(page.height * scale)))
    return frame.resize(size, Image.Resampling.LANCZOS)


def _on_white(frame: Image.Image) -> Image.Image:
    if frame.mode.startswith("I;16"):
        # Pillow clips 16-bit grey instead of scaling it.
        frame = frame.convert("I").point(lambda value: value / 256).convert("L")
    if not frame.has_transparency_data:
        return frame.convert("RGB")
    frame = frame.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", frame.size, "white"), frame).convert("RGB")


def _mark(image: Image.Image, page: Page, boxes: Sequence[PageBox]) -> Image.Image:
    """Lay yellow over ``boxes`` the way a marker does: paper turns yellow, ink stays."""
    across, down = image.width / page.width, image.height / page.height
    inside = Image.new("L", image.size, 0)
    pen = ImageDraw.Draw(inside)
    for box in boxes:
        corners = (
            max(0, round((box.x0 - _MARGIN) * across)),
            max(0, round((box.y0 - _MARGIN) * down)),
            min(image.width - 1, round((box.x1 + _MARGIN) * across)),
            min(image.height - 1, round((box.y1 + _MARGIN) * down)),
        )
        pen.rectangle(corners, fill=255)
    # Around the whole, so that no edge runs through the letters where lines overlap.
    edge = ImageChops.subtract(inside, inside.filter(ImageFilter.MinFilter(3)))
    tint = Image.new("RGB", image.size, "white")
    tint.paste(_FILL, mask=inside)
    tint.paste(_EDGE, mask=edge)
    marked = ImageChops.multiply(image, tint)
    marked.paste(_FILL, mask=inside.point(lambda value: round(value * _WASH)))
    return marked


def draw_text(text: str, char_start: int, char_end: int, *, dpi: int = DPI) -> bytes:
    """Draw ``text[char_start:char_end]``, marked, with a few lines around it, as a PNG.

    For formats without pages. Any script is drawn with the fonts that MuPDF carries.
    """
    before, after = _context(text, char_start, char_end)
    marked = _inline(text[char_start:char_end]).replace("\n", "</span>\n<span>")
    lines = f"{_inline(before)}<span>{marked}</span>{_inline(after)}".split("\n")
    place = f"Characters {char_start:,} to {char_end:,} of {len(text):,}"
    html = "".join([f'<p class="place">{place}</p>', *map(_paragraph, lines)])
    return _png(_render_html(html, dpi))


def _context(text: str, char_start: int, char_end: int) -> tuple[str, str]:
    """Return the lines before and after the passage, with "…" where the text goes on."""
    near = text[max(0, char_start - _CONTEXT_CHARS) : char_start]
    before = "".join(near.splitlines(keepends=True)[-_CONTEXT_LINES:])
    near = text[char_end : char_end + _CONTEXT_CHARS]
    after = "".join(near.splitlines(keepends=True)[:_CONTEXT_LINES])
    if len(before) < char_start:
        before = "… " + before.lstrip()
    if char_end + len(after) < len(text):
        after = after.rstrip() + " …"
    return before, after


def _inline(text: str) -> str:
    """Escape ``text`` for HTML, with "\n" for every line end and no characters that XML refuses."""
    text = _LINE_END.sub("\n", text)
    return escape(_NOT_XML.sub("\ufffd", text))


def _paragraph(line: str) -> str:
    blank = not line.replace("<span>", "").replace("</span>", "").strip()
    return '<p class="blank">&#160;</p>' if blank else f"<p>{line}</p>"


def _render_html(html: str, dpi: int) -> Image.Image:
    """Lay the HTML out on one page that is just high enough."""
    margins = (_TEXT_MARGIN, _TEXT_MARGIN, -_TEXT_MARGIN, -_TEXT_MARGIN)
    story = pymupdf.Story(html, user_css=_CSS)
    longest = pymupdf.Rect(0, 0, _TEXT_WIDTH, _LONGEST_TEXT)
    _, filled = story.place(longest + margins)
    sheet = pymupdf.Rect(0, 0, _TEXT_WIDTH, min(_LONGEST_TEXT, filled[3] + _TEXT_MARGIN))
    pdf = io.BytesIO()
    writer = pymupdf.DocumentWriter(pdf)
    device = writer.begin_page(sheet)
    story.draw(device)
    writer.end_page()
    writer.close()
    with pymupdf.open(stream=pdf.getvalue(), filetype="pdf") as document:
        pixmap = document[0].get_pixmap(dpi=dpi, colorspace=pymupdf.csRGB, alpha=False)
        return Image.frombytes("RGB", (pixmap.width, pixmap.height), pixmap.samples)


def _png(image: Image.Image) -> bytes:
    stream = io.BytesIO()
    image.save(stream, "PNG", optimize=True)
    return stream.getvalue()

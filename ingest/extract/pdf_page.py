"""One page of a PDF: its text layer where that can be trusted, OCR where it cannot.

Boxes are those of the glyphs' ink (MuPDF's accurate boxes), as the page is displayed. MuPDF gives
them in unrotated coordinates; they are turned here and not with ``page.rotation_matrix``, which
forgets UserUnit (PDF 32000-1 §7.7.3.3, table 30).

Ligatures are expanded ("ﬁ" becomes "fi", an Arabic presentation form its letter): what a reader
types must find what the page shows. A glyph without a Unicode value becomes U+FFFD, never its
number in the font.
"""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from ingest.extract.blocks import Block, PageContent, PageWord, clamp, split_word
from ingest.extract.decode import clean
from ingest.extract.faults import raise_if_memory
from ingest.extract.layout import Region, TextLine, blocks_in_order, layout_regions
from ingest.extract.scans import LOW_CONFIDENCE, Recogniser, confidence_of, recognised_blocks
from ingest.settings import ExtractionSettings
from ocr.engine import OcrError, OcrWord
from ocr.mupdf import pymupdf
from ocr.render import RenderedPage, image_coverage, render_page
from ocr.routing import Reason, needs_ocr, prefer_recognised
from schemas.document import BoxTuple, ExtractionWarning, Page

PDF_ERRORS = (RuntimeError, ValueError, pymupdf.mupdf.FzErrorBase)
"""PyMuPDF raises plain RuntimeErrors and ValueErrors beside MuPDF's own, which are neither."""
_FLAGS = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_ACCURATE_BBOXES
_LETTER = (612.0, 792.0)
Rotation = Literal[0, 90, 180, 270]


class PageReader:
    """Reads one page; what fails is reported on the page, which is never left out."""

    def __init__(
        self,
        document: pymupdf.Document,
        index: int,
        label: str | None,
        settings: ExtractionSettings,
        recogniser: Recogniser,
    ) -> None:
        self._document = document
        self._index = index
        self._label = label
        self._settings = settings
        self._recogniser = recogniser
        self._warnings: list[ExtractionWarning] = []

    def read(self) -> PageContent:
        """Return the page; a page that cannot be read comes back empty, with a warning."""
        try:
            page = self._document.load_page(self._index)
            width, height = float(page.rect.width), float(page.rect.height)
            if not (0 < width < math.inf and 0 < height < math.inf):
                raise ValueError(f"its size is {width} × {height} points")
        except PDF_ERRORS as error:
            raise_if_memory(error)
            self._warn("page_unreadable", f"The page could not be read: {error}")
            # Its size is unknown, but its number must not go to the next page.
            return self._content(*_LETTER, 0, [], "none")
        rotation: Rotation = page.rotation
        text = self._text_layer(page, rotation, width, height)
        reason = needs_ocr(
            characters=text.characters,
            unreadable=text.unreadable,
            image_share=self._coverage(page),
        )
        if reason is not None:
            content = self._recognise(page, reason, text, rotation, width, height)
            if content is not None:
                return content
        self._count_words_outside(page)
        if not text.lines:
            return self._content(width, height, rotation, [], "none")
        if reason == "unreadable_text":
            self._warn(
                "unreadable_text_layer",
                f"{text.unreadable} of {text.characters} characters of the text layer are no "
                "characters, and OCR found nothing better.",
            )
        regions, laid_out = None, False
        if self._settings.layout:
            regions = self._regions(page)
            laid_out = regions is not None
        blocks = blocks_in_order(text.lines, regions)
        return self._content(width, height, rotation, blocks, "digital", laid_out=laid_out)

    def _text_layer(
        self, page: pymupdf.Page, rotation: Rotation, width: float, height: float
    ) -> _TextLayer:
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
            self._warn("text_layer_unreadable", f"The text layer could not be read: {error}")
            return _TextLayer([])
        return _TextLayer(_lines(rows, styles, rotation, width, height))

    def _coverage(self, page: pymupdf.Page) -> float:
        try:
            return image_coverage(page)
        except PDF_ERRORS as error:
            raise_if_memory(error)
            return 1.0

    def _recognise(
        self,
        page: pymupdf.Page,
        reason: Reason,
        text: _TextLayer,
        rotation: Rotation,
        width: float,
        height: float,
    ) -> PageContent | None:
        """Return the page as OCR reads it; None where its text layer is the better one."""
        try:
            rendered = render_page(
                page,
                wanted_dpi=self._settings.ocr_dpi,
                max_pixels=self._settings.limits.pixels_per_page,
            )
            words = self._recogniser.read(rendered)
        except (*PDF_ERRORS, OcrError) as error:
            raise_if_memory(error)
            self._warn("ocr_failed", f"The page could not be recognised: {error}")
            return None
        if not prefer_recognised(
            reason,
            characters=text.characters - text.unreadable,
            recognised=sum(len(word.text) for word in words),
        ):
            return None
        return recognised_content(
            self._page(width, height, rotation, "ocr"), words, rendered, self._warnings
        )

    def _regions(self, page: pymupdf.Page) -> list[Region] | None:
        try:
            regions = layout_regions(page)
        except Exception as error:  # noqa: BLE001 - whatever the model stumbles over, the text is there
            raise_if_memory(error)
            self._warn("layout_failed", f"The layout model failed; MuPDF's order is used: {error}")
            return None
        if regions is None:
            self._warn("layout_skipped", "The page is too large for the layout model.")
        return regions

    def _count_words_outside(self, page: pymupdf.Page) -> None:
        """Report words that only a larger crop box would display; they are no text of the page."""
        try:
            cropbox = page.cropbox
            if cropbox.width >= page.mediabox.width and cropbox.height >= page.mediabox.height:
                return
            page.set_cropbox(page.mediabox)
            try:
                rows = page.get_textpage(flags=_FLAGS).extractWORDS()
            finally:
                page.set_cropbox(cropbox)
        except PDF_ERRORS as error:
            raise_if_memory(error)
            return
        outside = sum(
            not cropbox.contains(pymupdf.Point((row[0] + row[2]) / 2, (row[1] + row[3]) / 2))
            for row in rows
        )
        if outside:
            self._warn(
                "words_outside_page",
                f"{outside} words lie outside the page as displayed and are not in the text.",
            )

    def _page(
        self,
        width: float,
        height: float,
        rotation: Rotation,
        text_source: Literal["digital", "ocr", "none"],
    ) -> Page:
        return Page(
            number=self._index + 1,
            width=width,
            height=height,
            rotation=rotation,
            label=self._label,
            text_source=text_source,
        )

    def _content(
        self,
        width: float,
        height: float,
        rotation: Rotation,
        blocks: list[Block],
        text_source: Literal["digital", "ocr", "none"],
        *,
        laid_out: bool = False,
    ) -> PageContent:
        if not blocks:
            self._warn("page_without_text", "Neither a text layer nor OCR gave any words.")
        page = self._page(width, height, rotation, text_source)
        return PageContent(page, blocks, laid_out, self._warnings)

    def _warn(self, code: str, message: str) -> None:
        self._warnings.append(
            ExtractionWarning(code=code, message=clean(message), page=self._index + 1)
        )


@dataclass(frozen=True)
class _TextLayer:
    lines: list[TextLine]

    @property
    def characters(self) -> int:
        return sum(len(word.text) for line in self.lines for word in line.words)

    @property
    def unreadable(self) -> int:
        return sum(
            _is_unreadable(character)
            for line in self.lines
            for word in line.words
            for character in word.text
        )


def recognised_content(
    page: Page, words: list[OcrWord], rendered: RenderedPage, warnings: list[ExtractionWarning]
) -> PageContent:
    """Return a page that was recognised, with its confidence and the warnings it deserves."""
    confidence = confidence_of(words)
    blocks = recognised_blocks(words, rendered, page.width, page.height)
    if not blocks:
        page = page.model_copy(update={"text_source": "none"})
        warnings.append(
            ExtractionWarning(
                code="page_without_text", message="OCR gave no words.", page=page.number
            )
        )
        return PageContent(page, [], False, warnings)
    if confidence is not None and confidence < LOW_CONFIDENCE:
        warnings.append(
            ExtractionWarning(
                code="low_ocr_confidence",
                message=f"The words were recognised with a mean confidence of {confidence:.0f}; "
                "the page may be turned, handwritten or in another language.",
                page=page.number,
            )
        )
    return PageContent(
        page.model_copy(update={"ocr_confidence": confidence}), blocks, False, warnings
    )


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


def _is_unreadable(character: str) -> bool:
    code = ord(character)
    return code < 0x20 or 0x7F <= code < 0xA0 or 0xE000 <= code < 0xF900 or code == 0xFFFD

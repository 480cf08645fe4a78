"""One page of a PDF: its text layer where that can be trusted, OCR where it cannot."""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

import math

from ingest.extract.blocks import Block, PageContent
from ingest.extract.decode import clean
from ingest.extract.faults import raise_if_memory
from ingest.extract.layout import Region, blocks_in_order, layout_regions
from ingest.extract.scans import Recogniser, recognised_content
from ingest.extract.text_layer import PDF_ERRORS, Rotation, TextLayer, read_text_layer
from ingest.settings import ExtractionSettings
from ocr.engine import OcrError
from ocr.mupdf import pymupdf
from ocr.render import image_coverage, render_page
from ocr.routing import Reason, needs_ocr, prefer_recognised
from schemas.document import ExtractionWarning, Page, PageTextSource

_LETTER = (612.0, 792.0)


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
        text = read_text_layer(page, rotation, width, height)
        for code, message in text.problems:
            self._warn(code, message)
        reason = needs_ocr(
            characters=text.characters,
            unreadable=text.unreadable,
            image_share=self._coverage(page),
        )
        if reason is not None:
            content = self._recognise(page, reason, text, rotation, width, height)
            if content is not None:
                return content
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
        text: TextLayer,
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

    def _page(
        self,
        width: float,
        height: float,
        rotation: Rotation,
        text_source: PageTextSource,
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
        text_source: PageTextSource,
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

"""One page of a PDF: its text layer where that can be trusted, OCR where it cannot.

Reading a page has two halves. `PageReader.start` reads the text layer, decides and renders, all in
the thread that MuPDF is used in; recognition then goes on in others. `PageReader.finish` waits for
it and puts the page together.
"""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from itertools import groupby

from ingest.extract.blocks import Block, PageContent, PageWord
from ingest.extract.decode import clean
from ingest.extract.faults import raise_if_memory
from ingest.extract.layout import Region, blocks_in_order, layout_regions
from ingest.extract.mixed import placed, scan_with_digital_words
from ingest.extract.ocr_layer import is_layer, judge_layer
from ingest.extract.pdf_annotations import read_annotations
from ingest.extract.scans import (
    LOW_CONFIDENCE,
    Recognised,
    Recogniser,
    mean_of_words,
    recognised_blocks,
)
from ingest.extract.text_layer import (
    PDF_ERRORS,
    Rotation,
    TextLayer,
    TextLine,
    read_text_layer,
)
from ingest.settings import ExtractionSettings
from ocr.components import find_components
from ocr.engine import OcrError
from ocr.mupdf import pymupdf
from ocr.render import PixelMap, RenderedPage, render
from ocr.routing import (
    FEW_CHARACTERS,
    SCAN_SHARE,
    PictureArea,
    box_area,
    holds_text,
    merged,
    overlap,
    prefers_layer,
    untrusted,
)
from schemas.document import BoxTuple, ElementKind, ExtractionWarning, Page, TextSource

_LETTER = (612.0, 792.0)
_GLANCE_DPI = 150.0
"""Enough to see whether there are letters: an x of 6 points is six pixels high."""
_GLANCE_PIXELS = 8_000_000
_LARGE_SHARE = 0.25
"""Smaller images are logos and stamps; their resolution says nothing about the page's."""
_SURE_WORD = 50.0
_LONG_WORD = 4
"""Lines and leaves of a figure become short words of low confidence, seldom long ones."""


@dataclass(frozen=True, slots=True)
class _Pending:
    """An area that is being recognised."""

    pixel_map: PixelMap
    future: Future[Recognised]
    box: BoxTuple


class PageReader:
    """Reads one page; what fails is reported on the page, which is never left out."""

    def __init__(
        self,
        index: int,
        label: str | None,
        settings: ExtractionSettings,
        recogniser: Recogniser,
    ) -> None:
        self._index = index
        self._label = label
        self._settings = settings
        self._recogniser = recogniser
        self._warnings: list[ExtractionWarning] = []
        self._size = _LETTER
        self._rotation: Rotation = 0
        self._lines: list[TextLine] = []
        """What the page shows as text that is text."""
        self._unproven: list[TextLine] = []
        """A text layer that is not trusted; nothing of it is used if OCR finds any words."""
        self._suspicion = 0.0
        self._hidden: list[TextLine] = []
        self._fields: tuple[Block, ...] = ()
        self._notes: tuple[Block, ...] = ()
        self._regions: list[Region] | None = None
        self._pending: list[_Pending] = []
        self._dropped = 0

    # --- first half: in the thread of MuPDF ---------------------------------------------------

    def start(self, document: pymupdf.Document) -> None:
        """Read the text layer of the page, and begin to recognise what has none.

        Raises:
            ConfigurationError: the page needs OCR, and the engine or a language is not installed.
        """
        try:
            page = document.load_page(self._index)
            width, height = float(page.rect.width), float(page.rect.height)
            if not (0 < width < math.inf and 0 < height < math.inf):
                raise ValueError(f"its size is {width} × {height} points")
        except PDF_ERRORS as error:
            raise_if_memory(error)
            # Its size is unknown, but its number must not go to the next page.
            self._warn("page_unreadable", f"The page could not be read: {error}")
            return
        self._size, self._rotation = (width, height), page.rotation
        text = read_text_layer(page, self._rotation, width, height)
        annotations = read_annotations(page, self._rotation, width, height)
        for code, message in (*text.problems, *annotations.problems):
            self._warn(code, message)
        self._lines, self._hidden = list(annotations.shown), list(text.hidden)
        self._fields, self._notes = annotations.fields, annotations.notes
        try:
            self._route(page, text)
        except PDF_ERRORS as error:
            raise_if_memory(error)
            self._warn("ocr_failed", f"The page could not be rendered for OCR: {error}")
        if self._settings.layout and self._lines and not self._is_scan():
            self._regions = self._layout(page)

    def _route(self, page: pymupdf.Page, text: TextLayer) -> None:
        areas = merged((PictureArea(image.box, image.dpi) for image in text.images), *self._size)
        if untrusted(
            characters=text.characters, unreadable=text.unreadable, suspicion=text.suspicion
        ):
            self._unproven, self._suspicion = list(text.lines), text.suspicion
            self._recognise_page(page, areas)
            return
        self._lines[:0] = text.lines
        if text.over_image and self._trusts_layer(page):
            return
        if not text.characters:
            self._recognise_page(page, areas)
            return
        if text.characters < FEW_CHARACTERS and self._has_letters_beside(page, areas):
            # The body may be letters drawn as curves, or many small images.
            dpi = max((area.dpi for area in areas), default=0.0)
            areas = [PictureArea((0.0, 0.0, *self._size), dpi)]
        for area in areas:
            if self._settings.ocr_figures or self._share(area.box) >= SCAN_SHARE:
                self._recognise_area(page, area)

    def _trusts_layer(self, page: pymupdf.Page) -> bool:
        """Take the invisible text over a scan for the page's if it serves, else set it aside."""
        lines = [line for line in self._hidden if is_layer(line)]
        layer = judge_layer(lines, self._glance(page))
        if layer.trusted:
            self._hidden = [line for line in self._hidden if not is_layer(line)]
            self._hidden += layer.off_ink
            self._lines += layer.on_ink
            self._warn(
                "ocr_layer_used",
                f"{_count(layer.on_ink):,} characters come from an invisible text layer over a "
                "scan, which other software made.",
            )
        elif _count(layer.on_ink) > _count(layer.off_ink):
            self._hidden = [line for line in self._hidden if not is_layer(line)]
            self._unproven = lines
        return layer.trusted

    def _recognise_page(self, page: pymupdf.Page, areas: Sequence[PictureArea]) -> None:
        """Recognise all of the page, whatever is on it."""
        rendered = render(
            page,
            wanted_dpi=self._settings.ocr_dpi,
            embedded_dpi=max(
                (area.dpi for area in areas if self._share(area.box) >= _LARGE_SHARE), default=0.0
            ),
            max_pixels=self._settings.limits.pixels_per_page,
        ).without(self._known())
        if not rendered.blank:
            self._submit(rendered, (0.0, 0.0, *self._size))

    def _recognise_area(self, page: pymupdf.Page, area: PictureArea) -> None:
        """Recognise an area of a digital page if there are letters in it beside its text."""
        glance = self._glance(page, area.box)
        if not holds_text(find_components(glance.image).boxes):
            return
        rendered = render(
            page,
            area.box,
            wanted_dpi=self._settings.ocr_dpi,
            embedded_dpi=area.dpi,
            max_pixels=self._settings.limits.pixels_per_page,
        )
        self._submit(rendered.without(self._known()), area.box)

    def _has_letters_beside(self, page: pymupdf.Page, areas: Sequence[PictureArea]) -> bool:
        """Say whether a page shows letters that are neither text nor in its pictures."""
        beside = self._glance(page).without(area.box for area in areas)
        return not beside.blank and holds_text(find_components(beside.image).boxes)

    def _glance(self, page: pymupdf.Page, box: BoxTuple | None = None) -> RenderedPage:
        """Render in low resolution, without the words that are text."""
        return render(page, box, wanted_dpi=_GLANCE_DPI, max_pixels=_GLANCE_PIXELS).without(
            self._known()
        )

    def _submit(self, rendered: RenderedPage, box: BoxTuple) -> None:
        future = self._recogniser.submit(rendered, box)
        self._pending.append(_Pending(rendered.pixel_map, future, box))

    def _layout(self, page: pymupdf.Page) -> list[Region] | None:
        try:
            regions = layout_regions(page)
        except Exception as error:  # noqa: BLE001 - whatever the model stumbles over, the text is there
            raise_if_memory(error)
            self._warn("layout_failed", f"The layout model failed; MuPDF's order is used: {error}")
            return None
        if regions is None:
            self._warn("layout_skipped", "The page is too large for the layout model.")
        return regions

    # --- second half ----------------------------------------------------------------------------

    def finish(self) -> PageContent:
        """Return the page; a page that could not be read comes back empty, with a warning."""
        width, height = self._size
        figures: list[Block] = []
        scans: list[Block] = []
        readings: list[Recognised] = []
        known = self._known() if self._pending else []
        for pending in self._pending:
            try:
                reading = pending.future.result()
            except OcrError as error:
                raise_if_memory(error)
                self._warn("ocr_failed", f"The page could not be recognised: {error}")
                continue
            readings.append(reading)
            blocks = recognised_blocks(
                reading.words,
                pending.pixel_map,
                width,
                height,
                lambda word: not _is_known(word.box, known),
            )
            if self._share(pending.box) >= SCAN_SHARE and _characters(blocks) >= self._characters():
                scans += blocks
            else:
                figures += self._figure(blocks)
        if self._dropped:
            self._warn(
                "figure_text_dropped",
                f"{self._dropped} words or signs in pictures were recognised too badly to keep.",
            )
        return self._put_together(scans, figures, readings)

    def _put_together(
        self, scans: list[Block], figures: list[Block], readings: list[Recognised]
    ) -> PageContent:
        if self._unproven and self._settle([*scans, *figures]):
            self._lines += (replace(line, hidden=None) for line in self._unproven)
            scans, figures = [], []
        for reading in readings:
            if scans and self._share(reading.record.box) >= SCAN_SHARE:
                for code, message in reading.problems:
                    self._warn(code, message)
        body = [line for line in self._lines if not line.watermark]
        if scans:
            blocks = scan_with_digital_words(scans, body)
        else:
            blocks = blocks_in_order(body, self._regions)
        blocks = placed(blocks, [*figures, *self._fields])
        blocks += _blocks([line for line in self._lines if line.watermark], "watermark")
        blocks += self._notes
        blocks += self._hidden_blocks()
        if not blocks:
            self._warn("page_without_text", "Neither a text layer nor OCR gave any words.")
        words: list[PageWord] = []
        sources: set[TextSource] = {"digital"} if blocks else set()
        if readings:
            words = [word for block in blocks for line in block.lines for word in line]
            sources = {word.source for word in words}
        width, height = self._size
        page = Page(
            number=self._index + 1,
            width=width,
            height=height,
            rotation=self._rotation,
            label=self._label,
            text_source=sources.pop() if len(sources) == 1 else "mixed" if sources else "none",
            ocr_confidence=mean_of_words(words),
            recognitions=tuple(reading.record for reading in readings),
        )
        return PageContent(page, blocks, self._regions is not None and not scans, self._warnings)

    def _hidden_blocks(self) -> list[Block]:
        if self._hidden:
            how = ", ".join(sorted({line.hidden or "untrusted" for line in self._hidden}))
            self._warn(
                "hidden_text",
                f"{_count(self._hidden):,} characters are in the file but not to be seen on the "
                f"page ({how}); they are kept apart from the text.",
            )
        return _blocks(self._hidden, "hidden")

    def _settle(self, recognised: list[Block]) -> bool:
        """Say what becomes of a text layer that is not trusted; True if it is used after all."""
        total = _count(self._unproven)
        words = [word for block in recognised for line in block.lines for word in line]
        if prefers_layer(
            [word.text for line in self._unproven for word in line.words],
            suspicion=self._suspicion,
            recognised=sum(
                len(word.text) for word in words if (word.confidence or 0) >= LOW_CONFIDENCE
            ),
        ):
            self._warn(
                "text_layer_doubtful",
                f"{total:,} characters come from a text layer that looks faulty, but OCR reads "
                "even less.",
            )
            return True
        if words:
            self._warn(
                "text_layer_replaced",
                f"{total:,} characters of a text layer that is no text, or is badly recognised by "
                "other software, were left out for what OCR reads.",
            )
        else:
            self._hidden = [*self._unproven, *self._hidden]
            self._warn(
                "unreadable_text_layer",
                f"{total:,} characters of the text layer are no text, and OCR found nothing "
                "better; they are kept apart from the text.",
            )
        return False

    def _figure(self, blocks: list[Block]) -> list[Block]:
        """Return what was read in a figure as one block; nothing where it was no text."""
        lines = [line for block in blocks for line in block.lines]
        kept = [tuple(word for word in line if _is_sure(word)) for line in lines]
        kept = [line for line in kept if line]
        confidence = mean_of_words(word for line in kept for word in line)
        if confidence is None or confidence < LOW_CONFIDENCE:
            kept = []
        self._dropped += sum(map(len, lines)) - sum(map(len, kept))
        return [Block(kind="caption", lines=tuple(kept))] if kept else []

    def _known(self) -> list[BoxTuple]:
        """Return the boxes of the words that need no OCR."""
        fields = (word for block in self._fields for line in block.lines for word in line)
        shown = (word for line in self._lines for word in line.words)
        return [word.box for word in (*shown, *fields)]

    def _characters(self) -> int:
        return _count(self._lines)

    def _share(self, box: BoxTuple) -> float:
        return box_area(box) / (self._size[0] * self._size[1])

    def _is_scan(self) -> bool:
        return self._characters() < FEW_CHARACTERS and any(
            self._share(pending.box) >= SCAN_SHARE for pending in self._pending
        )

    def _warn(self, code: str, message: str) -> None:
        self._warnings.append(
            ExtractionWarning(code=code, message=clean(message), page=self._index + 1)
        )


def _is_sure(word: PageWord) -> bool:
    letters = sum(map(str.isalnum, word.text))
    return letters >= _LONG_WORD or (letters > 0 and (word.confidence or 0) >= _SURE_WORD)


def _is_known(box: BoxTuple, known: Sequence[BoxTuple]) -> bool:
    return any(overlap(box, other) > 0.5 * box_area(box) for other in known)


def _count(lines: Iterable[TextLine]) -> int:
    """Count the characters of ``lines``."""
    return sum(len(word.text) for line in lines for word in line.words)


def _characters(blocks: Iterable[Block]) -> int:
    return sum(len(word.text) for block in blocks for line in block.lines for word in line)


def _blocks(lines: Sequence[TextLine], kind: ElementKind) -> list[Block]:
    return [
        Block(kind=kind, lines=tuple(line.words for line in run))
        for _, run in groupby(lines, key=lambda line: line.block)
    ]

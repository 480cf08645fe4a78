"""Recognised pages: from an engine's words to blocks."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from ingest.errors import ConfigurationError
from ingest.extract.blocks import Block, Line, PageContent, PageWord, clamp, line_text
from ingest.extract.decode import clean
from ingest.extract.headings import clause_level
from ocr.engine import EngineUnavailableError, OcrEngine, OcrWord, mean_confidence
from schemas.document import ExtractionWarning, Page

if TYPE_CHECKING:
    from ocr.render import RenderedPage

LOW_CONFIDENCE = 60.0
"""Upright pages that could be read had a mean of 56 or more, unreadable ones 47 or less."""
_FULL_WIDTH = 0.9
"""A line that reaches this far to its paragraph's right edge goes on in the next line."""


class Recogniser:
    """Reads rendered pages with one engine, which is looked for only when a page needs it."""

    def __init__(self, languages: str) -> None:
        self._languages = languages
        self._engine: OcrEngine | None = None

    def read(self, rendered: RenderedPage) -> list[OcrWord]:
        """Return the words of the page, boxes in pixels; a blank page is not even tried.

        Raises:
            ConfigurationError: the engine or one of its languages is not installed.
            OcrError: the engine failed on this page.
        """
        if rendered.blank:
            return []
        if self._engine is None:
            from ocr.tesseract import TesseractEngine

            self._engine = TesseractEngine(self._languages)
        try:
            return self._engine.recognise(rendered.image, round(rendered.dpi))
        except EngineUnavailableError as error:
            raise ConfigurationError("ocr_unavailable", str(error)) from error


def recognised_content(
    page: Page, words: list[OcrWord], rendered: RenderedPage, warnings: list[ExtractionWarning]
) -> PageContent:
    """Return a page that was recognised, with its confidence and the warnings it deserves."""
    confidence = _confidence(words)
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


def _confidence(words: list[OcrWord]) -> float | None:
    """Return the mean confidence of a page's words by their length."""
    mean = mean_confidence(words)
    return None if mean is None else round(mean, 2)


def recognised_blocks(
    words: Iterable[OcrWord], rendered: RenderedPage, width: float, height: float
) -> list[Block]:
    """Return one block a paragraph, with clause headings in blocks of their own.

    Boxes are in points of the page of ``width`` × ``height``.
    """
    blocks: list[Block] = []
    for _, paragraph in groupby(words, key=lambda word: (word.block, word.paragraph)):
        lines: list[Line] = []
        for _, run in groupby(paragraph, key=lambda word: word.line):
            line = tuple(
                page_word
                for word in run
                if (page_word := _page_word(word, rendered, width, height)) is not None
            )
            if line:
                lines.append(line)
        blocks += _split_headings(lines)
    return blocks


def _page_word(
    word: OcrWord, rendered: RenderedPage, width: float, height: float
) -> PageWord | None:
    box = clamp(rendered.to_points(word.box), width, height)
    text = clean(word.text)
    if box is None or not text:
        return None
    return PageWord(text=text, box=box, confidence=word.confidence, source="ocr")


def _split_headings(lines: list[Line]) -> list[Block]:
    """Split a paragraph at its lines that are clause headings.

    A heading set close to its clause comes as the first line of the clause's paragraph.
    """
    if not lines:
        return []
    left = min(word.box[0] for line in lines for word in line)
    right = max(word.box[2] for line in lines for word in line)
    blocks: list[Block] = []
    rest: list[Line] = []
    for line in lines:
        text = line_text(line)
        level = clause_level(text)
        reach = (max(word.box[2] for word in line) - left) / (right - left)
        # In the middle of a paragraph, "Schedule 2" is how a reference wraps.
        first = line is lines[0]
        sure = (
            text.isupper()
            or len(lines) == 1
            or (reach < _FULL_WIDTH and (first or text[0].isdigit()))
        )
        if level is not None and sure:
            if rest:
                blocks.append(Block(kind="paragraph", lines=tuple(rest)))
                rest = []
            blocks.append(Block(kind="heading", lines=(line,), level=level))
        else:
            rest.append(line)
    if rest:
        blocks.append(Block(kind="paragraph", lines=tuple(rest)))
    return blocks

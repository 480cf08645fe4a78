"""Chunking: a version's text to chunks that know where they are.

Offsets are carried from extraction to here and never found again by searching, because text that
repeats is then found in the wrong place (guarantee 1).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from math import fsum
from typing import Literal

from ingest.blocks import Block, blocks_of
from ingest.errors import ConfigurationError, ItemError
from ingest.packing import Budget, Packer, Span
from ingest.settings import ChunkingSettings
from ingest.tokens import TokenCounter
from schemas.base import sha256_text
from schemas.chunk import Chunk, Locator, PageBox
from schemas.document import Extraction, Word

_Source = Literal["digital", "ocr", "mixed"]

CHUNKER_VERSION = "3"
"""Part of every chunk's identity: raised when the same version would be cut in another way."""


_SLACK = 2 / 3
"""Share of a chunk by which it may end early, where that makes its end outlast a change. With less,
of clauses that are a little over a third there is no choice: they go in pairs, and one clause more
forms all pairs behind it anew."""


class Chunker:
    """Cuts versions into chunks of at most so many tokens and characters.

    No chunk crosses a section's end unless it would be too small, mixes two records of a table, or
    ends inside a sentence if the budget allows; tables are cut between rows. Where a chunk ends is
    decided by the text around it alone, so that a change moves few cuts but its own.

    Attributes:
        budget: what a chunk may hold.
    """

    def __init__(self, counter: TokenCounter, settings: ChunkingSettings) -> None:
        """Take the sizes from ``settings``, within the limit of the model behind ``counter``.

        Raises:
            ConfigurationError: the overlap leaves less than half of a chunk to new text.
        """
        self._counter = counter
        tokens = min(settings.max_tokens, counter.limit) - counter.special
        if tokens < 1 or settings.overlap_tokens > tokens // 2:
            raise ConfigurationError(
                "chunk_sizes_impossible",
                f"Chunks of {settings.max_tokens} tokens (the embedding model reads "
                f"{counter.limit}, and adds {counter.special}) cannot repeat "
                f"{settings.overlap_tokens}. Set MUNIMENT_CHUNKING__OVERLAP_TOKENS to at most "
                f"{max(tokens // 2, 0)}, or raise MUNIMENT_CHUNKING__MAX_TOKENS.",
            )
        self.budget = Budget(
            tokens=tokens - settings.overlap_tokens,
            least=settings.min_tokens - counter.special,
            chars=settings.max_chars,
            overlap=settings.overlap_tokens,
            slack=_SLACK,
        )

    def chunk(self, extraction: Extraction) -> list[Chunk]:
        """Return the chunks of the body in text order; none for a blank one.

        Headers and footers stand behind the body and are not chunked.

        Raises:
            ItemError: a page has text without a word box, or one character alone is over the
                budget.
        """
        blocks = blocks_of(extraction)
        if not blocks:
            return []
        packer = Packer(extraction.text, blocks, self._counter, self.budget)
        evidence = _Evidence(extraction, blocks)
        return [evidence.chunk(span, tokens) for span, tokens in packer.spans()]


class _Evidence:
    """Finds what a version knows about each of its chunks."""

    def __init__(self, extraction: Extraction, blocks: list[Block]) -> None:
        self._extraction = extraction
        self._blocks = blocks
        self._block_starts = [block.start for block in blocks]
        self._block_ends = [block.end for block in blocks]
        self._word_starts = [word.char_start for word in extraction.words]
        self._word_ends = [word.char_end for word in extraction.words]
        self._labels = {page.number: page.label for page in extraction.pages}

    def chunk(self, span: Span, tokens: int) -> Chunk:
        start, end = span
        text = self._extraction.text[start:end]
        blocks = self._blocks[
            bisect_right(self._block_ends, start) : bisect_left(self._block_starts, end)
        ]
        words = self._extraction.words[
            bisect_right(self._word_ends, start) : bisect_left(self._word_starts, end)
        ]
        paged = bool(self._labels)
        if paged:
            self._require_words(span, words)
        pages = [word.page for word in words] if paged else []
        source, confidence = _recognition(words)
        return Chunk(
            text=text,
            char_start=start,
            char_end=end,
            tokens=tokens,
            page_first=min(pages, default=None),
            page_last=max(pages, default=None),
            page_label=self._labels.get(min(pages)) if pages else None,
            boxes=_boxes(words) if paged else (),
            # Headings belong to the text below them, so that text tells the section.
            section=next((b.path for b in blocks if not b.is_heading), blocks[-1].path),
            element_kinds=tuple(dict.fromkeys(block.kind for block in blocks)),
            locator=None if paged else _locator(blocks, span),
            context=self._context(start, blocks[0]),
            text_source=source,
            ocr_confidence=confidence,
            language=self._extraction.language,
            doc_sha256=self._extraction.doc_sha256,
            text_sha256=sha256_text(text),
        )

    def _require_words(self, span: Span, words: Sequence[Word]) -> None:
        """Refuse a chunk with a character that no word's box shows (guarantee 2)."""
        position = span[0]
        for start, end in [*((w.char_start, w.char_end) for w in words), (span[1], span[1])]:
            between = self._extraction.text[position:start]
            if between and not between.isspace():
                shown = between.strip()
                raise ItemError(
                    "text_without_box",
                    f"The text {shown[:60]!r} between {position} and {start} is in the body of a "
                    "paged document, but no word with a box holds it, so it could not be shown on "
                    "its page. Report the document: its extractor must give every character to a "
                    "word.",
                )
            position = end

    def _context(self, start: int, block: Block) -> str | None:
        """Return the header row of the table that a chunk continues."""
        if not block.headers or start < block.headers[-1].char_end:
            return None
        text = self._extraction.text
        return "\n".join(text[row.char_start : row.char_end].strip() for row in block.headers)


def _recognition(words: Sequence[Word]) -> tuple[_Source, float | None]:
    """Return where the words come from, and how sure the OCR engine was of its own."""
    recognised = {word.source == "ocr" for word in words}
    source: _Source = "mixed" if len(recognised) > 1 else "ocr" if True in recognised else "digital"
    weighed = [
        (word.char_end - word.char_start, word.confidence)
        for word in words
        if word.source == "ocr" and word.confidence is not None
    ]
    if not weighed:
        return source, None
    mean = fsum(length * value for length, value in weighed) / sum(length for length, _ in weighed)
    return source, min(mean, 100.0)


def _boxes(words: Sequence[Word]) -> tuple[PageBox, ...]:
    """Return the hull of the words of each line and page, in reading order.

    A word of which only a part is in the chunk counts whole: nothing tells where inside its box
    its characters are.
    """
    hulls: dict[tuple[int, int], tuple[float, float, float, float]] = {}
    for word in words:
        key = (word.page, word.line)
        x0, y0, x1, y1 = hulls.get(key, word.box)
        u0, v0, u1, v1 = word.box
        hulls[key] = (min(x0, u0), min(y0, v0), max(x1, u1), max(y1, v1))
    return tuple(
        PageBox(page=page, x0=x0, y0=y0, x1=x1, y1=y1)
        for (page, _), (x0, y0, x1, y1) in hulls.items()
    )


def _locator(blocks: Sequence[Block], span: Span) -> Locator:
    """Return where a chunk is in a format without pages: its record, or its paragraphs."""
    row = next((block.row for block in blocks if block.row is not None), None)
    if row is not None:
        return Locator(
            row=row, fields=tuple(block.field for block in blocks if block.field is not None)
        )
    slides = [block.slide for block in blocks if block.slide is not None]
    return Locator(
        paragraph_first=blocks[0].paragraph,
        paragraph_last=blocks[-1].paragraph,
        slide_first=min(slides, default=None),
        slide_last=max(slides, default=None),
        sheet=next((block.sheet for block in blocks if block.sheet is not None), None),
        cells=_cells(blocks, span),
        part=next((block.part for block in blocks if block.part is not None), None),
    )


def _cells(blocks: Sequence[Block], span: Span) -> str | None:
    """Return the smallest range of a sheet that holds all cells of a chunk, such as "A3:F12"."""
    cells = [
        cell
        for block in blocks
        if block.sheet is not None
        for row in block.rows[
            bisect_right(block.rows, span[0], key=lambda row: row.char_end) : bisect_left(
                block.rows, span[1], key=lambda row: row.char_start
            )
        ]
        for cell in row.cells
        if cell.char_start < span[1] and span[0] < cell.char_end
    ]
    if not cells:
        return None
    first = _column_name(min(cell.column for cell in cells))
    last = _column_name(max(cell.column + cell.column_span - 1 for cell in cells))
    top = min(cell.row for cell in cells)
    bottom = max(cell.row + cell.row_span - 1 for cell in cells)
    return f"{first}{top}" if (first, top) == (last, bottom) else f"{first}{top}:{last}{bottom}"


def _column_name(number: int) -> str:
    """Return the letters of a column: 1 is A, 27 is AA."""
    name = ""
    while number:
        number, letter = divmod(number - 1, 26)
        name = chr(ord("A") + letter) + name
    return name

"""What holds for the chunks of every version, checked from the version alone (guarantees 1–4, 9).

Written without the code that it checks: no bisection, no shared helper, just the definition.
"""

from __future__ import annotations

from itertools import pairwise

import regex  # type: ignore[import-untyped]  # its stubs are a package of their own

from ingest.settings import ChunkingSettings
from ingest.tokens import TokenCounter
from schemas.base import sha256_text
from schemas.chunk import Chunk
from schemas.document import Extraction
from schemas.identity import chunk_id


def check_chunks(
    extraction: Extraction, chunks: list[Chunk], counter: TokenCounter, settings: ChunkingSettings
) -> None:
    check_offsets(extraction, chunks, counter, settings.overlap_tokens)
    check_sizes(chunks, counter, settings)
    check_records(extraction, chunks)
    check_identity(chunks)
    if extraction.pages:
        check_boxes(extraction, chunks)
    else:
        check_locators(chunks)


def check_offsets(
    extraction: Extraction, chunks: list[Chunk], counter: TokenCounter, overlap: int
) -> None:
    """Guarantee 1."""
    text = extraction.text
    covered = bytearray(len(text))
    for chunk in chunks:
        assert text[chunk.char_start : chunk.char_end] == chunk.text
        assert chunk.text == chunk.text.strip() != ""
        assert chunk.char_end <= extraction.body_end
        covered[chunk.char_start : chunk.char_end] = b"\1" * len(chunk.text)
    for before, after in pairwise(chunks):
        assert before.char_start < after.char_start, "starts must strictly increase"
        assert before.char_end < after.char_end, "a chunk must not lie within another"
        repeated = text[after.char_start : before.char_end]
        assert counter.count([repeated])[0] - counter.special <= overlap
    for position in range(extraction.body_end):
        assert covered[position] or text[position].isspace(), f"{position} is in no chunk"


def check_sizes(
    chunks: list[Chunk], counter: TokenCounter, settings: ChunkingSettings | None = None
) -> None:
    """Guarantee 9: counted afresh, one by one, nothing is over a limit."""
    for chunk in chunks:
        assert chunk.tokens == counter.count([chunk.text])[0]
        assert chunk.tokens <= counter.limit
        if settings:
            assert chunk.tokens <= settings.max_tokens
            assert len(chunk.text) <= settings.max_chars


def check_boxes(extraction: Extraction, chunks: list[Chunk]) -> None:
    """Guarantees 2 and 3."""
    pages = {page.number: page for page in extraction.pages}
    for chunk in chunks:
        held = [
            word
            for word in extraction.words
            if word.char_start < chunk.char_end and chunk.char_start < word.char_end
        ]
        for position in range(chunk.char_start, chunk.char_end):
            owners = [word for word in held if word.char_start <= position < word.char_end]
            assert len(owners) == 1 or extraction.text[position].isspace()
        lines = list(dict.fromkeys((word.page, word.line) for word in held))
        assert [box.page for box in chunk.boxes] == [page for page, _ in lines]
        for (page, line), box in zip(lines, chunk.boxes, strict=True):
            words = [word.box for word in held if (word.page, word.line) == (page, line)]
            assert (box.x0, box.y0) == (min(w[0] for w in words), min(w[1] for w in words))
            assert (box.x1, box.y1) == (max(w[2] for w in words), max(w[3] for w in words))
            assert 0 <= box.x0 < box.x1 <= pages[page].width
            assert 0 <= box.y0 < box.y1 <= pages[page].height
        assert chunk.page_first == min(word.page for word in held)
        assert chunk.page_last == max(word.page for word in held)
        assert chunk.page_label == pages[chunk.page_first].label
        assert chunk.locator is None
        sources = {word.source for word in held}
        assert chunk.text_source == ("mixed" if len(sources) > 1 else sources.pop())
        assert (chunk.ocr_confidence is None) == (chunk.text_source == "digital")


def check_locators(chunks: list[Chunk]) -> None:
    for chunk in chunks:
        assert chunk.page_first is chunk.page_last is chunk.page_label is None
        assert chunk.boxes == ()
        locator = chunk.locator
        assert locator
        if locator.row is None:
            assert locator.paragraph_first
            assert locator.paragraph_last
            assert 1 <= locator.paragraph_first <= locator.paragraph_last
            assert locator.fields == ()


def check_records(extraction: Extraction, chunks: list[Chunk]) -> None:
    for chunk in chunks:
        cells = [
            element
            for element in extraction.elements
            if element.row is not None
            and extraction.text[
                max(element.char_start, chunk.char_start) : min(element.char_end, chunk.char_end)
            ].strip()
        ]
        assert len({cell.row for cell in cells}) <= 1, "a chunk mixes records"
        if cells:
            assert chunk.locator
            assert chunk.locator.row == cells[0].row
            assert chunk.locator.fields == tuple(cell.field for cell in cells)


def check_identity(chunks: list[Chunk]) -> None:
    """Guarantee 4."""
    ids = {
        chunk_id("doc", 1, chunk.char_start, chunk.char_end, chunk.text_sha256, "1")
        for chunk in chunks
    }
    assert len(ids) == len(chunks)
    assert all(chunk.text_sha256 == sha256_text(chunk.text) for chunk in chunks)


def broken_clusters(extraction: Extraction, chunks: list[Chunk]) -> list[str]:
    """Return the grapheme clusters that a chunk's start or end breaks.

    Those whose base is white space don't count: chunks begin and end with none.
    """
    ends = {position for chunk in chunks for position in (chunk.char_start, chunk.char_end)}
    return [
        match.group()
        for match in regex.finditer(r"\X", extraction.text[: extraction.body_end])
        if not match.group()[0].isspace()
        and any(position in ends for position in range(match.start() + 1, match.end()))
    ]

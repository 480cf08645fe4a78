"""Field cases of formats without pages: what went wrong for users of other tools."""

from __future__ import annotations

from pathlib import Path

import pytest
from extract.checks import read, read_file
from strategies import counter

from ingest.chunking import Chunker
from ingest.settings import ChunkingSettings


def test_docx_pages(corpus: Path) -> None:
    """Page breaks in the file are no pages: there is a paragraph, and never a made-up page 1."""
    extraction = read_file(corpus / "office/page-breaks.docx")
    assert extraction.pages == ()
    assert extraction.words == ()
    chunks = Chunker(counter(), ChunkingSettings(max_tokens=32, min_tokens=0)).chunk(extraction)
    assert len(chunks) > 3
    for chunk in chunks:
        assert chunk.page_first is None
        assert chunk.page_last is None
        assert chunk.locator
        assert chunk.locator.paragraph_first
    numbers = [chunk.locator.paragraph_first for chunk in chunks if chunk.locator]
    assert numbers == sorted(numbers, key=lambda number: number or 0)


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f600 The notice must be given in writing.",
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 e\u0301 ½ The notice must be given in writing.",
    ],
)
@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html"])
def test_utf16_units(text: str, name: str) -> None:
    """Offsets count code points; a browser, which counts UTF-16 units, converts them exactly."""
    source = f"<html><body><p>{text}</p></body></html>" if name == "a.html" else text
    extraction = read(source.encode(), name)
    assert extraction.text == text
    start = extraction.text.index("notice")
    units = text.encode("utf-16-le")
    before = len(text[:start].encode("utf-16-le"))
    assert before > 2 * start, "the case needs characters outside of the first plane"
    assert units[before : before + 12].decode("utf-16-le") == "notice"
    [chunk] = Chunker(counter(), ChunkingSettings()).chunk(extraction)
    assert (chunk.char_start, chunk.char_end) == (0, len(text))

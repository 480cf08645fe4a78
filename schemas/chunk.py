"""A chunk as the chunker makes it: everything that the file alone can tell."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from schemas.base import Model, Sha256
from schemas.document import ElementKind


class PageBox(Model):
    """A rectangle on a page: PDF points, origin top left of the page as displayed."""

    page: Annotated[int, Field(ge=1)]
    x0: float
    y0: float
    x1: float
    y1: float


class Locator(Model):
    """Where a chunk is in a format without pages."""

    row: str | None = None
    """Key of the record, or number of the row from 1 where the source names no key."""
    fields: tuple[str, ...] = ()
    """Names of the columns whose cells the chunk holds, in text order."""
    paragraph_first: int | None = None
    paragraph_last: int | None = None
    """Numbers of the first and last block, from 1."""
    slide_first: int | None = None
    slide_last: int | None = None
    """Numbers of the first and last slide of a presentation, from 1."""
    sheet: str | None = None
    """Name of the sheet of a workbook."""
    cells: str | None = None
    """Range of cells in the sheet, such as "A3:F12"."""
    part: str | None = None
    """Name of the file inside the document, such as a chapter of an e-book."""
    url: str | None = None
    """The page's address with a text fragment that opens it at the passage."""


class Chunk(Model):
    """A contiguous run of a version's text that is embedded and cited.

    ``text == extraction.text[char_start:char_end]`` always holds (guarantee 1).
    """

    text: str
    char_start: Annotated[int, Field(ge=0)]
    char_end: Annotated[int, Field(ge=1)]
    tokens: Annotated[int, Field(ge=1)]
    """Counted by the embedding model's own tokenizer, special tokens included."""
    page_first: Annotated[int, Field(ge=1)] | None
    page_last: Annotated[int, Field(ge=1)] | None
    page_label: str | None
    boxes: tuple[PageBox, ...]
    """One box per line and page, in reading order; empty where the format has no pages."""
    section: tuple[str, ...]
    """Path of headings above the chunk, the highest first."""
    element_kinds: tuple[ElementKind, ...]
    locator: Locator | None
    context: str | None = None
    """Header row of the table that the chunk continues: recorded beside the text, never in it."""
    text_source: Literal["digital", "ocr", "mixed"]
    ocr_confidence: Annotated[float, Field(ge=0, le=100)] | None
    """Mean of the recognised words by length; None where no word was recognised."""
    language: str | None
    doc_sha256: Sha256
    text_sha256: Sha256
    """Of the chunk's own text in UTF-8."""

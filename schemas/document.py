"""The text of one version, with where every character of it came from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from schemas.base import Model, Sha256, sha256_text

TextSource = Literal["digital", "ocr"]
ElementKind = Literal[
    "title",
    "heading",
    "paragraph",
    "list_item",
    "table",
    "caption",
    "header",
    "footer",
    "footnote",
    "field",
]
FURNITURE: frozenset[ElementKind] = frozenset({"header", "footer"})
"""Kinds that are moved behind the body, so that a clause over a page break is contiguous."""

BoxTuple = tuple[float, float, float, float]
"""x0, y0, x1, y1 in PDF points, origin top left of the page as a viewer displays it."""


class Page(Model):
    """One physical page as displayed: cropped and turned (PDF 32000-1 §7.7.3.3)."""

    number: Annotated[int, Field(ge=1)]
    """Counted from 1, blank pages included."""
    width: Annotated[float, Field(gt=0)]
    height: Annotated[float, Field(gt=0)]
    """Points (1/72 inch), after rotation."""
    rotation: Literal[0, 90, 180, 270]
    """The page's own /Rotate, clockwise; width, height and boxes already include it."""
    label: str | None = None
    """The page label that the document gives, such as "iv" (PDF 32000-1 §12.4.2)."""
    text_source: Literal["digital", "ocr", "none"]
    """Where the page's words came from; "none" for a page without any."""
    ocr_confidence: Annotated[float, Field(ge=0, le=100)] | None = None
    """Mean confidence of the page's words by their length; None where nothing was recognised."""


class Word(Model):
    """A run of the text with its box on a page. Words are disjoint and in text order."""

    char_start: Annotated[int, Field(ge=0)]
    char_end: Annotated[int, Field(ge=1)]
    page: Annotated[int, Field(ge=1)]
    line: Annotated[int, Field(ge=0)]
    """Index of the line in the version; words of one line share it."""
    box: BoxTuple
    confidence: Annotated[float, Field(ge=0, le=100)] | None
    """0 to 100 as the OCR engine gives it; None for digital text, where nothing was guessed."""
    source: TextSource


class TableRow(Model):
    """One row of a table element, as a run of the text."""

    char_start: int
    char_end: int
    header: bool = False


class Element(Model):
    """A run of the text with a role. Elements are disjoint and in text order."""

    kind: ElementKind
    char_start: Annotated[int, Field(ge=0)]
    char_end: Annotated[int, Field(ge=1)]
    level: Annotated[int, Field(ge=1, le=6)] | None = None
    """Depth of a title or heading, 1 the highest."""
    rows: tuple[TableRow, ...] = ()
    """Rows of a table, where a chunk may end; empty where the rows are not known."""
    row: str | None = None
    """Key of the record (or number of the row, from 1) that a field belongs to."""
    field: str | None = None
    """Name of the column that a field belongs to."""
    paragraph: Annotated[int, Field(ge=1)] | None = None
    """Number of the block in a format without pages, from 1."""


class ExtractionWarning(Model):
    """Something that a reader of the text should know; never a reason to refuse the document."""

    code: str
    message: str
    page: int | None = None


class Extraction(Model):
    """What extraction makes of bytes: the canonical text and its evidence.

    ``text`` is fixed here once and for all; every offset counts its code points. Headers and
    footers stand behind ``body_end``. Formats without pages have neither pages nor words.
    """

    media_type: str
    extractor_version: str
    doc_sha256: Sha256
    text: str
    body_end: Annotated[int, Field(ge=0)]
    pages: tuple[Page, ...] = ()
    words: tuple[Word, ...] = ()
    elements: tuple[Element, ...] = ()
    warnings: tuple[ExtractionWarning, ...] = ()
    title: str | None = None
    author: str | None = None
    language: str | None = None
    """ISO 639-1 code of the body's language; None where the text is too short to tell."""

    @property
    def text_sha256(self) -> str:
        """SHA-256 of the whole text in UTF-8."""
        return sha256_text(self.text)

    @model_validator(mode="after")
    def _runs_are_disjoint_and_inside(self) -> Extraction:
        if self.body_end > len(self.text):
            raise ValueError(f"body_end {self.body_end} is past the text's end {len(self.text)}")
        for name, runs in (("word", self.words), ("element", self.elements)):
            end = 0
            for run in runs:
                if not end <= run.char_start < run.char_end <= len(self.text):
                    raise ValueError(
                        f"{name} {run.char_start}–{run.char_end} overlaps the one before it, "
                        f"is empty, or leaves the text of {len(self.text)} characters"
                    )
                end = run.char_end
        return self

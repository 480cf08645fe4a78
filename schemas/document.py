"""The text of one version, with where every character of it came from."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from schemas.base import Model, Sha256, UtcDatetime, sha256_text

TextSource = Literal["digital", "ocr"]
PageTextSource = Literal["digital", "ocr", "mixed", "none"]
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
    "annotation",
    "watermark",
    "hidden",
]
"""annotation: a reviewer's note on a page; hidden: text in the file that its page does not show."""
BEHIND_BODY: frozenset[ElementKind] = frozenset(
    {"header", "footer", "annotation", "watermark", "hidden"}
)
"""Kinds that are kept behind the body and not chunked: a clause over a page break is contiguous,
and nothing is cited that the document does not say on its pages."""

BoxTuple = tuple[float, float, float, float]
"""x0, y0, x1, y1 in PDF points, origin top left of the page as a viewer displays it."""


class OcrAttempt(Model):
    """One reading of an area of a page by one engine in one way."""

    engine: str
    """Name and version, such as "tesseract 5.3.0"."""
    how: str
    """What was set for it beside the languages, such as "sparse text, Sauvola, enlarged 2×"."""
    words: Annotated[int, Field(ge=0)]
    confidence: Annotated[float, Field(ge=0, le=100)] | None
    """Mean by length; None where no word was found."""
    uncovered_ink: Annotated[float, Field(ge=0, le=1)]
    """Share of the text-like connected components that lie outside all word boxes."""
    score: Annotated[float, Field(ge=0)]
    """By which attempts of different engines and settings are compared; the highest is kept."""


class Recognition(Model):
    """How an area of a page was recognised, with every attempt and why there was more than one."""

    box: BoxTuple
    """The area in points of the displayed page; the whole page for a scan."""
    image_sha256: Sha256
    """Of the rendered pixels: with the settings, the key of the OCR cache."""
    dpi: Annotated[float, Field(gt=0)]
    turn: Literal[0, 90, 180, 270] = 0
    """Degrees clockwise by which the displayed content had to be turned to stand upright."""
    skew: float = 0.0
    """Degrees by which the upright lines ran downhill to the right; removed before reading."""
    attempts: Annotated[tuple[OcrAttempt, ...], Field(min_length=1)]
    chosen: Annotated[int, Field(ge=0)]
    """Index of the attempt whose words were kept."""
    reasons: tuple[Literal["low_confidence", "uncovered_ink"], ...] = ()
    """Why the first attempt was not enough; empty where it was."""
    flagged: bool = False
    """True where the attempt that was kept is still not enough."""


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
    text_source: PageTextSource
    """Where the page's words came from; "none" for a page without any."""
    ocr_confidence: Annotated[float, Field(ge=0, le=100)] | None = None
    """Mean confidence of the page's recognised words by their length; None without any."""
    recognitions: tuple[Recognition, ...] = ()
    """One for each area that went through OCR."""


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
    box_kind: Literal["word", "line"] = "word"
    """line: the engine gave a box for the line alone, and this is the word's share by length."""


class TableCell(Model):
    """A cell of a table, as a run of the text; empty cells have no run and are left out."""

    char_start: int
    char_end: int
    row: Annotated[int, Field(ge=1)]
    """Number of the row in the table, or in the sheet; of the first one where it spans several."""
    column: Annotated[int, Field(ge=1)]
    row_span: Annotated[int, Field(ge=1)] = 1
    column_span: Annotated[int, Field(ge=1)] = 1


class TableRow(Model):
    """One row of a table element, as a run of the text."""

    char_start: int
    char_end: int
    header: bool = False
    cells: tuple[TableCell, ...] = ()
    """Disjoint and in text order; empty where the cells are not known."""


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
    slide: Annotated[int, Field(ge=1)] | None = None
    """Number of the slide in a presentation, from 1."""
    sheet: str | None = None
    """Name of the sheet in a workbook."""
    part: str | None = None
    """Name of the file inside the document that holds the element: a chapter of an e-book."""


class Attachment(Model):
    """A file inside the document, which is an item of its own."""

    name: str
    """Path inside the document, with "/" between folders."""
    sha256: Sha256
    size: Annotated[int, Field(ge=0)]
    media_type: str | None = None
    """As the document declares it."""


class MemberProblem(Model):
    """A file inside the document that could not be taken out of it; it is refused by itself."""

    name: str
    """Path inside the document; where it is not safe, without what made it so."""
    code: str
    message: str
    """What is wrong with it and what to do next; whoever reports it names the document."""


class ExtractionWarning(Model):
    """Something that a reader of the text should know; never a reason to refuse the document."""

    code: str
    message: str
    page: int | None = None


class FileDates(Model):
    """What a file says of its own dates."""

    created: UtcDatetime | None = None
    modified: UtcDatetime | None = None
    published: UtcDatetime | None = None


class Extraction(Model):
    """What extraction makes of bytes: the canonical text and its evidence.

    ``text`` is fixed here once and for all; every offset counts its code points. What is no part of
    the body (``BEHIND_BODY``) stands behind ``body_end``. Formats without pages have neither pages
    nor words. An archive has no text, only attachments.
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
    attachments: tuple[Attachment, ...] = ()
    member_problems: tuple[MemberProblem, ...] = ()
    title: str | None = None
    author: str | None = None
    dates: FileDates = FileDates()
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

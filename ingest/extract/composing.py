"""The text of a format without pages, put together block by block.

Blocks are joined by an empty line, rows of a table by a newline, cells by a space. White space at
the ends of a block or a cell is not part of it. What is not shown with the body (headers, notes,
hidden text) is given at any time and stands behind the body in the end.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypedDict, Unpack

from ingest.errors import ItemError
from ingest.extract.decode import clean
from ingest.extract.draft import Draft, SourceBytes, TextBuilder
from schemas.document import (
    BEHIND_BODY,
    Element,
    ElementKind,
    ExtractionWarning,
    FileDates,
    TableCell,
    TableRow,
)

MAX_LEVEL = 6
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


class Place(TypedDict, total=False):
    """Where a block is, beside its number; see `schemas.document.Element`."""

    slide: int
    sheet: str
    part: str
    field: str


@dataclass(slots=True)
class Cell:
    """A cell with its place in the grid of its table or sheet, from 1."""

    text: str
    row: int
    column: int
    row_span: int = 1
    column_span: int = 1


@dataclass(slots=True)
class Row:
    """The cells of a row from left to right."""

    cells: list[Cell] = field(default_factory=list)
    header: bool = False


@dataclass(frozen=True, slots=True)
class _Behind:
    kind: ElementKind
    text: str
    place: Place


class Composer:
    """Collects blocks in reading order and makes a draft of them."""

    def __init__(self, source: SourceBytes) -> None:
        self._name = source.name
        self._limit = source.settings.limits.characters
        self._builder = TextBuilder()
        self._elements: list[Element] = []
        self._behind: list[_Behind] = []
        self.warnings: list[ExtractionWarning] = []
        self.title: str | None = None
        self.author: str | None = None
        self.dates = FileDates()

    def add(
        self, kind: ElementKind, text: str, level: int | None = None, **place: Unpack[Place]
    ) -> None:
        """Add a block; blank ones are left out.

        Raises:
            ItemError: too_many_characters.
        """
        text = tidy(text)
        if not text:
            return
        if kind in BEHIND_BODY:
            self._behind.append(_Behind(kind, text, place))
            return
        self._append(kind, text, level, place)

    def add_table(self, rows: Sequence[Row], **place: Unpack[Place]) -> None:
        """Add a table; blank cells and rows are left out.

        Raises:
            ItemError: too_many_characters.
        """
        if not any(tidy(cell.text) for row in rows for cell in row.cells):
            return
        self._builder.separate("\n\n")
        start = self._builder.length
        runs: list[TableRow] = []
        for row in rows:
            cells: list[TableCell] = []
            for cell in row.cells:
                text = tidy(cell.text)
                if not text:
                    continue
                if cells:
                    self._builder.add(" ")
                elif runs:
                    self._builder.add("\n")
                cell_start, cell_end = self._builder.add(text)
                cells.append(
                    TableCell(
                        char_start=cell_start,
                        char_end=cell_end,
                        row=cell.row,
                        column=cell.column,
                        row_span=cell.row_span,
                        column_span=cell.column_span,
                    )
                )
            if cells:
                runs.append(
                    TableRow(
                        char_start=cells[0].char_start,
                        char_end=cells[-1].char_end,
                        header=row.header,
                        cells=tuple(cells),
                    )
                )
                self.check_length(self._builder.length)
        self._elements.append(
            Element(
                kind="table",
                char_start=start,
                char_end=self._builder.length,
                rows=tuple(runs),
                paragraph=len(self._elements) + 1,
                **place,
            )
        )

    def warn(self, code: str, message: str) -> None:
        """Note something that a reader of the text should know."""
        self.warnings.append(ExtractionWarning(code=code, message=message))

    def warn_tracked_changes(self, insertions: int, deletions: int) -> None:
        """Note changes that an editor recorded, if there are any."""
        if insertions or deletions:
            self.warn(
                "tracked_changes",
                f"{count_of(insertions, 'insertion', 'insertions')} that nobody has accepted or "
                f"rejected are text, {count_of(deletions, 'deletion', 'deletions')} are left out.",
            )

    def warn_hidden_text(self, characters: int) -> None:
        """Note text that is formatted as hidden, if there is any."""
        if characters:
            self.warn(
                "hidden_text",
                f"{count_of(characters, 'character is', 'characters are')} formatted as hidden "
                "and stand behind the body.",
            )

    def warn_hidden_cells(self, sheets: int, rows: int) -> None:
        """Note what a workbook does not show, if there is any."""
        if sheets or rows:
            self.warn(
                "hidden_cells",
                f"{count_of(sheets, 'sheet is', 'sheets are')} hidden, and in the others "
                f"{count_of(rows, 'row has', 'rows have')} cells that the sheet does not show; "
                "they stand behind the body.",
            )

    def warn_hidden_slides(self, slides: int) -> None:
        """Note slides that are left out of the show, if there are any."""
        if slides:
            self.warn(
                "hidden_slides",
                f"{count_of(slides, 'slide is', 'slides are')} left out of the show; their text "
                "stands behind the body.",
            )

    def warn_pictures(self, pictures: int) -> None:
        """Note pictures that were not looked at, if there are any."""
        if pictures:
            self.warn(
                "pictures_not_read",
                f"{count_of(pictures, 'picture was', 'pictures were')} not looked at; text in "
                "them is not in the document's text.",
            )

    @property
    def is_empty(self) -> bool:
        """True until the body has a block."""
        return not self._elements

    def check_length(self, length: int) -> None:
        """Refuse a text that grows over the limit, before all of it is in memory.

        Raises:
            ItemError: too_many_characters.
        """
        if length > self._limit:
            raise ItemError(
                "too_many_characters",
                f"{self._name}: its text has more than the limit of {self._limit:,} characters. "
                "Split the document, or raise MUNIMENT_EXTRACTION__LIMITS__CHARACTERS, then retry "
                "the item.",
            )

    def draft(self) -> Draft:
        """Return the draft: the body, and behind it what is not shown with it."""
        body_end = self._builder.length
        for block in self._behind:
            self._append(block.kind, block.text, None, block.place)
        return Draft(
            text=self._builder.text,
            body_end=body_end,
            elements=self._elements,
            warnings=self.warnings,
            title=self.title,
            author=self.author,
            dates=self.dates,
        )

    def _append(self, kind: ElementKind, text: str, level: int | None, place: Place) -> None:
        self._builder.separate("\n\n")
        start, end = self._builder.add(text)
        self.check_length(end)
        level = min(level or 1, MAX_LEVEL) if kind in ("title", "heading") else None
        self._elements.append(
            Element(
                kind=kind,
                char_start=start,
                char_end=end,
                level=level,
                paragraph=len(self._elements) + 1,
                **place,
            )
        )


def tidy(text: str) -> str:
    """Return ``text`` with newlines alone as line ends and no white space at its ends."""
    return _LINE_ENDS.sub("\n", clean(text)).strip()


def count_of(number: int, one: str, many: str) -> str:
    """Return a number with its noun, for messages."""
    return f"{number:,} {one if number == 1 else many}"

"""Blocks: the body of a version as runs with a role, a section and a place, with no gap."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile

from ingest.boundaries import cluster_at
from schemas.document import Element, ElementKind, Extraction, TableRow

_HEADINGS: frozenset[ElementKind] = frozenset({"title", "heading"})


_MARKS = re.compile(r"^#{1,6} +| +#+$| +(?:=+|-+)$")
"""CommonMark §4.2 and §4.3, ATX and setext headings."""


@dataclass(frozen=True, slots=True)
class Block:
    """One element of the body, or a run of its text that no element holds."""

    start: int
    end: int
    """Without white space at the ends."""
    kind: ElementKind
    path: tuple[str, ...]
    """Headings above and, for a heading, its own text; the highest first."""
    top: int
    """Where the highest heading above starts; −1 before the first one. Names the top section."""
    row: str | None
    field: str | None
    unit: str | None
    """What no chunk mixes: the record, the sheet or the part that the block belongs to."""
    slide: int | None
    sheet: str | None
    part: str | None
    paragraph: int
    """Number of the block in a format without pages."""
    rows: tuple[TableRow, ...]
    headers: tuple[TableRow, ...]
    """The rows that head a table, which are its first ones."""

    @property
    def is_heading(self) -> bool:
        """True for titles and headings, which belong to the text below them."""
        return self.kind in _HEADINGS


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    end: int
    reach: int
    """How far the end may move to keep a grapheme cluster whole."""
    element: Element | None
    row: str | None


@dataclass(frozen=True, slots=True)
class _Heading:
    depth: tuple[int, bool]
    text: str
    start: int


def blocks_of(extraction: Extraction) -> list[Block]:
    """Return the blocks of the body in text order: each non-blank character is in exactly one.

    Text between elements makes paragraphs. Blocks end between grapheme clusters even where the
    elements do not, except at the fields of a record, whose cells are kept as they are.
    """
    text = extraction.text
    numbered = any(element.paragraph for element in extraction.elements)
    blocks: list[Block] = []
    above: list[_Heading] = []
    paragraph = 0
    taken = 0
    for piece in _pieces(extraction):
        start, end = max(piece.start, taken), piece.end
        if start >= end:
            continue
        end = min(cluster_at(text, end)[1], max(end, piece.reach))
        taken = end
        run = text[start:end]
        if not run or run.isspace():
            continue
        start += len(run) - len(run.lstrip())
        end -= len(run) - len(run.rstrip())
        element = piece.element
        kind = element.kind if element else "paragraph"
        if kind in _HEADINGS:
            heading = _Heading(
                # A title stands above headings of its own level.
                depth=((element.level if element else None) or 1, kind == "heading"),
                text=_name(run, extraction.media_type),
                start=start,
            )
            above = [other for other in above if other.depth < heading.depth] + [heading]
        if not numbered:
            paragraph += 1
        elif element and element.paragraph:
            paragraph = element.paragraph
        rows = element.rows if element else ()
        rows = tuple(row for row in rows if start <= row.char_start < end)
        blocks.append(
            Block(
                start=start,
                end=end,
                kind=kind,
                path=tuple(heading.text for heading in above),
                top=_top(above),
                row=piece.row,
                field=element.field if element else None,
                unit=_unit(element, piece.row),
                slide=element.slide if element else None,
                sheet=element.sheet if element else None,
                part=element.part if element else None,
                paragraph=max(paragraph, 1),
                rows=rows,
                headers=tuple(takewhile(lambda row: row.header, rows)),
            )
        )
    return blocks


def _name(heading: str, media_type: str) -> str:
    """Return a heading as it names its section: on one line, without Markdown's marks."""
    name = " ".join(heading.split())
    return _MARKS.sub("", name) if media_type == "text/markdown" else name


def _unit(element: Element | None, row: str | None) -> str | None:
    if element is None or row is not None:
        return row
    return element.sheet if element.sheet is not None else element.part


def _top(above: list[_Heading]) -> int:
    # The title of a document is above all of it, so it makes no section of its own.
    headings = [heading for heading in above if heading.depth[1]] or above
    return headings[0].start if headings else -1


def _pieces(extraction: Extraction) -> list[_Piece]:
    """Return the elements of the body and what is between them, blank or not."""
    runs: list[tuple[int, int, Element | None, str | None]] = []
    position = 0
    row: str | None = None
    for element in extraction.elements:
        if element.char_start >= extraction.body_end:
            break
        if position < element.char_start:
            # A label stands before its value, so it belongs to the record that comes.
            label = element.row if element.row is not None else row
            runs.append((position, element.char_start, None, label))
        position = min(element.char_end, extraction.body_end)
        row = element.row
        runs.append((element.char_start, position, element, row))
    if position < extraction.body_end:
        runs.append((position, extraction.body_end, None, row))

    pieces: list[_Piece] = []
    reach = extraction.body_end
    for start, end, element_or_none, row in reversed(runs):
        # Neither a cell's end moves, nor that of a run into the next cell.
        reach = reach if row is None else start
        pieces.append(_Piece(start, end, reach, element_or_none, row))
    pieces.reverse()
    return pieces

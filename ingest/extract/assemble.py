"""Blocks of pages to one text, with a word for every non-blank character (guarantees 1 to 3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from operator import itemgetter

from ingest.extract.blocks import Block, PageContent, PageWord, RowSpan
from ingest.extract.draft import Draft
from ingest.extract.headings import RUN_IN_WORDS, numbered_depth, run_in_heading
from ingest.extract.joins import Join, Joiner
from ingest.extract.passages import Passage, mark_repeated_headers, passages_of
from ingest.extract.roles import set_roles
from ingest.extract.words import WordList
from schemas.document import BEHIND_BODY, Element, ElementKind, TableCell, TableRow

_TEXT = itemgetter(PageWord._fields.index("text"))
_MAX_LEVEL = 6
_MAX_TITLE = 300


def assemble(contents: list[PageContent]) -> Draft:
    """Join the pages into one draft.

    Words of a line are joined by a space, lines by a newline or, inside a word that was broken, by
    nothing (see `joins`); blocks are joined by an empty line. A paragraph that goes on behind a
    column's or page's end is one element, and footnotes and captions between its parts follow it.
    Headers, footers and whatever else is no part of the body stand behind it, page by page. Where
    nothing else was found they are the body: a letterhead alone is still a document's text.
    """
    set_roles(contents)
    _set_levels(contents)
    if all(block.kind in BEHIND_BODY for content in contents for block in content.blocks):
        for content in contents:
            content.blocks = [replace(block, kind="paragraph") for block in content.blocks]
    mark_repeated_headers(contents)
    joiner = Joiner(
        map(
            _TEXT,
            chain.from_iterable(
                line for content in contents for block in content.blocks for line in block.lines
            ),
        )
    )
    writer = _Writer(joiner)
    writer.write(passages_of(contents, joiner))
    body = len(writer.words.words)
    writer.write(
        Passage.of(block, content.page.number)
        for content in contents
        for block in content.blocks
        if block.kind in BEHIND_BODY
    )
    text = writer.words.place()
    return Draft(
        text=text,
        body_end=writer.words.ends[body - 1] if body else 0,
        pages=[content.page for content in contents],
        words=writer.words.build(),
        elements=writer.elements(),
        warnings=[warning for content in contents for warning in content.warnings],
        title=_title(contents),
    )


@dataclass(slots=True)
class _Run:
    """An element, as indexes of its words."""

    kind: ElementKind
    level: int | None
    first: int
    stop: int
    rows: tuple[RowSpan, ...] = ()
    lines: tuple[int, ...] = ()
    """Of a table: the first word of each line."""
    field: str | None = None


class _Writer:
    """Writes passages, and keeps count of the words of each element."""

    def __init__(self, joiner: Joiner) -> None:
        self.words = WordList()
        self._runs: list[_Run] = []
        self._joiner = joiner
        self._line = 0

    def write(self, passages: Iterable[Passage]) -> None:
        for passage in passages:
            self._passage(passage)

    def elements(self) -> list[Element]:
        """Return the elements, once the words are placed."""
        starts, ends = self.words.starts, self.words.ends
        return [
            Element(
                kind=run.kind,
                char_start=starts[run.first],
                char_end=ends[run.stop - 1],
                level=run.level,
                rows=self._rows(run),
                field=run.field,
            )
            for run in self._runs
        ]

    def _passage(self, passage: Passage) -> None:
        words = self.words
        if words.after:
            words.after[-1] = "\n\n"
        first = len(words.words)
        cell_ends = _cell_ends(passage.rows)
        # Where the cells of a table are not known, any line's end may be a cell's.
        joins = passage.kind != "table" or bool(cell_ends)
        starts: list[int] = []
        for page, line in passage.lines:
            at = len(words.words)
            if starts and joins and at - first not in cell_ends:
                join = self._joiner.join(words.words[-1].text, line[0].text)
                if join is not Join.NONE:
                    words.go_on(broken=join is Join.BROKEN)
            starts.append(at)
            words.add(line, page, self._line)
            self._line += 1
        stop = len(words.words)
        kind = passage.kind
        if kind in ("paragraph", "list_item"):
            found = run_in_heading(words.texts[first : first + RUN_IN_WORDS])
            if found is not None and first + found[0] < stop:
                self._runs.append(_Run("heading", found[1], first, first + found[0]))
                first += found[0]
                kind = "paragraph"
        rows = passage.rows
        lines = (*starts, stop) if rows else ()
        self._runs.append(
            _Run(kind, passage.level, first, stop, rows, lines, passage.blocks[0].field)
        )

    def _rows(self, run: _Run) -> tuple[TableRow, ...]:
        starts, ends = self.words.starts, self.words.ends
        rows: list[TableRow] = []
        line = 0
        for number, span in enumerate(run.rows, start=1):
            first, stop = run.lines[line], run.lines[line + span.lines]
            line += span.lines
            at = first
            cells: list[TableCell] = []
            for cell in span.cells:
                cells.append(
                    TableCell(
                        char_start=starts[at],
                        char_end=ends[at + cell.words - 1],
                        row=span.number or number,
                        column=cell.column,
                        row_span=cell.row_span,
                        column_span=cell.column_span,
                    )
                )
                at += cell.words
            rows.append(
                TableRow(
                    char_start=starts[first],
                    char_end=ends[stop - 1],
                    header=span.header,
                    cells=tuple(cells),
                )
            )
        return tuple(rows)


def _cell_ends(rows: tuple[RowSpan, ...]) -> frozenset[int]:
    """Return after how many words of a table a cell ends: no word goes on in the next cell."""
    ends: set[int] = set()
    count = 0
    for row in rows:
        for cell in row.cells:
            count += cell.words
            ends.add(count)
    return frozenset(ends)


def _set_levels(contents: list[PageContent]) -> None:
    """Give every title and heading a level: by its number, or by the rank of its font size."""
    sizes = sorted(
        {
            round(block.size * 2)
            for content in contents
            for block in content.blocks
            if block.kind == "heading"
            and block.level is None
            and block.size
            and numbered_depth(block.text) is None
        },
        reverse=True,
    )
    for content in contents:
        content.blocks = [_with_level(block, sizes) for block in content.blocks]


def _with_level(block: Block, sizes: list[int]) -> Block:
    if block.level is not None or block.kind not in ("title", "heading"):
        return block
    if block.kind == "title":
        return replace(block, level=1)
    level = numbered_depth(block.text)
    if level is None and block.size:
        level = min(_MAX_LEVEL, 1 + sizes.index(round(block.size * 2)))
    return replace(block, level=level or 1)


def _title(contents: list[PageContent]) -> str | None:
    """Return the text of the first title on the first page that has any words."""
    for content in contents:
        for block in content.blocks:
            if block.kind == "title":
                return " ".join(block.text.split())[:_MAX_TITLE]
        if content.blocks:
            break
    return None

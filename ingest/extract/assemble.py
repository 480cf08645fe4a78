"""Blocks of pages to one text, with a word for every non-blank character (guarantees 1 to 3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ingest.extract.blocks import Block, PageContent, PageWord, RowSpan
from ingest.extract.draft import Draft
from ingest.extract.headings import numbered_depth, run_in_heading
from ingest.extract.joins import Join, Joiner
from ingest.extract.passages import Passage, mark_repeated_headers, passages_of
from ingest.extract.roles import set_roles
from ingest.extract.words import WordList
from schemas.document import BEHIND_BODY, Element, TableCell, TableRow

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
    if not any(block.kind not in BEHIND_BODY for content in contents for block in content.blocks):
        for content in contents:
            content.blocks = [replace(block, kind="paragraph") for block in content.blocks]
    mark_repeated_headers(contents)
    joiner = Joiner(
        word.text
        for content in contents
        for block in content.blocks
        for line in block.lines
        for word in line
    )
    writer = _Writer(joiner)
    writer.write(passages_of(contents, joiner))
    body_end = writer.length
    writer.write(
        Passage.of(block, content.page.number)
        for content in contents
        for block in content.blocks
        if block.kind in BEHIND_BODY
    )
    return Draft(
        text=writer.text,
        body_end=body_end,
        pages=[content.page for content in contents],
        words=writer.words.build(),
        elements=writer.elements,
        warnings=[warning for content in contents for warning in content.warnings],
        title=_title(contents),
    )


class _Writer:
    """Writes passages, and keeps count of where each word stands."""

    def __init__(self, joiner: Joiner) -> None:
        self.length = 0
        self.words = WordList()
        self.elements: list[Element] = []
        self._parts: list[str] = []
        self._joiner = joiner
        self._line = 0

    @property
    def text(self) -> str:
        """All that was written."""
        return "".join(self._parts)

    def write(self, passages: Iterable[Passage]) -> None:
        for passage in passages:
            self._passage(passage)

    def _passage(self, passage: Passage) -> None:
        if self.length:
            self._add("\n\n")
        first = len(self.words.words)
        cell_ends = _cell_ends(passage.rows)
        # Where the cells of a table are not known, any line's end may be a cell's.
        whole = passage.kind == "table" and not cell_ends
        lines = passage.lines
        # The first word of each line and row, as indexes of words.
        starts: list[int] = []
        for number, (page, line) in enumerate(lines):
            starts.append(len(self.words.words))
            last = line[-1]
            following = lines[number + 1][1][0] if number + 1 < len(lines) else None
            join = Join.NONE
            cell_ended = whole or len(self.words.words) + len(line) - first in cell_ends
            if following is not None and not cell_ended:
                join = self._joiner.join(last.text, following.text)
            self._words(line, page, broken=join is Join.BROKEN)
            if following is not None and join is Join.NONE:
                self._add("\n")
        self._elements(passage, first, starts)

    def _words(self, line: tuple[PageWord, ...], page: int, *, broken: bool) -> None:
        words, position = self.words, self.length
        texts = [word.text for word in line]
        if broken:
            words.bare.add(len(words.words) + len(line) - 1)
            texts[-1] = texts[-1][:-1]
        for text in texts:
            words.starts.append(position)
            position += len(text)
            words.ends.append(position)
            position += 1
        words.words += line
        words.pages += [page] * len(line)
        words.lines += [self._line] * len(line)
        self._line += 1
        self._add(" ".join(texts))

    def _add(self, text: str) -> None:
        self._parts.append(text)
        self.length += len(text)

    def _elements(self, passage: Passage, first: int, lines: list[int]) -> None:
        start, end = self.words.starts[first], self.words.ends[-1]
        if passage.kind in ("paragraph", "list_item"):
            found = run_in_heading(word.text for _, line in passage.lines[:3] for word in line)
            if found is not None and first + found[0] < len(self.words.words):
                heading_end = self.words.ends[first + found[0] - 1]
                self.elements.append(
                    Element(kind="heading", char_start=start, char_end=heading_end, level=found[1])
                )
                start = self.words.starts[first + found[0]]
        self.elements.append(
            Element(
                kind=passage.kind,
                char_start=start,
                char_end=end,
                level=passage.level,
                rows=self._rows(passage.rows, first, [*lines, len(self.words.words)]),
                field=passage.blocks[0].field,
            )
        )

    def _rows(
        self, spans: tuple[RowSpan, ...], first: int, lines: list[int]
    ) -> tuple[TableRow, ...]:
        starts, ends = self.words.starts, self.words.ends
        rows: list[TableRow] = []
        line = 0
        for number, span in enumerate(spans, start=1):
            at = lines[line]
            line += span.lines
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
                    char_start=starts[lines[line - span.lines]],
                    char_end=ends[lines[line] - 1],
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

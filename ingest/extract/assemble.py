"""Blocks of pages to one text, with a word for every non-blank character (guarantees 1 to 3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ingest.extract.blocks import Block, PageContent
from ingest.extract.draft import Draft, TextBuilder
from ingest.extract.headings import numbered_depth
from schemas.document import BEHIND_BODY, Element, TableRow, Word

_MAX_LEVEL = 6
_MAX_TITLE = 300


def assemble(contents: list[PageContent]) -> Draft:
    """Join the pages into one draft.

    Words of a line are joined by a space, lines by a newline, blocks by an empty line. Headers and
    footers stand behind the body, page by page. Where nothing but headers and footers was found
    they are the body: a letterhead alone is still a document's text.
    """
    _set_levels(contents)
    if not any(block.kind not in BEHIND_BODY for content in contents for block in content.blocks):
        for content in contents:
            content.blocks = [replace(block, kind="paragraph") for block in content.blocks]
    writer = _Writer()
    writer.write(contents, furniture=False)
    body_end = writer.builder.length
    writer.write(contents, furniture=True)
    return Draft(
        text=writer.builder.text,
        body_end=body_end,
        pages=[content.page for content in contents],
        words=writer.words,
        elements=writer.elements,
        warnings=[warning for content in contents for warning in content.warnings],
        title=_title(contents),
    )


class _Writer:
    def __init__(self) -> None:
        self.builder = TextBuilder()
        self.words: list[Word] = []
        self.elements: list[Element] = []
        self._line = 0

    def write(self, contents: Iterable[PageContent], *, furniture: bool) -> None:
        for content in contents:
            for block in content.blocks:
                if (block.kind in BEHIND_BODY) == furniture:
                    self._block(block, content.page.number)

    def _block(self, block: Block, page: int) -> None:
        self.builder.separate("\n\n")
        start = self.builder.length
        spans: list[tuple[int, int]] = []
        for number, line in enumerate(block.lines):
            if number:
                self.builder.add("\n")
            line_start = self.builder.length
            for position, word in enumerate(line):
                if position:
                    self.builder.add(" ")
                char_start, char_end = self.builder.add(word.text)
                self.words.append(
                    Word(
                        char_start=char_start,
                        char_end=char_end,
                        page=page,
                        line=self._line,
                        box=word.box,
                        confidence=word.confidence,
                        source=word.source,
                    )
                )
            spans.append((line_start, self.builder.length))
            self._line += 1
        self.elements.append(
            Element(
                kind=block.kind,
                char_start=start,
                char_end=self.builder.length,
                level=block.level,
                rows=_rows(block, spans),
            )
        )


def _rows(block: Block, spans: list[tuple[int, int]]) -> tuple[TableRow, ...]:
    rows: list[TableRow] = []
    first = 0
    for row in block.rows:
        last = first + row.lines - 1
        rows.append(
            TableRow(char_start=spans[first][0], char_end=spans[last][1], header=row.header)
        )
        first = last + 1
    return tuple(rows)


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

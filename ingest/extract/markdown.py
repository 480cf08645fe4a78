"""Markdown: blocks by CommonMark and tables by GFM, in the file's own characters.

markdown-it says which lines make a block; the text stays the file's, marks included, so offsets are
those of the file. Every line that is not blank belongs to a block: what a renderer shows nothing of
(front matter, comments, link definitions) is a paragraph too, and counted in a warning.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ingest.extract.decode import decode
from ingest.extract.draft import Draft, SourceBytes
from ingest.extract.plain import Line, clause_parts, lines_of
from schemas.document import Element, ElementKind, ExtractionWarning, TableCell, TableRow

_COMMENT = re.compile(r"\s*<!--.*-->\s*", re.DOTALL)
_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*$")
_KEY = re.compile(r"(title|author)\s*[:=]\s*(.+)", re.IGNORECASE)
_PIPE = re.compile(r"(?<!\\)\|")
_MAX_LEVEL = 6


@dataclass
class _Span:
    """Lines of the file that make a block."""

    kind: ElementKind
    first: int
    stop: int
    level: int | None = None
    rows: list[tuple[int, bool]] | None = None
    """Line of each row of a table, and whether it is a header."""


def read_markdown(source: SourceBytes) -> Draft:
    """Read Markdown. Never refuses anything that can be decoded."""
    text, warnings = decode(source.data, source.options.get("encoding"))
    lines = list(lines_of(text))
    front = _front_matter(lines)
    unseen = front > 0
    spans = [_Span("paragraph", 0, front)] if front else []
    spans += _spans(text[lines[front].start :] if front < len(lines) else "", front)
    draft = Draft(text=text, body_end=len(text), warnings=warnings)
    _take_metadata(draft, lines[:front])
    done = 0
    for span in spans:
        span.first = max(span.first, done)
        _add_gap(draft, lines[done : span.first])
        done = max(done, span.stop)
        _add(draft, text, lines, span)
    _add_gap(draft, lines[done:])
    comments = sum(
        bool(_COMMENT.fullmatch(text[element.char_start : element.char_end]))
        for element in draft.elements
    )
    if unseen or comments:
        draft.warnings.append(
            ExtractionWarning(
                code="unrendered_text",
                message=f"The text has {comments} comments and {'' if unseen else 'no '}front "
                "matter, which are in the file and not on the page that is made of it.",
            )
        )
    return draft


def _spans(text: str, offset: int) -> list[_Span]:
    """Return the blocks that have text, in order; lines count from ``offset``."""
    parser = MarkdownIt("commonmark").enable("table")
    # Words inside a line are nobody's business here.
    parser.core.ruler.enableOnly(["normalize", "block"])
    spans: list[_Span] = []
    inside: list[Token] = []
    for token in parser.parse(text):
        if token.nesting < 0:
            inside.pop()
            continue
        if token.map is not None and (span := _span(token, inside, offset)) is not None:
            if span.rows is not None and spans and spans[-1].kind == "table":
                spans[-1].rows = [*(spans[-1].rows or ()), *span.rows]
            else:
                spans.append(span)
        if token.nesting > 0:
            inside.append(token)
    return spans


def _span(token: Token, inside: list[Token], offset: int) -> _Span | None:
    first, stop = (token.map[0] + offset, token.map[1] + offset) if token.map else (0, 0)
    if token.type == "heading_open":
        return _Span("heading", first, stop, int(token.tag[1]))
    if token.type == "table_open":
        return _Span("table", first, stop, rows=[])
    if token.type == "tr_open":
        header = any(outer.type == "thead_open" for outer in inside)
        return _Span("table", first, stop, rows=[(first, header)])
    if token.type in ("fence", "code_block", "html_block"):
        return _Span("paragraph", first, stop)
    if token.type == "paragraph_open":
        listed = any(outer.type == "list_item_open" for outer in inside)
        return _Span("list_item" if listed else "paragraph", first, stop)
    return None


def _add(draft: Draft, text: str, lines: list[Line], span: _Span) -> None:
    own = _trimmed(lines[span.first : span.stop])
    if not own:
        return
    if span.kind == "table":
        rows = [
            _row(lines[at], number, header)
            for number, (at, header) in enumerate(span.rows or (), start=1)
        ]
        runs = tuple(row for row in rows if row is not None)
        start = own[0].start + _indent(own[0].text)
        end = own[-1].start + len(own[-1].text.rstrip())
        if runs and runs[-1].char_end <= end:
            # The bar at the end of the last row is part of it.
            runs = (*runs[:-1], runs[-1].model_copy(update={"char_end": end}))
        _append(draft, "table", None, start, end, runs)
        return
    if span.kind in ("paragraph", "list_item") and not own[0].text.lstrip().startswith("```"):
        for level, part in clause_parts(own):
            kind: ElementKind = span.kind if level is None else "heading"
            _append(draft, kind, level, *_extent(part))
        return
    start, end = _extent(own)
    _append(draft, span.kind, span.level, start, end)
    if draft.title is None and span.kind == "heading" and span.level == 1:
        draft.title = own[0].text.strip("# \t") or None


def _add_gap(draft: Draft, lines: list[Line]) -> None:
    """Add lines that no block has: definitions of links, rules, empty items."""
    block: list[Line] = []
    for line in [*lines, Line(0, "")]:
        if line.text.strip():
            block.append(line)
        elif block:
            _append(draft, "paragraph", None, *_extent(block))
            block = []


def _append(
    draft: Draft,
    kind: ElementKind,
    level: int | None,
    start: int,
    end: int,
    rows: tuple[TableRow, ...] = (),
) -> None:
    draft.elements.append(
        Element(
            kind=kind,
            char_start=start,
            char_end=end,
            level=min(level, _MAX_LEVEL) if level else None,
            rows=rows,
            paragraph=len(draft.elements) + 1,
        )
    )


def _row(line: Line, number: int, header: bool) -> TableRow | None:
    """Return a row with its cells, which bars divide (GFM §4.10)."""
    cells: list[TableCell] = []
    bars = [match.start() for match in _PIPE.finditer(line.text)]
    edges = [-1, *bars, len(line.text)]
    column = 0
    for left, right in pairwise(edges):
        run = line.text[left + 1 : right]
        if left == -1 and bars and not run.strip(" \t>"):
            continue  # nothing stands before the first bar
        column += 1
        if run.strip():
            start = line.start + left + 1 + _indent(run)
            end = line.start + left + 1 + len(run.rstrip())
            cells.append(TableCell(char_start=start, char_end=end, row=number, column=column))
    if not cells:
        return None
    return TableRow(
        char_start=cells[0].char_start,
        char_end=cells[-1].char_end,
        header=header,
        cells=tuple(cells),
    )


def _front_matter(lines: list[Line]) -> int:
    """Return how many lines of metadata stand before the text."""
    opened = _FRONT_MATTER.match(lines[0].text) if lines else None
    if opened is None:
        return 0
    for number, line in enumerate(lines[1:], start=1):
        closed = _FRONT_MATTER.match(line.text)
        if closed and closed[1] == opened[1]:
            return number + 1
        if not line.text.strip():
            return 0  # a rule, and a paragraph below it
    return 0


def _take_metadata(draft: Draft, lines: list[Line]) -> None:
    for line in lines:
        if found := _KEY.match(line.text):
            text = found[2].strip().strip("\"'") or None
            if found[1].lower() == "title":
                draft.title = draft.title or text
            else:
                draft.author = draft.author or text


def _trimmed(lines: list[Line]) -> list[Line]:
    while lines and not lines[-1].text.strip():
        lines = lines[:-1]
    while lines and not lines[0].text.strip():
        lines = lines[1:]
    return lines


def _extent(lines: list[Line]) -> tuple[int, int]:
    last = lines[-1]
    return lines[0].start + _indent(lines[0].text), last.start + len(last.text.rstrip())


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())

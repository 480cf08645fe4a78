"""The blocks of a web page in the order of its DOM: headings, paragraphs, items, tables.

Text is what a browser lays out: white space collapses as CSS Text 3 §4.1 has it, and what is never
shown (scripts, templates, elements that are hidden by an attribute) is left out. Style sheets are
not looked at. The number of an item is text only where the list says which kind of number it has,
which authors do where items are referred to by it (HTML §4.4.5).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from ingest.extract.composing import Cell, Row, tidy
from ingest.extract.docx_numbering import write_number
from ingest.extract.package import Node, integer
from schemas.document import ElementKind

_BLANKS = re.compile(r"[ \t\r\n\f]+")
_HIDDEN_STYLE = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_NEVER_TEXT = frozenset(
    {
        *("script", "style", "noscript", "template", "head", "iframe", "frameset", "object"),
        *("embed", "svg", "canvas", "audio", "video", "map", "select", "datalist", "textarea"),
        *("input", "button", "progress", "meter", "dialog", "rp", "rt"),
    }
)
_BLOCKS = frozenset(
    {
        *("html", "body", "address", "article", "aside", "blockquote", "center", "details"),
        *("dd", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1"),
        *("h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "legend", "li", "main", "menu"),
        *("nav", "ol", "p", "pre", "search", "section", "summary", "table", "ul", "caption"),
        *("tbody", "thead", "tfoot", "tr", "td", "th"),
    }
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_KINDS: dict[str, ElementKind] = {
    "li": "list_item",
    "figcaption": "caption",
    "caption": "caption",
}
_NUMBER_TYPES = {
    "1": "decimal",
    "a": "lowerLetter",
    "A": "upperLetter",
    "i": "lowerRoman",
    "I": "upperRoman",
}
_MAX_CELL = 1_000
"""A cell with more characters is a column of a page that is laid out by a table."""
_MAX_SPAN = 1_000


@dataclass(slots=True)
class HtmlBlock:
    """A run of the page's text with its role."""

    kind: ElementKind
    text: str
    node: Node
    """The element that the block is the text of, or a part of the text of."""
    level: int | None = None
    rows: list[Row] = field(default_factory=list)
    linked: int = 0
    """Characters inside links."""


def blocks_of_page(root: Node) -> list[HtmlBlock]:
    """Return the blocks under ``root`` in document order; none is blank."""
    walker = _Walker()
    walker.walk(root)
    walker.flush(root)
    return walker.blocks


def name_of(node: Node) -> str:
    """Return an element's name in lower case, without a namespace; empty for comments."""
    tag = node.tag
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


def is_link(node: Node) -> bool:
    """Tell whether an element leads to another page."""
    return name_of(node) == "a" and not (node.get("href") or "#").startswith("#")


def is_hidden(node: Node) -> bool:
    """Tell whether an element's own attributes keep it from being shown."""
    return node.get("hidden") is not None or bool(_HIDDEN_STYLE.search(node.get("style") or ""))


class _Walker:
    def __init__(self) -> None:
        self.blocks: list[HtmlBlock] = []
        self._parts: list[str] = []
        self._linked = 0
        self._in_link = 0
        self._preserve = 0
        self._label = ""
        self._roles: list[str] = []

    def walk(self, node: Node) -> None:
        name = name_of(node)
        if not name or name in _NEVER_TEXT or is_hidden(node):
            return
        if name == "br":
            self._break(node)
            return
        if name == "table" and (rows := _data_rows(node)):
            self.flush(node)
            self._table(node, rows)
            return
        is_block = name in _BLOCKS
        if is_block:
            self.flush(node.getparent() if node.getparent() is not None else node)
        self._enter(node, name)
        self._add(node.text)
        for child in node:
            self.walk(child)
            self._add(child.tail)
        if is_block:
            self.flush(node)
        self._leave(node, name)

    def flush(self, node: Node) -> None:
        """End the block that is being collected, which is a part of ``node``."""
        text = tidy("".join(self._parts))
        linked, self._linked, self._parts = self._linked, 0, []
        if not text:
            return
        role = next((r for r in reversed(self._roles) if r in _HEADINGS or r in _KINDS), "")
        kind = "heading" if role in _HEADINGS else _KINDS.get(role, "paragraph")
        if self._label and kind == "list_item":
            text = f"{self._label} {text}"
        self._label = ""
        if kind == "heading":
            text = " ".join(text.split())
        self.blocks.append(HtmlBlock(kind, text, node, _HEADINGS.get(role), linked=linked))

    def _enter(self, node: Node, name: str) -> None:
        if name in _BLOCKS:
            self._roles.append(name)
        self._in_link += is_link(node)
        self._preserve += name == "pre"
        if name == "li":
            self._label = _item_label(node)

    def _leave(self, node: Node, name: str) -> None:
        if name in _BLOCKS:
            self._roles.pop()
        self._in_link -= is_link(node)
        self._preserve -= name == "pre"

    def _break(self, node: Node) -> None:
        # Two line breaks are how a paragraph ends where there are no paragraphs.
        if self._parts and "".join(self._parts[-2:]).rstrip(" ").endswith("\n"):
            self.flush(node.getparent())
        else:
            self._parts.append("\n")

    def _add(self, text: str | None) -> None:
        if not text:
            return
        if not self._preserve:
            text = _BLANKS.sub(" ", text)
            # White space at the start of a line and after other white space collapses.
            if text.startswith(" ") and (not self._parts or self._parts[-1][-1:] in " \n"):
                text = text[1:]
        if text:
            self._parts.append(text)
            self._linked += len(text) if self._in_link else 0

    def _table(self, node: Node, rows: list[Row]) -> None:
        for caption in node:
            if name_of(caption) == "caption" and (text := _flat_text(caption)):
                self.blocks.append(HtmlBlock("caption", text, caption))
        linked = sum(len(_flat_text(link)) for link in node.iter() if is_link(link))
        text = "\n".join(" ".join(cell.text for cell in row.cells) for row in rows)
        self.blocks.append(HtmlBlock("table", text, node, rows=rows, linked=linked))


def _data_rows(table: Node) -> list[Row]:
    """Return the rows of a table of data; none where it only lays a page out."""
    rows: list[Row] = []
    taken: dict[int, int] = {}
    """Rows that a cell above still covers, by column."""
    columns = 0
    for number, (node, in_head) in enumerate(_table_rows(table), start=1):
        row = Row()
        column = 1
        names: list[str] = []
        for cell in node:
            if name_of(cell) not in ("td", "th") or is_hidden(cell):
                continue
            while taken.get(column, 0) >= number:
                column += 1
            text = _flat_text(cell)
            if _is_layout(cell, text):
                return []
            row_span = min(max(integer(cell.get("rowspan"), 1), 1), _MAX_SPAN)
            column_span = min(max(integer(cell.get("colspan"), 1), 1), _MAX_SPAN)
            for covered in range(column, column + column_span):
                taken[covered] = number + row_span - 1
            if text:
                row.cells.append(Cell(text, number, column, row_span, column_span))
                names.append(name_of(cell))
            column += column_span
        columns = max(columns, len(row.cells))
        row.header = bool(names) and (in_head or set(names) == {"th"})
        if row.cells:
            rows.append(row)
    if columns < 2:
        return []
    if all(row.header for row in rows):
        for row in rows[1:]:
            row.header = False
    return rows


def _is_layout(cell: Node, text: str) -> bool:
    if len(text) > _MAX_CELL:
        return True
    inner = [name_of(node) for node in cell.iter()]
    return "table" in inner or "article" in inner or any(name in _HEADINGS for name in inner)


def _table_rows(table: Node, *, in_head: bool = False) -> Iterator[tuple[Node, bool]]:
    for node in table:
        name = name_of(node)
        if name == "tr" and not is_hidden(node):
            yield node, in_head
        elif name in ("thead", "tbody", "tfoot"):
            yield from _table_rows(node, in_head=name == "thead")


def _flat_text(node: Node) -> str:
    """Return the text of a cell or a link on one line."""
    walker = _Walker()
    for child in [node]:
        walker._add(child.text)
        for inner in child:
            walker.walk(inner)
            walker._add(inner.tail)
    walker.flush(node)
    return " ".join(" ".join(block.text.split()) for block in walker.blocks)


def _item_label(node: Node) -> str:
    """Return the number of an item whose list says how items are numbered."""
    parent = node.getparent()
    if parent is None or name_of(parent) != "ol":
        return ""
    named = parent.get("type") or parent.get("start") or node.get("value")
    if not named or "list-style" in (parent.get("style") or ""):
        return ""
    number = integer(parent.get("start"), 1) - 1
    for item in parent:
        if name_of(item) == "li":
            number = integer(item.get("value"), number + 1)
        if item is node:
            break
    return write_number(number, _NUMBER_TYPES.get(parent.get("type") or "1", "decimal")) + "."

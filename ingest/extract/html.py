"""HTML, through unstructured, which leaves out navigation, scripts and forms.

unstructured gives no offsets, and no two of its elements are a run of the source, so the canonical
text is made of its elements' texts, one after the other, and offsets are recorded as they are
added. Tables are rebuilt from their cells: unstructured joins all of them by spaces.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from ingest.extract.decode import clean, decode
from ingest.extract.draft import Draft, SourceBytes, TextBuilder
from ingest.extract.headings import clause_level
from ingest.extract.offline import load_partition_html
from schemas.document import Element, ElementKind, TableRow

_KINDS: dict[str, ElementKind] = {
    "Title": "heading",
    "ListItem": "list_item",
    "Table": "table",
    "FigureCaption": "caption",
    "Header": "header",
    "Footer": "footer",
}
"""unstructured's categories; every other one that has text is a paragraph."""
_SKIPPED = frozenset({"Image", "PageBreak"})
"""An image's alternative text is not on the page as displayed."""
_MAX_LEVEL = 6
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.:-]+)", re.IGNORECASE)


def read_html(source: SourceBytes) -> Draft:
    """Read a web page."""
    data = source.data
    text, warnings = decode(data, source.options.get("encoding") or _declared_encoding(data))
    partition_html = load_partition_html()
    builder = TextBuilder()
    elements: list[Element] = []
    # "languages" off: detection per page would be done twice, and here without a seed.
    for part in partition_html(text=text, languages=[""]):
        if part.category in _SKIPPED:
            continue
        element = _add(builder, part, len(elements) + 1)
        if element is not None:
            elements.append(element)
    head = _Head()
    head.feed(text)
    return Draft(
        text=builder.text,
        body_end=builder.length,
        elements=elements,
        warnings=warnings,
        title=head.best_title,
        author=head.author,
    )


def _add(builder: TextBuilder, part: Any, number: int) -> Element | None:
    kind = _KINDS.get(part.category, "paragraph")
    level = None
    if kind == "table":
        rows = _table_rows(part.metadata.text_as_html or "")
        if rows:
            return _add_table(builder, rows, number)
        kind = "paragraph"
    text = clean(part.text or "").strip()
    if not text:
        return None
    if kind == "heading":
        level = min(_MAX_LEVEL, 1 + (part.metadata.category_depth or 0))
    elif kind == "paragraph" and (level := clause_level(text)) is not None:
        kind = "heading"
    builder.separate("\n\n")
    start, end = builder.add(text)
    return Element(kind=kind, char_start=start, char_end=end, level=level, paragraph=number)


def _add_table(builder: TextBuilder, rows: list[tuple[str, bool]], number: int) -> Element:
    builder.separate("\n\n")
    start = builder.length
    runs: list[TableRow] = []
    for text, header in rows:
        if runs:
            builder.add("\n")
        row_start, row_end = builder.add(text)
        runs.append(TableRow(char_start=row_start, char_end=row_end, header=header))
    return Element(
        kind="table",
        char_start=start,
        char_end=builder.length,
        rows=tuple(runs),
        paragraph=number,
    )


def _table_rows(markup: str) -> list[tuple[str, bool]]:
    parser = _Table()
    parser.feed(markup)
    parser.close()
    return parser.rows


def _declared_encoding(data: bytes) -> str | None:
    """Return the encoding that the page declares, where Python knows it and no BOM overrules it."""
    head = data[:4096]
    if head.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        return None
    found = _XML_ENCODING.search(head) or _CHARSET.search(head)
    if not found:
        return None
    name = found[1].decode("ascii").lower()
    if name.startswith("utf-16"):
        return "utf-8"  # a declaration that could be read as ASCII is wrong (HTML §13.2.3.2)
    if name in ("iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii"):
        return None  # browsers read these labels as Windows-1252, as decode() does
    try:
        "".encode(name)
    except LookupError:
        return None
    return name


class _Head(HTMLParser):
    """Finds the page's title and author."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.author: str | None = None
        self._texts: dict[str, str] = {}
        self._inside: str | None = None

    @property
    def best_title(self) -> str | None:
        """The <title>, else the first <h1>."""
        for tag in ("title", "h1"):
            title = " ".join(clean(self._texts.get(tag, "")).split())
            if title:
                return title
        return None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("title", "h1") and tag not in self._texts:
            self._inside, self._texts[tag] = tag, ""
        elif tag == "meta" and (given.get("name") or "").lower() == "author" and not self.author:
            self.author = " ".join(clean(given.get("content") or "").split()) or None

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside:
            self._texts[self._inside] += data


class _Table(HTMLParser):
    """Collects a table's rows as text, cells joined by a space, and whether all are headers."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.rows: list[tuple[str, bool]] = []
        self._cells: list[tuple[str, bool]] = []
        self._text: str | None = None
        self._header = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("td", "th"):
            self._end_cell()
            self._text, self._header = "", tag == "th"
        elif tag == "tr":
            self._end_row()

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._end_cell()
        elif tag in ("tr", "table"):
            self._end_row()

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self._text += data

    def _end_cell(self) -> None:
        if self._text is not None and (text := " ".join(clean(self._text).split())):
            self._cells.append((text, self._header))
        self._text = None

    def _end_row(self) -> None:
        self._end_cell()
        if self._cells:
            texts, headers = zip(*self._cells, strict=True)
            self.rows.append((" ".join(texts), all(headers)))
        self._cells = []

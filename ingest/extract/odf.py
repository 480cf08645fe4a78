"""Open Document texts, spreadsheets and presentations (.odt, .ods, .odp and their templates).

The parts are read with lxml: odfdo gives the text of an element with its notes, comments and
deletions mixed in, and no numbers of lists. Places are as in the formats of Microsoft's: the
number of a paragraph, sheet and cells, or the number of a slide. Cells of a sheet hold the text
that they show beside their value, so nothing has to be formatted here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ingest.extract import media
from ingest.extract.composing import Cell, Composer, Place, Row, count_of, tidy
from ingest.extract.draft import Draft, SourceBytes, damaged, too_many_pages
from ingest.extract.grid import tables_of
from ingest.extract.headings import clause_level
from ingest.extract.odf_inline import (
    DRAW,
    OFFICE,
    PRESENTATION,
    STYLE,
    TABLE,
    TEXT,
    Content,
    Inline,
    ListNumbers,
)
from ingest.extract.package import Node, Package, dublin_core, integer, password_needed
from schemas.document import ElementKind

_CONTAINERS = frozenset(
    {
        *(TEXT + tag for tag in ("section", "index-body", "index-title")),
        *(
            TEXT + tag
            for tag in ("table-of-content", "alphabetical-index", "bibliography", "user-index")
        ),
        *(TEXT + tag for tag in ("illustration-index", "table-index", "object-index")),
        *(DRAW + tag for tag in ("text-box", "g", "a")),
    }
)
_REPEATED = frozenset({"page-number", "date-time", "footer", "header"})
_ROW_GROUPS = frozenset(
    TABLE + tag for tag in ("table-header-rows", "table-rows", "table-row-group")
)
_COLUMN_GROUPS = frozenset(
    TABLE + tag for tag in ("table-header-columns", "table-columns", "table-column-group")
)
_MAX_COLUMN = 16_384


class _Item(NamedTuple):
    """Where a paragraph is in a list."""

    number: str
    level: int


def read_odf(source: SourceBytes) -> Draft:
    """Read an Open Document file.

    Raises:
        ItemError: damaged, archive_bomb, unsafe_xml, password_needed, too_many_pages,
            too_many_characters.
    """
    package = Package(source)
    manifest = package.read("META-INF/manifest.xml")
    if manifest is not None and b":encryption-data" in manifest:
        raise password_needed(source.name)
    try:
        return _Document(package, source).draft()
    except RecursionError as error:
        raise damaged(source.name, "its elements are nested too deep") from error


class _Document:
    """Walks the content and composes its text."""

    def __init__(self, package: Package, source: SourceBytes) -> None:
        content = package.tree("content.xml")
        body = content.find(f"{OFFICE}body") if content is not None else None
        if content is None or body is None or not len(body):
            raise damaged(source.name, "it has no part content.xml with a body")
        self._source = source
        self._content: Node = content
        self._body: Node = body
        styles = package.tree("styles.xml")
        self._styles = [root for root in (styles, content) if root is not None]
        self._inline = Inline(self._styles)
        self._numbers = ListNumbers(self._styles)
        self._composer = Composer(source)
        self._notes: list[tuple[str, Node]] = []
        self._hidden = 0
        title, creator = dublin_core(package.tree("meta.xml"))
        self._composer.title, self._composer.author = title, creator

    def draft(self) -> Draft:
        """Return the document as a draft."""
        if self._source.media_type == media.ODS:
            for sheet in self._body.iter(f"{TABLE}table"):
                if sheet.getparent().getparent() is self._body:
                    self._sheet(sheet)
        elif self._source.media_type == media.ODP:
            self._slides()
        else:
            for child in self._body:
                self._blocks(child)
            self._write_notes()
            self._headers()
        self._warn()
        return self._composer.draft()

    # --- blocks ------------------------------------------------------------------------------

    def _blocks(self, container: Node, **place: int) -> None:
        where = Place(slide=place["slide"]) if "slide" in place else Place()
        for node, item in self._paragraphs(container):
            if node.tag == f"{TABLE}table":
                self._composer.add_table(self._table(node), **where)
            elif node.tag == f"{DRAW}frame":
                self._inline.counts["pictures"] += 1
            else:
                self._paragraph(node, item, where)

    def _paragraphs(
        self, container: Node, item: _Item | None = None
    ) -> Iterator[tuple[Node, _Item | None]]:
        """Yield paragraphs, headings and tables in order, with their place in a list."""
        for node in container:
            if node.tag in (f"{TEXT}p", f"{TEXT}h", f"{TABLE}table"):
                yield node, item
                item = _Item("", item.level) if item else None
            elif node.tag == f"{TEXT}list":
                style = node.get(f"{TEXT}style-name") or ""
                yield from self._list(node, style, 0, self._numbers.begin(node, style))
            elif node.tag in _CONTAINERS:
                yield from self._paragraphs(node, item)
            elif node.tag in (f"{DRAW}frame", f"{DRAW}custom-shape"):
                yield from self._frame(node)
            elif node.tag == f"{TEXT}tracked-changes":
                self._inline.counts["deletions"] += sum(1 for _ in node.iter(f"{TEXT}deletion"))

    def _frame(self, node: Node) -> Iterator[tuple[Node, _Item | None]]:
        inner = list(self._paragraphs(node))
        yield from inner
        if not inner and node.find(f"{DRAW}image") is not None:
            yield node, None

    def _list(
        self, node: Node, style: str, level: int, counters: list[int | None]
    ) -> Iterator[tuple[Node, _Item | None]]:
        for entry in node:
            if entry.tag not in (f"{TEXT}list-item", f"{TEXT}list-header"):
                continue
            first = True
            for child in entry:
                if child.tag == f"{TEXT}list":
                    inner = child.get(f"{TEXT}style-name") or style
                    yield from self._list(child, inner, level + 1, counters)
                elif child.tag in (f"{TEXT}p", f"{TEXT}h"):
                    number = ""
                    if first and entry.tag == f"{TEXT}list-item":
                        number = self._numbers.item(entry, style, level, counters)
                    first = False
                    yield child, _Item(number, level)

    def _paragraph(self, node: Node, item: _Item | None, place: Place) -> None:
        content = self._inline.read(node)
        text = tidy(content.text)
        number = item.number if item else ""
        level: int | None = None
        kind: ElementKind = "list_item" if item else "paragraph"
        if node.tag == f"{TEXT}h":
            level = integer(node.get(f"{TEXT}outline-level"), 1)
            kind = "heading"
            if item is None and node.get(f"{TEXT}is-list-header") != "true":
                number = self._numbers.heading(node, level)
        shown = f"{number} {text}" if number and text else text
        if kind != "heading" and (level := clause_level(shown)) is not None:
            kind = "heading"
        if node.get(f"{TEXT}style-name") == "Title" and text:
            kind, level = "title", 1
            self._composer.title = self._composer.title or " ".join(text.split())
        self._composer.add(kind, shown, level, **place)
        self._beside(content, place)

    def _beside(self, content: Content, place: Place) -> None:
        """Add what a paragraph anchors: text boxes, notes for the end, comments, hidden text."""
        for box in content.boxes:
            for inner, item in self._paragraphs(_wrapped(box)):
                if inner.tag == f"{TABLE}table":
                    self._composer.add_table(self._table(inner), **place)
                elif inner.tag == f"{DRAW}frame":
                    self._inline.counts["pictures"] += 1
                else:
                    self._paragraph(inner, item, place)
        self._notes += content.notes
        for annotation in content.annotations:
            self._composer.add("annotation", "\n".join(self._lines(annotation)), **place)
        hidden = tidy("".join(content.hidden))
        self._hidden += len(hidden)
        self._composer.add("hidden", hidden, **place)

    def _lines(self, container: Node) -> list[str]:
        """Return the lines of a cell, a note or a header."""
        lines: list[str] = []
        for node, item in self._paragraphs(container):
            if node.tag == f"{TABLE}table":
                rows = self._table(node)
                lines += (" ".join(cell.text for cell in row.cells if cell.text) for row in rows)
                continue
            if node.tag == f"{DRAW}frame":
                self._inline.counts["pictures"] += 1
                continue
            content = self._inline.read(node)
            text = tidy(content.text)
            number = item.number if item else ""
            lines.append(f"{number} {text}" if number and text else text)
            for box in content.boxes:
                lines += self._lines(_wrapped(box))
            self._notes += content.notes
            for annotation in content.annotations:
                self._composer.add("annotation", "\n".join(self._lines(annotation)))
        return [line for line in lines if line]

    # --- tables ------------------------------------------------------------------------------

    def _table(self, table: Node) -> list[Row]:
        rows: list[Row] = []
        for number, (node, header) in enumerate(_rows(table), start=1):
            row = Row(header=header)
            column = 1
            for cell in node:
                if cell.tag == f"{TABLE}table-cell":
                    text = "\n".join(self._lines(cell))
                    row.cells.append(
                        Cell(text, number, column, _span(cell, "rows"), _span(cell, "columns"))
                    )
                column += integer(cell.get(f"{TABLE}number-columns-repeated"), 1)
            rows.append(row)
        return rows

    def _sheet(self, sheet: Node) -> None:
        name = tidy(sheet.get(f"{TABLE}name") or "") or "Sheet"
        visible = not self._style_says(sheet, TABLE, "table-properties", f"{TABLE}display", "false")
        shown: list[Row] = []
        covert: list[Row] = []
        headers: set[int] = set()
        hidden_columns = _hidden_columns(sheet)
        number = 1
        characters = 0
        for node, header in _rows(sheet):
            repeated = max(integer(node.get(f"{TABLE}number-rows-repeated"), 1), 1)
            cells = self._cells(node)
            concealed = node.get(f"{TABLE}visibility") in ("collapse", "filter") or not visible
            for row_number in range(number, number + repeated) if cells else ():
                row, aside = Row(), Row()
                for cell in cells:
                    characters += len(cell.text) + 1
                    self._composer.check_length(characters)
                    target = aside if concealed or cell.column in hidden_columns else row
                    target.cells.append(
                        Cell(cell.text, row_number, cell.column, cell.row_span, cell.column_span)
                    )
                if row.cells:
                    shown.append(row)
                if aside.cells:
                    covert.append(aside)
                if header:
                    headers.add(row_number)
            number += repeated
        if shown:
            self._composer.add("heading", name, 1, sheet=name)
        for table in tables_of(shown, headers):
            self._composer.add_table(table, sheet=name)
        self._inline.counts["hidden_sheets"] += not visible
        self._inline.counts["hidden_rows"] += len(covert) if visible else 0
        lines = (" ".join(cell.text for cell in row.cells) for row in covert)
        self._composer.add("hidden", "\n".join(lines), sheet=name)

    def _cells(self, row: Node) -> list[Cell]:
        """Return the cells of a row that have text; each has its column, and row 1."""
        cells: list[Cell] = []
        column = 1
        for node in row:
            repeated = max(integer(node.get(f"{TABLE}number-columns-repeated"), 1), 1)
            if node.tag == f"{TABLE}table-cell" and len(node):
                text = "\n".join(self._lines(node))
                for note in node.iterfind(f"{OFFICE}annotation"):
                    self._composer.add("annotation", "\n".join(self._lines(note)))
                if text:
                    last = min(column + repeated, _MAX_COLUMN + 1)
                    spans = _span(node, "rows"), _span(node, "columns")
                    cells += (Cell(text, 1, at, *spans) for at in range(column, last))
            column += repeated
        return cells

    # --- presentations -----------------------------------------------------------------------

    def _slides(self) -> None:
        pages = list(self._body.iter(f"{DRAW}page"))
        limit = self._source.settings.limits.pages
        if len(pages) > limit:
            raise too_many_pages(self._source.name, len(pages), limit)
        for number, page in enumerate(pages, start=1):
            hidden = self._style_says(
                page, DRAW, "drawing-page-properties", f"{PRESENTATION}visibility", "hidden"
            )
            self._inline.counts["hidden_slides"] += hidden
            shapes = [node for node in page if node.tag != f"{PRESENTATION}notes"]
            shapes.sort(key=lambda node: node.get(f"{PRESENTATION}class") != "title")
            for shape in shapes:
                role = shape.get(f"{PRESENTATION}class")
                if role in _REPEATED:
                    continue
                if hidden:
                    lines = self._lines(_wrapped(shape))
                    self._composer.add("hidden", "\n".join(lines), slide=number)
                elif role == "title":
                    title = " ".join(" ".join(self._lines(_wrapped(shape))).split())
                    self._composer.add("heading", title, 1, slide=number)
                else:
                    self._blocks(_wrapped(shape), slide=number)
            for notes in page.iterfind(f"{PRESENTATION}notes"):
                for frame in notes.iterfind(f"{DRAW}frame"):
                    if frame.get(f"{PRESENTATION}class") not in _REPEATED:
                        lines = self._lines(_wrapped(frame))
                        self._composer.add("annotation", "\n".join(lines), slide=number)

    # --- other parts -------------------------------------------------------------------------

    def _write_notes(self) -> None:
        # A note can hold another one, which is added while the list is read.
        for mark, body in self._notes:
            self._composer.add("footnote", f"{mark} " + "\n".join(self._lines(body)))

    def _headers(self) -> None:
        done: set[tuple[str, str]] = set()
        kinds: tuple[tuple[str, ElementKind], ...] = (("header", "header"), ("footer", "footer"))
        masters = (m for root in self._styles for m in root.iter(f"{STYLE}master-page"))
        for node in (node for master in masters for node in master):
            for prefix, kind in kinds:
                text = "\n".join(self._lines(node))
                if node.tag.startswith(STYLE + prefix) and (kind, text) not in done:
                    done.add((kind, text))
                    self._composer.add(kind, text)

    def _style_says(self, node: Node, prefix: str, tag: str, name: str, value: str) -> bool:
        style = node.get(f"{prefix}style-name")
        for properties in self._content.iter(STYLE + tag):
            if properties.getparent().get(f"{STYLE}name") == style:
                return bool(properties.get(name) == value)
        return False

    def _warn(self) -> None:
        counts, warn = self._inline.counts, self._composer.warn
        if counts["deletions"] or counts["insertions"]:
            warn(
                "tracked_changes",
                f"{count_of(counts['insertions'], 'insertion', 'insertions')} that nobody has "
                "accepted or rejected are text, "
                f"{count_of(counts['deletions'], 'deletion', 'deletions')} are left out.",
            )
        if self._hidden:
            warn(
                "hidden_text",
                f"{count_of(self._hidden, 'character is', 'characters are')} formatted as hidden "
                "and stand behind the body.",
            )
        if counts["hidden_sheets"] or counts["hidden_rows"]:
            warn(
                "hidden_cells",
                f"{count_of(counts['hidden_sheets'], 'sheet is', 'sheets are')} hidden, and in the "
                f"others {count_of(counts['hidden_rows'], 'row has', 'rows have')} cells that the "
                "sheet does not show; they stand behind the body.",
            )
        if counts["hidden_slides"]:
            warn(
                "hidden_slides",
                f"{count_of(counts['hidden_slides'], 'slide is', 'slides are')} left out of the "
                "show; their text stands behind the body.",
            )
        if counts["pictures"]:
            warn(
                "pictures_not_read",
                f"{count_of(counts['pictures'], 'picture was', 'pictures were')} not looked at; "
                "text in them is not in the document's text.",
            )


class _Wrapped(list[Node]):
    """A container of one node, so that a shape is walked like the content of a page."""


def _wrapped(node: Node) -> Node:
    return _Wrapped([node])


def _rows(table: Node, *, header: bool = False) -> Iterator[tuple[Node, bool]]:
    for node in table:
        if node.tag == f"{TABLE}table-row":
            yield node, header
        elif node.tag in _ROW_GROUPS:
            yield from _rows(node, header=header or node.tag == f"{TABLE}table-header-rows")


def _hidden_columns(sheet: Node) -> set[int]:
    hidden: set[int] = set()
    column = 1
    for node in _columns(sheet):
        repeated = max(integer(node.get(f"{TABLE}number-columns-repeated"), 1), 1)
        if node.get(f"{TABLE}visibility") in ("collapse", "filter"):
            hidden.update(range(column, min(column + repeated, _MAX_COLUMN + 1)))
        column += repeated
    return hidden


def _columns(container: Node) -> Iterator[Node]:
    for node in container:
        if node.tag == f"{TABLE}table-column":
            yield node
        elif node.tag in _COLUMN_GROUPS:
            yield from _columns(node)


def _span(cell: Node, of: str) -> int:
    return max(integer(cell.get(f"{TABLE}number-{of}-spanned"), 1), 1)

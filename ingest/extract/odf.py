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
from ingest.extract.composing import Composer, Place, tidy
from ingest.extract.draft import Draft, SourceBytes, damaged, too_many_pages
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
    style_says,
)
from ingest.extract.odf_tables import SheetReader, read_table
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
            sheets = SheetReader(self._content, self._composer, self._lines)
            for sheet in self._body.iter(f"{TABLE}table"):
                if sheet.getparent().getparent() is self._body:
                    sheets.add(sheet)
            self._inline.counts += sheets.counts
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
                self._composer.add_table(read_table(node, self._lines), **where)
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
                    self._composer.add_table(read_table(inner, self._lines), **place)
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
                rows = read_table(node, self._lines)
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

    # --- presentations -----------------------------------------------------------------------

    def _slides(self) -> None:
        pages = list(self._body.iter(f"{DRAW}page"))
        limit = self._source.settings.limits.pages
        if len(pages) > limit:
            raise too_many_pages(self._source.name, len(pages), limit)
        for number, page in enumerate(pages, start=1):
            hidden = style_says(
                self._content,
                page.get(f"{DRAW}style-name"),
                "drawing-page-properties",
                f"{PRESENTATION}visibility",
                "hidden",
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

    def _warn(self) -> None:
        counts, composer = self._inline.counts, self._composer
        composer.warn_tracked_changes(counts["insertions"], counts["deletions"])
        composer.warn_hidden_text(self._hidden)
        composer.warn_hidden_cells(counts["hidden_sheets"], counts["hidden_rows"])
        composer.warn_hidden_slides(counts["hidden_slides"])
        composer.warn_pictures(counts["pictures"])


class _Wrapped(list[Node]):
    """A container of one node, so that a shape is walked like the content of a page."""


def _wrapped(node: Node) -> Node:
    return _Wrapped([node])

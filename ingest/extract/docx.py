"""Word documents (.docx, .docm, .dotx, .dotm).

The parts are read with lxml by the letter of ECMA-376: python-docx and unstructured leave out the
numbers of numbered paragraphs, text boxes, notes, comments, content controls and tracked
insertions, and a contract without its clause numbers cannot be cited. Where a page ends is not in
the file, so there are no pages: a place is the number of a paragraph. Macros are never looked at.

The number of a numbered paragraph stands before its text, a space between them; bullets are not
text. The mark of a note is written as a raised figure where it is referred to and before the note,
and the notes stand at the end of the body. Headers, footers, comments and hidden text stand behind
the body, deletions nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from ingest.extract.composing import Cell, Composer, Row, count_of, tidy
from ingest.extract.docx_inline import Content, Inline
from ingest.extract.docx_numbering import Label, Numbering
from ingest.extract.docx_styles import ParagraphStyle, Styles, W, flag, value
from ingest.extract.draft import Draft, SourceBytes, damaged
from ingest.extract.headings import clause_level
from ingest.extract.package import RELATIONSHIPS, Node, Package, integer
from schemas.document import ElementKind

_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_TEXTPATH = "{urn:schemas-microsoft-com:vml}textpath"
_NOTE_STYLES = {"footnote": "decimal", "endnote": "lowerRoman"}
_SEPARATORS = frozenset({"separator", "continuationSeparator", "continuationNotice"})
_LONG_HEADING = 200
_SENTENCE_WORDS = 12
"""Contracts set whole clauses in heading styles, for their numbers; those are no headings."""


def read_docx(source: SourceBytes) -> Draft:
    """Read a Word document.

    Raises:
        ItemError: damaged, archive_bomb, unsafe_xml, password_needed, too_many_characters.
    """
    package = Package(source)
    try:
        return _Document(package, source).draft()
    except RecursionError as error:
        raise damaged(source.name, "its elements are nested too deep") from error


class _Document:
    """Walks the parts of a document and composes its text."""

    def __init__(self, package: Package, source: SourceBytes) -> None:
        self._package = package
        self._part = package.main_part("word/document.xml")
        root = package.tree(self._part)
        body = root.find(f"{W}body") if root is not None else None
        if root is None or body is None:
            raise damaged(source.name, f"it has no part {self._part} with a body")
        self._root = root
        self._body: Node = body
        self._related = package.relationships(self._part)
        self._styles = Styles(self._tree_of("styles"))
        self._numbering = Numbering(self._tree_of("numbering"), self._styles)
        self._inline = Inline(self._styles, self._note_styles())
        self._composer = Composer(source)
        self._carried: list[str] = []
        self._hidden = 0

    def draft(self) -> Draft:
        """Return the document as a draft."""
        composer = self._composer
        composer.title, composer.author = self._package.core_properties()
        composer.dates = self._package.core_dates()
        self._blocks(self._body)
        self._flush_carried()
        self._notes()
        self._headers()
        comments = self._tree_of("comments")
        for comment in comments if comments is not None else ():
            composer.add("annotation", "\n".join(self._lines(comment)))
        self._warn()
        return composer.draft()

    # --- blocks ------------------------------------------------------------------------------

    def _blocks(self, container: Node) -> None:
        for node in _block_nodes(container):
            if node.tag == f"{W}p":
                self._paragraph(node)
            else:
                self._table(node)

    def _paragraph(self, node: Node) -> None:
        text, content, label, style = self._read(node)
        if text is None:
            return
        outline = self._outline(node, style)
        kind, level = _role(text, label, style, outline)
        self._composer.add(kind, text, level)
        if kind == "title" and self._composer.title is None and tidy(text):
            self._composer.title = " ".join(text.split())
        for box in content.boxes:
            self._blocks(box)

    def _outline(self, node: Node, style: ParagraphStyle) -> int | None:
        own = value(node.find(f"{W}pPr"), "outlineLvl")
        if own is None:
            return style.outline
        given = integer(own, 9)
        return given if 0 <= given < 9 else None

    def _read(
        self, node: Node, mark: str = ""
    ) -> tuple[str | None, Content, Label | None, ParagraphStyle]:
        """Return a paragraph's text with its number; None where it goes on in the next one."""
        properties = node.find(f"{W}pPr")
        style = self._styles.paragraph(value(properties, "pStyle"))
        content = self._inline.read(node, mark=mark, hidden=style.hidden)
        self._keep_hidden(content)
        marks = properties.find(f"{W}rPr") if properties is not None else None
        if marks is not None and (
            marks.find(f"{W}del") is not None or marks.find(f"{W}moveFrom") is not None
        ):
            # A deleted paragraph mark joins the paragraph with the next (§17.13.5.15).
            self._carried.append(content.text)
            return None, content, None, style
        text = "".join([*self._carried, content.text])
        self._carried = []
        label = self._numbering.label(properties, style)
        if label is not None and label.text and tidy(text):
            text = f"{label.text} {text.lstrip()}"
        return text, content, label, style

    def _flush_carried(self) -> None:
        self._composer.add("paragraph", "".join(self._carried))
        self._carried = []

    def _keep_hidden(self, content: Content) -> None:
        text = tidy("".join(content.hidden))
        if text:
            self._hidden += len(text)
            self._composer.add("hidden", text)

    # --- tables ------------------------------------------------------------------------------

    def _table(self, table: Node) -> None:
        rows = [row for row in _rows(table) if not self._is_deleted(row)]
        if all(len(_cells(row)) <= 1 for row in rows):
            # A frame around text, not a table.
            for row in rows:
                for cell in _cells(row):
                    self._blocks(cell)
            return
        self._composer.add_table(self._grid(rows))

    def _grid(self, rows: list[Node]) -> list[Row]:
        grid: list[Row] = []
        spanning: dict[int, Cell] = {}
        in_head = True
        for number, row in enumerate(rows, start=1):
            properties = row.find(f"{W}trPr")
            marked = flag(properties, "tblHeader")
            column = 1 + integer(value(properties, "gridBefore"), 0)
            made = Row()
            bold = True
            for node in _cells(row):
                settings = node.find(f"{W}tcPr")
                width = max(integer(value(settings, "gridSpan"), 1), 1)
                merge = settings.find(f"{W}vMerge") if settings is not None else None
                continued = merge is not None and merge.get(f"{W}val") != "restart"
                plain_before = self._plain_runs(node)
                text = "\n".join(self._lines(node))
                bold = bold and (not text or not plain_before)
                if continued and column in spanning:
                    spanning[column].row_span = number - spanning[column].row + 1
                else:
                    spanning.pop(column, None)
                cell = Cell(text, number, column, column_span=width)
                if merge is not None and not continued:
                    spanning[column] = cell
                if text:
                    made.cells.append(cell)
                column += width
            # Rows that repeat on each page, or a first row in bold (§17.4.49).
            in_head = in_head and bool(
                marked or (marked is None and number == 1 and bold and len(rows) > 1)
            )
            made.header = in_head
            grid.append(made)
        return grid

    def _plain_runs(self, cell: Node) -> bool:
        """Tell whether a run of the cell with text is not bold."""
        for run in cell.iter(f"{W}r"):
            text = "".join(node.text or "" for node in run.iter(f"{W}t"))
            if text.strip() and not flag(run.find(f"{W}rPr"), "b"):
                return True
        return False

    def _is_deleted(self, row: Node) -> bool:
        properties = row.find(f"{W}trPr")
        deleted = properties is not None and properties.find(f"{W}del") is not None
        self._inline.counts["deletions"] += deleted
        return deleted

    def _lines(self, container: Node, mark: str = "") -> list[str]:
        """Return the lines of a cell, a note or a header: its paragraphs, and rows of tables."""
        lines: list[str] = []
        for node in _block_nodes(container):
            if node.tag == f"{W}p":
                text, content, _, _ = self._read(node, mark)
                lines.append(tidy(text or ""))
                for box in content.boxes:
                    lines += self._lines(box)
                continue
            for row in _rows(node):
                if not self._is_deleted(row):
                    cells = ("\n".join(self._lines(cell)) for cell in _cells(row))
                    lines.append(" ".join(cell for cell in cells if cell))
        if self._carried:
            lines.append(tidy("".join(self._carried)))
            self._carried = []
        return [line for line in lines if line]

    # --- other parts -------------------------------------------------------------------------

    def _notes(self) -> None:
        parts = {kind: self._notes_by_id(kind) for kind in _NOTE_STYLES}
        read: set[tuple[str, str]] = set()
        # A note can refer to another one, which then follows.
        while waiting := [key for key in self._inline.notes if key not in read]:
            for key in waiting:
                read.add(key)
                kind, note_id = key
                if (note := parts[kind].get(note_id)) is not None:
                    text = "\n".join(self._lines(note, self._inline.notes[key]))
                    self._composer.add("footnote", text)

    def _notes_by_id(self, kind: str) -> dict[str, Node]:
        root = self._tree_of(f"{kind}s")
        return {
            node.get(f"{W}id") or "": node
            for node in (root if root is not None else ())
            if node.get(f"{W}type") not in _SEPARATORS
        }

    def _note_styles(self) -> dict[str, str]:
        settings = self._tree_of("settings")
        found = dict(_NOTE_STYLES)
        for kind in found:
            given = settings.find(f"{W}{kind}Pr") if settings is not None else None
            found[kind] = value(given, "numFmt") or found[kind]
        return found

    def _headers(self) -> None:
        done: set[str] = set()
        kinds: tuple[tuple[str, ElementKind], ...] = (
            ("headerReference", "header"),
            ("footerReference", "footer"),
        )
        for section in self._root.iter(f"{W}sectPr"):
            for tag, kind in kinds:
                for node in section.findall(W + tag):
                    related = self._related.get(node.get(f"{{{RELATIONSHIPS}}}id") or "")
                    if related is None or related.target in done:
                        continue
                    done.add(related.target)
                    root = self._package.tree(related.target)
                    if root is not None:
                        self._composer.add(kind, "\n".join(self._lines(root)))
                        for path in root.iter(_TEXTPATH):
                            self._composer.add("watermark", path.get("string") or "")

    def _tree_of(self, kind: str) -> Node | None:
        for related in self._related.values():
            if related.kind == kind:
                return self._package.tree(related.target)
        return None

    def _warn(self) -> None:
        counts, composer = self._inline.counts, self._composer
        composer.warn_tracked_changes(counts["insertions"], counts["deletions"])
        composer.warn_hidden_text(self._hidden)
        composer.warn_pictures(counts["pictures"])
        embedded = sum(
            related.kind in ("oleObject", "package", "aFChunk")
            for related in self._related.values()
        )
        if embedded:
            composer.warn(
                "embedded_not_read",
                f"{count_of(embedded, 'embedded file was', 'embedded files were')} not read.",
            )


def _role(
    text: str, label: Label | None, style: ParagraphStyle, outline: int | None
) -> tuple[ElementKind, int | None]:
    if style.name == "title" and (label is None or not label.text):
        return "title", 1
    if style.name == "caption":
        return "caption", None
    # A line of a table of contents has the words of a heading and heads nothing.
    contents = style.name.startswith(("toc ", "table of figures", "contents "))
    if outline is not None and not contents and not _is_sentence(text):
        return "heading", outline + 1
    if not contents and (level := clause_level(text)) is not None:
        return "heading", level
    if label is not None or style.name.startswith("list"):
        return "list_item", None
    return "paragraph", None


def _is_sentence(text: str) -> bool:
    text = text.strip()
    ends = text.endswith((".", ";", ",", ":"))
    return len(text) > _LONG_HEADING or (ends and len(text.split()) > _SENTENCE_WORDS)


_CONTAINERS = frozenset(
    f"{W}{tag}" for tag in ("sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag")
)


def _inside(container: Node, wanted: frozenset[str]) -> Iterator[Node]:
    """Yield the wanted children, also those inside content controls and alternatives."""
    for node in container:
        if node.tag in wanted:
            yield node
        elif node.tag in _CONTAINERS:
            yield from _inside(node, wanted)
        elif node.tag == f"{_MC}AlternateContent" and len(node):
            yield from _inside(node[0], wanted)


_BLOCK_TAGS = frozenset({f"{W}p", f"{W}tbl"})
_ROW_TAGS = frozenset({f"{W}tr"})
_CELL_TAGS = frozenset({f"{W}tc"})


def _block_nodes(container: Node) -> Iterator[Node]:
    yield from _inside(container, _BLOCK_TAGS)


def _rows(table: Node) -> list[Node]:
    return list(_inside(table, _ROW_TAGS))


def _cells(row: Node) -> list[Node]:
    return list(_inside(row, _CELL_TAGS))

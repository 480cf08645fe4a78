"""Excel workbooks (.xlsx, .xlsm, .xltx, .xltm).

The sheets are read with lxml as a stream of rows; openpyxl gives only the tables of formats and
dates. openpyxl's own read-only sheets know neither merged cells nor hidden rows, walk through every
cell that a sparse sheet doesn't have, and refuse workbooks for a fault in their styles.

The name of a sheet is a heading, its tables follow; a place is a sheet and a range of cells. Values
are as the sheet shows them, formulas by the value that was last calculated. Sheets, rows and
columns that are hidden stand behind the body, as notes do. Macros are never looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from openpyxl.styles.numbers import BUILTIN_FORMATS  # type: ignore[import-untyped]
from openpyxl.utils.cell import range_boundaries  # type: ignore[import-untyped]

from ingest.extract.composing import Cell, Composer, Row, count_of, tidy
from ingest.extract.draft import Draft, SourceBytes, damaged
from ingest.extract.grid import Range, span_cells, tables_of
from ingest.extract.number_formats import GENERAL, shown_number, shown_text
from ingest.extract.package import RELATIONSHIPS, Node, Package, integer, iterate
from schemas.document import ElementKind

S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_XDR = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"
_SHEET_TAGS = tuple(S + tag for tag in ("row", "col", "mergeCell", "pane"))
_MAX_COLUMN = 16_384
_MAX_ROW = 1_048_576


def read_xlsx(source: SourceBytes) -> Draft:
    """Read an Excel workbook.

    Raises:
        ItemError: damaged, archive_bomb, unsafe_xml, password_needed, too_many_characters.
    """
    package = Package(source)
    try:
        return _Workbook(package, source).draft()
    except RecursionError as error:
        raise damaged(source.name, "its elements are nested too deep") from error


@dataclass
class _Sheet:
    """What one pass over a sheet finds."""

    rows: list[Row] = field(default_factory=list)
    hidden: list[Row] = field(default_factory=list)
    hidden_columns: list[tuple[int, int]] = field(default_factory=list)
    merged: list[Range] = field(default_factory=list)
    headers: set[int] = field(default_factory=set)


class _Workbook:
    """Reads the sheets in the order of their tabs."""

    def __init__(self, package: Package, source: SourceBytes) -> None:
        self._package = package
        self._source = source
        self._part = package.main_part("xl/workbook.xml")
        root = package.tree(self._part)
        if root is None:
            raise damaged(source.name, f"it has no part {self._part}")
        self._root: Node = root
        self._related = package.relationships(self._part)
        properties = root.find(f"{S}workbookPr")
        epoch = properties.get("date1904") if properties is not None else None
        self._mac_epoch = epoch in ("1", "true")
        self._composer = Composer(source)
        self._characters = 0
        self._strings = self._shared_strings()
        self._formats = self._cell_formats()
        self._counts: Counter[str] = Counter()

    def draft(self) -> Draft:
        """Return the workbook as a draft."""
        self._composer.title, self._composer.author = self._package.core_properties()
        self._composer.dates = self._package.core_dates()
        for sheet in self._root.iterfind(f"{S}sheets/{S}sheet"):
            related = self._related.get(sheet.get(f"{{{RELATIONSHIPS}}}id") or "")
            known = related is not None and related.target in self._package
            if related is None or not known or related.kind != "worksheet":
                self._counts["sheets_not_read"] += 1
                continue
            name = tidy(sheet.get("name") or "") or "Sheet"
            self._sheet(name, related.target, visible=sheet.get("state") in (None, "visible"))
        self._warn()
        return self._composer.draft()

    def _sheet(self, name: str, part: str, *, visible: bool) -> None:
        related = self._package.relationships(part)
        sheet = self._read(part, {r.target for r in related.values() if r.kind == "table"})
        if visible:
            if sheet.rows:
                self._composer.add("heading", name, 1, sheet=name)
            span_cells(sheet.rows, sheet.merged)
            for table in tables_of(sheet.rows, sheet.headers):
                self._composer.add_table(table, sheet=name)
            self._counts["hidden_rows"] += len(sheet.hidden)
        else:
            sheet.hidden = sorted([*sheet.rows, *sheet.hidden], key=lambda row: row.cells[0].row)
            self._counts["hidden_sheets"] += 1
        self._composer.add(
            "hidden",
            "\n".join(" ".join(cell.text for cell in row.cells) for row in sheet.hidden),
            sheet=name,
        )
        for relationship in related.values():
            if relationship.kind == "drawing":
                self._drawing(relationship.target, name, visible=visible)
            elif relationship.kind in ("comments", "threadedComment"):
                self._notes(relationship.target, name)

    # --- cells -------------------------------------------------------------------------------

    def _read(self, part: str, tables: set[str]) -> _Sheet:
        sheet = _Sheet()
        for table in tables:
            root = self._package.tree(table)
            area = _range(root.get("ref")) if root is not None else None
            if root is not None and area and root.get("headerRowCount") != "0":
                sheet.headers.add(area[0])
        number = 0
        for node in iterate(self._package, part, _SHEET_TAGS, self._source):
            match node.tag.removeprefix(S):
                case "row":
                    number = integer(node.get("r"), number + 1)
                    if 0 < number <= _MAX_ROW:
                        self._row(node, number, sheet)
                case "col" if _is_true(node.get("hidden")):
                    first = integer(node.get("min"), 0)
                    sheet.hidden_columns.append((first, integer(node.get("max"), first)))
                case "mergeCell":
                    if area := _range(node.get("ref")):
                        sheet.merged.append(area)
                case "pane" if (node.get("state") or "").startswith("frozen"):
                    # Rows that never scroll away are headers, if they are not half of the screen.
                    split = integer(node.get("ySplit"), 0)
                    sheet.headers.update(range(1, split + 1) if split <= 10 else ())
        return sheet

    def _row(self, node: Node, number: int, sheet: _Sheet) -> None:
        shown, hidden = Row(), Row()
        column = 0
        row_is_hidden = _is_true(node.get("hidden"))
        for cell in node.iterfind(f"{S}c"):
            column = _column(cell.get("r")) or column + 1
            if column > _MAX_COLUMN:
                break
            text, covert = self._value(cell)
            text = tidy(text)
            if not text:
                continue
            self._characters += len(text)
            self._composer.check_length(self._characters)
            in_hidden = any(first <= column <= last for first, last in sheet.hidden_columns)
            target = hidden if row_is_hidden or in_hidden or covert else shown
            target.cells.append(Cell(text, number, column))
        if shown.cells:
            sheet.rows.append(shown)
        if hidden.cells:
            sheet.hidden.append(hidden)

    def _value(self, cell: Node) -> tuple[str, bool]:
        """Return what a cell shows, and whether its format hides that."""
        kind = cell.get("t") or "n"
        if kind == "inlineStr":
            return shown_text(_rich_text(cell.find(f"{S}is")), self._format(cell)), False
        raw = cell.findtext(f"{S}v")
        if not raw:
            # An empty text is a value too.
            self._counts["formulas"] += kind != "str" and cell.find(f"{S}f") is not None
            return "", False
        match kind:
            case "s":
                index = integer(raw, -1)
                text = self._strings[index] if 0 <= index < len(self._strings) else ""
                return shown_text(text, self._format(cell)), False
            case "b":
                return ("TRUE" if raw.strip() in ("1", "true") else "FALSE"), False
            case "n":
                try:
                    value = float(raw)
                    text = shown_number(value, self._format(cell), mac_epoch=self._mac_epoch)
                except (ValueError, OverflowError):
                    return raw, False
                return (text, False) if text else (raw, True)
            case "d":
                return raw.removesuffix("T00:00:00").replace("T", " "), False
        return raw, False

    def _format(self, cell: Node) -> str:
        index = integer(cell.get("s"), 0)
        return self._formats[index] if 0 <= index < len(self._formats) else GENERAL

    def _shared_strings(self) -> list[str]:
        for relationship in self._related.values():
            if relationship.kind == "sharedStrings" and relationship.target in self._package:
                nodes = iterate(self._package, relationship.target, (f"{S}si",), self._source)
                return list(self._texts(nodes))
        return []

    def _texts(self, nodes: Iterator[Node]) -> Iterator[str]:
        for node in nodes:
            yield _rich_text(node)

    def _cell_formats(self) -> list[str]:
        for relationship in self._related.values():
            if relationship.kind == "styles":
                root = self._package.tree(relationship.target)
                break
        else:
            root = None
        if root is None:
            return []
        codes = dict(BUILTIN_FORMATS)
        for node in root.iterfind(f"{S}numFmts/{S}numFmt"):
            codes[integer(node.get("numFmtId"), 0)] = node.get("formatCode") or GENERAL
        return [
            codes.get(integer(node.get("numFmtId"), 0), GENERAL)
            for node in root.iterfind(f"{S}cellXfs/{S}xf")
        ]

    # --- beside the cells --------------------------------------------------------------------

    def _drawing(self, part: str, name: str, *, visible: bool) -> None:
        root = self._package.tree(part)
        for node in root.iter() if root is not None else ():
            if node.tag == f"{_XDR}pic":
                self._counts["pictures"] += 1
            elif node.tag == f"{_XDR}graphicFrame":
                self._counts["charts"] += 1
            elif node.tag == f"{_XDR}txBody":
                lines = (
                    "".join(text.text or "" for text in paragraph.iter(f"{_A}t"))
                    for paragraph in node.iter(f"{_A}p")
                )
                kind: ElementKind = "paragraph" if visible else "hidden"
                self._composer.add(kind, "\n".join(lines), sheet=name)

    def _notes(self, part: str, name: str) -> None:
        root = self._package.tree(part)
        for node in root.iter() if root is not None else ():
            if _local(node) not in ("comment", "threadedComment"):
                continue
            for body in node:
                if _local(body) == "text":
                    texts = (n.text or "" for n in body.iter() if n is body or _local(n) == "t")
                    self._composer.add("annotation", "".join(texts), sheet=name)

    def _warn(self) -> None:
        counts, warn = self._counts, self._composer.warn
        self._composer.warn_hidden_cells(counts["hidden_sheets"], counts["hidden_rows"])
        if counts["formulas"]:
            warn(
                "formula_without_value",
                f"{count_of(counts['formulas'], 'formula was', 'formulas were')} never calculated "
                "and have no value. Open the workbook and save it, then retry the item.",
            )
        if counts["pictures"] or counts["charts"] or counts["sheets_not_read"]:
            warn(
                "pictures_not_read",
                f"{count_of(counts['pictures'], 'picture', 'pictures')}, "
                f"{count_of(counts['charts'], 'chart', 'charts')} and "
                f"{count_of(counts['sheets_not_read'], 'other sheet', 'other sheets')} were not "
                "read; text in them is not in the document's text.",
            )


def _rich_text(node: Node | None) -> str:
    """Return the text of a string item, without its pronunciation (ECMA-376-1 §18.4.6)."""
    if node is None:
        return ""
    runs = (node.findtext(f"{S}t"), *(run.findtext(f"{S}t") for run in node.iterfind(f"{S}r")))
    return "".join(run for run in runs if run)


def _local(node: Node) -> str:
    name: str = node.tag
    return name.rpartition("}")[2]


def _column(reference: str | None) -> int | None:
    """Return the number of the column that a reference such as "AB12" names."""
    number = 0
    for letter in (reference or "").rstrip("0123456789").upper():
        if not "A" <= letter <= "Z":
            return None
        number = 26 * number + ord(letter) - ord("A") + 1
    return number or None


def _range(reference: str | None) -> Range | None:
    try:
        first, top, last, bottom = range_boundaries(reference or "")
    except (ValueError, TypeError):
        return None
    if None in (first, top, last, bottom):
        return None
    return top, first, bottom, last


def _is_true(given: str | None) -> bool:
    return given in ("1", "true")

"""PowerPoint presentations (.pptx, .pptm, .potx, .ppsx).

The parts are read with lxml: python-pptx knows neither SmartArt nor alternative contents, and fails
on presentations that PowerPoint opens. A place is the number of a slide in the order of the show.

The title of a slide is a heading and comes first; the other shapes follow in their order on the
slide, which is the one a screen reader takes. Speaker notes are annotations and stand behind the
body with the comments, as nobody in the audience sees them; so do slides that the show leaves out,
as hidden text. Slide numbers, dates and footers repeat on every slide and are no text of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ingest.extract.composing import Cell, Composer, Row, count_of, tidy
from ingest.extract.docx_numbering import write_number
from ingest.extract.draft import Draft, SourceBytes, damaged, too_many_pages
from ingest.extract.package import RELATIONSHIPS, Node, Package, integer
from schemas.document import ElementKind

P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_TITLES = frozenset({"title", "ctrTitle"})
_REPEATED = frozenset({"sldNum", "dt", "ftr", "hdr", "sldImg"})
_BULLETS = frozenset({f"{A}buChar", f"{A}buAutoNum", f"{A}buBlip"})


def read_pptx(source: SourceBytes) -> Draft:
    """Read a PowerPoint presentation.

    Raises:
        ItemError: damaged, archive_bomb, unsafe_xml, password_needed, too_many_pages,
            too_many_characters.
    """
    package = Package(source)
    try:
        return _Presentation(package, source).draft()
    except RecursionError as error:
        raise damaged(source.name, "its elements are nested too deep") from error


class _Presentation:
    """Reads the slides in the order of the show."""

    def __init__(self, package: Package, source: SourceBytes) -> None:
        self._package = package
        self._composer = Composer(source)
        self._counts: Counter[str] = Counter()
        part = package.main_part("ppt/presentation.xml")
        root = package.tree(part)
        if root is None:
            raise damaged(source.name, f"it has no part {part}")
        related = package.relationships(part)
        ids = [node.get(f"{{{RELATIONSHIPS}}}id") for node in root.iter(f"{P}sldId")]
        self._slides = [related[key].target for key in ids if key in related]
        limit = source.settings.limits.pages
        if len(self._slides) > limit:
            raise too_many_pages(source.name, len(self._slides), limit)

    def draft(self) -> Draft:
        """Return the presentation as a draft."""
        self._composer.title, self._composer.author = self._package.core_properties()
        self._composer.dates = self._package.core_dates()
        for number, part in enumerate(self._slides, start=1):
            root = self._package.tree(part)
            if root is None:
                self._counts["missing"] += 1
                continue
            self._slide(root, part, number)
        self._warn()
        return self._composer.draft()

    def _slide(self, root: Node, part: str, number: int) -> None:
        related = self._package.relationships(part)
        visible = root.get("show") not in ("0", "false")
        self._counts["hidden"] += not visible
        shapes = list(_shapes(root.find(f"{P}cSld/{P}spTree")))
        # False sorts first, so titles do; the order of the others stays.
        shapes.sort(key=lambda shape: _placeholder(shape) not in _TITLES)
        for shape in shapes:
            if _placeholder(shape) in _REPEATED:
                continue
            if visible:
                self._shape(shape, number)
            else:
                self._composer.add("hidden", "\n".join(_all_text(shape)), slide=number)
        for relationship in related.values():
            if relationship.kind == "notesSlide":
                self._notes(relationship.target, number)
            elif relationship.kind == "comments":
                self._comments(relationship.target, number)

    def _shape(self, shape: Node, number: int) -> None:
        kind = shape.tag.removeprefix(P)
        if kind == "pic":
            self._counts["pictures"] += 1
        elif kind == "graphicFrame":
            self._frame(shape, number)
        elif (body := shape.find(f"{P}txBody")) is not None:
            self._body(body, _placeholder(shape), number)

    def _body(self, body: Node, placeholder: str | None, number: int) -> None:
        paragraphs = [(node, _text(node)) for node in body.iter(f"{A}p")]
        if placeholder in _TITLES:
            text = " ".join(" ".join(text.split()) for _, text in paragraphs if text.strip())
            self._composer.add("heading", text, 1, slide=number)
            if self._composer.title is None and placeholder == "ctrTitle":
                self._composer.title = text or None
            return
        numbers = _AutoNumbers()
        for node, text in paragraphs:
            properties = node.find(f"{A}pPr")
            label = numbers.label(properties, bool(tidy(text)))
            listed = placeholder in ("body", "obj", "outline") or (
                properties is not None and any(child.tag in _BULLETS for child in properties)
            )
            kind: ElementKind = "list_item" if listed else "paragraph"
            self._composer.add(kind, f"{label} {tidy(text)}" if label else text, slide=number)

    def _frame(self, frame: Node, number: int) -> None:
        table = next(frame.iter(f"{A}tbl"), None)
        if table is not None:
            self._composer.add_table(_table(table), slide=number)
            return
        data = next(frame.iter(f"{_DGM}relIds"), None)
        if data is None:
            self._counts["charts"] += 1
            return
        related = self._package.relationships(self._slides[number - 1])
        key = data.get(f"{{{RELATIONSHIPS}}}dm")
        root = self._package.tree(related[key].target) if key in related else None
        for point in root.iter(f"{_DGM}pt") if root is not None else ():
            for node in point.iter(f"{A}p"):
                self._composer.add("paragraph", _text(node), slide=number)

    def _notes(self, part: str, number: int) -> None:
        root = self._package.tree(part)
        for shape in _shapes(root.find(f"{P}cSld/{P}spTree") if root is not None else None):
            if _placeholder(shape) not in _REPEATED:
                self._composer.add("annotation", "\n".join(_all_text(shape)), slide=number)

    def _comments(self, part: str, number: int) -> None:
        root = self._package.tree(part)
        for node in root if root is not None else ():
            text = node.findtext(f"{P}text") or "\n".join(_all_text(node))
            self._composer.add("annotation", text, slide=number)

    def _warn(self) -> None:
        counts, warn = self._counts, self._composer.warn
        self._composer.warn_hidden_slides(counts["hidden"])
        if counts["pictures"] or counts["charts"]:
            warn(
                "pictures_not_read",
                f"{count_of(counts['pictures'], 'picture', 'pictures')} and "
                f"{count_of(counts['charts'], 'chart or object', 'charts or objects')} were not "
                "read; text in them is not in the document's text.",
            )
        if counts["missing"]:
            warn(
                "slides_missing",
                f"{count_of(counts['missing'], 'slide is', 'slides are')} named by the "
                "presentation and not in the file.",
            )


class _AutoNumbers:
    """Counts numbered paragraphs of one shape, level by level."""

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def label(self, properties: Node | None, has_text: bool) -> str:
        """Return the number that a paragraph shows; empty for none."""
        if properties is None:
            self._counts.clear()
            return ""
        level = integer(properties.get("lvl"), 0)
        for deeper in [other for other in self._counts if other > level]:
            del self._counts[deeper]
        style = properties.find(f"{A}buAutoNum")
        if style is None:
            self._counts.pop(level, None)
            return ""
        if not has_text:
            return ""
        start = integer(style.get("startAt"), 1)
        self._counts[level] = self._counts.get(level, start - 1) + 1
        return _auto_number(self._counts[level], style.get("type") or "arabicPeriod")


def _auto_number(number: int, style: str) -> str:
    """Write a number as ECMA-376-1 §20.1.10.61 names its styles, such as "alphaLcParenBoth"."""
    formats = {
        "alphaLc": "lowerLetter",
        "alphaUc": "upperLetter",
        "romanLc": "lowerRoman",
        "romanUc": "upperRoman",
    }
    known = next((name for name in formats if style.startswith(name)), None)
    written = write_number(number, formats[known] if known else "decimal")
    if style.endswith("ParenBoth"):
        return f"({written})"
    return written + (")" if style.endswith("ParenR") else "" if style.endswith("Plain") else ".")


def _shapes(tree: Node | None) -> Iterator[Node]:
    """Yield the shapes of a slide in order, those inside groups one by one."""
    for node in tree if tree is not None else ():
        if node.tag == f"{P}grpSp":
            yield from _shapes(node)
        elif node.tag == f"{_MC}AlternateContent":
            if len(node):
                yield from _shapes(node[0])
        elif node.tag in (f"{P}sp", f"{P}pic", f"{P}graphicFrame", f"{P}cxnSp"):
            yield node


def _placeholder(shape: Node) -> str | None:
    """Return the type of a placeholder; None for a shape of the slide's own."""
    node = next(shape.iter(f"{P}ph"), None)
    return None if node is None else node.get("type") or "obj"


def _text(paragraph: Node) -> str:
    parts: list[str] = []
    for node in paragraph:
        if node.tag == f"{A}br":
            parts.append("\n")
        elif node.tag == f"{A}r" or (
            node.tag == f"{A}fld" and not (node.get("type") or "").startswith("slidenum")
        ):
            parts.append(node.findtext(f"{A}t") or "")
        elif node.tag.startswith(_MC) or "math" in node.tag:
            chosen = node[0] if node.tag.startswith(_MC) and len(node) else node
            parts += (inner.text or "" for inner in chosen.iter() if inner.tag.endswith("}t"))
    return "".join(parts).replace("\x0b", "\n")


def _all_text(shape: Node) -> list[str]:
    return [text for node in shape.iter(f"{A}p") if (text := tidy(_text(node)))]


def _table(table: Node) -> list[Row]:
    properties = table.find(f"{A}tblPr")
    headed = properties is not None and properties.get("firstRow") in ("1", "true")
    rows: list[Row] = []
    for number, node in enumerate(table.iterfind(f"{A}tr"), start=1):
        row = Row(header=headed and number == 1)
        for column, cell in enumerate(node.iterfind(f"{A}tc"), start=1):
            # A cell that a merged one covers keeps its place in the grid, and no text.
            if cell.get("hMerge") in ("1", "true") or cell.get("vMerge") in ("1", "true"):
                continue
            spans = (max(integer(cell.get(name), 1), 1) for name in ("rowSpan", "gridSpan"))
            row.cells.append(Cell("\n".join(_all_text(cell)), number, column, *spans))
        rows.append(row)
    if len(rows) < 2:
        for row in rows:
            row.header = False
    return rows

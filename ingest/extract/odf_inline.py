"""Text of Open Document paragraphs, and the numbers of their lists (Open Document 1.3 part 3)."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from ingest.extract.docx_numbering import write_number
from ingest.extract.package import Node, integer

OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
PRESENTATION = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"
_XML_ID = "{http://www.w3.org/XML/1998/namespace}id"

_BLANKS = re.compile(r"[ \t\r\n]+")
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_LAYOUT_FIELDS = frozenset(TEXT + tag for tag in ("page-number", "page-count", "bookmark-ref-page"))
_NOT_TEXT = frozenset(
    {
        f"{TEXT}tracked-changes",
        f"{TEXT}ruby-text",
        f"{TEXT}note-citation",
        f"{OFFICE}event-listeners",
        "{http://www.w3.org/2000/svg}title",
        "{http://www.w3.org/2000/svg}desc",
        "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}title",
        "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}desc",
    }
)
_FORMATS = {
    "1": "decimal",
    "a": "lowerLetter",
    "A": "upperLetter",
    "i": "lowerRoman",
    "I": "upperRoman",
}
_MAX_REPEAT = 10_000
_LEVELS = 10


@dataclass
class Content:
    """What a paragraph holds."""

    shown: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    boxes: list[Node] = field(default_factory=list)
    """Text boxes that are anchored here."""
    notes: list[tuple[str, Node]] = field(default_factory=list)
    """Mark and body of the notes that are referred to here."""
    annotations: list[Node] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The shown text."""
        return "".join(self.shown)


class Inline:
    """Reads paragraphs and counts what it leaves out."""

    def __init__(self, styles: list[Node]) -> None:
        self._hiding = {
            node.get(f"{STYLE}name")
            for root in styles
            for node in root.iter(f"{STYLE}style")
            for properties in node.iterfind(f"{STYLE}text-properties")
            if properties.get(f"{TEXT}display") == "none"
        }
        self.counts: Counter[str] = Counter()

    def read(self, paragraph: Node) -> Content:
        """Return what ``paragraph`` holds."""
        content = Content()
        self._walk(paragraph, content, self._hides(paragraph))
        return content

    def _hides(self, node: Node) -> bool:
        return node.get(f"{TEXT}style-name") in self._hiding

    def _walk(self, parent: Node, content: Content, hidden: bool) -> None:
        self._add(parent.text, content, hidden)
        for node in parent:
            self._node(node, content, hidden)
            self._add(node.tail, content, hidden)

    def _node(self, node: Node, content: Content, hidden: bool) -> None:
        target = content.hidden if hidden else content.shown
        match node.tag:
            case t if t == f"{TEXT}s":
                target.append(" " * min(integer(node.get(f"{TEXT}c"), 1), _MAX_REPEAT))
            case t if t == f"{TEXT}tab":
                target.append("\t")
            case t if t == f"{TEXT}line-break":
                target.append("\n")
            case t if t == f"{TEXT}note":
                mark = (node.findtext(f"{TEXT}note-citation") or "").strip()
                raised = mark.translate(_SUPERSCRIPT) if mark.isdecimal() else f"[{mark}]"
                target.append(raised if mark else "")
                if (body := node.find(f"{TEXT}note-body")) is not None:
                    content.notes.append((raised, body))
            case t if t == f"{OFFICE}annotation":
                content.annotations.append(node)
            case t if t in (f"{DRAW}frame", f"{DRAW}custom-shape", f"{DRAW}g", f"{DRAW}a"):
                content.boxes.append(node)
            case t if t in _LAYOUT_FIELDS or t in _NOT_TEXT:
                return
            case t if t == f"{TEXT}hidden-text":
                content.hidden.append(node.get(f"{TEXT}string-value") or "")
            case t if t == f"{TEXT}change-start":
                self.counts["insertions"] += 1
            case _:
                self._walk(node, content, hidden or self._hides(node))

    def _add(self, text: str | None, content: Content, hidden: bool) -> None:
        if not text:
            return
        target = content.hidden if hidden else content.shown
        text = _BLANKS.sub(" ", text)
        # White space is collapsed over the borders of elements (part 3 §6.1.2).
        if text.startswith(" ") and target and target[-1].endswith(" "):
            text = text[1:]
        target.append(text)


def style_says(content: Node, style: str | None, tag: str, name: str, value: str) -> bool:
    """Tell whether the properties that a style of the content has in ``tag`` say ``value``."""
    for properties in content.iter(STYLE + tag):
        if properties.getparent().get(f"{STYLE}name") == style:
            return bool(properties.get(name) == value)
    return False


@dataclass(frozen=True, slots=True)
class _Level:
    number_format: str
    prefix: str
    suffix: str
    shown_levels: int
    start: int


class ListNumbers:
    """Counts the items of lists, and headings, and tells their numbers (part 3 §5.3, §16.30)."""

    def __init__(self, styles: list[Node]) -> None:
        self._styles: dict[str | None, dict[int, _Level]] = {}
        for root in styles:
            for node in root.iter(f"{TEXT}list-style", f"{TEXT}outline-style"):
                key = node.get(f"{STYLE}name") if node.tag == f"{TEXT}list-style" else None
                self._styles[key] = dict(map(_level, node))
        self._counts: dict[str | None, list[int | None]] = {}
        self._by_id: dict[str, list[int | None]] = {}

    def begin(self, node: Node, style: str | None) -> list[int | None]:
        """Return the counters for a list that begins: its own, or those that it continues."""
        continued = self._by_id.get(node.get(f"{TEXT}continue-list") or "")
        if continued is None and node.get(f"{TEXT}continue-numbering") == "true":
            continued = self._counts.get(style)
        counters: list[int | None] = continued if continued is not None else [None] * _LEVELS
        self._counts[style] = counters
        if key := node.get(_XML_ID):
            self._by_id[key] = counters
        return counters

    def heading(self, node: Node, level: int) -> str:
        """Count a heading outside of lists and return its number; empty for none."""
        counters = self._counts.setdefault(None, [None] * _LEVELS)
        return self.item(node, None, level - 1, counters)

    def item(self, node: Node, style: str | None, level: int, counters: list[int | None]) -> str:
        """Count an item and return its number; empty for a bullet."""
        level = min(max(level, 0), _LEVELS - 1)
        levels = self._styles.get(style, {})
        start = levels[level].start if level in levels else 1
        current = counters[level]
        given = node.get(f"{TEXT}start-value")
        if given is not None:
            counters[level] = integer(given, start)
        else:
            counters[level] = start if current is None else current + 1
        counters[level + 1 :] = [None] * (_LEVELS - level - 1)
        own = levels.get(level)
        if own is None or not own.number_format:
            return ""
        parts: list[str] = []
        for other in range(max(level - own.shown_levels + 1, 0), level + 1):
            shown = levels.get(other)
            if shown is not None and shown.number_format:
                count = counters[other]
                number = shown.start if count is None else count
                parts.append(write_number(number, _FORMATS.get(shown.number_format, "decimal")))
        return f"{own.prefix}{'.'.join(parts)}{own.suffix}".strip()


def _level(node: Node) -> tuple[int, _Level]:
    return integer(node.get(f"{TEXT}level"), 1) - 1, _Level(
        number_format=node.get(f"{STYLE}num-format") or "",
        prefix=node.get(f"{STYLE}num-prefix") or "",
        suffix=node.get(f"{STYLE}num-suffix") or "",
        shown_levels=integer(node.get(f"{TEXT}display-levels"), 1),
        start=integer(node.get(f"{TEXT}start-value"), 1),
    )

"""The text of a Word paragraph: what its page shows, which its runs alone don't say.

Tracked insertions are text and deletions are not; the result of a field is text unless it is a page
number, which only a layout knows; of alternative contents the first is read (ECMA-376-3 §7.5).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ingest.extract.docx_numbering import write_number
from ingest.extract.docx_styles import Styles, W, flag, is_on, value
from ingest.extract.package import Node, integer

_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_PICTURES = frozenset(
    {
        "{http://schemas.openxmlformats.org/drawingml/2006/picture}pic",
        "{urn:schemas-microsoft-com:vml}imagedata",
    }
)
_LAYOUT_FIELDS = frozenset({"PAGE", "NUMPAGES", "SECTIONPAGES", "PAGEREF"})
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_SYMBOLS = {
    ("wingdings", 0x6F): "☐",
    ("wingdings", 0x71): "❑",
    ("wingdings", 0x78): "☒",
    ("wingdings", 0xA7): "▪",
    ("wingdings", 0xA8): "◻",
    ("wingdings", 0xD8): "➢",
    ("wingdings", 0xE0): "→",
    ("wingdings", 0xFB): "✗",
    ("wingdings", 0xFC): "✓",
    ("wingdings", 0xFD): "☒",
    ("wingdings", 0xFE): "☑",
    ("wingdings 2", 0x52): "☑",
    ("wingdings 2", 0x51): "☒",
    ("wingdings 2", 0xA3): "☐",
    ("symbol", 0xA3): "≤",
    ("symbol", 0xB1): "±",
    ("symbol", 0xB3): "≥",
    ("symbol", 0xB4): "×",
    ("symbol", 0xB7): "•",
    ("symbol", 0xD2): "®",
    ("symbol", 0xD3): "©",
    ("symbol", 0xD4): "™",
    ("symbol", 0x61): "α",
    ("symbol", 0x62): "β",
    ("symbol", 0x6D): "μ",
}
"""Characters of fonts that have their own codes, as the Unicode characters that look the same."""
_PRIVATE = range(0xF000, 0xF100)


@dataclass
class Content:
    """What a paragraph holds."""

    shown: list[str] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)
    boxes: list[Node] = field(default_factory=list)
    """Contents of the text boxes that are anchored here."""
    plain: bool = False
    """True where a shown run is not bold."""

    @property
    def text(self) -> str:
        """The shown text."""
        return "".join(self.shown)


@dataclass
class _Field:
    instruction: str = ""
    is_result: bool = False

    @property
    def is_layout(self) -> bool:
        words = self.instruction.split(maxsplit=1)
        return bool(words) and words[0].upper() in _LAYOUT_FIELDS


class Inline:
    """Reads paragraphs in order and counts what it leaves out."""

    def __init__(self, styles: Styles, note_styles: dict[str, str]) -> None:
        self._styles = styles
        self._note_styles = note_styles
        self._fields: list[_Field] = []
        self.notes: dict[tuple[str, str], str] = {}
        """Mark of each note by kind and id, in the order of the references."""
        self.counts: Counter[str] = Counter()
        """insertions, deletions, pictures, embedded: how many of them."""

    def read(self, paragraph: Node, *, mark: str = "", hidden: bool = False) -> Content:
        """Return what ``paragraph`` holds; ``mark`` is that of the note it belongs to."""
        content = Content()
        self._walk(paragraph, content, mark, hidden)
        return content

    def _walk(self, parent: Node, content: Content, mark: str, hidden: bool) -> None:
        for node in parent:
            match node.tag.removeprefix(W):
                case "r":
                    self._run(node, content, mark, hidden)
                case "pPr" | "sdtPr" | "sdtEndPr" | "rt":
                    continue
                case "del" | "moveFrom":
                    self.counts["deletions"] += 1
                    self._skip(node)
                case "ins" | "moveTo":
                    self.counts["insertions"] += 1
                    self._walk(node, content, mark, hidden)
                case "fldSimple":
                    if not _Field(node.get(f"{W}instr") or "").is_layout:
                        self._walk(node, content, mark, hidden)
                case _ if node.tag == f"{_MC}AlternateContent":
                    self._walk(_chosen(node), content, mark, hidden)
                case _ if node.tag == f"{_MATH}t":
                    self._add(node.text or "", content, hidden)
                case _:
                    self._walk(node, content, mark, hidden)

    def _skip(self, node: Node) -> None:
        """Pass over deleted runs, but follow the fields that begin or end in them."""
        for character in node.iter(f"{W}fldChar"):
            self._field(character)

    def _run(self, run: Node, content: Content, mark: str, hidden: bool) -> None:
        properties = run.find(f"{W}rPr")
        own = flag(properties, "vanish")
        inherited = hidden or self._styles.hides(value(properties, "rStyle"))
        hidden = inherited if own is None else own
        before = len(content.shown)
        self._run_content(run, content, mark, hidden)
        if "".join(content.shown[before:]).strip() and not flag(properties, "b"):
            content.plain = True

    def _run_content(self, run: Node, content: Content, mark: str, hidden: bool) -> None:
        for node in run:
            tag = node.tag.removeprefix(W)
            match tag:
                case "t":
                    text = node.text or ""
                    self._add(
                        text if node.get(_SPACE) == "preserve" else text.strip(), content, hidden
                    )
                case "tab" | "ptab":
                    self._add("\t", content, hidden)
                case "br" | "cr":
                    self._add("\n", content, hidden)
                case "noBreakHyphen":
                    self._add("\u2011", content, hidden)
                case "sym":
                    self._add(_symbol(node), content, hidden)
                case "fldChar":
                    self._add(self._field(node), content, hidden)
                case "instrText":
                    if self._fields:
                        self._fields[-1].instruction += node.text or ""
                case "footnoteReference" | "endnoteReference":
                    self._add(self._note(tag.removesuffix("Reference"), node), content, hidden)
                case "footnoteRef" | "endnoteRef":
                    self._add(f"{mark} ", content, hidden)
                case "drawing" | "pict" | "object":
                    self._drawing(node, content)
                case "ruby":
                    base = node.find(f"{W}rubyBase")
                    if base is not None:
                        self._walk(base, content, mark, hidden)
                case _ if node.tag == f"{_MC}AlternateContent":
                    self._run_content(_chosen(node), content, mark, hidden)
                case _:
                    continue

    def _add(self, text: str, content: Content, hidden: bool) -> None:
        if not text or any(not f.is_result or f.is_layout for f in self._fields):
            return
        (content.hidden if hidden else content.shown).append(text)

    def _field(self, node: Node) -> str:
        """Follow a complex field (ECMA-376-1 §17.16.18); return what a form field shows."""
        kind = node.get(f"{W}fldCharType")
        if kind == "begin":
            shown = _form_field(node)
            self._fields.append(_Field(is_result=False))
            if shown:
                # The field's own instruction and result are empty; its state is what is shown.
                self._fields[-1].is_result = True
            return shown
        if kind == "separate" and self._fields:
            self._fields[-1].is_result = True
        elif kind == "end" and self._fields:
            self._fields.pop()
        return ""

    def _note(self, kind: str, node: Node) -> str:
        key = (kind, node.get(f"{W}id") or "")
        if is_on(node.get(f"{W}customMarkFollows"), absent=False):
            self.notes.setdefault(key, "")
            return ""
        if key not in self.notes:
            number = sum(other == kind and bool(mark) for (other, _), mark in self.notes.items())
            written = write_number(number + 1, self._note_styles[kind])
            raised = written.translate(_SUPERSCRIPT) if written.isdecimal() else f"[{written}]"
            self.notes[key] = raised
        return self.notes[key]

    def _drawing(self, node: Node, content: Content) -> None:
        for alternative in list(node.iter(f"{_MC}AlternateContent")):
            chosen = _chosen(alternative)
            for other in list(alternative):
                if other is not chosen:
                    alternative.remove(other)
        for box in node.iter(f"{W}txbxContent"):
            if not any(ancestor.tag == f"{W}txbxContent" for ancestor in _above(box, node)):
                content.boxes.append(box)
        self.counts["pictures"] += sum(inner.tag in _PICTURES for inner in node.iter())


def _above(node: Node, top: Node) -> list[Node]:
    found: list[Node] = []
    parent = node.getparent()
    while parent is not None and parent is not top:
        found.append(parent)
        parent = parent.getparent()
    return found


def _chosen(alternative: Node) -> Node:
    """Return the first choice, else the fallback, else the empty element itself."""
    choice = alternative.find(f"{_MC}Choice")
    if choice is None:
        choice = alternative.find(f"{_MC}Fallback")
    return alternative if choice is None else choice


def _symbol(node: Node) -> str:
    try:
        code = int(node.get(f"{W}char") or "", 16)
    except ValueError:
        return ""
    low = code - 0xF000 if code in _PRIVATE else code
    font = (node.get(f"{W}font") or "").lower()
    known = _SYMBOLS.get((font, low))
    return known or (chr(code) if code and not 0xD800 <= code < 0xE000 else "")


def _form_field(node: Node) -> str:
    """Return what a check box or a list in a form shows (ECMA-376-1 §17.16.17)."""
    data = node.find(f"{W}ffData")
    box = data.find(f"{W}checkBox") if data is not None else None
    if box is not None:
        state = box.find(f"{W}checked")
        if state is None:
            state = box.find(f"{W}default")
        return "☒" if state is not None and is_on(state.get(f"{W}val")) else "☐"
    choices = data.find(f"{W}ddList") if data is not None else None
    if choices is None:
        return ""
    entries = [entry.get(f"{W}val") or "" for entry in choices.findall(f"{W}listEntry")]
    index = integer(value(choices, "result"), 0)
    return entries[index] if 0 <= index < len(entries) else ""

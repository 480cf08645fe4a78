"""Styles of a Word document: what a paragraph or a run inherits from them (ECMA-376-1 §17.7)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ingest.extract.package import Node, integer

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_OFF = frozenset({"0", "false", "off"})
_BODY_TEXT = 9
"""Outline level of what is no heading (ECMA-376-1 §17.3.1.20)."""
_HEADING_NAME = re.compile(
    r"(?:heading|überschrift|titre|título|titulo|titolo|kop|rubrik|overskrift|otsikko|nagłówek|"
    r"nadpis|címsor|заголовок|başlık|επικεφαλίδα|标题|標題|見出し|제목)\s*([1-9])",
    re.IGNORECASE,
)
_MAX_CHAIN = 20
"""Styles that a style may be based on, one after the other; more is a circle."""


@dataclass(frozen=True, slots=True)
class ParagraphStyle:
    """What a paragraph gets from its style."""

    name: str = ""
    """In lower case; the names of the built-in styles are English in every language's Word."""
    outline: int | None = None
    """0 to 8; None for body text."""
    number_id: str | None = None
    number_level: int | None = None
    number_style: str | None = None
    """The style in the chain that names the numbering; a level can be linked to it."""
    hidden: bool = False


class Styles:
    """The styles part, looked up by style id."""

    def __init__(self, root: Node | None) -> None:
        self._nodes: dict[str, Node] = {}
        self._default: str | None = None
        self._paragraphs: dict[str, ParagraphStyle] = {}
        self._hidden: dict[str, bool] = {}
        for node in root.findall(f"{W}style") if root is not None else ():
            key = node.get(f"{W}styleId")
            if key is None:
                continue
            self._nodes.setdefault(key, node)
            if node.get(f"{W}type") == "paragraph" and is_on(node.get(f"{W}default"), absent=False):
                self._default = key

    def paragraph(self, style_id: str | None) -> ParagraphStyle:
        """Return what the paragraph style gives; that of the default style where there is none."""
        key = style_id if style_id in self._nodes else self._default
        if key is None:
            return ParagraphStyle()
        if key not in self._paragraphs:
            self._paragraphs[key] = self._resolve(key)
        return self._paragraphs[key]

    def hides(self, style_id: str | None) -> bool:
        """Tell whether a character style makes its text hidden."""
        if style_id is None:
            return False
        if style_id not in self._hidden:
            self._hidden[style_id] = any(
                is_hidden(node.find(f"{W}rPr")) for node in self._chain(style_id)
            )
        return self._hidden[style_id]

    def _resolve(self, key: str) -> ParagraphStyle:
        chain = self._chain(key)
        name = (value(chain[0], "name") or "").lower()
        outline: int | None = None
        numbering: Node | None = None
        number_style = None
        for node in chain:
            properties = node.find(f"{W}pPr")
            if properties is None:
                continue
            if outline is None and (given := value(properties, "outlineLvl")) is not None:
                outline = integer(given, _BODY_TEXT)
            if numbering is None and (found := properties.find(f"{W}numPr")) is not None:
                numbering, number_style = found, node.get(f"{W}styleId")
        if outline is None:
            named = (_HEADING_NAME.fullmatch(value(node, "name") or "") for node in chain)
            outline = next((int(match[1]) - 1 for match in named if match), None)
        number_id = value(numbering, "numId") if numbering is not None else None
        level = value(numbering, "ilvl") if numbering is not None else None
        return ParagraphStyle(
            name=name,
            outline=outline if outline is not None and 0 <= outline < _BODY_TEXT else None,
            number_id=number_id,
            number_level=integer(level, 0) if level is not None else None,
            number_style=number_style,
            hidden=is_hidden(chain[0].find(f"{W}rPr")),
        )

    def _chain(self, key: str) -> list[Node]:
        """Return the style and those that it is based on, the nearest first."""
        chain: list[Node] = []
        current: str | None = key
        while current in self._nodes and len(chain) < _MAX_CHAIN:
            chain.append(self._nodes[current])
            current = value(chain[-1], "basedOn")
        return chain


def value(node: Node | None, tag: str) -> str | None:
    """Return the ``w:val`` of a child; None where there is no such child or value."""
    child = node.find(W + tag) if node is not None else None
    return child.get(f"{W}val") if child is not None else None


def is_on(given: str | None, *, absent: bool = True) -> bool:
    """Tell what an on/off value says (ECMA-376-1 §17.17.4)."""
    return absent if given is None else given.lower() not in _OFF


def flag(node: Node | None, tag: str) -> bool | None:
    """Return the on/off property ``tag`` of ``node``; None where it is not set."""
    child = node.find(W + tag) if node is not None else None
    return None if child is None else is_on(child.get(f"{W}val"))


def is_hidden(properties: Node | None) -> bool:
    """Tell whether run properties hide their text (ECMA-376-1 §17.3.2.41)."""
    return bool(flag(properties, "vanish"))

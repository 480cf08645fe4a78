"""Numbers of numbered paragraphs, which a Word document counts and doesn't store.

"7.2" before a clause is on the page and in nobody's text: it follows from the paragraphs before it
and from the numbering part (ECMA-376-1 §17.9).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ingest.extract.docx_styles import ParagraphStyle, Styles, W, is_on, value
from ingest.extract.package import Node, integer

_PLACEHOLDER = re.compile(r"%([1-9])")
_LEVELS = 9
_NOT_NUMBERS = frozenset({"bullet", "none"})
_UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen"),
)
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINAL_WORDS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
_ROMAN = (
    (1000, "m"),
    (900, "cm"),
    (500, "d"),
    (400, "cd"),
    (100, "c"),
    (90, "xc"),
    (50, "l"),
    (40, "xl"),
    (10, "x"),
    (9, "ix"),
    (5, "v"),
    (4, "iv"),
    (1, "i"),
)
_CHICAGO = "*†‡§"


@dataclass(frozen=True, slots=True)
class _Level:
    start: int
    style: str
    """How the number is written, such as "decimal"."""
    text: str
    """The label, with %1 for the number of the first level."""
    restart: int | None
    """Number of the level (from 1) whose paragraphs restart this one; 0 for never."""
    legal: bool
    """Write all numbers of the label as decimal ones."""
    paragraph_style: str | None


@dataclass(slots=True)
class _List:
    """An instance of numbering: the levels, and which of them start anew."""

    abstract: str
    levels: dict[int, _Level]
    starts: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Label:
    """What stands before a paragraph of a list."""

    text: str
    """Number as it is shown; empty for a bullet."""
    level: int
    """From 0."""


class Numbering:
    """Counts the paragraphs of a document in order and tells their numbers."""

    def __init__(self, root: Node | None, styles: Styles) -> None:
        self._lists: dict[str, _List] = {}
        self._counters: dict[str, dict[int, int]] = {}
        self._begun: set[str] = set()
        if root is None:
            return
        abstract = {
            node.get(f"{W}abstractNumId") or "": node for node in root.findall(f"{W}abstractNum")
        }
        by_style = {
            link: key for key, node in abstract.items() if (link := value(node, "styleLink"))
        }
        for node in root.findall(f"{W}num"):
            key = value(node, "abstractNumId") or ""
            linked = value(abstract.get(key), "numStyleLink")
            if linked is not None:
                # A list that names a numbering style has that style's levels (§17.9.21).
                key = by_style.get(linked, key)
            if key in abstract:
                self._lists[node.get(f"{W}numId") or ""] = _list(key, abstract[key], node)

    def label(self, properties: Node | None, style: ParagraphStyle) -> Label | None:
        """Count a paragraph and return its label; None where it belongs to no list."""
        found = self._place(properties, style)
        if found is None:
            return None
        number_id, level = found
        numbering = self._lists[number_id]
        count = self._count(number_id, numbering, level)
        return Label(self._text(numbering, level, count), level)

    def _place(self, properties: Node | None, style: ParagraphStyle) -> tuple[str, int] | None:
        """Return the list and the level of a paragraph."""
        own = properties.find(f"{W}numPr") if properties is not None else None
        number_id = value(own, "numId")
        level = value(own, "ilvl")
        if number_id is None:
            number_id = style.number_id
            if number_id is not None and level is None:
                linked = self._linked_level(number_id, style.number_style)
                fallback = style.number_level or 0
                return (
                    (number_id, linked if linked is not None else fallback)
                    if (number_id in self._lists)
                    else None
                )
        # Number 0 takes a paragraph out of the list of its style (§17.9.18).
        if number_id is None or number_id not in self._lists:
            return None
        return number_id, min(max(integer(level, style.number_level or 0), 0), _LEVELS - 1)

    def _linked_level(self, number_id: str, style_id: str | None) -> int | None:
        numbering = self._lists.get(number_id)
        if numbering is None or style_id is None:
            return None
        linked = (n for n, level in numbering.levels.items() if level.paragraph_style == style_id)
        return next(linked, None)

    def _count(self, number_id: str, numbering: _List, level: int) -> dict[int, int]:
        # Lists made from the same definition go on counting, unless one says where it starts.
        count = self._counters.setdefault(numbering.abstract, {})
        if number_id not in self._begun:
            self._begun.add(number_id)
            for restarted in numbering.starts:
                count.pop(restarted, None)
        start = numbering.starts.get(level, _level(numbering, level).start)
        count[level] = count[level] + 1 if level in count else start
        for deeper in range(level + 1, _LEVELS):
            restart = _level(numbering, deeper).restart
            if restart is None or (restart != 0 and level < restart):
                count.pop(deeper, None)
        return count

    def _text(self, numbering: _List, level: int, count: dict[int, int]) -> str:
        shown = _level(numbering, level)
        if shown.style in _NOT_NUMBERS and not _PLACEHOLDER.search(shown.text):
            return ""

        def number(match: re.Match[str]) -> str:
            other = int(match[1]) - 1
            of = _level(numbering, other)
            current = count.get(other, numbering.starts.get(other, of.start))
            decimal = shown.legal and of.style not in _NOT_NUMBERS
            return write_number(current, "decimal" if decimal else of.style)

        return _PLACEHOLDER.sub(number, shown.text).strip()


def write_number(number: int, style: str) -> str:
    """Return ``number`` as a list shows it (ECMA-376-1 §17.18.59).

    Styles of scripts that are not known here are written as decimal numbers.
    """
    if style == "none" or style == "bullet":
        return ""
    if number < 1:
        return str(number)
    match style:
        case "lowerRoman":
            return _roman(number)
        case "upperRoman":
            return _roman(number).upper()
        case "lowerLetter":
            return _letters(number)
        case "upperLetter":
            return _letters(number).upper()
        case "decimalZero":
            return f"{number:02d}"
        case "ordinal":
            return f"{number}{_suffix(number)}"
        case "cardinalText":
            return _words(number).capitalize()
        case "ordinalText":
            return _ordinal_words(number).capitalize()
        case "chicago":
            return _CHICAGO[(number - 1) % 4] * ((number - 1) // 4 + 1)
        case "numberInDash":
            return f"- {number} -"
        case "hex":
            return f"{number:X}"
    return str(number)


def _list(key: str, abstract: Node, node: Node) -> _List:
    levels = {
        integer(level.get(f"{W}ilvl"), 0): _read_level(level)
        for level in abstract.findall(f"{W}lvl")
    }
    starts: dict[int, int] = {}
    for override in node.findall(f"{W}lvlOverride"):
        index = integer(override.get(f"{W}ilvl"), 0)
        if (level := override.find(f"{W}lvl")) is not None:
            levels[index] = _read_level(level)
        if (start := value(override, "startOverride")) is not None:
            starts[index] = integer(start, 1)
    return _List(key, levels, starts)


def _read_level(node: Node) -> _Level:
    restart = value(node, "lvlRestart")
    legal = node.find(f"{W}isLgl")
    number_format = node.find(f".//{W}numFmt")
    text = value(node, "lvlText") or ""
    return _Level(
        start=integer(value(node, "start"), 0),
        style=(number_format.get(f"{W}val") if number_format is not None else None) or "decimal",
        text=text,
        restart=integer(restart, 0) if restart is not None else None,
        legal=legal is not None and is_on(legal.get(f"{W}val")),
        paragraph_style=value(node, "pStyle"),
    )


_NO_LEVEL = _Level(1, "none", "", None, False, None)


def _level(numbering: _List, index: int) -> _Level:
    return numbering.levels.get(index, _NO_LEVEL)


def _roman(number: int) -> str:
    if number >= 4000:
        return str(number)
    parts: list[str] = []
    for size, letters in _ROMAN:
        parts.append(letters * (number // size))
        number %= size
    return "".join(parts)


def _letters(number: int) -> str:
    # Behind z comes aa, then bb: the letter is repeated, not carried (§17.18.59, lowerLetter).
    return chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)


def _suffix(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def _words(number: int) -> str:
    if number < 20:
        return _UNITS[number]
    if number < 100:
        tens, rest = divmod(number, 10)
        return _TENS[tens] + (f"-{_UNITS[rest]}" if rest else "")
    if number < 1000:
        hundreds, rest = divmod(number, 100)
        return f"{_UNITS[hundreds]} hundred" + (f" {_words(rest)}" if rest else "")
    return str(number)


def _ordinal_words(number: int) -> str:
    words = _words(number)
    if words.isdigit():
        return f"{number}{_suffix(number)}"
    head, last = words[: -len(words.split()[-1].split("-")[-1])], words.split()[-1].split("-")[-1]
    if last in _ORDINAL_WORDS:
        return head + _ORDINAL_WORDS[last]
    return head + (last[:-1] + "ieth" if last.endswith("y") else last + "th")

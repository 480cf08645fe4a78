"""Running heads, page numbers and other lines that stand on page after page.

A line in the top or bottom tenth of its page is one if it is nothing but a page number, or if
another page has the same line, digits aside, at that end. So it is for the topmost and the lowest
line of a page that ends early, if two other pages have it, with a number or in the same place.
Odd and even pages may have lines of their own. Lines that were recognised are compared with those
of the pages nearby and may differ in a few letters.

Where a layout model has seen the page, it has told heads and feet itself; only what it missed on
three pages is added.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal

from ingest.extract.blocks import Block, Line, PageContent, line_text
from schemas.document import BEHIND_BODY, ElementKind

_MARGIN = 0.1
_PAGE_NUMBER = re.compile(
    r"[\W_]*(?:page\s*)?(?:\d{1,4}|[ivxlc]{1,7})(?:\s*(?:of|/|-)\s*\d{1,4})?[\W_]*", re.IGNORECASE
)
_DIGITS = re.compile(r"\d+")
_NEARBY = 2
"""Pages before and after one that its recognised lines are compared with: odd with odd, too."""
_ALIKE = 0.8
_FUZZY_LENGTH = 6
"""Shorter lines are alike by chance."""
_SAME_PLACE = 0.015
"""Of the page's height."""
_OFTEN = 3
Place = Literal["header", "footer"]
_Key = tuple[Place, str]


@dataclass(frozen=True, slots=True)
class _Edge:
    """A line at the top or the foot of its page."""

    line: Line
    key: _Key
    height: float
    """Of its middle, as a share of the page's height."""
    margin: bool
    """False for the first or last line of a page that leaves the margin empty."""
    recognised: bool


def mark_furniture(contents: list[PageContent]) -> None:
    """Make running heads and page numbers blocks of their own."""
    edges = [list(_edges(content)) for content in contents]
    anywhere = Counter(key for page in edges for key in {edge.key for edge in page})
    in_margin = Counter(key for page in edges for key in {edge.key for edge in page if edge.margin})
    heights: dict[_Key, list[float]] = {}
    for page in edges:
        for edge in page:
            heights.setdefault(edge.key, []).append(edge.height)
    for number, content in enumerate(contents):
        found = {
            id(edge.line): edge.key[0]
            for edge in edges[number]
            if _is_furniture(edge, content, in_margin if edge.margin else anywhere, heights)
            or (edge.margin and edge.recognised and _is_like_nearby(edge, number, edges))
        }
        if found:
            content.blocks = [part for block in content.blocks for part in _split(block, found)]


def _is_furniture(
    edge: _Edge, content: PageContent, seen: Counter[_Key], heights: dict[_Key, list[float]]
) -> bool:
    count = seen[edge.key]
    if content.laid_out:
        return edge.margin and count >= _OFTEN
    if edge.margin:
        return count > 1 or _PAGE_NUMBER.fullmatch(line_text(edge.line)) is not None
    if count < _OFTEN:
        return False
    near = sum(abs(height - edge.height) <= _SAME_PLACE for height in heights[edge.key])
    return "#" in edge.key[1] or near >= _OFTEN


def _is_like_nearby(edge: _Edge, number: int, edges: list[list[_Edge]]) -> bool:
    text = edge.key[1]
    if len(text) < _FUZZY_LENGTH:
        return False
    matcher = SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(text)
    for other in range(max(0, number - _NEARBY), min(len(edges), number + _NEARBY + 1)):
        if other == number:
            continue
        for candidate in edges[other]:
            if candidate.key[0] != edge.key[0] or len(candidate.key[1]) < _FUZZY_LENGTH:
                continue
            matcher.set_seq1(candidate.key[1])
            if matcher.quick_ratio() >= _ALIKE and matcher.ratio() >= _ALIKE:
                return True
    return False


def _split(block: Block, found: dict[int, Place]) -> Iterator[Block]:
    if not any(id(line) in found for line in block.lines):
        yield block
        return
    rest: list[Line] = []
    for line in block.lines:
        place = found.get(id(line))
        if place is None:
            rest.append(line)
            continue
        if rest:
            yield replace(block, lines=tuple(rest))
            rest = []
        kind: ElementKind = place
        yield Block(kind=kind, lines=(line,), size=block.size)
    if rest:
        yield replace(block, lines=tuple(rest))


def _edges(content: PageContent) -> Iterator[_Edge]:
    # A row in the margin is still a row.
    lines = [
        line
        for block in content.blocks
        if not block.rows and block.kind not in BEHIND_BODY
        for line in block.lines
    ]
    if not lines:
        return
    height = content.page.height
    low, high = _MARGIN * height, (1 - _MARGIN) * height
    in_margin: set[Place] = set()
    for line in lines:
        # One word tells that nearly every line is in no margin.
        top, bottom = line[0].box[1], line[0].box[3]
        place: Place | None = None
        if bottom <= low and all(word.box[3] <= low for word in line):
            place = "header"
        elif top >= high and all(word.box[1] >= high for word in line):
            place = "footer"
        if place:
            in_margin.add(place)
            yield _edge(line, place, height, margin=True)
    ends: tuple[tuple[Place, Line], ...] = (
        ("header", min(lines, key=lambda line: line[0].box[1])),
        ("footer", max(lines, key=lambda line: line[0].box[3])),
    )
    for place, line in ends:
        if place not in in_margin:
            yield _edge(line, place, height, margin=False)


def _edge(line: Line, place: Place, height: float, *, margin: bool) -> _Edge:
    return _Edge(
        line=line,
        key=(place, _normal(word.text for word in line)),
        height=(line[0].box[1] + line[0].box[3]) / 2 / height,
        margin=margin,
        recognised=line[0].source == "ocr",
    )


def _normal(texts: Iterable[str]) -> str:
    return _DIGITS.sub("#", " ".join(texts).casefold())

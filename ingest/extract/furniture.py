"""Running heads and page numbers of pages that no layout model has seen.

A line in the top or bottom tenth of its page is one if it is nothing but a page number, or if
another page has the same line, digits aside, in the same place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from ingest.extract.blocks import Block, Line, PageContent, line_text
from schemas.document import ElementKind

_MARGIN = 0.1
_PAGE_NUMBER = re.compile(
    r"[\W_]*(?:page\s*)?(?:\d{1,4}|[ivxlc]{1,7})(?:\s*(?:of|/|-)\s*\d{1,4})?[\W_]*", re.IGNORECASE
)
_DIGITS = re.compile(r"\d+")
Place = Literal["header", "footer"]


def mark_furniture(contents: list[PageContent]) -> None:
    """Make running heads and page numbers blocks of their own."""
    pages = [content for content in contents if not content.laid_out]
    seen = Counter(
        key
        for content in pages
        for key in {_key(place, line) for place, line in _margin_lines(content)}
    )
    for content in pages:
        content.blocks = [part for block in content.blocks for part in _split(block, content, seen)]


def _split(block: Block, content: PageContent, seen: Counter[tuple[Place, str]]) -> Iterator[Block]:
    if block.rows:  # a row in the margin is still a row
        yield block
        return
    rest: list[Line] = []
    for line in block.lines:
        place = _place(line, content)
        if place and (seen[_key(place, line)] > 1 or _PAGE_NUMBER.fullmatch(line_text(line))):
            if rest:
                yield replace(block, lines=tuple(rest))
                rest = []
            kind: ElementKind = place
            yield Block(kind=kind, lines=(line,), size=block.size)
        else:
            rest.append(line)
    if rest:
        yield replace(block, lines=tuple(rest)) if len(rest) < len(block.lines) else block


def _margin_lines(content: PageContent) -> Iterator[tuple[Place, Line]]:
    for block in content.blocks:
        for line in block.lines:
            place = _place(line, content)
            if place:
                yield place, line


def _place(line: Line, content: PageContent) -> Place | None:
    height = content.page.height
    if max(word.box[3] for word in line) <= _MARGIN * height:
        return "header"
    if min(word.box[1] for word in line) >= (1 - _MARGIN) * height:
        return "footer"
    return None


def _key(place: Place, line: Line) -> tuple[Place, str]:
    return place, _DIGITS.sub("#", line_text(line).casefold())

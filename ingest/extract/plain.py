"""Plain text and Markdown: the text is the file's own, character for character.

A block is a run of lines without a blank one between them. A line that is a clause heading is a
block of its own, and so is every Markdown heading. The marks (``##``, ``-``) stay in the text and
in the element: they are characters of the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ingest.extract.decode import decode
from ingest.extract.draft import Draft, SourceBytes
from ingest.extract.headings import clause_level
from ingest.extract.media import MARKDOWN
from schemas.document import Element, ElementKind

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?[ \t]*#*[ \t]*$")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_BULLET = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S")


@dataclass(frozen=True)
class _Line:
    start: int
    text: str


def read_text(source: SourceBytes) -> Draft:
    """Read plain text or Markdown. Never refuses anything that can be decoded."""
    text, warnings = decode(source.data, source.options.get("encoding"))
    markdown = source.media_type == MARKDOWN
    elements: list[Element] = []
    title = None
    for block in _blocks(text, markdown=markdown):
        for kind, level, lines in _parts(block, markdown=markdown):
            start = lines[0].start + _indent(lines[0].text)
            end = lines[-1].start + len(lines[-1].text.rstrip())
            elements.append(
                Element(
                    kind=kind,
                    char_start=start,
                    char_end=end,
                    level=level,
                    paragraph=len(elements) + 1,
                )
            )
            if markdown and title is None and kind == "heading" and level == 1:
                title = text[start:end].strip("# \t") or None
    return Draft(text=text, body_end=len(text), elements=elements, warnings=warnings, title=title)


def _blocks(text: str, *, markdown: bool) -> Iterator[list[_Line]]:
    block: list[_Line] = []
    fence = ""
    for match in _LINE.finditer(text):
        line = _Line(match.start(), match[0].rstrip("\r\n"))
        mark = _FENCE.match(line.text) if markdown else None
        if mark and fence in ("", mark[1]):
            fence = "" if fence else mark[1]
        blank = not line.text.strip()
        # A "#" inside a code fence is a comment, and a blank line there ends no block.
        heading = markdown and not fence and _ATX.match(line.text)
        if block and (heading or (blank and not fence)):
            yield block
            block = []
        if heading:
            yield [line]
        elif not blank or block:
            block.append(line)
    while block and not block[-1].text.strip():
        block.pop()
    if block:
        yield block


def _parts(
    block: list[_Line], *, markdown: bool
) -> Iterator[tuple[ElementKind, int | None, list[_Line]]]:
    if markdown and (atx := _ATX.match(block[0].text)) and len(block) == 1:
        yield "heading", len(atx[1]), block
        return
    rest: list[_Line] = []
    for line in block:
        level = clause_level(line.text)
        # In the middle of a block only capitals are sure: "Schedule 2" is how a reference wraps.
        if level is not None and (line is block[0] or line.text.isupper()):
            if rest:
                yield _role(rest, markdown=markdown), None, rest
                rest = []
            yield "heading", level, [line]
        elif rest or line.text.strip():
            rest.append(line)
    if rest:
        yield _role(rest, markdown=markdown), None, rest


def _role(lines: list[_Line], *, markdown: bool) -> ElementKind:
    return "list_item" if markdown and _BULLET.match(lines[0].text) else "paragraph"


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())

"""Plain text: the text is the file's own, character for character.

A block is a run of lines without a blank one between them; a form feed ends one too. A line that is
a clause heading is a block of its own, and so is a heading that runs into its clause, and the first
line of all where it stands alone in capitals: the title. Tables that are set with blanks stay as
they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingest.extract.decode import decode
from ingest.extract.draft import Draft, SourceBytes
from ingest.extract.headings import (
    RUN_IN_WORDS,
    clause_level,
    is_capital_heading,
    run_in_heading,
)
from schemas.document import Element, ElementKind

_NUMBERED = re.compile(r"[ \t]*(?:\d|§|[IVX]+[.)]|section\b|article\b|clause\b)", re.IGNORECASE)
_HEADING_LINES = 4
_WORD = re.compile(r"\S+")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|$)")


@dataclass(frozen=True)
class Line:
    """A line without its end."""

    start: int
    text: str


def read_text(source: SourceBytes) -> Draft:
    """Read plain text. Never refuses anything that can be decoded."""
    text, warnings = decode(source.data, source.options.get("encoding"))
    elements: list[Element] = []
    for block in _blocks(text):
        for level, lines in clause_parts(block):
            kind: ElementKind = "paragraph" if level is None else "heading"
            if level is None and not elements and _is_title(block):
                kind, level = "title", 1
            elements.append(
                Element(
                    kind=kind,
                    char_start=lines[0].start + _indent(lines[0].text),
                    char_end=lines[-1].start + len(lines[-1].text.rstrip()),
                    level=level,
                    paragraph=len(elements) + 1,
                )
            )
    return Draft(text=text, body_end=len(text), elements=elements, warnings=warnings)


def lines_of(text: str) -> Iterator[Line]:
    """Yield the lines of ``text``, which end with CR, LF or both."""
    for match in _LINE.finditer(text):
        yield Line(match.start(), match[0].rstrip("\r\n"))


def clause_parts(block: Sequence[Line]) -> Iterator[tuple[int | None, list[Line]]]:
    """Yield the parts of a block, each with its level if it is a clause heading."""
    rest: list[Line] = []
    lines = list(block)
    at = 0
    while at < len(lines):
        line = lines[at]
        level = clause_level(line.text)
        # In the middle of a block only capitals are sure: "Schedule 2" is how a reference wraps.
        if level is not None and (at == 0 or line.text.isupper()):
            heading = [line]
            at += 1
        elif (found := _run_in(lines[at : at + _HEADING_LINES])) is not None:
            level, heading, clause = found
            at += len(heading) - 1
            lines[at] = clause
        else:
            if rest or line.text.strip():
                rest.append(line)
            at += 1
            continue
        if rest:
            yield None, rest
            rest = []
        yield level, heading
    if rest:
        yield None, rest


def _run_in(lines: Sequence[Line]) -> tuple[int, list[Line], Line] | None:
    """Find a heading that runs into the clause that begins here.

    Returns:
        Its level, its lines, and what is left of the last of them; None where there is none.
    """
    words = [
        (number, *match.span())
        for number, line in enumerate(lines)
        for match in _WORD.finditer(line.text)
    ][: RUN_IN_WORDS + 1]
    found = run_in_heading([lines[number].text[start:end] for number, start, end in words])
    if found is None:
        return None
    count, level = found
    number, _, end = words[count - 1]
    last, start, _ = words[count]
    if last != number:
        return None  # the heading ends its line, and is one by itself or none
    line = lines[number]
    heading = [*lines[:number], Line(line.start, line.text[:end])]
    return level, heading, Line(line.start + start, line.text[start:])


def _is_title(block: Sequence[Line]) -> bool:
    line = " ".join(block[0].text.split())
    return len(block) == 1 and is_capital_heading(line)


def _blocks(text: str) -> Iterator[list[Line]]:
    block: list[Line] = []
    for line in lines_of(text):
        blank = not line.text.strip()
        if block and (blank or line.text.startswith("\f")):
            yield block
            block = []
        if not blank:
            block.append(line)
    if block:
        yield block


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())

"""Clauses: the body of a version cut where a reader of a contract would point at it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import regex  # type: ignore[import-untyped]  # its stubs are a package of their own

from ingest.blocks import Block, blocks_of
from ingest.diff.words import token_values
from schemas.document import ElementKind, Extraction

# Marks of Markdown before a number: heading, quotation, list item, emphasis.
_MARKS = r"(?:[#]{1,6}[ \t]+|>[ \t]*|[-+*•][ \t]+|\*{1,2}|_{1,2})*+"
_ROMAN = r"[ivxlc]{1,7}"
_NAMED = rf"""(?:section|article|clause|schedule|exhibit|annex|appendix|part|§§?)\s*+
    (?:\d+(?:\.\d+)*+|{_ROMAN}|[a-z])(?!\w)"""
_DECIMAL = r"\d{1,3}(?:\.\d{1,3})++"
_IN_BRACKETS = rf"\((?:[a-z]{{1,2}}|{_ROMAN}|\d{{1,3}})\)"
_END = r"(?=\s|$)"
# Of running text only what can hardly be a part of its sentence counts as a number: "2.5 million",
# "30 days" and "Section 7 applies" begin sentences, too.
_SENTENCE = r"""(?=\s+["“„«'‘(\[*_<]*+[\p{Lu}\p{Lo}]|\s*$)"""
_RUNNING = regex.compile(
    rf"""{_MARKS}(?:
    (?P<number>(?i:{_IN_BRACKETS})){_END}
    |(?P<number>(?i:{_NAMED})(?=[.:)–—])|{_DECIMAL}|\d{{1,3}}(?=[.)]))[.:)]?+{_SENTENCE})""",
    regex.VERBOSE,
)
_HEADED = regex.compile(
    rf"""{_MARKS}(?P<number>(?i:{_NAMED}|{_IN_BRACKETS}|(?:{_ROMAN}|[a-z])(?=[.)]))
    |{_DECIMAL}|\d{{1,3}})[.:)]?+{_END}""",
    regex.VERBOSE,
)
_INNER_ITEM = regex.compile(
    r"\n[ \t]+(?=(?i:[a-z]|[ivxlc]{1,7}|\d{1,3})[.)][ \t]|\([a-z\d]{1,4}\)[ \t])"
)
_MARKED_KINDS: frozenset[ElementKind] = frozenset({"title", "heading", "list_item"})
"""Kinds that extraction gives only to what is set apart, so that a number there is its own."""


@dataclass(frozen=True)
class Clause:
    """A heading, paragraph, list item, table row or field of the body."""

    start: int
    end: int
    """Without white space at the ends; counted in the version's text."""
    kind: ElementKind
    path: tuple[str, ...]
    """Headings above and, for a heading, its own text; the highest first."""
    number: str | None
    """As it stands there, such as "7.2", "(a)" or "Section 3", without a full stop behind it."""
    text: str
    """The version's own characters from ``start`` to ``end``."""
    head: str
    """The number with the marks around it, as words; empty where there is none."""
    body: str
    """All the rest, as words: what renumbering leaves as it is."""

    @cached_property
    def key(self) -> str:
        """The words and marks with one space between any two: no other white space counts."""
        return f"{self.head} {self.body}".strip()

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of the body in small letters; its marks where it has no words."""
        values = self.body.casefold().split(" ")
        return tuple(value for value in values if value[:1].isalnum()) or tuple(values)

    @property
    def heading(self) -> str | None:
        """The nearest heading above."""
        above = self.path[:-1] if self.kind in ("title", "heading") else self.path
        return above[-1] if above else None


def clauses_of(extraction: Extraction) -> list[Clause]:
    """Return the clauses of the body in text order.

    Each non-blank character of the body is in exactly one. Headers, footers, notes and hidden text
    stand behind the body and are in none.
    """
    text = extraction.text
    return [
        _clause(text, start, end, block)
        for block in blocks_of(extraction)
        for start, end in _runs(extraction, block)
    ]


def rejoined(
    clauses: Sequence[Clause], other: Sequence[Clause], extraction: Extraction
) -> list[Clause]:
    """Return the clauses with neighbours made one where ``other`` has the two as one.

    Where the pages of a version break otherwise, a paragraph may have been read in two.

    Args:
        clauses: of a version.
        other: those of the version that it is compared with.
        extraction: what ``clauses`` were made of.
    """
    whole = {one.key for one in other} - {one.key for one in clauses}
    found: list[Clause] = []
    for clause in clauses:
        if found and f"{found[-1].key} {clause.key}" in whole:
            found[-1] = _joined(found[-1], clause, extraction.text)
        else:
            found.append(clause)
    return found


def _joined(first: Clause, second: Clause, text: str) -> Clause:
    whole = text[first.start : second.end]
    return replace(first, end=second.end, text=whole, body=f"{first.body} {second.key}".strip())


def number_of(text: str, kind: ElementKind) -> tuple[str | None, int]:
    """Return the number that ``text`` begins with and where the rest begins; None and 0 if none."""
    pattern = _HEADED if kind in _MARKED_KINDS else _RUNNING
    found = pattern.match(text)
    if found is None:
        return None, 0
    return " ".join(found["number"].split()), found.end()


def _clause(text: str, start: int, end: int, block: Block) -> Clause:
    run = text[start:end]
    number, rest = number_of(run, block.kind)
    return Clause(
        start=start,
        end=end,
        kind=block.kind,
        path=block.path,
        number=number,
        text=run,
        head=" ".join(token_values(run[:rest])),
        body=" ".join(token_values(run[rest:])),
    )


def _runs(extraction: Extraction, block: Block) -> Iterator[tuple[int, int]]:
    """Cut a table where its rows start, and a list item of Markdown where items inside it do.

    What lies between two rows belongs to the one before it.
    """
    text = extraction.text
    cuts = {block.start, *(row.char_start for row in block.rows)}
    if block.kind == "list_item" and extraction.media_type == "text/markdown":
        inner = _INNER_ITEM.finditer(text, block.start, block.end)
        cuts.update(found.end() for found in inner)
    starts = sorted(cuts)
    for start, end in zip(starts, [*starts[1:], block.end], strict=True):
        run = text[start:end]
        left = start + len(run) - len(run.lstrip())
        right = end - (len(run) - len(run.rstrip()))
        if left < right:
            yield left, right

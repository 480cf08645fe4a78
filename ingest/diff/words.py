"""Words: which words of a clause were taken out, put in, or stayed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import regex  # type: ignore[import-untyped]  # its stubs are a package of their own

from ingest.diff.sequences import common

RunKind = Literal["equal", "delete", "insert"]

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_WORD = rf"[\w--[{_UNSPACED}]]++"
# A word or number with what holds it together ("1,234.50", "third-party", "Company's"); a character
# of a script without spaces; any other mark by itself.
_TOKEN = regex.compile(
    rf"(?V1){_WORD}(?:['’.,\-‐‑]{_WORD})*+|[{_UNSPACED}]\p{{M}}*+|(?![\s\x1c-\x1f])\X"
)

_CHAFF = 3
"""An equal run is no island if the changes at both its sides are this many times its length:
a "the" that two sentences happen to share makes their difference no easier to read."""


@dataclass(frozen=True, slots=True)
class Token:
    """A word or mark, with its place in the text."""

    start: int
    end: int
    value: str


@dataclass(frozen=True, slots=True)
class WordRun:
    """A run of words: in both texts, in the first alone, or in the second alone.

    Spans are from the start of its first word to the end of its last; None on the side where the
    run does not stand.
    """

    kind: RunKind
    before: tuple[int, int] | None
    after: tuple[int, int] | None


def tokens_of(text: str, offset: int = 0) -> list[Token]:
    """Return the words and marks of ``text``, with ``offset`` added to their places.

    Each non-blank character is in exactly one.
    """
    return [
        Token(offset + found.start(), offset + found.end(), found.group())
        for found in _TOKEN.finditer(text)
    ]


def token_values(text: str) -> list[str]:
    """Return the words and marks of ``text``."""
    found: list[str] = _TOKEN.findall(text)
    return found


def word_runs(before: Sequence[Token], after: Sequence[Token]) -> list[WordRun]:
    """Return the runs that turn ``before`` into ``after``, in order; a deletion comes first.

    With the sides swapped the runs are the same, with deletions and insertions swapped.
    """
    first, second = [one.value for one in before], [one.value for one in after]
    # A longest common subsequence is not unique: always look from the same side.
    if second < first:
        matches = [(i, j) for j, i in common(second, first)]
    else:
        matches = common(first, second)
    runs: list[WordRun] = []
    i = j = 0
    for equal, (last_i, last_j) in _sections(matches, len(first), len(second)):
        left, right = _span(before, i, last_i), _span(after, j, last_j)
        if equal:
            runs.append(WordRun("equal", left, right))
        else:
            if left is not None:
                runs.append(WordRun("delete", left, None))
            if right is not None:
                runs.append(WordRun("insert", None, right))
        i, j = last_i, last_j
    return runs


_Section = tuple[bool, tuple[int, int]]
"""Whether it is equal on both sides, and where it ends on both."""


def _sections(matches: Sequence[tuple[int, int]], first: int, second: int) -> list[_Section]:
    """Return alternating equal and changed sections; short equal ones between long changes join."""
    raw: list[tuple[bool, int, int]] = []
    i = j = 0
    for a, b in [*matches, (first, second)]:
        if a > i or b > j:
            raw.append((False, a - i, b - j))
        if a < first and b < second:
            if raw and raw[-1][0]:
                raw[-1] = (True, raw[-1][1] + 1, raw[-1][2] + 1)
            else:
                raw.append((True, 1, 1))
        i, j = a + 1, b + 1
    kept: list[tuple[bool, int, int]] = []
    for section in raw:
        kept.append(section)
        while len(kept) >= 3 and not kept[-1][0] and _is_chaff(*kept[-3:]):
            pieces = kept[-3:]
            kept[-3:] = [(False, sum(p[1] for p in pieces), sum(p[2] for p in pieces))]
    sections: list[_Section] = []
    i = j = 0
    for equal, left, right in kept:
        i, j = i + left, j + right
        sections.append((equal, (i, j)))
    return sections


def _is_chaff(
    left: tuple[bool, int, int], middle: tuple[bool, int, int], right: tuple[bool, int, int]
) -> bool:
    return middle[1] * _CHAFF <= min(max(left[1:]), max(right[1:]))


def _span(tokens: Sequence[Token], start: int, end: int) -> tuple[int, int] | None:
    return (tokens[start].start, tokens[end - 1].end) if start < end else None

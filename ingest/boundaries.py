"""Where a text may be cut: after a sentence, inside one if it must be, never inside a character.

All positions count code points of the whole text.
"""

from __future__ import annotations

import re
from hashlib import blake2b

import regex  # type: ignore[import-untyped]  # its stubs are a package of their own
from semantic_text_splitter import TextSplitter

_GRAPHEME = regex.compile(r"\X")
_FAR = 64
"""Code points that are looked at around a cut to find the ends of what a reader sees as one."""

# The marks that end a sentence, with what closes after them; marks of scripts without spaces; and
# an empty line. The look-behind makes the scan of "......" linear.
_TERMINAL = re.compile(
    r"""(?<![.!?…؟۔।॥])[.!?…؟۔।॥]++["'”’»)\]]*+(?=\s)
      | (?<![。！？｡])[。！？｡]++[」』”’）》]*+
      | \n[^\S\n]*+\n""",
    re.VERBOSE,
)
_OPENING = "\"'“‘«"
_ABBREVIATION = re.compile(
    r"""al|approx|arts?|aug|bros|ca|cf|ch|cl|co|corp|dec|dept|dr|eds?|esq|est|etc|exh|apr|feb|figs?
      | fri|gov|hon|inc|jan|jr|jul|jun|lt|ltd|mar|messrs|mon|mrs?|ms|nos?|nov|oct|paras?|pp|pres
      | prof|reps?|revs?|sat|secs?|sen|sept?|sr|st|sun|thu|tue|viz|vol|vs|wed
      | abs|bspw|bzw|nr|vgl""",
    re.VERBOSE,
)
_ENUMERATOR = 5
"""A "sentence" of at most this many characters is a number such as "2.1." or "(iv)."."""
_READ = 64
"""Characters that decide on the rank of a place: those behind it, and no others."""
_CLAUSE = re.compile(r"""[;:]["'”’)\]]*+(?=\s)""")
_NO_BREAK = "\u00a0\u2007\u202f"
"""White space that keeps the words at its sides together (Unicode Standard Annex #14, class GL)."""


def cluster_at(text: str, position: int) -> tuple[int, int]:
    """Return the ends of the grapheme cluster that a cut at ``position`` would break.

    Both are ``position`` where it breaks none (Unicode Standard Annex #29 §3): a base character
    and its combining marks are one, and so is a sequence of emoji with joiners.
    """
    if not 0 < position < len(text):
        return position, position
    if _starts_afresh(text, position):
        return position, position
    start = position - 1
    while start > max(0, position - _FAR) and not _starts_afresh(text, start):
        start -= 1
    for match in _GRAPHEME.finditer(text, start, position + _FAR):
        if match.end() > position:
            inside = match.start() < position
            return (match.start(), match.end()) if inside else (position, position)
        if match.end() == position:
            break
    return position, position


def _starts_afresh(text: str, position: int) -> bool:
    """True if two plain characters meet here, which never belong together but for CR LF."""
    before, after = text[position - 1], text[position]
    return before < "\x80" and after < "\x80" and (before, after) != ("\r", "\n")


def sentence_ends(text: str, start: int, end: int) -> list[int]:
    """Return the positions inside ``start`` to ``end`` that follow a sentence, in order.

    Prefers to miss an end rather than to make one up: after an abbreviation, an initial or the
    number of a clause, and before a small letter, no sentence ends. An empty line always ends one.
    """
    ends: list[int] = []
    begun = start
    for match in _TERMINAL.finditer(text, start, end):
        at = match.end()
        # Only the marks that Latin writing shares with numbers and abbreviations are in doubt.
        if match.group()[0] in ".!?…" and not _ends_sentence(text, begun, match, end):
            continue
        if start < at < end and cluster_at(text, at)[0] == at:
            ends.append(at)
            begun = at
    return ends


def _ends_sentence(text: str, begun: int, match: re.Match[str], end: int) -> bool:
    if match.end() - begun <= 2 * _ENUMERATOR:
        sentence = text[begun : match.end()].strip()
        if len(sentence) <= _ENUMERATOR:
            return False
    following = match.end()
    while following < end and (text[following].isspace() or text[following] in _OPENING):
        following += 1
    if following < end and text[following].islower():
        return False
    if match.group()[0] != "." or match.group()[:2] == "..":
        return True
    first = match.start()
    while first > max(begun, match.start() - 12) and not text[first - 1].isspace():
        first -= 1
    word = text[first : match.start()].lstrip("([\"'“‘«").lower()
    initial = bool(word) and all(len(part) == 1 and part.isalpha() for part in word.split("."))
    return not initial and not _ABBREVIATION.fullmatch(word)


def cut_inside(text: str, start: int, limit: int) -> int:
    """Return the best place to cut a sentence, after ``start`` and not after ``limit``.

    That is, in this order: after a clause in the second half, before white space, at a word's end
    as Unicode defines it, between grapheme clusters, and, if one alone is longer than allowed,
    anywhere.
    """
    half = start + (limit - start) // 2
    clauses = [match.end() for match in _CLAUSE.finditer(text, half, min(limit + 1, len(text)))]
    clauses = [end for end in clauses if start < end <= limit]
    if clauses:
        return clauses[-1]
    for position in range(min(limit, len(text) - 1), start, -1):
        space = text[position].isspace() and text[position] not in _NO_BREAK
        # A space can carry a combining mark, which would be left alone.
        if space and cluster_at(text, position + 1)[0] == position + 1:
            return position
    window = text[start : limit + _FAR]
    first = TextSplitter(limit - start, trim=False).chunk_indices(window)[0][1]
    cut = start + len(first)
    # The splitter's Unicode version is not always that of ``cluster_at``.
    before = cluster_at(text, cut)[0]
    return before if before > start else cut


def rank_at(text: str, position: int) -> bytes:
    """Return a number drawn from what stands behind ``position``; cuts prefer the lowest.

    The same text always has the same rank, wherever it is. White space counts only as such, since
    the ends of lines move in a paragraph that is set anew.
    """
    words = text[position : position + _READ].split()
    return blake2b(" ".join(words).encode(), digest_size=8).digest()

"""URL fragments that make a browser jump to a passage (WICG, URL Fragment Text Directives).

The form is ``#:~:text=[prefix-,]start[,end][,-suffix]``. A browser looks for the first place where
the words stand, whatever their case and accents, and takes no term that runs over the end of a
block. So the terms here are words of one block each, longer or with the words around them where
the same ones stand earlier on the page. Of a passage that begins with a repeated block a later
part is shown; one whose neighbours are all repeated with it cannot be told from the first of its
kind, which the browser then shows. A browser matches words, not offsets: the fragment is a
convenience, the offsets remain the evidence.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from schemas.document import Element, Extraction

SHOWN_BY_BROWSERS = frozenset({"text/html", "text/plain"})
"""Media types whose text a browser lays out and can search."""
_Span = tuple[int, int]
_WORD = re.compile(r"\S+")
_BLANKS = re.compile(r"\s+")
_ITEM_NUMBER = re.compile(r"(?:\d{1,6}|[a-z]{1,3}|[ivxlcdm]{1,15})\.\s+", re.IGNORECASE)
_WHOLE = 12
"""A passage of at most so many words in one block is given in full."""
_WHOLE_IF_REPEATED = 60
_LENGTHS = (5, 8, 12, 20)
_CONTEXTS = (3, 6, 12)
_SEARCHED = 3_000_000
"""In longer texts nobody looks whether the words are unique."""


@dataclass(frozen=True, slots=True)
class _Unit:
    """A run of the text that no end of a block or line divides."""

    start: int
    end: int
    at: int
    """Where it begins in the folded text."""


@dataclass(frozen=True, slots=True)
class _Term:
    """Words of one unit."""

    unit: int
    start: int
    stop: int
    """Offsets in the text."""
    folded: str
    at: int
    end: int
    """Where it stands in the folded text."""


class PageText:
    """The text of a page, as a browser searches it."""

    def __init__(self, extraction: Extraction) -> None:
        """Take the blocks of the body."""
        self._text = extraction.text
        self._units: list[_Unit] = []
        folded: list[str] = []
        at = 0
        for start, end in _units(extraction):
            self._units.append(_Unit(start, end, at))
            folded.append(_fold(self._text[start:end]))
            at += len(folded[-1]) + 1
        self._folded = "\n".join(folded)
        self._starts = [unit.start for unit in self._units]

    def fragment(self, start: int, end: int) -> str | None:
        """Return the directive for the text from ``start`` to ``end``; None if it has no words."""
        pieces = [
            (unit, words)
            for unit, first, stop in self._pieces(start, end)
            if (words := self._words(first, stop))
        ]
        if not pieces:
            return None
        unit, words = pieces[0]
        if len(pieces) == 1 and len(words) <= _WHOLE:
            return self._whole(self._term(unit, words))
        opening, prefix = self._opening(unit, words)
        if not self._is_found(opening, prefix):
            if len(pieces) == 1 and len(words) <= _WHOLE_IF_REPEATED:
                # Words behind the passage can only tell it apart if it is one term.
                return self._whole(self._term(unit, words))
            # Better a part of the passage than the same words elsewhere.
            later = (self._opening(*piece) for piece in pieces[1:])
            found = ((term, words) for term, words in later if self._is_found(term, words))
            opening, prefix = next(found, (opening, prefix))
        closing, suffix = self._closing(*pieces[-1], opening)
        return _directive(prefix, self._shown(opening), closing, suffix)

    def _whole(self, term: _Term) -> str:
        prefix = self._prefix(term)
        suffix = None if self._is_found(term, prefix) else self._suffix(term, 0, prefix)
        return _directive(prefix, self._shown(term), None, suffix)

    # --- terms -------------------------------------------------------------------------------

    def _opening(self, unit: int, words: list[_Span]) -> tuple[_Term, str | None]:
        """Return the first words, as many as make them the first of their kind on the page."""
        room = max(len(words) // 2, 1)
        for length in _LENGTHS:
            term = self._term(unit, words[: min(length, room)])
            if self._find(term.folded, 0) == term.at:
                return term, None
        term = self._term(unit, words[: min(_LENGTHS[0], room)])
        return term, self._prefix(term)

    def _closing(
        self, unit: int, words: list[_Span], opening: _Term
    ) -> tuple[str | None, str | None]:
        """Return the last words, as many as make them the first of their kind behind the start."""
        words = [word for word in words if self._at(unit, word[0]) >= opening.end]
        if not words:
            return None, None
        for length in _LENGTHS:
            term = self._term(unit, words[-length:])
            if self._find(term.folded, opening.end) == term.at:
                return self._shown(term), None
        term = self._term(unit, words[-_LENGTHS[0] :])
        return self._shown(term), self._suffix(term, opening.end, None)

    def _is_found(self, term: _Term, prefix: str | None) -> bool:
        return self._find(term.folded, 0, prefix=_folded(prefix)) == term.at

    def _prefix(self, term: _Term) -> str | None:
        """Return the words before ``term`` that tell it from the same words earlier on the page."""
        if self._find(term.folded, 0) == term.at:
            return None
        words = self._spans(self._units[term.unit].start, term.start)
        if not words and term.unit:
            before = self._units[term.unit - 1]
            words = self._spans(before.start, before.end)
        best = None
        for length in _CONTEXTS if words else ():
            best = self._plain(words[-length:])
            if self._find(term.folded, 0, prefix=_fold(best)) == term.at:
                break
        return best

    def _suffix(self, term: _Term, start: int, prefix: str | None) -> str | None:
        """Return the words behind ``term`` that tell it from the same words before."""
        words = self._spans(term.stop, self._units[term.unit].end)
        if not words and term.unit + 1 < len(self._units):
            after = self._units[term.unit + 1]
            words = self._spans(after.start, after.end)
        best = None
        for length in _CONTEXTS if words else ():
            best = self._plain(words[:length])
            found = self._find(term.folded, start, prefix=_folded(prefix), suffix=_fold(best))
            if found == term.at:
                break
        return best

    def _find(
        self, term: str, start: int, *, prefix: str | None = None, suffix: str | None = None
    ) -> int:
        """Return where a browser finds ``term`` from ``start`` on: bounded by words, in context."""
        if len(self._folded) > _SEARCHED:
            return self._folded.find(term, start)
        at = self._folded.find(term, start)
        while at >= 0:
            end = at + len(term)
            if (
                _is_bounded(self._folded, at, end)
                and (prefix is None or _ends_with(self._folded[:at].rstrip(), prefix))
                and (suffix is None or _starts_with(self._folded[end:].lstrip(), suffix))
            ):
                return at
            at = self._folded.find(term, at + 1)
        return -1

    # --- places ------------------------------------------------------------------------------

    def _pieces(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Yield the units between two offsets, each with the part of it that is between them."""
        for index in range(max(bisect_right(self._starts, start) - 1, 0), len(self._units)):
            unit = self._units[index]
            if unit.start >= end:
                break
            if unit.end > start:
                yield index, max(unit.start, start), min(unit.end, end)

    def _spans(self, start: int, end: int) -> list[_Span]:
        return [match.span() for match in _WORD.finditer(self._text, start, end)]

    def _words(self, start: int, end: int) -> list[_Span]:
        """Return the words between two offsets; the first and the last have a letter or digit."""
        spans = self._spans(start, end)
        while spans and not _has_letter(self._text[slice(*spans[0])]):
            spans.pop(0)
        while spans and not _has_letter(self._text[slice(*spans[-1])]):
            spans.pop()
        return spans

    def _term(self, unit: int, words: list[_Span]) -> _Term:
        start, stop = words[0][0], words[-1][1]
        folded = _fold(self._text[start:stop])
        at = self._at(unit, start)
        return _Term(unit, start, stop, folded, at, at + len(folded))

    def _shown(self, term: _Term) -> str:
        return " ".join(self._text[term.start : term.stop].split())

    def _plain(self, words: list[_Span]) -> str:
        return " ".join(self._text[words[0][0] : words[-1][1]].split())

    def _at(self, unit: int, offset: int) -> int:
        """Return where an offset at the start of a word is in the folded text."""
        before = self._text[self._units[unit].start : offset]
        space = bool(before.strip()) and before[-1].isspace()
        return self._units[unit].at + len(_fold(before)) + space


def with_fragment(uri: str, directive: str) -> str:
    """Return a page's address with a text directive, beside the fragment that it may have."""
    address, mark, fragment = uri.partition("#")
    fragment = fragment.partition(":~:")[0] if mark else ""
    return f"{address}#{fragment}:~:{directive}"


def _directive(prefix: str | None, start: str, end: str | None, suffix: str | None) -> str:
    terms = [_encode(start)]
    if prefix is not None:
        terms.insert(0, _encode(prefix) + "-")
    if end is not None:
        terms.append(_encode(end))
    if suffix is not None:
        terms.append("-" + _encode(suffix))
    return "text=" + ",".join(terms)


def _units(extraction: Extraction) -> Iterator[tuple[int, int]]:
    """Yield the runs of the body that no end of a block divides."""
    text = extraction.text
    for element in extraction.elements:
        if element.char_start >= extraction.body_end:
            return
        for start, end in _runs(element):
            if element.kind == "list_item" and (number := _ITEM_NUMBER.match(text, start, end)):
                # The number of an item may come from its list and not be text of the page.
                start = number.end()
            for line in re.finditer(r"[^\n]+", text[start:end]):
                if not line[0].isspace():
                    yield start + line.start(), start + line.end()


def _runs(element: Element) -> Iterator[tuple[int, int]]:
    if not element.rows:
        yield element.char_start, element.char_end
    for row in element.rows:
        if not row.cells:
            yield row.char_start, row.char_end
        for cell in row.cells:
            yield cell.char_start, cell.char_end


def _fold(text: str) -> str:
    """Return ``text`` as a search sees it that minds neither case, accents nor white space."""
    plain = "".join(
        character
        for character in unicodedata.normalize("NFKD", text.casefold())
        if not unicodedata.combining(character)
    )
    return _BLANKS.sub(" ", plain).strip()


def _folded(text: str | None) -> str | None:
    return None if text is None else _fold(text)


def _is_bounded(text: str, start: int, end: int) -> bool:
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (before.isalnum() and text[start].isalnum()) and not (
        after.isalnum() and text[end - 1].isalnum()
    )


def _ends_with(text: str, prefix: str) -> bool:
    return text.endswith(prefix) and _is_bounded(text, len(text) - len(prefix), len(text))


def _starts_with(text: str, suffix: str) -> bool:
    return text.startswith(suffix) and _is_bounded(text, 0, len(suffix))


def _has_letter(word: str) -> bool:
    return any(map(str.isalnum, word))


def _encode(words: str) -> str:
    # "-" separates the prefix and suffix terms of a text directive, so it is escaped like "," and
    # "&", which quote() already escapes.
    return quote(words, safe="").replace("-", "%2D")

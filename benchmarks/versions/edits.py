"""A contract with one clause changed, as its extraction would be."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from ingest.boundaries import sentence_ends
from schemas.document import Element, Extraction

_LEAST_WORDS = 20
"""Shorter paragraphs are addresses, captions and lines for signatures, not clauses."""
_SENTENCES = (
    "The parties shall review this obligation every {n} months and record the result in writing.",
    "No failure to exercise this right for {n} days shall be taken as a waiver of it.",
    "Any amount that is due under this clause bears interest at {n} basis points above the rate.",
    "This applies to affiliates that held at least {n} percent of the shares on the date above.",
    "Notice under this clause is given in writing and takes effect {n} business days later.",
)
_WORDS = ("reasonable", "material", "prior", "written", "aggregate", "outstanding", "applicable")


@dataclass(frozen=True, slots=True)
class Edited:
    """A version with one change."""

    extraction: Extraction
    start: int
    end: int
    """The new characters; none where some were only taken away."""


@dataclass(frozen=True, slots=True)
class _Clause:
    index: int
    start: int
    end: int


def plain(extraction: Extraction) -> Extraction:
    """Return ``extraction`` without its pages, words and cells, which decide on no cut."""
    elements = tuple(
        element.model_copy(
            update={"rows": tuple(row.model_copy(update={"cells": ()}) for row in element.rows)}
        )
        for element in extraction.elements
    )
    return extraction.model_copy(update={"words": (), "pages": (), "elements": elements})


def clauses(extraction: Extraction) -> list[int]:
    """Return the indices of the elements that are clauses."""
    return [
        index
        for index, element in enumerate(extraction.elements)
        if element.kind in ("paragraph", "list_item")
        and element.char_end <= extraction.body_end
        and len(extraction.text[element.char_start : element.char_end].split()) >= _LEAST_WORDS
    ]


def edited(extraction: Extraction, clause: int, kind: str, numbers: random.Random) -> Edited:
    """Return the plain ``extraction`` with the element ``clause`` changed.

    Args:
        extraction: of a version.
        clause: index of the element.
        kind: one of ``KINDS``.
        numbers: decide where in the clause, and on the new words.
    """
    element = extraction.elements[clause]
    return KINDS[kind](extraction, _Clause(clause, element.char_start, element.char_end), numbers)


def _sentence(numbers: random.Random) -> str:
    return numbers.choice(_SENTENCES).format(n=numbers.randint(2, 9_999))


def _sentence_added(extraction: Extraction, clause: _Clause, numbers: random.Random) -> Edited:
    ends = sentence_ends(extraction.text, clause.start, clause.end)
    at = numbers.choice([*ends, clause.end])
    return _replaced(extraction, at, at, " " + _sentence(numbers), clause)


def _sentence_deleted(extraction: Extraction, clause: _Clause, numbers: random.Random) -> Edited:
    ends = [*sentence_ends(extraction.text, clause.start, clause.end), clause.end]
    if len(ends) == 1:
        return _words_replaced(extraction, clause, numbers)
    which = numbers.randrange(1, len(ends))
    return _replaced(extraction, ends[which - 1], ends[which], "", clause)


def _words_replaced(extraction: Extraction, clause: _Clause, numbers: random.Random) -> Edited:
    words = extraction.text[clause.start : clause.end].split(" ")
    first = numbers.randrange(len(words))
    start = clause.start + sum(len(word) + 1 for word in words[:first])
    end = start + len(" ".join(words[first : first + 3]))
    new = " ".join([*numbers.sample(_WORDS, numbers.randint(1, 4)), str(numbers.randint(2, 9_999))])
    return _replaced(extraction, start, end, new, clause)


def _clause_deleted(extraction: Extraction, clause: _Clause, _: random.Random) -> Edited:
    text = extraction.text
    end = clause.end
    while end < extraction.body_end and text[end].isspace():
        end += 1
    return _replaced(extraction, clause.start, end, "", clause, gone=True)


def _clause_added(extraction: Extraction, clause: _Clause, numbers: random.Random) -> Edited:
    text = " ".join(_sentence(numbers) for _ in range(numbers.randint(1, 5)))
    at = clause.start
    made = _replaced(extraction, at, at, text + "\n\n", clause, before=True)
    new = Element(kind="paragraph", char_start=at, char_end=at + len(text))
    elements = [*made.extraction.elements]
    elements.insert(clause.index, new)
    changed = made.extraction.model_copy(update={"elements": tuple(elements)})
    return Edited(changed, at, new.char_end)


KINDS: dict[str, Callable[[Extraction, _Clause, random.Random], Edited]] = {
    "sentence added": _sentence_added,
    "sentence deleted": _sentence_deleted,
    "words replaced": _words_replaced,
    "clause deleted": _clause_deleted,
    "clause added": _clause_added,
}


def _replaced(
    extraction: Extraction,
    start: int,
    end: int,
    new: str,
    clause: _Clause,
    *,
    gone: bool = False,
    before: bool = False,
) -> Edited:
    """Return ``extraction`` with the text from ``start`` to ``end`` replaced by ``new``.

    The element of the clause grows or shrinks with it, unless it is ``gone`` or the change is
    ``before`` it; those behind it move.
    """
    shift = len(new) - (end - start)
    elements: list[Element] = []
    for index, element in enumerate(extraction.elements):
        if index == clause.index and gone:
            continue
        moves = index > clause.index or (index == clause.index and before)
        by = shift if moves else 0
        rows = tuple(
            row.model_copy(
                update={"char_start": row.char_start + by, "char_end": row.char_end + by}
            )
            for row in element.rows
        )
        grows = shift if index == clause.index else by
        first, last = element.char_start + by, element.char_end + grows
        elements.append(
            element.model_copy(update={"char_start": first, "char_end": last, "rows": rows})
        )
    text = extraction.text
    changed = extraction.model_copy(
        update={
            "text": text[:start] + new + text[end:],
            "body_end": extraction.body_end + shift,
            "elements": tuple(elements),
        }
    )
    return Edited(changed, start, start + len(new))

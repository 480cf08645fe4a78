"""From the order on the page to the order of reading, for lines with Arabic or Hebrew.

A PDF places glyphs; it does not say in which order they are read. The bidirectional algorithm
(Unicode Standard Annex #9) puts text on a line; this undoes it, as far as one line tells.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from typing import Literal

Kind = Literal["L", "R", "N", "S", "T", "O"]
"""Letter read rightward, letter read leftward, digit, separator of digits, sign beside digits,
other."""
_KINDS: dict[str, Kind] = {
    "L": "L",
    "R": "R",
    "AL": "R",
    "NSM": "R",
    "EN": "N",
    "AN": "N",
    "CS": "S",
    "ES": "S",
    "ET": "T",
}
_MIRRORED = dict(zip("()[]{}<>«»‹›", ")(][}{><»«›‹", strict=True))
_UNCLOSED, _UNOPENED = 0.9, 1.0
"""A bracket may well be closed on the next line."""


def reads_leftward(text: str) -> bool:
    """Say whether ``text`` has as many letters that are read leftward as rightward, or more."""
    kinds = [_kind(character) for character in text]
    return 0 < kinds.count("R") >= kinds.count("L")


def reading_order(placed: Sequence[str], *, leftward: bool) -> list[tuple[int, str]]:
    """Return indexes into ``placed`` in the order of reading, with the text to read at each.

    Args:
        placed: what stands on the line, from left to right: each a letter with its marks, or the
            letters of a ligature in their own order.
        leftward: direction of the line as a whole.
    """
    kinds = [_kind(text[0]) for text in placed]
    rightward = _read_rightward(kinds, base="R" if leftward else "L")
    if leftward:
        order = _leftward(0, len(placed), rightward)
    else:
        order = []
        index = 0
        while index < len(placed):
            end = _last_of_run(kinds, index) + 1
            order += _leftward(index, end, rightward) if kinds[index] == "R" else [index]
            index = end
    plain = [(index, placed[index]) for index in order]
    swapped = [
        (index, text if rightward[index] else _MIRRORED.get(text, text)) for index, text in plain
    ]
    # Some files name a bracket by what it means, some by how it looks once it is mirrored.
    return swapped if _disorder(swapped) < _disorder(plain) else plain


def _kind(character: str) -> Kind:
    return _KINDS.get(unicodedata.bidirectional(character), "O")


def _leftward(start: int, end: int, rightward: Sequence[bool]) -> list[int]:
    """Return the places from ``end`` back to ``start``, those of rightward runs forward again."""
    order: list[int] = []
    index = end - 1
    while index >= start:
        first = index
        if rightward[index]:
            while first > start and rightward[first - 1]:
                first -= 1
        order.extend(range(first, index + 1))
        index = first - 1
    return order


def _last_of_run(kinds: Sequence[Kind], start: int) -> int:
    """Return the last place of the leftward run that begins at ``start``, or that place itself."""
    last = start
    if kinds[start] == "R":
        for index in range(start + 1, len(kinds)):
            if kinds[index] == "L":
                break
            if kinds[index] == "R":
                last = index
    return last


def _read_rightward(kinds: Sequence[Kind], *, base: Kind) -> list[bool]:
    """Say of each place whether it belongs to a run that is read from left to right."""
    before = _nearest(kinds, "LR", base)
    in_numbers = [kind == "N" for kind in kinds]
    for index in range(1, len(kinds) - 1):
        if kinds[index] == "S" and kinds[index - 1] == kinds[index + 1] == "N":
            in_numbers[index] = True
    for step in (1, -1):
        for index in range(len(kinds))[::step]:
            beside = index - step
            if kinds[index] == "T" and 0 <= beside < len(kinds) and in_numbers[beside]:
                in_numbers[index] = True
    # A number on the right of a word that is read rightward belongs to it: "Python 3.11".
    counted: list[Kind] = [
        ("L" if before[index] == "L" else "R") if in_numbers[index] else kind
        for index, kind in enumerate(kinds)
    ]
    left, right = _nearest(counted, "LR", base), _nearest(counted[::-1], "LR", base)[::-1]
    return [
        kind == "L" or in_numbers[index] or (kind != "R" and left[index] == right[index] == "L")
        for index, kind in enumerate(kinds)
    ]


def _nearest(kinds: Sequence[Kind], wanted: str, otherwise: Kind) -> list[Kind]:
    """Return for each place the last of the wanted kinds before it."""
    found: list[Kind] = []
    last = otherwise
    for kind in kinds:
        found.append(last)
        if kind in wanted:
            last = kind
    return found


def _disorder(read: Iterable[tuple[int, str]]) -> float:
    """Return how badly the brackets of a line match."""
    open_brackets: list[str] = []
    unopened = 0
    for _, text in read:
        if text in "([{":
            open_brackets.append(text)
        elif text in ")]}":
            if open_brackets and _MIRRORED[open_brackets[-1]] == text:
                open_brackets.pop()
            else:
                unopened += 1
    return _UNCLOSED * len(open_brackets) + _UNOPENED * unopened

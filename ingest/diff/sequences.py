"""Sequences: what two of them have in common, in the order of both."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence

from rapidfuzz.distance import LCSseq

Match = tuple[int, int]
"""An index into the first sequence and one into the second."""

_LARGEST = 400_000_000
"""Pairs of items up to which all are compared: 50 MB, as the matrix has one bit for each."""


def anchored(first: Sequence[Hashable], second: Sequence[Hashable]) -> list[Match]:
    """Return equal items of both in order, first of all those that occur once in each.

    What is unique says where things belong; what is repeated, such as "Reserved.", is matched in
    between only (the idea of patience diff).
    """
    once = [item for item, count in Counter(first).items() if count == 1]
    in_second = Counter(second)
    place = {item: index for index, item in enumerate(second)}
    unique = {item for item in once if in_second[item] == 1}
    pairs = [(i, place[item]) for i, item in enumerate(first) if item in unique]
    anchors = [pairs[index] for index in increasing([j for _, j in pairs])]
    found: list[Match] = []
    for (i, j), (last_i, last_j) in gaps(anchors, len(first), len(second)):
        inside = common(first[i:last_i], second[j:last_j])
        found += [(i + a, j + b) for a, b in inside]
        if last_i < len(first) and last_j < len(second):
            found.append((last_i, last_j))
    return found


def gaps(
    anchors: Sequence[Match], first_length: int, second_length: int
) -> list[tuple[Match, Match]]:
    """Return the starts and ends, in both sequences, of what lies between the anchors."""
    starts = [(0, 0), *((i + 1, j + 1) for i, j in anchors)]
    return list(zip(starts, [*anchors, (first_length, second_length)], strict=True))


def common(first: Sequence[Hashable], second: Sequence[Hashable]) -> list[Match]:
    """Return a longest common subsequence.

    Of two very long sequences only the common start and end, as their product would not fit the
    memory.
    """
    shortest = min(len(first), len(second))
    head = 0
    while head < shortest and first[head] == second[head]:
        head += 1
    tail = 0
    while tail < shortest - head and first[-1 - tail] == second[-1 - tail]:
        tail += 1
    found = [(index, index) for index in range(head)]
    inner_first, inner_second = first[head : len(first) - tail], second[head : len(second) - tail]
    if inner_first and inner_second and len(inner_first) * len(inner_second) <= _LARGEST:
        ids = {item: number for number, item in enumerate(dict.fromkeys(inner_first), start=1)}
        numbers = [ids[item] for item in inner_first], [ids.get(item, 0) for item in inner_second]
        for block in LCSseq.editops(*numbers).as_matching_blocks():
            found += [(head + block.a + n, head + block.b + n) for n in range(block.size)]
    return found + [
        (len(first) - tail + index, len(second) - tail + index) for index in range(tail)
    ]


def increasing(values: Sequence[int]) -> list[int]:
    """Return the indices of a longest strictly increasing subsequence."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for index, value in enumerate(values):
        at = bisect_left(ends, value)
        before.append(last[at - 1] if at else -1)
        ends[at : at + 1] = [value]
        last[at : at + 1] = [index]
    chosen = []
    index = last[-1] if last else -1
    while index >= 0:
        chosen.append(index)
        index = before[index]
    return chosen[::-1]

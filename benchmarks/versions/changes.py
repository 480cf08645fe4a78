"""What differs between two texts, and which chunks that touches."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from rapidfuzz.distance import Indel

Run = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Difference:
    """From an older text to a newer one, by whole words."""

    runs: tuple[Run, ...]
    """What is new, as runs of the newer text; empty ones where something was only taken away."""
    added: int
    removed: int
    """Characters."""


def difference(old: str, new: str) -> Difference:
    """Return what changed between two texts; white space counts."""
    before, after = (re.findall(r"\s+|\S+", text) for text in (old, new))
    starts = [0, *accumulate(map(len, after))]
    runs: list[Run] = []
    added = removed = 0
    for change in Indel.opcodes(before, after):
        if change.tag == "equal":
            continue
        run = (starts[change.dest_start], starts[change.dest_end])
        removed += sum(map(len, before[change.src_start : change.src_end]))
        added += run[1] - run[0]
        if runs and runs[-1][1] == run[0]:
            run = (runs.pop()[0], run[1])
        runs.append(run)
    return Difference(tuple(runs), added, removed)


def touched(spans: Iterable[Run], changes: Sequence[Run]) -> int:
    """Return how many spans hold a changed character, or the place where some were taken away."""
    return sum(any(_touches(change, span) for change in changes) for span in spans)


def new_texts(old: Iterable[str], new: Iterable[str]) -> int:
    """Return how many texts would go through the model: each that is new, once."""
    return len(set(new) - set(old))


def _touches(change: Run, span: Run) -> bool:
    if change[0] == change[1]:
        return span[0] < change[0] < span[1]
    return span[0] < change[1] and change[0] < span[1]

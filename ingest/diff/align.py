"""Alignment: which clause of one version is which clause of the other. Pure, and deterministic."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass

from rapidfuzz.distance import Indel

from ingest.diff.clauses import Clause
from ingest.diff.sequences import Match, anchored, gaps, increasing

_THRESHOLD = 0.5
"""Score from which two clauses between the same neighbours are one that was changed."""

_FAR_THRESHOLD = 0.75
"""The same for clauses at different places, which nothing but their words brings together."""

_FAR_WORDS = 8
"""Words that a clause has at least to be found again, changed, at another place."""

_NUMBER_SHARE, _HEADING_SHARE = 0.1, 0.05
"""What an equal number and an equal heading above add to a score; the words make up the rest."""

_FEW_WORDS = 8
"""Clauses of at most so many words are compared by their letters: "Notice", "Notices"."""

_KEPT, _KEPT_WORTH = 0.8, 0.65
"""Share of the shorter clause that the longer one holds, in order, from which that share counts,
and how much: a sentence added to a clause may be longer than the clause was."""

_ALL_PAIRS = 4_000
"""Pairs of clauses up to which each is compared with each; of more, those that share rare signs."""

_CANDIDATES = 8
_RARE = 30
"""Of signs that more clauses than this have, none tells which is which."""

_FLOAT_DIGITS = 9


@dataclass(frozen=True, slots=True)
class Pair:
    """A clause of the first version, of the second, or one of each that are the same clause."""

    before: int | None
    after: int | None
    moved: bool = False
    """True where the two do not stand in the order of their neighbours."""


def align(before: Sequence[Clause], after: Sequence[Clause]) -> list[Pair]:
    """Return each clause of both versions in exactly one pair, in reading order.

    Equal texts are found first, then those with another number, then those that moved, then those
    whose words changed. What moved stands where it is in the second version; what was taken out,
    before what took its place. With the sides swapped, the same clauses are paired.

    The time grows about linearly with the number of clauses.
    """
    first, second = [one.key for one in before], [one.key for one in after]
    # Ties are broken by order, so they are always broken from the same side.
    if second < first:
        pairs = {(j, i): moved for (i, j), moved in _pairs(after, before).items()}
    else:
        pairs = _pairs(before, after)
    return _in_order(pairs, len(before), len(after))


def _pairs(before: Sequence[Clause], after: Sequence[Clause]) -> dict[Match, bool]:
    """Return the pairs, and whether they moved."""
    fixed = anchored([one.key for one in before], [one.key for one in after])
    renumbered = []
    for left, right in _open(fixed, len(before), len(after)):
        found = anchored(
            [before[i].body or i for i in left], [after[j].body or -1 - j for j in right]
        )
        renumbered += [(left[i], right[j]) for i, j in found]
    fixed = sorted([*fixed, *renumbered])
    pairs = dict.fromkeys(fixed, False)

    def free() -> tuple[list[int], list[int]]:
        return _rest(pairs, 0, len(before)), _rest(pairs, 1, len(after))

    for text_of in (_whole, _body, _heading):
        pairs |= dict.fromkeys(_elsewhere(before, after, free(), text_of), True)
    left_free, right_free = map(set, free())
    for left, right in _open(fixed, len(before), len(after)):
        here = [i for i in left if i in left_free], [j for j in right if j in right_free]
        changed = _best(before, after, here, _THRESHOLD)
        straight = {changed[index] for index in increasing([j for _, j in changed])}
        pairs |= {match: match not in straight for match in changed}
    long = (
        [i for i in free()[0] if len(before[i].words) >= _FAR_WORDS],
        [j for j in free()[1] if len(after[j].words) >= _FAR_WORDS],
    )
    return pairs | dict.fromkeys(_best(before, after, long, _FAR_THRESHOLD), True)


def _open(
    fixed: Sequence[Match], first_length: int, second_length: int
) -> Iterable[tuple[range, range]]:
    for (i, j), (last_i, last_j) in gaps(fixed, first_length, second_length):
        if i < last_i and j < last_j:
            yield range(i, last_i), range(j, last_j)


def _rest(pairs: Iterable[Match], side: int, length: int) -> list[int]:
    taken = {match[side] for match in pairs}
    return [index for index in range(length) if index not in taken]


def _whole(clause: Clause) -> str:
    return clause.key if any(map(str.isalpha, clause.key)) else ""


def _body(clause: Clause) -> str:
    return clause.body if len(clause.words) >= _FAR_WORDS else ""


def _heading(clause: Clause) -> str:
    return clause.body if clause.kind in ("title", "heading") else ""


def _elsewhere(
    before: Sequence[Clause],
    after: Sequence[Clause],
    free: tuple[list[int], list[int]],
    text_of: Callable[[Clause], str],
) -> list[Match]:
    """Return equal texts at different places, the first with the first.

    Headings have to be the only ones of their text: "General" may stand for anything.
    """
    places: defaultdict[str, list[int]] = defaultdict(list)
    for j in reversed(free[1]):
        places[text_of(after[j])].append(j)
    places.pop("", None)
    if text_of is _heading:
        once = Counter(text_of(before[i]) for i in free[0])
        places = defaultdict(
            list, {text: js for text, js in places.items() if len(js) == once[text] == 1}
        )
    found = []
    for i in free[0]:
        where = places.get(text_of(before[i]))
        if where:
            found.append((i, where.pop()))
    return found


def _best(
    before: Sequence[Clause],
    after: Sequence[Clause],
    free: tuple[list[int], list[int]],
    threshold: float,
) -> list[Match]:
    """Return pairs that are alike, the most alike first to be taken, in the order of ``before``."""
    scored = []
    for i, j in _candidates(before, after, free):
        score = _score(before[i], after[j])
        if score >= threshold:
            scored.append((-round(score, _FLOAT_DIGITS), abs(i - j), i, j))
    chosen: dict[int, int] = {}
    taken: set[int] = set()
    for _, _, i, j in sorted(scored):
        if i not in chosen and j not in taken:
            chosen[i] = j
            taken.add(j)
    return sorted(chosen.items())


def _candidates(
    before: Sequence[Clause], after: Sequence[Clause], free: tuple[list[int], list[int]]
) -> Iterable[Match]:
    left, right = free
    if len(left) * len(right) <= _ALL_PAIRS:
        return [(i, j) for i in left for j in right]
    holders: defaultdict[Hashable, list[int]] = defaultdict(list)
    for j in right:
        for sign in _signs(after[j]):
            holders[sign].append(j)
    found = []
    for i in left:
        shared: Counter[int] = Counter()
        for sign in _signs(before[i]):
            where = holders.get(sign, ())
            if len(where) <= _RARE:
                shared.update(where)
        nearest = sorted(shared, key=lambda j: (-shared[j], abs(i - j), j))
        found += [(i, j) for j in nearest[:_CANDIDATES]]
    return found


def _signs(clause: Clause) -> set[Hashable]:
    """Return what a clause is known by: its words, and each three in a row."""
    words = clause.words
    return {*words, *zip(words, words[1:], words[2:], strict=False)}


def _score(one: Clause, other: Clause) -> float:
    """Return from 0 to 1 how much speaks for two clauses being the same one."""
    extra = _NUMBER_SHARE * (one.number is not None and one.number == other.number)
    extra += _HEADING_SHARE * (one.heading == other.heading)
    return extra + (1 - _NUMBER_SHARE - _HEADING_SHARE) * _likeness(one, other)


def _likeness(one: Clause, other: Clause) -> float:
    """Return the similarity; more where one clause is still there, and much was put in or out."""
    alike = similarity(one, other)
    shorter, longer = sorted((len(one.words), len(other.words)))
    kept = alike * (shorter + longer) / 2 / max(shorter, 1)
    return max(alike, _KEPT_WORTH * kept) if shorter > _FEW_WORDS and kept >= _KEPT else alike


def similarity(one: Clause, other: Clause) -> float:
    """Return from 0 to 1 how many of the words are the same, in the same order."""
    if max(len(one.words), len(other.words)) <= _FEW_WORDS:
        # The body of a bare number is empty; then its digits are all there is to compare.
        texts = (one.body or one.key).casefold(), (other.body or other.key).casefold()
        return Indel.normalized_similarity(*texts)
    return Indel.normalized_similarity(one.words, other.words)


def _in_order(pairs: dict[Match, bool], first_length: int, second_length: int) -> list[Pair]:
    partner = {j: i for i, j in pairs}
    stays = {i for (i, _), moved in pairs.items() if not moved}
    paired = {i for i, _ in pairs}
    ordered: list[Pair] = []
    i = 0
    for j in range(second_length):
        of = partner.get(j)
        if of is not None and of in stays:
            ordered += [Pair(gone, None) for gone in range(i, of) if gone not in paired]
            i = of + 1
        ordered.append(Pair(of, j, moved=of is not None and of not in stays))
    return ordered + [Pair(gone, None) for gone in range(i, first_length) if gone not in paired]

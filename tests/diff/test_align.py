"""Alignment: what was done to a document is what is found."""

from __future__ import annotations

import random
import time

from diff.versions import clauses, compared, document, statuses
from hypothesis import given
from hypothesis import strategies as st
from strategies import extractions

from ingest.diff.align import align
from schemas.document import Extraction

_FIRST = ("ba", "ce", "di", "fo", "gu", "ka", "le", "mi", "no", "pu")
VOCABULARY = [
    first + middle + last
    for first in _FIRST
    for middle in ("r", "st", "nd", "lm")
    for last in _FIRST
]
"""So many that two sentences have little in common by chance."""


def sentence(rng: random.Random, words: int) -> str:
    return " ".join(rng.choices(VOCABULARY, k=words)).capitalize() + "."


PARAGRAPHS = st.lists(
    st.sampled_from(
        [
            "1. Fees",
            "2. Fees",
            "Fees",
            "—",
            "The Customer pays the fees within thirty days of the invoice.",
            "The Customer pays all fees within sixty days of the invoice.",
            "7.1 The Customer pays the fees within thirty days of the invoice.",
            "The Supplier keeps records for seven years after the end.",
            "(a) Reserved.",
            "Reserved.",
        ]
    ),
    max_size=12,
)


@given(PARAGRAPHS, PARAGRAPHS)
def test_each_clause_is_in_one_pair_and_sides_may_be_swapped(
    before: list[str], after: list[str]
) -> None:
    left, right = clauses(*before), clauses(*after)
    pairs = align(left, right)
    assert sorted(p.before for p in pairs if p.before is not None) == list(range(len(left)))
    assert [p.after for p in pairs if p.after is not None] == list(range(len(right)))
    back = {(p.after, p.before, p.moved) for p in align(right, left)}
    assert {(p.before, p.after, p.moved) for p in pairs} == back
    straight = [p.before for p in pairs if p.before is not None and not p.moved]
    assert straight == sorted(straight)
    lost = {one.key for one in left} & {one.key for one in right}
    gone = {left[p.before].key for p in pairs if p.before is not None and p.after is None}
    come = {right[p.after].key for p in pairs if p.after is not None and p.before is None}
    assert not {key for key in gone & come & lost if any(map(str.isalpha, key))}


@given(extractions())
def test_a_version_has_no_changes_against_itself(extraction: Extraction) -> None:
    assert set(statuses(compared(extraction, extraction))) <= {"unchanged"}


@given(extractions(), extractions())
def test_the_clauses_of_a_comparison_slice_exactly(before: Extraction, after: Extraction) -> None:
    found = compared(before, after)
    for side, extraction in (("before", before), ("after", after)):
        times = [0] * len(extraction.text)
        for change in found.clauses:
            clause = getattr(change, side)
            if clause is None:
                continue
            assert clause.text == extraction.text[clause.char_start : clause.char_end]
            for place in range(clause.char_start, clause.char_end):
                times[place] += 1
            for word in change.words:
                run = getattr(word, side)
                if run is not None:
                    assert clause.char_start <= run.char_start < run.char_end <= clause.char_end
                    assert run.text == extraction.text[run.char_start : run.char_end]
        body = extraction.text[: extraction.body_end]
        assert all(times[place] == 1 for place, char in enumerate(body) if not char.isspace())
    counts = found.counts
    total = counts.unchanged + counts.changed + counts.moved + counts.added + counts.removed
    assert total == len(found.clauses)


@given(st.integers(0, 2**32), st.integers(8, 60))
def test_random_edits_are_found(seed: int, size: int) -> None:
    rng = random.Random(seed)
    before = [sentence(rng, rng.randint(12, 40)) for _ in range(size)]
    fates = [rng.choice(["keep"] * 6 + ["change", "remove", "add"]) for _ in before]
    after: list[str] = []
    expected: dict[str, str] = {}
    for text, fate in zip(before, fates, strict=True):
        if fate == "remove":
            continue
        if fate == "change":
            words = text.split()
            words[rng.randrange(len(words) - 1)] = "otherwise"
            text = " ".join(words)
        after.append(text)
        expected[text] = "unchanged" if fate == "keep" else "changed"
        if fate == "add":
            expected[text] = "unchanged"
            after.append(sentence(rng, 30))
            expected[after[-1]] = "added"
    # One clause, with neighbours that stay, moves far away.
    moved = rng.choice([text for text in after if expected[text] == "unchanged"] or after[:1])
    after.remove(moved)
    place = rng.randrange(len(after) + 1)
    after.insert(place, moved)

    found = compared(document(before), document(after))
    said = {c.after.text: c for c in found.clauses if c.after is not None}
    assert found.counts.removed == fates.count("remove")
    assert found.counts.added == fates.count("add")
    for text, status in expected.items():
        if status == "unchanged":
            # Of two neighbours that changed places either may be the one that moved.
            assert said[text].status in ("unchanged", "moved")
        else:
            assert said[text].status == status
    places = [before.index(text) for text in after if text in before]
    assert (places == sorted(places)) or found.counts.moved
    assert found.counts.moved <= 1 + sum(c.moved for c in found.clauses if c.status == "changed")
    for change in found.clauses:
        if change.status == "changed":
            inserted = [w.after.text for w in change.words if w.kind == "insert" and w.after]
            assert inserted == ["otherwise"]


def test_a_renumbered_clause_is_changed_and_not_added() -> None:
    before = document(
        ["7. Fees", "7.1 The fees are due at once.", "8. Term", "8.1 It lasts a year."]
    )
    after = document(
        [
            "7. Taxes",
            "7.1 The Customer pays value added tax on all amounts.",
            "8. Fees",
            "8.1 The fees are due at once.",
            "9. Term",
            "9.1 It lasts a year.",
        ]
    )
    found = compared(before, after)
    told = [(c.status, c.renumbered, (c.before or c.after).number) for c in found.clauses]  # type: ignore[union-attr]
    assert told == [
        ("added", False, "7"),
        ("added", False, "7.1"),
        ("changed", True, "7"),
        ("changed", True, "7.1"),
        ("changed", True, "8"),
        ("changed", True, "8.1"),
    ]
    assert found.counts.renumbered == 4
    marked = [
        (word.kind, (word.before or word.after).text)  # type: ignore[union-attr]
        for word in found.clauses[3].words
        if word.kind != "equal"
    ]
    assert marked == [("delete", "7.1"), ("insert", "8.1")]


def test_a_moved_clause_says_both_places_though_its_number_is_new() -> None:
    kept = [f"{n}. The {word} shall be kept in good order at all times." for n, word in
            ((1, "desk"), (3, "lamp"), (4, "chair"))]  # fmt: skip
    insurance = "The Supplier maintains insurance of five million pounds for each event."
    before = document([kept[0], f"2. {insurance}", *kept[1:]])
    after = document([kept[0], *kept[1:], f"5. {insurance}"])
    found = compared(before, after)
    assert statuses(found) == ["unchanged"] * 3 + ["moved"]
    last = found.clauses[-1]
    assert last.renumbered
    assert last.moved
    assert (last.before.number, last.after.number) == ("2", "5")  # type: ignore[union-attr]


def test_a_clause_that_moved_and_changed_is_found_at_its_new_place() -> None:
    notice = "Any notice under this agreement is sent by registered post to the other party's seat"
    rest = [f"The {word} shall be kept in good order by the Supplier." for word in ("desk", "lamp")]
    found = compared(document([f"{notice}.", *rest]), document([*rest, f"{notice} or by mail."]))
    assert statuses(found) == ["unchanged", "unchanged", "changed"]
    assert found.clauses[-1].moved


def test_a_sentence_longer_than_the_clause_may_be_added_to_it() -> None:
    short = "This licence does not let the Provider sell Your Content to any third party."
    more = "As part of the right to archive it, partners may store it in public. " * 2
    found = compared(document([short]), document([f"{short} {more}"]))
    assert statuses(found) == ["changed"]
    assert [word.kind for word in found.clauses[0].words] == ["equal", "insert"]


def test_ten_thousand_clauses_take_seconds() -> None:
    rng = random.Random(1)
    before = [sentence(rng, rng.randint(5, 60)) for _ in range(10_000)]
    after = [
        f"{text} Otherwise." if rng.random() < 0.2 else text
        for text in before
        if rng.random() > 0.02
    ]
    left, right = clauses(*before), clauses(*after)
    start = time.process_time()
    pairs = align(left, right)
    assert time.process_time() - start < 5
    assert sum(pair.before is None for pair in pairs) < 20
    assert sum(pair.after is None for pair in pairs) < 250

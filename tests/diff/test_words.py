"""Words: runs that slice exactly, cover both sides, and say what changed and no more."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from strategies import texts

from ingest.diff.sequences import anchored, common, increasing
from ingest.diff.words import WordRun, tokens_of, word_runs

TOKENS = ("the", "fee", "is", "due", "in", "30", "days", "of", "notice", "(", ")", ".")
WORDS = st.lists(st.sampled_from(TOKENS), max_size=30)


def runs_of(before: str, after: str) -> list[tuple[str, str]]:
    runs = word_runs(tokens_of(before), tokens_of(after))
    return [(run.kind, _text(run, before, after)) for run in runs]


def _text(run: WordRun, before: str, after: str) -> str:
    if run.before is not None:
        return before[slice(*run.before)]
    assert run.after is not None
    return after[slice(*run.after)]


@given(texts(), texts(), st.integers(0, 9))
def test_runs_cover_every_word_of_both_texts_once_in_order(
    before: str, after: str, offset: int
) -> None:
    old, new = tokens_of(before), tokens_of(after, offset)
    runs = word_runs(old, new)
    for side, text, tokens, shift in (
        ("before", before, old, 0),
        ("after", after, new, offset),
    ):
        spans = [span for run in runs if (span := getattr(run, side)) is not None]
        assert spans == sorted(spans)
        held = [
            token.value
            for start, end in spans
            for token in tokens_of(text[start - shift : end - shift])
        ]
        assert held == [token.value for token in tokens]
        assert "".join("".join(held).split()) == "".join(text.split())
    for run in runs:
        assert (run.before is not None) == (run.kind != "insert")
        assert (run.after is not None) == (run.kind != "delete")
        if run.before is not None and run.after is not None:
            left, right = (
                before[slice(*run.before)],
                after[run.after[0] - offset : run.after[1] - offset],
            )
            assert [t.value for t in tokens_of(left)] == [t.value for t in tokens_of(right)]


@given(WORDS, WORDS)
def test_swapped_sides_swap_insertions_and_deletions(before: list[str], after: list[str]) -> None:
    old, new = tokens_of(" ".join(before)), tokens_of(" ".join(after))
    there = {(run.before, run.after) for run in word_runs(old, new)}
    back = {(run.after, run.before) for run in word_runs(new, old)}
    assert there == back


def test_only_the_changed_words_are_marked() -> None:
    assert runs_of(
        "Payment is due within thirty (30) days of the invoice.",
        "Payment is due within forty-five (45) business days of the invoice.",
    ) == [
        ("equal", "Payment is due within"),
        ("delete", "thirty"),
        ("insert", "forty-five"),
        ("equal", "("),
        ("delete", "30"),
        ("insert", "45"),
        ("equal", ")"),
        ("insert", "business"),
        ("equal", "days of the invoice."),
    ]


def test_a_shared_word_between_two_long_changes_is_no_island() -> None:
    before = "Each party may terminate the agreement upon sixty days notice"
    after = "Only our Customer ends the contract after a breach"
    assert runs_of(before, after) == [("delete", before), ("insert", after)]


def test_scripts_without_spaces_are_compared_by_character() -> None:
    assert runs_of("本协议自三十日后生效。", "本协议自六十日后生效。") == [
        ("equal", "本协议自"),
        ("delete", "三"),
        ("insert", "六"),
        ("equal", "十日后生效。"),
    ]


def test_marks_stay_with_their_letters() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    assert [token.value for token in tokens_of(f"e\u0301te\u0301 क्षि {family}")] == [
        "e\u0301te\u0301",
        "क्षि",
        family,
    ]


@given(st.lists(st.integers(0, 6), max_size=25), st.lists(st.integers(0, 6), max_size=25))
def test_common_is_a_longest_common_subsequence(first: list[int], second: list[int]) -> None:
    best = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, one in enumerate(first):
        for j, other in enumerate(second):
            best[i + 1][j + 1] = (
                best[i][j] + 1 if one == other else max(best[i][j + 1], best[i + 1][j])
            )
    for found, is_longest in ((common(first, second), True), (anchored(first, second), False)):
        assert all(first[i] == second[j] for i, j in found)
        for side in zip(*found, strict=True):
            assert list(side) == sorted(set(side))
        assert len(found) == best[-1][-1] if is_longest else len(found) <= best[-1][-1]


@given(st.lists(st.integers(0, 20), max_size=40))
def test_increasing(values: list[int]) -> None:
    found = increasing(values)
    chosen = [values[index] for index in found]
    assert found == sorted(found)
    assert chosen == sorted(set(chosen))
    longest = [1] * len(values)
    for i, value in enumerate(values):
        longest[i] = 1 + max((longest[j] for j in range(i) if values[j] < value), default=0)
    assert len(found) == max(longest, default=0)

"""Real agreements over time: what was read by eye in two of their versions is what is found."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from diff.versions import compared
from extract.checks import read_file

from ingest.diff.model import ClauseChange, VersionDiff

AGREEMENTS = (
    "commonpaper-csa",
    "github-corporate-tos",
    "github-registered-developer-agreement",
    "github-sponsors-terms",
    "github-tos",
    "seriesseed-investment-agreement",
)


def pair(corpus: Path, agreement: str, first: str, second: str) -> VersionDiff:
    folder = corpus / "contract_versions" / agreement
    files = [next(folder.glob(f"{label}_*")) for label in (first, second)]
    return compared(*(read_file(file) for file in files))


def changed_words(change: ClauseChange) -> list[tuple[str, str | None]]:
    runs = [(word.kind, word.before or word.after) for word in change.words]
    return [(kind, run.text) for kind, run in runs if run is not None and kind != "equal"]


def containing(found: VersionDiff, text: str) -> ClauseChange:
    held = [
        change
        for change in found.clauses
        if any(side and text in (side.text or "") for side in (change.before, change.after))
    ]
    assert len(held) == 1
    return held[0]


def test_a_version_that_only_fixes_a_few_places(corpus: Path) -> None:
    """Version 12 sets a warning in bold, corrects a reference and two ids, and is called 2.1."""
    found = pair(corpus, "commonpaper-csa", "v11", "v12")
    counts = found.counts
    assert (counts.changed, counts.moved, counts.added, counts.removed) == (8, 0, 0, 0)
    reference = containing(found, 'id="8.4"')
    assert changed_words(reference) == [("delete", "12"), ("insert", "10")]
    name = containing(found, '**"Standard Terms"**')
    assert changed_words(name) == [
        *(("delete", "13.32"), ("insert", "13.31")),
        *(("delete", "2.0"), ("insert", "2.1")),
        *(("delete", "2.0"), ("insert", "2.1")),
    ]
    assert name.before is not None
    assert name.before.number == "31"


def test_a_clause_that_is_rewritten_and_what_is_added_to_it(corpus: Path) -> None:
    """The third version of the sponsors' terms has new rules for payment in § 4.4, and no more."""
    found = pair(corpus, "github-sponsors-terms", "v02", "v03")
    different = [change for change in found.clauses if change.status != "unchanged"]
    assert changed_words(containing(found, "pyramid schemes")) == [("insert", "self-dealing,")]
    sides = [change.after or change.before for change in different]
    labels = [side.label for side in sides if side is not None]
    assert labels == ["§2 Acceptable Use.", *["§4.4 Payment Timing."] * (len(labels) - 1)]
    assert containing(found, "third Thursday of the month").status == "added"


def test_new_terms_of_service(corpus: Path) -> None:
    """Version 10 drops the clause "4. Exclusions" on private repositories and is dated anew."""
    found = pair(corpus, "github-tos", "v09", "v10")
    assert changed_words(containing(found, "Effective date:")) == [
        *(("delete", "13"), ("insert", "16")),
        *(("delete", "2019"), ("insert", "2020")),
    ]
    gone = [c.before for c in found.clauses if c.status == "removed" and c.before is not None]
    assert "#### 4. Exclusions" in [clause.text for clause in gone]
    summary = containing(found, "[Q. Changes to these Terms of Service]")
    assert summary.after is not None
    assert summary.after.kind == "table"
    assert changed_words(summary) == [
        ("insert", "material"),
        ("delete", "that affect your rights"),
    ]
    # A clause to which a sentence longer than it was added is still the same clause.
    assert containing(found, "grant GitHub the right to sell Your Content").status == "changed"


@pytest.mark.parametrize("agreement", AGREEMENTS)
def test_every_step_of_every_agreement(corpus: Path, agreement: str) -> None:
    """Against itself nothing changes; the other way round the same clauses are paired."""
    files = sorted((corpus / "contract_versions" / agreement).glob("*.md"))
    extractions = [read_file(file) for file in files]
    for before, after in pairwise(extractions[:6]):
        there, back = compared(before, after), compared(after, before)
        assert set(_pairs(there, "before", "after")) == set(_pairs(back, "after", "before"))
        assert (there.counts.added, there.counts.removed) == (
            back.counts.removed,
            back.counts.added,
        )
        same = compared(after, after)
        assert same.counts.unchanged == len(same.clauses) > 0


def _pairs(found: VersionDiff, one: str, other: str) -> list[tuple[object, ...]]:
    sides = [(getattr(change, one), getattr(change, other), change) for change in found.clauses]
    return [
        (left and left.char_start, right and right.char_start, change.moved)
        for left, right, change in sides
    ]

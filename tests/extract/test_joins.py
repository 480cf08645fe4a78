"""Words broken by a hyphen: joined where they were broken, kept where the hyphen is their own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.extract.joins import HYPHENS, Join, Joiner

NOTHING = Joiner([])


@pytest.mark.parametrize(
    ("last", "first"),
    [
        ("agree-", "ment"),
        ("Confiden-", "tial,"),
        ("“termina-", "tion”"),
        ("AGREE-", "MENT"),
        ("notwith-", "standing"),
        ("there-", "of."),
        ("agree\u2010", "ment"),
        ("agree\u00ad", "ment"),
        ("Zusammen\u00ad", "Hang"),
        ("Geschäfts-", "führer"),
    ],
)
def test_broken_words(last: str, first: str) -> None:
    assert NOTHING.join(last, first) is Join.BROKEN


@pytest.mark.parametrize(
    ("last", "first"),
    [
        ("long-", "term"),
        ("non-", "disclosure"),
        ("twenty-", "five"),
        ("self-", "insured"),
        ("(cloud-", "based)"),
        ("Anglo-", "American"),
        ("$5-", "10"),
        ("2019-", "2020"),
        ("A-", "B"),
        ("x-", "ray"),
        ("www.acme-", "corp.com/terms"),
        ("https://acme.com/non-", "disclosure"),
        ("legal@acme-", "corp.com"),
        ("CSA-", "2024"),
    ],
)
def test_hyphens_that_are_the_words_own(last: str, first: str) -> None:
    assert NOTHING.join(last, first) is Join.HYPHENATED


@pytest.mark.parametrize(
    ("last", "first"),
    [
        ("agreement", "ment"),
        ("-", "ment"),
        ("Company--", "hereinafter"),
        ("Company–", "hereinafter"),
        ("pre-", "and"),
        ("agree-", "•"),
        ("agree-", "(a)"),
        ("the", "company"),
    ],
)
def test_words_that_stay_apart(last: str, first: str) -> None:
    assert NOTHING.join(last, first) is Join.NONE


def test_the_document_decides() -> None:
    """The same break is judged by how the document writes the word elsewhere."""
    assert Joiner(["Noncompete"]).join("non-", "compete") is Join.BROKEN
    assert Joiner(["non-compete,"]).join("non-", "compete") is Join.HYPHENATED
    assert Joiner(["work-stream", "work-streams"]).join("work-", "stream") is Join.HYPHENATED
    assert (
        Joiner(["workstream", "work-stream", "workstream"]).join("work-", "stream") is Join.BROKEN
    )
    assert Joiner(["change", "control"]).join("change-", "control") is Join.HYPHENATED
    assert Joiner(["in", "direct"]).join("in-", "direct") is Join.BROKEN
    assert Joiner(["state", "the", "art"]).join("state-of-the-", "art") is Join.HYPHENATED


def test_ends_of_lines_are_no_evidence() -> None:
    assert Joiner(["agree-", "ment"]).join("agree-", "ment") is Join.BROKEN


TEXTS = st.text(
    st.characters(exclude_categories=["Cs", "Zs", "Zl", "Zp", "Cc"]) | st.sampled_from(HYPHENS),
    min_size=1,
    max_size=8,
)


@given(st.lists(TEXTS, max_size=6), TEXTS, TEXTS)
def test_a_join_leaves_something_of_both(texts: list[str], last: str, first: str) -> None:
    join = Joiner(texts).join(last, first)
    if join is not Join.NONE:
        assert last[-1] in HYPHENS
        assert last[:-1][-1].isalnum()

"""Words broken by a hyphen: joined where they were broken, kept where the hyphen is their own."""

from __future__ import annotations

from itertools import pairwise

import pytest
from chunk_checks import check_chunks
from extract.checks import check_invariants
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import chunking_settings, counter

from ingest.chunking import Chunker
from ingest.extract.assemble import assemble
from ingest.extract.blocks import Block, PageContent, PageWord
from ingest.extract.joins import HYPHENS, Join, Joiner
from ingest.settings import ChunkingSettings
from schemas.document import Extraction, Page

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


SYLLABLES = ["agree-", "ment", "long-", "term", "the", "notice", "parties", "shall", "deliver."]


@given(
    st.lists(st.lists(st.sampled_from(SYLLABLES), min_size=1, max_size=8), min_size=1, max_size=30),
    st.integers(1, 3),
    chunking_settings(),
)
@settings(max_examples=40)
def test_no_chunk_ends_inside_a_joined_word(
    texts: list[list[str]], pages: int, sizes: ChunkingSettings
) -> None:
    """Both parts of a joined word are in one chunk, and the chunk has a box for each."""
    lines = [
        tuple(
            PageWord(text, (20 + 60 * n, 15 * m, 70 + 60 * n, 15 * m + 10), None, "digital")
            for n, text in enumerate(line)
        )
        for m, line in enumerate(texts)
    ]
    contents = [
        PageContent(
            Page(number=number, width=600, height=500, rotation=0, text_source="digital"),
            [Block("paragraph", tuple(lines))],
        )
        for number in range(1, pages + 1)
    ]
    draft = assemble(contents)
    extraction = Extraction(
        media_type="application/pdf",
        extractor_version="1",
        doc_sha256="0" * 64,
        text=draft.text,
        body_end=draft.body_end,
        pages=tuple(draft.pages),
        words=tuple(draft.words),
        elements=tuple(draft.elements),
    )
    check_invariants(extraction)
    chunks = Chunker(counter(), sizes).chunk(extraction)
    check_chunks(extraction, chunks, counter(), sizes)
    joined = {
        before.char_end
        for before, word in pairwise(extraction.words)
        if before.char_end == word.char_start
    }
    longest = max(len(word) for word in extraction.text.split())
    for chunk in chunks:
        if sizes.max_chars > 4 * longest and sizes.max_tokens > 16:
            assert chunk.char_start not in joined
            assert chunk.char_end not in joined

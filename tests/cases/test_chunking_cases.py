"""Field cases of chunking: what went wrong for users of other tools."""

from __future__ import annotations

from itertools import pairwise

import pytest
from chunk_checks import broken_clusters, check_chunks
from strategies import counter

from ingest.chunking import Chunker
from ingest.settings import ChunkingSettings
from schemas.chunk import Chunk
from schemas.document import Extraction, Page, Word


def sizes(**chosen: int) -> ChunkingSettings:
    """Return settings below the least that users may set: the cases need tiny chunks."""
    return ChunkingSettings.model_construct(
        **{"max_tokens": 256, "min_tokens": 0, "overlap_tokens": 0, "max_chars": 2_000} | chosen
    )


def version(text: str, **more: object) -> Extraction:
    return Extraction.model_validate(
        {
            "media_type": "text/plain",
            "extractor_version": "1",
            "doc_sha256": "0" * 64,
            "text": text,
            "body_end": len(text),
        }
        | more
    )


def chunk(extraction: Extraction, chosen: ChunkingSettings) -> list[Chunk]:
    chunks = Chunker(counter(), chosen).chunk(extraction)
    check_chunks(extraction, chunks, counter(), chosen)
    return chunks


def starts(chunks: list[Chunk]) -> list[int]:
    return [made.char_start for made in chunks]


def test_repeated_phrase() -> None:
    chunks = chunk(version("chunk chunk"), sizes(max_chars=5))
    assert starts(chunks) == [0, 6]
    chunks = chunk(version("chunk " * 50), sizes(max_chars=5))
    assert starts(chunks) == list(range(0, 300, 6))


@pytest.mark.parametrize("overlap", [0, 1, 3, 6])
def test_repeated_phrase_with_overlap(overlap: int) -> None:
    text = "The fee is due. " * 40
    chunks = chunk(version(text), sizes(max_tokens=16, overlap_tokens=overlap))
    assert len(chunks) > 10
    assert all(before.char_start < after.char_start for before, after in pairwise(chunks))


def test_word_count_budget() -> None:
    # Nine words, no stop, five tokens a chunk of which three repeat those before.
    text = "alpha beta gamma delta river stone green house water"
    words = {word: counter().count([word])[0] - 2 for word in text.split()}
    assert set(words.values()) == {1}
    chunks = chunk(version(text), sizes(max_tokens=8, overlap_tokens=3))
    assert [made.text for made in chunks] == [
        "alpha beta gamma",
        "beta gamma delta river stone",
        "delta river stone green house water",
    ]
    # The second repeats only two: a third would make it start where the first does.
    assert starts(chunks) == [0, 6, 17]


def test_overlap_golden() -> None:
    # Four sentences of five tokens; the stop is one of them, so "three." is an overlap of two.
    text = "Sentences one two three. Sentences four five six. Sentences seven eight nine. Ten two."
    chunks = chunk(version(text), sizes(max_tokens=9, overlap_tokens=2))
    assert [made.text for made in chunks] == [
        "Sentences one two three.",
        "three. Sentences four five six.",
        "six. Sentences seven eight nine.",
        "nine. Ten two.",
    ]
    assert starts(chunks) == [0, 18, 45, 72]
    for before, after in pairwise(chunks):
        repeated = text[after.char_start : before.char_end]
        assert counter().count([repeated])[0] - counter().special == 2


@pytest.mark.parametrize("size", range(1, 24))
def test_multibyte_boundary(size: int) -> None:
    text = (
        "Ärger über Öl \U0001f600\U0001f44d\U0001f3fd e\u0301a\u0308\u0323 "
        "\U0001f468\u200d\U0001f469\u200d\U0001f467 naïve\r\nﬁn \u0915\u094d\u0937 你好。"
    )
    extraction = version(text * 3)
    chunks = chunk(extraction, sizes(max_chars=size))
    assert all(made.text.strip() for made in chunks)
    for cluster in broken_clusters(extraction, chunks):
        assert len(cluster) > size


def test_half_sign() -> None:
    text = "½ ½ ½ ½ fraction"
    places = [(0, 1), (2, 3), (4, 5), (6, 7), (8, 16)]
    extraction = version(
        text,
        pages=[Page(number=1, width=200, height=50, rotation=0, text_source="digital")],
        words=[
            Word(
                char_start=start,
                char_end=end,
                page=1,
                line=0,
                box=(10.0 * start, 5, 10.0 * end, 15),
                confidence=None,
                source="digital",
            )
            for start, end in places
        ],
    )
    *_, last = chunk(extraction, sizes(max_chars=8))
    assert (last.text, last.char_start, last.char_end) == ("fraction", 8, 16)
    assert [(box.x0, box.x1) for box in last.boxes] == [(80, 160)]

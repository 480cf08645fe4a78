"""Guarantees 1 to 4 and 9 as properties: they hold for whatever extraction may hand over."""

from __future__ import annotations

import uuid
from itertools import combinations
from pathlib import Path

import pytest
from chunk_checks import broken_clusters, check_boxes, check_chunks, check_offsets, check_sizes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import chunking_settings, counter, extractions

from ingest.chunking import Chunker
from ingest.settings import ChunkingSettings
from schemas.chunk import Chunk
from schemas.document import Element, Extraction
from schemas.identity import chunk_id, document_id, encode_parts

often = settings(
    max_examples=250,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@often
@given(extraction=extractions(), sizes=chunking_settings())
def test_all_guarantees_hold(extraction: Extraction, sizes: ChunkingSettings) -> None:
    chunks = Chunker(counter(), sizes).chunk(extraction)
    check_chunks(extraction, chunks, counter(), sizes)


@often
@given(extraction=extractions(paged=True), sizes=chunking_settings())
def test_boxes_and_pages_are_exact(extraction: Extraction, sizes: ChunkingSettings) -> None:
    chunks = Chunker(counter(), sizes).chunk(extraction)
    check_boxes(extraction, chunks)
    assert bool(chunks) == bool(extraction.text[: extraction.body_end].strip())


@often
@given(extraction=extractions(paged=True), sizes=chunking_settings(overlap=False))
def test_no_cluster_is_broken_that_fits(extraction: Extraction, sizes: ChunkingSettings) -> None:
    chunks = Chunker(counter(), sizes).chunk(extraction)
    for cluster in broken_clusters(extraction, chunks):
        assert len(cluster) > sizes.max_chars or counter().count([cluster])[0] > sizes.max_tokens


@often
@given(extraction=extractions(), sizes=chunking_settings())
def test_the_same_twice(extraction: Extraction, sizes: ChunkingSettings) -> None:
    again = Extraction.model_validate_json(extraction.model_dump_json())
    first = Chunker(counter(), sizes).chunk(extraction)
    assert Chunker(counter(), sizes).chunk(again) == first


parts = st.lists(st.one_of(st.text("abi_:01s2", max_size=4), st.integers(-20, 20)), max_size=4)


@settings(max_examples=500)
@given(st.lists(parts, max_size=8))
def test_encoding_of_parts_is_injective(sequences: list[list[str | int]]) -> None:
    for one, other in combinations(sequences, 2):
        assert (encode_parts(*one) == encode_parts(*other)) == (one == other)


def test_parts_that_a_separator_confuses() -> None:
    confusing: list[tuple[str | int, ...]] = [
        ("a_b", "c"),
        ("a", "b_c"),
        ("a", "b", "c"),
        ("a_b_c",),
        (1,),
        ("1",),
        (11,),
        (1, 1),
        ("s1:a",),
        (),
        ("",),
        ("", ""),
    ]
    assert len({encode_parts(*parts) for parts in confusing}) == len(confusing)


def test_ids_are_known_for_ever() -> None:
    # Literal values: a change here orphans every point of every installed index.
    assert document_id("contracts", "msa") == "975e1470-b63e-5b0f-b818-97367678d0b5"
    made = chunk_id("d", 1, 0, 5, "0" * 64, "1")
    assert made == "a29b6987-872a-519b-85bf-975906c503fd"
    assert uuid.UUID(made).version == 5
    for other in (
        chunk_id("e", 1, 0, 5, "0" * 64, "1"),
        chunk_id("d", 2, 0, 5, "0" * 64, "1"),
        chunk_id("d", 1, 1, 5, "0" * 64, "1"),
        chunk_id("d", 1, 0, 6, "0" * 64, "1"),
        chunk_id("d", 1, 0, 5, "1" * 64, "1"),
        chunk_id("d", 1, 0, 5, "0" * 64, "2"),
    ):
        assert other != made


@pytest.mark.parametrize("overlap", [0, 30])
def test_real_contracts(corpus: Path, overlap: int) -> None:
    files = sorted((corpus / "contracts_text").glob("*.txt"))
    assert len(files) > 30
    sizes = ChunkingSettings(overlap_tokens=overlap)
    chunker = Chunker(counter(), sizes)
    for path in files[::7]:
        text = path.read_bytes().decode("utf-8")
        extraction = Extraction(
            media_type="text/plain",
            extractor_version="1",
            doc_sha256="0" * 64,
            text=text,
            body_end=len(text),
            elements=_paragraphs(text),
        )
        chunks = chunker.chunk(extraction)
        check_chunks(extraction, chunks, counter(), sizes)
        assert broken_clusters(extraction, chunks) == []


def _paragraphs(text: str) -> tuple[Element, ...]:
    made: list[Element] = []
    position = 0
    for part in text.split("\n\n"):
        if part.strip():
            made.append(
                Element(
                    kind="paragraph",
                    char_start=position,
                    char_end=position + len(part),
                    paragraph=len(made) + 1,
                )
            )
        position += len(part) + 2
    return tuple(made)


# --- the checks themselves -------------------------------------------------------------------


@pytest.fixture
def repeated() -> tuple[Extraction, list[Chunk]]:
    extraction = Extraction(
        media_type="text/plain",
        extractor_version="1",
        doc_sha256="0" * 64,
        text="chunk chunk chunk chunk chunk",
        body_end=29,
    )
    return extraction, Chunker(counter(), ChunkingSettings(max_chars=16)).chunk(extraction)


def test_the_check_sees_an_offset_found_by_searching(
    repeated: tuple[Extraction, list[Chunk]],
) -> None:
    extraction, chunks = repeated
    found = [
        chunk.model_copy(
            update={
                "char_start": extraction.text.index(chunk.text),
                "char_end": extraction.text.index(chunk.text) + len(chunk.text),
            }
        )
        for chunk in chunks
    ]
    assert all(extraction.text[c.char_start : c.char_end] == c.text for c in found)
    with pytest.raises(AssertionError, match="strictly increase"):
        check_offsets(extraction, found, counter(), overlap=0)


def test_the_check_sees_what_is_missing(repeated: tuple[Extraction, list[Chunk]]) -> None:
    extraction, chunks = repeated
    with pytest.raises(AssertionError, match="in no chunk"):
        check_offsets(extraction, chunks[:-1], counter(), overlap=0)


def test_the_check_sees_a_wrong_count(repeated: tuple[Extraction, list[Chunk]]) -> None:
    _, chunks = repeated
    with pytest.raises(AssertionError):
        check_sizes([chunks[0].model_copy(update={"tokens": 3})], counter())

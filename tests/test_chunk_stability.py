"""One changed clause: which chunks of a long contract are new, and what is not done again."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from chunk_checks import check_chunks
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import counter
from workspace import Workspace, scan

from benchmarks.versions.changes import Run, difference, new_texts, touched
from benchmarks.versions.contracts import read, typeset
from benchmarks.versions.edits import KINDS, Edited, clauses, edited
from ingest.chunking import Chunker
from ingest.settings import ChunkingSettings
from schemas.chunk import Chunk
from schemas.document import Element, Extraction

NOUNS = [
    "lessee",
    "lessor",
    "contractor",
    "supplier",
    "deposit",
    "premises",
    "invoice",
    "warranty",
    "schedule",
    "notice",
    "insurer",
    "guarantor",
    "affiliate",
    "arbitrator",
    "licence",
    "purchaser",
    "inspection",
    "delivery",
    "remedy",
    "default",
    "interest",
    "certificate",
    "indemnity",
    "assignment",
    "territory",
    "royalty",
    "audit",
    "subcontractor",
    "equipment",
    "maintenance",
]
VERBS = [
    "pays",
    "keeps",
    "delivers",
    "returns",
    "inspects",
    "insures",
    "replaces",
    "terminates",
    "renews",
    "assigns",
    "discloses",
    "maintains",
    "approves",
    "withholds",
    "reports",
    "repairs",
    "certifies",
    "suspends",
    "transfers",
    "releases",
]
ENDS = (
    "within thirty days",
    "on written request",
    "at its own expense",
    "without undue delay",
    "unless the parties agree otherwise",
    "subject to the schedule",
    "before the closing date",
    "as far as the law allows",
    "in the currency of the invoice",
    "after the end of the term",
)


def sentence(numbers: random.Random) -> str:
    parts = (
        f"the {numbers.choice(NOUNS)} {numbers.choice(VERBS)} the {numbers.choice(NOUNS)} "
        f"{numbers.choice(ENDS)}"
        for _ in range(numbers.randint(1, 3))
    )
    text = ", and ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def clause(numbers: random.Random) -> str:
    return " ".join(sentence(numbers) for _ in range(numbers.randint(1, 6)))


def built(blocks: list[tuple[str, str]]) -> Extraction:
    """Return a version of blocks, each a kind and a text."""
    text, elements = "", []
    for kind, run in blocks:
        level = 1 if kind == "heading" else None
        end = len(text) + len(run)
        elements.append(Element(kind=kind, char_start=len(text), char_end=end, level=level))  # type: ignore[arg-type]
        text += run + "\n\n"
    return Extraction(
        media_type="text/plain",
        extractor_version="1",
        doc_sha256="a" * 64,
        text=text,
        body_end=len(text),
        elements=tuple(elements),
        language="en",
    )


def uniform(seed: int, paragraphs: int) -> Extraction:
    """Return a contract of clauses alone, without a heading."""
    numbers = random.Random(seed)
    return built([("paragraph", clause(numbers)) for _ in range(paragraphs)])


def even(seed: int, paragraphs: int, tokens: int) -> Extraction:
    """Return a contract whose clauses all have so many tokens: filled chunks never meet again."""
    numbers = random.Random(seed)
    ours = [word for word in NOUNS + VERBS if counter().count([word])[0] == 1 + counter().special]
    return built(
        [
            ("paragraph", " ".join(["The", *numbers.choices(ours, k=tokens - 2)]) + ".")
            for _ in range(paragraphs)
        ]
    )


def sectioned(seed: int, sections: int, clauses_each: int = 7) -> Extraction:
    numbers = random.Random(seed)
    blocks: list[tuple[str, str]] = []
    for number in range(1, sections + 1):
        blocks.append(("heading", f"{number}. {numbers.choice(NOUNS).title()}"))
        count = numbers.randint(1, clauses_each)
        blocks += [("paragraph", clause(numbers)) for _ in range(count)]
    return built(blocks)


def chunk(extraction: Extraction) -> list[Chunk]:
    return Chunker(counter(), ChunkingSettings()).chunk(extraction)


def chunk_again(made: Edited) -> list[Chunk]:
    """Chunk a changed version, with all guarantees checked on the way."""
    chunks = chunk(made.extraction)
    check_chunks(made.extraction, chunks, counter(), ChunkingSettings())
    return chunks


def spans(chunks: list[Chunk]) -> list[Run]:
    return [(made.char_start, made.char_end) for made in chunks]


def texts(chunks: list[Chunk]) -> list[str]:
    return [made.text for made in chunks]


def changed_at(extraction: Extraction, kind: str, seed: int) -> Edited:
    numbers = random.Random(f"{seed} {kind}")
    return edited(extraction, numbers.choice(clauses(extraction)), kind, numbers)


def reach(old: list[Chunk], new: list[Chunk], made: Edited) -> tuple[int, int]:
    """Return how many chunks before and behind those with the change the last new text is."""
    known = set(texts(old))
    fresh = [at for at, chunk in enumerate(new) if chunk.text not in known]
    held = [at for at, chunk in enumerate(new) if touched(spans([chunk]), [(made.start, made.end)])]
    # A clause that went between two chunks is in neither.
    behind = next((at for at, chunk in enumerate(new) if chunk.char_start >= made.end), len(new))
    first, last = (held[0], held[-1]) if held else (behind, behind - 1)
    return max([first - at for at in fresh] + [0]), max([at - last for at in fresh] + [0])


# --- where cuts come to lie again ------------------------------------------------------------

BEHIND = 12
"""Chunks behind a changed one after which nothing is new. Almost always it is none or one."""


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8)
@given(seed=st.integers(0, 10**9), tokens=st.integers(30, 90))
def test_behind_a_change_all_chunks_are_soon_the_same(kind: str, seed: int, tokens: int) -> None:
    extraction = even(seed, 130, tokens)
    made = changed_at(extraction, kind, seed)
    old, new = chunk(extraction), chunk_again(made)
    before, behind = reach(old, new, made)
    assert before <= 2
    assert behind <= BEHIND
    known = texts(old)
    tail = [one.text for one in new if one.char_start >= made.end][BEHIND:]
    assert known[len(known) - len(tail) :] == tail


@pytest.mark.parametrize("tokens", [40, 60])
def test_on_average_a_change_makes_little_more_than_its_own_chunk_new(tokens: int) -> None:
    # If chunks were filled to the brim, it would be eight and ten more.
    over: list[int] = []
    for seed in range(15):
        extraction = even(seed, 120, tokens)
        old = chunk(extraction)
        for kind in ("clause deleted", "clause added"):
            made = changed_at(extraction, kind, seed)
            new = chunk(made.extraction)
            least = touched(spans(new), [(made.start, made.end)])
            over.append(new_texts(texts(old), texts(new)) - least)
    assert sum(over) / len(over) < 2


@settings(max_examples=30)
@given(seed=st.integers(0, 10**9), kind=st.sampled_from(list(KINDS)))
def test_a_cut_knows_nothing_of_what_is_further_behind_than_a_chunk(seed: int, kind: str) -> None:
    extraction = uniform(seed, 60)
    made = changed_at(extraction, kind, seed)
    kept = [
        before
        for before in chunk(extraction)
        if counter().count([extraction.text[before.char_start : made.start]])[0] > 2 * 256
    ]
    assert spans(chunk_again(made))[: len(kept)] == spans(kept)


def test_the_same_text_gives_the_same_chunks_whatever_was_cut_before() -> None:
    chunker = Chunker(counter(), ChunkingSettings())
    extraction = uniform(1, 80)
    first = chunker.chunk(extraction)
    chunker.chunk(changed_at(extraction, "clause added", 1).extraction)
    assert chunker.chunk(extraction) == first == chunk(extraction)


@pytest.mark.parametrize("kind", ["clause deleted", "clause added"])
def test_a_small_section_that_comes_or_goes_leaves_the_others_joined_as_they_were(
    kind: str,
) -> None:
    numbers = random.Random(5)
    sections = [
        [("heading", f"{numbers.choice(NOUNS).title()} {number}"), ("paragraph", sentence(numbers))]
        for number in range(120)
    ]
    head = [("title", "Agreement")]
    old = chunk(built(head + [block for section in sections for block in section]))
    assert len(old) < 60, "the sections are too small for chunks of their own"
    over: list[int] = []
    for at in range(3, 110, 4):
        changed = sections[:at] + sections[at + 1 :]
        if kind == "clause added":
            new_one = [("heading", "Added"), ("paragraph", sentence(numbers))]
            changed = [*sections[:at], new_one, *sections[at:]]
        new = chunk(built(head + [block for section in changed for block in section]))
        over.append(new_texts(texts(old), texts(new)) - 1)
    assert max(over) <= 8
    assert sum(over) / len(over) < 1.5


# --- a contract of sixty pages ---------------------------------------------------------------

PAGE = 4_000
"""Characters of a page that is set closely."""


def test_a_changed_clause_of_sixty_pages_makes_only_its_own_chunks_new() -> None:
    extraction = sectioned(60, 160)
    assert len(extraction.text) > 60 * PAGE
    old = chunk(extraction)
    over: list[int] = []
    for seed in range(4):
        for kind in KINDS:
            made = changed_at(extraction, kind, seed)
            new = chunk(made.extraction)
            assert max(reach(old, new, made)) <= 2
            least = touched(spans(new), [(made.start, made.end)])
            over.append(new_texts(texts(old), texts(new)) - least)
    # In most cases the touched ones alone, else neighbours of theirs.
    assert sum(one <= 0 for one in over) > len(over) / 2
    assert max(over) <= 3


def test_a_contract_set_as_a_pdf_of_sixty_pages() -> None:
    numbers = random.Random(3)
    clauses_of_it = [clause(numbers) for _ in range(680)]
    old = read(typeset(clauses_of_it), "contract.pdf")
    assert len(old.pages) >= 60
    before = chunk(old)

    changed = list(clauses_of_it)
    changed[300] = changed[300].replace(" the ", " each ", 1)
    new, runs = read_again(changed, old)
    after = chunk(new)
    assert new_texts(texts(before), texts(after)) == touched(spans(after), runs) == 1

    new, runs = read_again([*clauses_of_it[:200], clause(numbers), *clauses_of_it[200:]], old)
    after = chunk(new)
    made = new_texts(texts(before), texts(after))
    # Where a page now ends elsewhere in a clause, the extraction may part its lines otherwise.
    assert made <= touched(spans(after), runs) + 2 * len(runs)
    assert made < len(after) / 8


def read_again(changed: list[str], old: Extraction) -> tuple[Extraction, tuple[Run, ...]]:
    """Set and read a contract, and return with it what is new in its body."""
    new = read(typeset(changed), "contract.pdf")
    return new, difference(old.text[: old.body_end], new.text[: new.body_end]).runs


# --- what a run does again -------------------------------------------------------------------


def contract_text(blocks: list[str]) -> str:
    return "\n\n".join(blocks) + "\n"


def test_the_ledger_counts_the_changed_chunks_and_no_others(tmp_path: Path) -> None:
    numbers = random.Random(11)
    blocks = [clause(numbers) for _ in range(45)]
    ws = Workspace(tmp_path)
    ws.add_source("contracts", kind="contract")
    ws.write("contracts/lease.txt", contract_text(blocks))
    (first,) = ws.run().lines
    old = {point["text"] for point in ws.points().values()}
    assert first.embedded == first.chunks == len(old) > 10

    blocks[30] = blocks[30].replace(" the ", " each ", 1)
    ws.write("contracts/lease.txt", contract_text(blocks))
    (second,) = ws.run().lines
    assert (second.changed, second.published, second.pages_recognised) == (1, 1, 0)
    new = [point for point in ws.points().values() if point["text"] not in old]
    assert second.embedded == 1
    (point,) = new
    assert blocks[30] in point["text"].replace("\n", " ")


def test_of_a_scan_only_the_changed_page_is_recognised_again(tmp_path: Path) -> None:
    numbers = random.Random(12)
    pages = [" ".join(sentence(numbers) for _ in range(3)) for _ in range(3)]
    ws = Workspace(tmp_path)
    ws.add_source("contracts", kind="contract")
    ws.write("contracts/lease.pdf", scan(*pages, dpi=110))
    (first,) = ws.run().lines
    assert (first.published, first.pages_recognised) == (1, 3)
    read_before = readings(ws)
    assert len(read_before) == 3

    pages[1] = f"{sentence(numbers)} {pages[1]}"
    ws.write("contracts/lease.pdf", scan(*pages, dpi=110))
    (second,) = ws.run().lines
    assert (second.changed, second.published) == (1, 1)
    read_after = readings(ws)
    # What is recognised is always put into the cache, be it there or not.
    assert len(read_after) == 4
    assert {path: read_after[path] for path in read_before} == read_before


def readings(ws: Workspace) -> dict[Path, int]:
    """Return the cached readings and when each was written."""
    folder = ws.settings.home / "cache" / "ocr"
    return {path: path.stat().st_mtime_ns for path in folder.glob("??/*.zst")}

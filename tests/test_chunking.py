"""Chunks: where they end, what they know about their place, and what they cost."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from chunk_checks import broken_clusters, check_chunks
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import chunking_settings, counter, extractions
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from ingest.blocks import blocks_of
from ingest.chunking import Chunker
from ingest.errors import ConfigurationError, ItemError
from ingest.extract import extract
from ingest.settings import ChunkingSettings, ExtractionSettings
from ingest.tokens import TokenCounter
from schemas.chunk import Chunk, Locator
from schemas.document import Element, Extraction, Page, TableRow, Word


class Draft:
    """Builds a version by appending runs, so that tests name texts and not offsets."""

    def __init__(self) -> None:
        self.text = ""
        self.elements: list[Element] = []

    def add(self, kind: str, text: str, after: str = "\n\n", **more: Any) -> Draft:
        start = len(self.text)
        self.text += text
        self.elements.append(
            Element(kind=kind, char_start=start, char_end=len(self.text), **more)  # type: ignore[arg-type]
        )
        self.text += after
        return self

    def loose(self, text: str) -> Draft:
        self.text += text
        return self

    def table(self, *rows: str, headers: int = 1) -> Draft:
        start = len(self.text)
        made = []
        for number, row in enumerate(rows):
            first = len(self.text)
            self.text += row + "\n"
            made.append(
                TableRow(char_start=first, char_end=first + len(row), header=number < headers)
            )
        self.elements.append(
            Element(kind="table", char_start=start, char_end=len(self.text), rows=tuple(made))
        )
        self.text += "\n"
        return self

    def build(self, **more: Any) -> Extraction:
        values: dict[str, Any] = {
            "media_type": "text/plain",
            "extractor_version": "1",
            "doc_sha256": "a" * 64,
            "text": self.text,
            "body_end": len(self.text),
            "elements": tuple(self.elements),
            "language": "en",
        }
        return Extraction(**values | more)


def chunk(extraction: Extraction, **sizes: Any) -> list[Chunk]:
    """Chunk, and check all guarantees on the way."""
    chosen = ChunkingSettings(**sizes)
    chunks = Chunker(counter(), chosen).chunk(extraction)
    check_chunks(extraction, chunks, counter(), chosen)
    return chunks


def of(text: str, **more: Any) -> Extraction:
    return Draft().loose(text).build(**more)


def words(count: int, first: int = 0) -> str:
    """Return a sentence of ``count`` tokens, its stop included."""
    return " ".join(["Word", *["word"] * (count - 2)]) + "." if count > 1 else "Word"


def sections(chunks: list[Chunk]) -> list[tuple[str, ...]]:
    return [made.section for made in chunks]


# --- nothing, little, and what is not the body -----------------------------------------------


@pytest.mark.parametrize("text", ["", " ", "\n\n\r\n\t\u00a0\u3000\x1c"])
def test_blank_texts_have_no_chunks(text: str) -> None:
    assert chunk(of(text)) == []


def test_one_word() -> None:
    (made,) = chunk(of("  \n word\r\n "))
    assert (made.text, made.char_start, made.char_end, made.tokens) == ("word", 4, 8, 3)
    assert made.section == ()
    assert made.element_kinds == ("paragraph",)
    assert made.locator == Locator(paragraph_first=1, paragraph_last=1)
    assert (made.text_source, made.ocr_confidence, made.context) == ("digital", None, None)
    assert (made.language, made.doc_sha256) == ("en", "a" * 64)


def test_text_without_elements_is_one_paragraph() -> None:
    chunks = chunk(of(f"{words(100)}\n\n{words(100)}\n\n{words(100)}"))
    assert [made.tokens for made in chunks] == [202, 102]
    assert {made.locator for made in chunks} == {Locator(paragraph_first=1, paragraph_last=1)}


def test_text_between_elements_is_not_lost() -> None:
    draft = Draft().loose("Before. ").add("list_item", "an item", after="").loose(" between ")
    (made,) = chunk(draft.add("caption", "a caption").loose("after").build())
    assert made.text == "Before. an item between a caption\n\nafter"
    assert made.element_kinds == ("paragraph", "list_item", "caption")
    assert made.locator == Locator(paragraph_first=1, paragraph_last=5)


def test_headers_and_footers_behind_the_body_are_not_chunked() -> None:
    draft = Draft().add("paragraph", "The body.")
    end = len(draft.text)
    draft.add("header", "Confidential").add("footer", "Page 1")
    (made,) = chunk(draft.build(body_end=end))
    assert made.text == "The body."


def test_a_body_that_ends_inside_an_element() -> None:
    (made,) = chunk(Draft().add("paragraph", "kept dropped").build(body_end=4))
    assert made.text == "kept"


def test_paragraph_numbers_of_the_source_are_kept() -> None:
    draft = Draft().add("paragraph", "one", paragraph=7).loose("no number of its own\n\n")
    (made,) = chunk(draft.add("paragraph", "two", paragraph=9).build())
    assert made.locator == Locator(paragraph_first=7, paragraph_last=9)
    (made,) = chunk(Draft().loose("loose\n\n").add("paragraph", " ", paragraph=3).build())
    assert made.locator == Locator(paragraph_first=1, paragraph_last=1)


# --- sections --------------------------------------------------------------------------------


def test_a_heading_starts_a_chunk_and_names_its_section() -> None:
    draft = Draft().add("paragraph", words(60))
    for level, name in [(1, "Fees"), (2, "Rent"), (2, "Tax"), (1, "Term"), (3, "Notice")]:
        draft.add("heading", name, level=level).add("paragraph", words(60))
    chunks = chunk(draft.build())
    assert sections(chunks) == [
        (),
        ("Fees",),
        ("Fees", "Rent"),
        ("Fees", "Tax"),
        ("Term",),
        ("Term", "Notice"),
    ]
    assert [made.text.split("\n")[0] for made in chunks[1:]] == [
        "Fees",
        "Rent",
        "Tax",
        "Term",
        "Notice",
    ]
    assert chunks[1].element_kinds == ("heading", "paragraph")


def test_a_title_stands_above_headings_of_its_level() -> None:
    draft = Draft().add("title", "Lease\n Agreement", level=1).add("heading", "Term", level=1)
    draft.add("paragraph", words(60)).add("heading", "Fees", level=1).add("paragraph", words(60))
    chunks = chunk(draft.add("title", "Annex").add("paragraph", words(60)).build())
    assert sections(chunks) == [
        ("Lease Agreement", "Term"),
        ("Lease Agreement", "Fees"),
        ("Annex",),
    ]
    assert chunks[0].text.startswith("Lease\n Agreement\n\nTerm\n\nWord")


def test_a_section_is_cut_but_its_path_stays() -> None:
    draft = Draft().add("heading", "Fees").add("paragraph", " ".join([words(50)] * 12))
    chunks = chunk(draft.add("paragraph", words(50)).build())
    assert sections(chunks) == [("Fees",)] * 3
    assert chunks[0].text.startswith("Fees\n\nWord")


def test_a_small_section_joins_its_neighbour_in_the_same_top_section() -> None:
    draft = Draft().add("heading", "A", level=1).add("paragraph", words(60))
    draft.add("heading", "A small", level=2).add("paragraph", words(10))
    draft.add("heading", "B", level=1).add("paragraph", words(60))
    chunks = chunk(draft.build())
    assert [made.text.count("Word") for made in chunks] == [2, 1]
    assert sections(chunks) == [("A",), ("B",)]


def test_a_small_top_section_joins_what_follows() -> None:
    draft = Draft().add("heading", "A", level=1).add("paragraph", words(60))
    draft.add("heading", "B", level=1).add("paragraph", words(10))
    draft.add("heading", "C", level=1).add("paragraph", words(60))
    draft.add("heading", "D", level=1).add("paragraph", words(10))
    chunks = chunk(draft.build())
    # Each belongs to the first text it holds; the last one can only join what is before it.
    assert sections(chunks) == [("A",), ("B",)]
    assert [made.text.count("\n\nWord") for made in chunks] == [1, 3]


def test_no_top_section_is_crossed_that_is_large_enough() -> None:
    draft = Draft()
    for name in "ABCDEF":
        draft.add("heading", name, level=1).add("paragraph", words(48))
    assert sections(chunk(draft.build())) == [(name,) for name in "ABCDEF"]


def test_small_neighbours_are_joined_only_as_far_as_the_budget_allows() -> None:
    draft = Draft().add("heading", "A", level=1).add("paragraph", words(10))
    draft.add("heading", "B", level=1).add("paragraph", words(250))
    chunks = chunk(draft.build())
    assert [made.tokens for made in chunks] == [13, 253]
    assert sections(chunks) == [("A",), ("B",)]


def test_min_tokens_zero_joins_nothing() -> None:
    draft = Draft()
    for name in "ABC":
        draft.add("heading", name, level=1).add("paragraph", "x.")
    assert sections(chunk(draft.build(), min_tokens=0)) == [("A",), ("B",), ("C",)]


def test_headings_without_text() -> None:
    draft = Draft().add("heading", "A", level=1).add("heading", "B", level=2)
    (made,) = chunk(draft.build())
    assert (made.text, made.section) == ("A\n\nB", ("A", "B"))


def test_a_long_list_of_headings_is_cut_between_them() -> None:
    draft = Draft()
    for number in range(150):
        draft.add("heading", f"Chapter {number} of the book", level=1)
    chunks = chunk(draft.build())
    assert len(chunks) > 2
    assert all(made.text.startswith("Chapter") for made in chunks)
    assert all(made.text.endswith("book") for made in chunks)


@settings(max_examples=80)
@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.lists(st.integers(1, 90), max_size=5)),
        max_size=12,
    ),
    st.integers(0, 60),
)
def test_sections_as_a_property(plan: list[tuple[int, list[int]]], least: int) -> None:
    draft = Draft()
    for level, paragraphs in plan:
        draft.add("heading", "Heading", level=level)
        for count in paragraphs:
            draft.add("paragraph", " ".join([words(count)] * 2))
    extraction = draft.build()
    chunks = chunk(extraction, min_tokens=least, max_tokens=130)
    leads: dict[int, int] = {}
    above: int | None = None
    for element in extraction.elements:
        leads[element.char_start] = element.char_start if above is None else above
        above = leads[element.char_start] if element.kind == "heading" else None
    for made in chunks:
        held = [
            element
            for element in extraction.elements
            if made.char_start <= element.char_start < made.char_end
        ]
        # Only blocks over the budget are cut, and a heading is last only where no text follows.
        assert made.char_start in leads or made.text.startswith("Word")
        for element in held:
            start = leads[element.char_start]
            fits = counter().count([draft.text[start : element.char_end]])[0] <= 130
            assert element.char_end <= made.char_end or not fits
        if held and held[-1].kind == "heading" and held[-1].char_end == made.char_end:
            assert "paragraph" not in {
                other.kind for other in extraction.elements if other.char_start >= made.char_end
            }
        borders = [
            after.char_start
            for before, after in pairwise(held)
            if after.kind == "heading" and before.kind != "heading"
        ]
        for first, border, last in zip(
            [made.char_start, *borders], borders, [*borders[1:], made.char_end], strict=False
        ):
            sides = counter().count([draft.text[first:border], draft.text[border:last]])
            assert min(sides) < least, "a border of sections that are large enough is crossed"


# --- where a chunk ends ----------------------------------------------------------------------


def test_blocks_that_fit_are_kept_whole() -> None:
    draft = Draft()
    for _ in range(6):
        draft.add("paragraph", " ".join([words(20)] * 5))
    chunks = chunk(draft.build())
    assert [made.tokens for made in chunks] == [202, 202, 202]


def test_a_long_paragraph_is_cut_after_sentences() -> None:
    text = " ".join(f"{words(29)[:-1]} Mr. No. {number}." for number in range(40))
    chunks = chunk(Draft().add("paragraph", text).build())
    assert len(chunks) > 4
    assert all(made.text.endswith(".") and made.text[-2].isdigit() for made in chunks)
    assert all(made.text.startswith("Word") for made in chunks)
    assert all(made.tokens > 200 for made in chunks[:-1])


def test_line_breaks_inside_a_paragraph_end_no_sentence() -> None:
    text = "\n".join(["Of this agreement the lessee", "shall pay the rent. It is due."] * 40)
    chunks = chunk(Draft().add("paragraph", text).build())
    assert len(chunks) > 1
    assert all(made.text.endswith(("rent.", "due.")) for made in chunks)


def test_a_sentence_over_the_budget_is_cut_after_a_clause() -> None:
    text = "The lessee shall: " + " ".join(["pay the rent; keep the house"] * 60)
    chunks = chunk(Draft().add("paragraph", text).build())
    assert len(chunks) > 1
    assert all(made.text.endswith(";") for made in chunks[:-1])


def test_a_heading_is_not_left_alone_above_a_long_paragraph() -> None:
    text = " ".join([words(30)] * 20)
    draft = Draft().add("paragraph", words(60)).add("heading", "Fees", level=1)
    chunks = chunk(draft.add("paragraph", text).build())
    assert chunks[1].text.startswith("Fees\n\nWord")
    assert chunks[1].tokens > 200


def test_a_heading_goes_with_a_paragraph_that_fits_only_alone() -> None:
    text = " ".join([words(25)] * 10)
    chunks = chunk(Draft().add("heading", words(20)[:-1], level=1).add("paragraph", text).build())
    assert len(chunks) == 2
    assert chunks[0].text.endswith(".")
    assert chunks[0].element_kinds == ("heading", "paragraph")


def test_the_rest_of_a_long_paragraph_is_not_tiny() -> None:
    text = " ".join([words(20)] * 13)
    chunks = chunk(Draft().add("paragraph", text).build())
    assert [made.tokens for made in chunks] == [202, 62]


def test_characters_are_limited_too() -> None:
    chunks = chunk(of("x" * 10_000), max_chars=2_000)
    assert [len(made.text) for made in chunks] == [2_000] * 5
    assert {made.tokens for made in chunks} == {3}


def test_a_long_unknown_word_whose_end_is_known() -> None:
    # WordPiece reads a word of more than 100 characters as one token, but its last 90 as many.
    chunks = chunk(of("x1" * 1_045), max_tokens=16)
    assert len(chunks) > 2


def test_a_schedule_of_numbers() -> None:
    text = "\n".join(f"{n:06d}  1{n},234,567.89  0.{n}%  19980315" for n in range(300))
    chunks = chunk(of(text))
    assert len(chunks) > 20
    assert all("\n" in made.text for made in chunks)


def test_no_character_is_broken() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
    for unit in (family, "a\u0301\u0323", "\U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea"):
        for lead in ("", "x", "xy"):
            extraction = of(lead + unit * 90)
            assert broken_clusters(extraction, chunk(extraction, max_chars=16)) == []


def test_elements_that_end_inside_a_character() -> None:
    draft = Draft().add("paragraph", "cafe", after="").add("paragraph", "\u0301 au lait")
    extraction = draft.build()
    blocks = blocks_of(extraction)
    assert [extraction.text[block.start : block.end] for block in blocks] == [
        "cafe\u0301",
        "au lait",
    ]


# --- tables and records ----------------------------------------------------------------------


def test_tables_are_cut_between_rows_and_the_header_is_context() -> None:
    header = "Item | Fee"
    rows = [f"item number {n} | {n}.00 euros a month" for n in range(60)]
    draft = Draft().add("paragraph", words(50)).table(header, *rows)
    chunks = chunk(draft.add("paragraph", words(50)).build())
    assert len(chunks) > 2
    assert [made.context for made in chunks] == [None, *[header] * (len(chunks) - 1)]
    assert [made.text.count(header) for made in chunks] == [1, *[0] * (len(chunks) - 1)]
    for made in chunks[1:]:
        assert made.text.startswith("item number")
    for made in chunks[:-1]:
        assert made.text.endswith("euros a month")
    assert chunks[0].element_kinds == ("paragraph", "table")
    assert chunks[-1].element_kinds == ("table", "paragraph")


def test_a_header_row_is_not_left_alone() -> None:
    rows = [" ".join(["cell"] * 40) for _ in range(10)]
    draft = Draft().add("paragraph", " ".join([words(55)] * 4)).table("Head | Row", *rows)
    chunks = chunk(draft.build())
    assert chunks[0].element_kinds == ("paragraph",)
    assert chunks[1].text.startswith("Head | Row\ncell")
    assert chunks[1].context is None


def test_a_table_that_fits_is_kept_whole() -> None:
    draft = Draft().add("paragraph", words(130)).table("A | B", *["1 | 2"] * 50)
    chunks = chunk(draft.build())
    assert [made.element_kinds for made in chunks] == [("paragraph",), ("table",)]


def test_a_row_over_the_budget_is_cut_inside() -> None:
    draft = Draft().table("Head", "short", words(600), "last")
    chunks = chunk(draft.build())
    assert chunks[0].context is None
    assert {made.context for made in chunks[1:]} == {"Head"}
    assert chunks[-1].text.endswith("last")


def test_two_header_rows() -> None:
    draft = Draft().table("Fees", "Item | Euro", *["some item | 12"] * 100, headers=2)
    assert chunk(draft.build())[1].context == "Fees\nItem | Euro"


def test_a_table_without_header_has_no_context() -> None:
    draft = Draft().table(*["some item | 12"] * 100, headers=0)
    assert {made.context for made in chunk(draft.build())} == {None}


def test_records_are_not_mixed_and_say_their_fields() -> None:
    draft = Draft()
    for row in ("17", "18"):
        for field, value in [("name", "Ada"), ("note", "likes tea")]:
            draft.loose(f"{field}: ").add("field", value, after="\n", row=row, field=field)
        draft.loose("\n")
    chunks = chunk(draft.build())
    assert [made.text for made in chunks] == ["name: Ada\nnote: likes tea"] * 2
    assert [made.locator for made in chunks] == [
        Locator(row="17", fields=("name", "note")),
        Locator(row="18", fields=("name", "note")),
    ]


def test_a_long_record_says_the_fields_of_each_chunk() -> None:
    draft = Draft().add("title", "Ada")
    draft.add("field", "Ada", row="1", field="name")
    draft.add("field", " ".join([words(50)] * 8), row="1", field="note")
    chunks = chunk(draft.add("field", "x", row="1", field="end").build())
    assert [made.locator.fields for made in chunks if made.locator] == [
        ("name", "note"),
        ("note", "end"),
    ]
    assert sections(chunks) == [("Ada",)] * 2


def test_headings_of_records_stay_with_their_own() -> None:
    draft = Draft()
    for row in "12":
        draft.add("title", f"Record {row}", level=1)
        draft.add("field", "value", row=row, field="name")
    chunks = chunk(draft.build())
    assert [made.text for made in chunks] == ["Record 1\n\nvalue", "Record 2\n\nvalue"]


def test_a_cell_that_begins_with_a_combining_mark_stays_in_its_row() -> None:
    draft = Draft().add("field", "cafe", after="", row="1", field="a")
    chunks = chunk(draft.add("field", "\u0301x", row="2", field="a").build())
    assert [made.text for made in chunks] == ["cafe", "\u0301x"]


# --- overlap ---------------------------------------------------------------------------------


def test_overlap_starts_at_a_sentence_if_that_is_half_of_it() -> None:
    text = " ".join([words(10)] * 60)
    chunks = chunk(Draft().add("paragraph", text).build(), overlap_tokens=35)
    assert len(chunks) > 2
    for before, after in pairwise(chunks):
        repeated = text[after.char_start : before.char_end]
        assert repeated == " ".join([words(10)] * 3)


def test_overlap_starts_at_a_word_otherwise() -> None:
    text = " ".join([words(100)] * 8)
    chunks = chunk(Draft().add("paragraph", text).build(), overlap_tokens=30)
    for before, after in pairwise(chunks):
        repeated = text[after.char_start : before.char_end]
        assert counter().count([repeated]) == [32]


def test_headings_and_tables_are_not_repeated() -> None:
    draft = Draft()
    for name in "AB":
        draft.add("heading", name, level=1).add("paragraph", words(60))
    draft.table("Head", *[words(30)] * 20)
    chunks = chunk(draft.build(), overlap_tokens=40)
    assert len(chunks) > 3
    for before, after in pairwise(chunks):
        assert before.char_end <= after.char_start


def test_an_overlap_of_more_than_half_is_refused() -> None:
    Chunker(counter(), ChunkingSettings(max_tokens=64, overlap_tokens=31))
    with pytest.raises(ConfigurationError, match="OVERLAP_TOKENS to at most 31") as caught:
        Chunker(counter(), ChunkingSettings(max_tokens=64, overlap_tokens=32))
    assert caught.value.code == "chunk_sizes_impossible"


def test_the_limit_of_the_model_wins() -> None:
    chunks = Chunker(counter(), ChunkingSettings(max_tokens=5_000, max_chars=100_000)).chunk(
        of("word " * 2_000)
    )
    assert max(made.tokens for made in chunks) == 256


# --- pages and boxes -------------------------------------------------------------------------

PAGES = tuple(
    Page(number=n, width=612, height=792, rotation=0, label=label, text_source="digital")
    for n, label in [(1, "i"), (2, None), (3, "iii"), (4, "4")]
)


def paged(*placed: tuple[str, int, int, str], **more: Any) -> Extraction:
    """Return a version of words (text, page, line, source), a space after each."""
    text, made = "", []
    for word, page, line, source in placed:
        x = 10.0 + len(text)
        made.append(
            Word(
                char_start=len(text),
                char_end=len(text) + len(word),
                page=page,
                line=line,
                box=(x, 10.0 * line, x + len(word), 10.0 * line + 8),
                confidence=90.0 if source == "ocr" else None,
                source=source,  # type: ignore[arg-type]
            )
        )
        text += word + " "
    return of(text, pages=PAGES, words=tuple(made), **more)


def test_one_box_for_each_line_and_page() -> None:
    extraction = paged(
        ("One", 1, 1, "digital"),
        ("two", 1, 1, "digital"),
        ("three", 1, 2, "digital"),
        ("four", 3, 3, "digital"),
    )
    (made,) = chunk(extraction)
    assert [(box.page, box.x0, box.y0, box.x1, box.y1) for box in made.boxes] == [
        (1, 10, 10, 17, 18),
        (1, 18, 20, 23, 28),
        (3, 24, 30, 28, 38),
    ]
    assert (made.page_first, made.page_last, made.page_label) == (1, 3, "i")
    assert made.locator is None


def test_a_page_without_label_has_none() -> None:
    (made,) = chunk(paged(("word", 2, 1, "digital")))
    assert (made.page_first, made.page_label) == (2, None)


def test_a_word_that_is_cut_shows_its_whole_box_in_both_chunks() -> None:
    extraction = paged(("x" * 24, 1, 1, "digital"))
    chunks = chunk(extraction, max_chars=16)
    assert [len(made.text) for made in chunks] == [16, 8]
    assert [[(box.x0, box.x1) for box in made.boxes] for made in chunks] == [[(10, 34)]] * 2


def test_recognised_words() -> None:
    extraction = paged(("ab", 1, 1, "ocr"), ("abcdef", 1, 1, "ocr"), ("abc", 1, 1, "digital"))
    values = [50.0, 90.0, None]
    mixed = extraction.model_copy(
        update={
            "words": tuple(
                word.model_copy(update={"confidence": value})
                for word, value in zip(extraction.words, values, strict=True)
            )
        }
    )
    (made,) = chunk(mixed)
    assert made.text_source == "mixed"
    assert made.ocr_confidence == pytest.approx((2 * 50 + 6 * 90) / 8)
    (made,) = chunk(paged(("scan", 1, 1, "ocr")))
    assert (made.text_source, made.ocr_confidence) == ("ocr", 90)
    (made,) = chunk(paged(("text", 1, 1, "digital")))
    assert (made.text_source, made.ocr_confidence) == ("digital", None)


def test_text_of_a_page_without_a_box_is_refused() -> None:
    extraction = paged(("one", 1, 1, "digital"), ("two", 1, 1, "digital"), ("six", 1, 1, "ocr"))
    holed = extraction.model_copy(update={"words": (extraction.words[0], extraction.words[2])})
    with pytest.raises(ItemError, match="'two' between 3 and 8") as caught:
        Chunker(counter(), ChunkingSettings()).chunk(holed)
    assert caught.value.code == "text_without_box"
    with pytest.raises(ItemError, match="'one two six'"):
        Chunker(counter(), ChunkingSettings()).chunk(extraction.model_copy(update={"words": ()}))


# --- other tokenizers ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def byte_counter(tmp_path_factory: pytest.TempPathFactory) -> TokenCounter:
    """Return the counter of a byte-level tokenizer, for which white space is tokens too."""
    folder = tmp_path_factory.mktemp("byte-level")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=400, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(["The lessee shall pay the rent, chunk by chunk. "] * 9, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 64}))
    return TokenCounter(str(folder))


@settings(max_examples=150)
@given(extraction=extractions(), sizes=chunking_settings())
def test_guarantees_hold_where_parts_have_other_tokens_than_the_whole(
    byte_counter: TokenCounter, extraction: Extraction, sizes: ChunkingSettings
) -> None:
    chunks = Chunker(byte_counter, sizes).chunk(extraction)
    check_chunks(extraction, chunks, byte_counter, sizes)


def test_a_character_over_the_budget(byte_counter: TokenCounter) -> None:
    sizes = ChunkingSettings.model_construct(
        max_tokens=3, min_tokens=0, overlap_tokens=0, max_chars=16
    )
    with pytest.raises(ItemError, match="is 5 tokens, and a chunk may have 3"):
        Chunker(byte_counter, sizes).chunk(of("\U0001f468"))


# --- cost ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "x" * 200_000,
        "." * 200_000,
        "\u0301" * 50_000,
        "\u200b" * 200_000,
        "a " * 100_000,
        "4" * 100_000,
        "你好" * 50_000,
        " " * 400_000 + "x",
    ],
    ids=["word", "stops", "marks", "zero-width", "letters", "digits", "chinese", "spaces"],
)
def test_hostile_texts_cost_linear_time(text: str) -> None:
    begun = time.process_time()
    Chunker(counter(), ChunkingSettings(overlap_tokens=40)).chunk(of(text))
    assert time.process_time() - begun < 20


def test_many_elements_and_words_cost_linear_time() -> None:
    def cost(paragraphs: int) -> float:
        draft = Draft()
        for number in range(paragraphs):
            draft.add("paragraph", words(12 + number % 40))
        placed, position = [], 0
        for number, part in enumerate(draft.text.split(" ")):
            stripped = part.split("\n\n")
            for piece in stripped:
                if piece:
                    placed.append(
                        Word(
                            char_start=position,
                            char_end=position + len(piece),
                            page=1,
                            line=number // 12,
                            box=(1, 1, 2, 2),
                            confidence=None,
                            source="digital",
                        )
                    )
                position += len(piece) + 2
            position -= 1
        extraction = draft.build(words=tuple(placed), pages=PAGES)
        chunker = Chunker(counter(), ChunkingSettings())
        begun = time.process_time()
        chunker.chunk(extraction)
        return time.process_time() - begun

    small, large = cost(300), cost(3_000)
    assert large < 40 * max(small, 0.02)


def test_a_large_contract_is_chunked_at_a_megabyte_in_seconds(corpus: Path) -> None:
    files = sorted((corpus / "contracts_text").glob("*.txt"))
    text = "\n\n".join(path.read_bytes().decode("utf-8") for path in files)[:1_000_000]
    begun = time.process_time()
    chunks = Chunker(counter(), ChunkingSettings()).chunk(of(text))
    seconds = time.process_time() - begun
    assert len(chunks) > 800
    # It takes under a second; the bound only catches another order of growth.
    assert seconds < 15


def test_a_markdown_heading_names_its_section_without_its_marks() -> None:
    text = "## 2. Fees ##\n\nFees are invoiced quarterly in advance and payable within thirty days."
    extraction = extract(text.encode(), name="a.md", settings=ExtractionSettings())
    (chunk,) = Chunker(counter(), ChunkingSettings()).chunk(extraction)
    assert chunk.text == text
    assert chunk.section == ("2. Fees",)

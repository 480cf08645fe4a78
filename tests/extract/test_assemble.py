from __future__ import annotations

from typing import Any

import pytest
from extract.checks import check_invariants
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ingest.extract import EXTRACTOR_VERSION
from ingest.extract.assemble import assemble
from ingest.extract.blocks import Block, PageContent, PageWord, RowSpan, clamp, split_word
from ingest.extract.furniture import mark_furniture
from ingest.extract.words import WordList
from schemas.document import Extraction, ExtractionWarning, Page, Word

WIDTH, HEIGHT = 200.0, 400.0
SIDES = st.floats(0, 400, allow_nan=False)
TEXTS = st.text(
    st.characters(exclude_categories=["Cs", "Zs", "Zl", "Zp", "Cc"]), min_size=1, max_size=6
) | st.sampled_from(
    [
        "👩\u200d👩\u200d👧",
        "e\u0301",
        "ﬁ",
        "שלום",
        "条款",
        "agree-",
        "ment",
        "a\u00ad",
        "1.",
        "Term.",
    ]
)


def word(text: str, top: float = 200.0, left: float = 20.0) -> PageWord:
    return PageWord(text, (left, top, left + 6 * len(text), top + 10), None, "digital")


WORDS = st.builds(word, TEXTS, st.floats(0, 380), st.floats(0, 150))
LINES = st.lists(WORDS, min_size=1, max_size=4).map(tuple)
KINDS = st.sampled_from(["title", "heading", "paragraph", "table", "header", "footer", "footnote"])


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    lines = tuple(draw(st.lists(LINES, min_size=1, max_size=4)))
    kind = draw(KINDS)
    rows = ()
    if kind == "table" and draw(st.booleans()):
        rows = tuple(RowSpan(1, header=number == 0) for number in range(len(lines)))
    return Block(kind, lines, size=draw(st.sampled_from([0.0, 9.5, 12.0, 20.0])), rows=rows)


@st.composite
def documents(draw: st.DrawFn) -> list[PageContent]:
    contents = []
    for number, page_blocks in enumerate(draw(st.lists(st.lists(blocks(), max_size=4))), start=1):
        source = "digital" if page_blocks else "none"
        page = Page(number=number, width=WIDTH, height=HEIGHT, rotation=0, text_source=source)
        warnings = [ExtractionWarning(code="page_without_text", message="", page=number)]
        contents.append(PageContent(page, page_blocks, False, [] if page_blocks else warnings))
    return contents


def extraction_of(contents: list[PageContent]) -> Extraction:
    draft = assemble(contents)
    return Extraction(
        media_type="application/pdf",
        extractor_version=EXTRACTOR_VERSION,
        doc_sha256="0" * 64,
        text=draft.text,
        body_end=draft.body_end,
        pages=tuple(draft.pages),
        words=tuple(draft.words),
        elements=tuple(draft.elements),
        warnings=tuple(draft.warnings),
        title=draft.title,
    )


@given(documents(), st.booleans())
def test_any_blocks_make_a_valid_extraction(contents: list[PageContent], split: bool) -> None:
    texts = sorted(
        word.text
        for content in contents
        for b in content.blocks
        for line in b.lines
        for word in line
    )
    if split:
        mark_furniture(contents)
    extraction = extraction_of(contents)
    if contents:
        check_invariants(extraction)
    found = sorted(extraction.text[w.char_start : w.char_end] for w in extraction.words)
    assert len(found) == len(texts)
    assert sorted(text.rstrip("-\u00ad") for text in found) == sorted(
        text.rstrip("-\u00ad") for text in texts
    )


def page_of(number: int, *page_blocks: Block) -> PageContent:
    return PageContent(
        Page(number=number, width=WIDTH, height=HEIGHT, rotation=0, text_source="digital"),
        list(page_blocks),
    )


def line(text: str, top: float) -> tuple[PageWord, ...]:
    return tuple(word(part, top, 20 + 30 * n) for n, part in enumerate(text.split()))


def paragraph(*lines: tuple[PageWord, ...]) -> Block:
    return Block("paragraph", lines)


def test_a_clause_over_a_page_break_is_contiguous() -> None:
    contents = [
        page_of(
            1,
            paragraph(line("ACME Confidential", 20), line("The Supplier shall", 60)),
            paragraph(line("deliver the", 300), line("Page 1 of 2", 380)),
        ),
        page_of(
            2,
            paragraph(line("ACME Confidential", 20)),
            paragraph(line("goods in time.", 60)),
            paragraph(line("- 2 -", 380)),
        ),
    ]
    mark_furniture(contents)
    extraction = extraction_of(contents)
    assert extraction.text[: extraction.body_end] == (
        "The Supplier shall\n\ndeliver the\ngoods in time."
    )
    assert extraction.text[extraction.body_end :] == (
        "\n\nACME Confidential\n\nPage 1 of 2\n\nACME Confidential\n\n- 2 -"
    )
    assert [w.line for w in extraction.words] == sorted(w.line for w in extraction.words)


def hyphenated(text: str, top: float, bare: bool = True) -> tuple[PageWord, ...]:
    """Return a line whose last word ends in a hyphen and knows its box without it."""
    *before, last = line(text, top)
    x0, y0, x1, y1 = last.box
    return (*before, last._replace(bare_box=(x0, y0, x1 - 6, y1) if bare else None))


def spans(extraction: Extraction) -> list[tuple[str, int, float]]:
    """Return the text, page and width of each word."""
    return [
        (extraction.text[w.char_start : w.char_end], w.page, w.box[2] - w.box[0])
        for w in extraction.words
    ]


def test_a_broken_word_is_one_word_with_both_boxes() -> None:
    lines = (hyphenated("an agree-", 100), line("ment in a long-", 112), line("term plan", 124))
    extraction = extraction_of([page_of(1, paragraph(*lines))])
    check_invariants(extraction)
    assert extraction.text == "an agreement in a long-term plan"
    assert ("agree", 1, 30.0) in spans(extraction), "the box without the hyphen"
    assert ("ment", 1, 24.0) in spans(extraction)
    assert ("long-", 1, 30.0) in spans(extraction), "the box with its own hyphen"
    assert len({w.line for w in extraction.words}) == 3


def test_a_broken_word_without_a_known_hyphen_keeps_its_whole_box() -> None:
    extraction = extraction_of(
        [page_of(1, paragraph(hyphenated("agree-", 100, False), line("ment", 112)))]
    )
    assert spans(extraction) == [("agree", 1, 36.0), ("ment", 1, 24.0)]


def test_a_word_broken_over_a_page_has_a_box_on_each() -> None:
    """Footnotes, captions and running heads between its halves do not part them."""
    note = Block("footnote", (line("1 As amended.", 380),), size=7)
    contents = [
        page_of(
            1, paragraph(hyphenated("the agree-", 360)), note, Block("footer", (line("1", 390),))
        ),
        page_of(2, Block("header", (line("ACME", 10),)), paragraph(line("ment ends.", 60))),
    ]
    extraction = extraction_of(contents)
    check_invariants(extraction)
    assert extraction.text[: extraction.body_end] == "the agreement ends.\n\n1 As amended."
    assert [(text, page) for text, page, _ in spans(extraction)[:3]] == [
        ("the", 1),
        ("agree", 1),
        ("ment", 2),
    ]
    assert [e.kind for e in extraction.elements] == ["paragraph", "footnote", "footer", "header"]


@pytest.mark.parametrize(
    ("last", "first", "joined"),
    [
        ("shall deliver the", "Goods in time.", True),
        ("to Acme, its parent,", "Beta and others.", True),
        ("a full line of words", "Goods in time.", True),
        ("The end.", "the next one", False),
        ("as follows:", "the next one", False),
        ("shall deliver the", "(a) goods", False),
        ("shall deliver the", "2. GOODS", False),
    ],
)
def test_paragraphs_that_go_on_behind_a_page(last: str, first: str, joined: bool) -> None:
    above = line("a line of some words", 340)
    contents = [
        page_of(1, paragraph(above, line(last, 360))),
        page_of(2, paragraph(line(first, 60))),
    ]
    extraction = extraction_of(contents)
    check_invariants(extraction)
    elements = [e for e in extraction.elements if e.kind != "heading"]
    assert (len(elements) == 1) == joined or first == "2. GOODS"


def test_a_paragraph_does_not_go_on_below_itself() -> None:
    blocks = paragraph(line("shall deliver the", 100)), paragraph(line("goods in time", 130))
    assert len(extraction_of([page_of(1, *blocks)]).elements) == 2


def test_a_paragraph_goes_on_in_the_next_column() -> None:
    left = paragraph(line("shall deliver the", 300))
    right = paragraph(tuple(word(text, 60, 120 + 30 * n) for n, text in enumerate(["goods", "in"])))
    assert extraction_of([page_of(1, left, right)]).text == "shall deliver the\ngoods in"


def test_a_run_in_heading_is_an_element_of_its_own() -> None:
    extraction = extraction_of(
        [page_of(1, paragraph(line("7. Termination. Either party may", 100)))]
    )
    check_invariants(extraction)
    assert extraction.text == "7. Termination. Either party may"
    assert [
        (e.kind, e.level, extraction.text[e.char_start : e.char_end]) for e in extraction.elements
    ] == [("heading", 1, "7. Termination."), ("paragraph", None, "Either party may")]


@pytest.mark.parametrize(
    "bad",
    [
        {"box": (0.0, 0.0, float("nan"), 10.0)},
        {"confidence": 101.0},
        {"confidence": -1.0},
        {"source": "guess"},
        {"box_kind": "page"},
        {"box": (0.0, 0.0, 1.0)},
    ],
)
def test_words_outside_the_contract_are_refused(bad: dict[str, Any]) -> None:
    words = WordList()
    words.add((word("a")._replace(**bad),), 1, 0)
    words.place()
    with pytest.raises(ValueError, match="out of range"):
        words.build()


def test_words_are_like_those_that_pydantic_makes() -> None:
    words = WordList()
    words.add((word("a"), word("b")._replace(confidence=80.0, source="ocr")), 3, 7)
    assert words.place() == "a b"
    [first, second] = words.build()
    for made in (first, second):
        assert made == Word(**made.model_dump())
        assert Word.model_validate_json(made.model_dump_json()) == made
        assert hash(made) == hash(made.model_copy())
    with pytest.raises(ValidationError):
        first.page = 4


def test_what_only_looks_like_furniture_stays() -> None:
    contents = [
        page_of(1, paragraph(line("12", 200)), paragraph(line("LETTERHEAD", 10))),
        page_of(2, paragraph(line("LETTERHEAD", 200)), paragraph(line("body text", 390))),
    ]
    mark_furniture(contents)
    assert all(b.kind == "paragraph" for content in contents for b in content.blocks)


def test_a_document_of_furniture_alone_has_a_body() -> None:
    extraction = extraction_of([page_of(1, Block("header", (line("ACME", 10),)))])
    assert extraction.body_end == len("ACME")
    assert extraction.elements[0].kind == "paragraph"


def test_levels_come_from_numbers_then_from_sizes() -> None:
    headings = [("3.2 Fees", 10.0), ("Overview", 14.0), ("Details", 11.0), ("Scope", 14.0)]
    contents = [
        page_of(
            1,
            Block("title", (line("The Agreement", 50),), size=20),
            *(Block("heading", (line(text, 100),), size=size) for text, size in headings),
        )
    ]
    extraction = extraction_of(contents)
    assert [e.level for e in extraction.elements] == [1, 2, 1, 2, 1]
    assert extraction.title == "The Agreement"


def test_rows_of_a_table_cover_its_lines() -> None:
    rows = (RowSpan(1, header=True), RowSpan(2))
    table = Block("table", (line("Item Price", 50), line("Desk", 70), line("9", 80)), rows=rows)
    extraction = extraction_of([page_of(1, paragraph(line("Prices", 20)), table)])
    [_, element] = extraction.elements
    assert [
        (extraction.text[row.char_start : row.char_end], row.header) for row in element.rows
    ] == [("Item Price", True), ("Desk\n9", False)]


@given(st.tuples(SIDES, SIDES, SIDES, SIDES))
def test_clamped_boxes_are_inside_and_hold_what_was_inside(
    box: tuple[float, float, float, float],
) -> None:
    found = clamp(box, WIDTH, HEIGHT)
    if found is None:
        assert min(box[0], box[2]) >= WIDTH
        return
    x0, y0, x1, y1 = found
    assert 0 <= x0 < x1 <= WIDTH
    assert 0 <= y0 < y1 <= HEIGHT
    assert x0 <= min(max(min(box[0], box[2]), 0), WIDTH)
    assert x1 >= min(max(box[0], box[2]), WIDTH) - 1e-9


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_boxes_without_a_place_are_dropped(bad: float) -> None:
    assert clamp((bad, 0, 10, 10), WIDTH, HEIGHT) is None
    assert clamp((-20, 0, -10, 10), WIDTH, HEIGHT) is None


def test_split_words_share_the_box() -> None:
    assert split_word("a\u00a0bc", (0.0, 0.0, 40.0, 10.0)) == [
        ("a", (0.0, 0.0, 10.0, 10.0)),
        ("bc", (20.0, 0.0, 40.0, 10.0)),
    ]
    assert split_word("a b", (0.0, 0.0, 10.0, 30.0))[1] == ("b", (0.0, 20.0, 10.0, 30.0))
    assert split_word(" \u2003", (0.0, 0.0, 1.0, 1.0)) == []

"""Clauses: each non-blank character in exactly one, with its number and its section."""

from __future__ import annotations

import pytest
from diff.versions import clauses, document
from hypothesis import given
from strategies import extractions

from ingest.diff.clauses import clauses_of, number_of, rejoined
from schemas.document import Element, ElementKind, Extraction, TableRow


@given(extractions())
def test_every_non_blank_character_of_the_body_is_in_exactly_one_clause(
    extraction: Extraction,
) -> None:
    text = extraction.text
    found = clauses_of(extraction)
    times = [0] * len(text)
    end = 0
    for clause in found:
        assert end <= clause.start < clause.end
        end = clause.end
        assert clause.text == text[clause.start : clause.end] == clause.text.strip()
        for place in range(clause.start, clause.end):
            times[place] += 1
    body = [i for i, char in enumerate(text[: extraction.body_end]) if not char.isspace()]
    assert all(times[place] == 1 for place in body)


@pytest.mark.parametrize(
    ("text", "kind", "number", "rest"),
    [
        ("7.2 Notice", "heading", "7.2", "Notice"),
        ("7.2. Notices are sent by post.", "paragraph", "7.2", "Notices are sent by post."),
        ("## 12. Term", "heading", "12", "Term"),
        ("A. Definitions", "heading", "A", "Definitions"),
        ("IV. Fees", "heading", "IV", "Fees"),
        ("Article IV Fees", "heading", "Article IV", "Fees"),
        ("Schedule 1: Services", "heading", "Schedule 1", "Services"),
        ("Section 3. The Supplier acts.", "paragraph", "Section 3", "The Supplier acts."),
        ("(a) the Company shall act;", "paragraph", "(a)", "the Company shall act;"),
        ("- (iv) the Company", "list_item", "(iv)", "the Company"),
        ("1. **Fees**", "list_item", "1", "**Fees**"),
        ("5", "paragraph", None, "5"),
        ("第一条 本协议", "paragraph", None, "第一条 本协议"),
        # Numbers that are a part of their sentence.
        ("2.5 million euros are due.", "paragraph", None, "2.5 million euros are due."),
        ("30 days after notice", "paragraph", None, "30 days after notice"),
        ("Section 7 applies to Fees.", "paragraph", None, "Section 7 applies to Fees."),
        ("J. Smith signs.", "paragraph", None, "J. Smith signs."),
        ("Part of the price", "heading", None, "Part of the price"),
        ("Civil law", "heading", None, "Civil law"),
    ],
)
def test_numbers(text: str, kind: ElementKind, number: str | None, rest: str) -> None:
    found, start = number_of(text, kind)
    assert (found, text[start:].strip()) == (number, rest)


def test_a_table_is_cut_between_its_rows() -> None:
    text = "| Item | Fee |\n| --- | --- |\n| Desk | 9 |\n| Chair | 4 |"
    starts = [0, text.index("| Desk"), text.index("| Chair")]
    rows = tuple(
        TableRow(char_start=start, char_end=text.find("\n", start) if start < 40 else len(text))
        for start in starts
    )
    extraction = document([text]).model_copy(
        update={
            "elements": (Element(kind="table", char_start=0, char_end=len(text), rows=rows),),
        }
    )
    assert [one.text for one in clauses_of(extraction)] == [
        "| Item | Fee |\n| --- | --- |",
        "| Desk | 9 |",
        "| Chair | 4 |",
    ]


def test_items_inside_a_list_item_of_markdown_are_clauses() -> None:
    text = "3. Termination. Either party may end this:\n    a. after notice;\n    b. at once."
    extraction = document([text], "list_item").model_copy(update={"media_type": "text/markdown"})
    assert [(one.number, one.text) for one in clauses_of(extraction)] == [
        ("3", "3. Termination. Either party may end this:"),
        ("a", "a. after notice;"),
        ("b", "b. at once."),
    ]


def test_white_space_does_not_count_and_case_does() -> None:
    one, other, third = clauses(
        "Fees  are\ndue ( net ) .", "Fees are due (net).", "fees are due (net)."
    )
    assert one.key == other.key != third.key


def test_a_paragraph_that_a_page_break_cut_in_two_is_one_again() -> None:
    halves = document(["1. Fees", "The Customer pays the fees", "within thirty days.", "The end."])
    whole = clauses("1. Fees", "The Customer pays the fees within thirty days.", "The end.")
    found = rejoined(clauses_of(halves), whole, halves)
    assert [one.key for one in found] == [one.key for one in whole]
    assert found[1].text == halves.text[found[1].start : found[1].end]
    # Where both versions have the two, they stay two.
    assert len(rejoined(clauses_of(halves), clauses_of(halves), halves)) == 4

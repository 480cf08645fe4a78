"""Roles that size, weight, place and words tell on pages without a layout model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ingest.extract.blocks import Block, Line, PageContent, PageWord
from ingest.extract.roles import set_roles
from schemas.document import ElementKind, Page

TEXT = "Either party may terminate this agreement by notice of ninety days in writing."


def block(text: str, top: float = 100, *, size: float = 10, bold: bool = False) -> Block:
    lines: list[Line] = []
    for number, part in enumerate(text.split("\n")):
        x, y = 50.0, top + 12 * number
        words = []
        for word in part.split():
            words.append(PageWord(word, (x, y, x + 5 * len(word), y + 9), None, "digital"))
            x += 5 * len(word) + 3
        lines.append(tuple(words))
    return Block("paragraph", tuple(lines), size=size, bold=bold)


def kinds(*blocks: Block) -> list[ElementKind]:
    page = Page(number=1, width=600, height=800, rotation=0, text_source="digital")
    content = PageContent(page, [*blocks, block(TEXT, 300), block(TEXT, 330), block(TEXT, 360)])
    set_roles([content])
    return [found.kind for found in content.blocks][: len(blocks)]


def test_titles_and_headings_by_size() -> None:
    assert kinds(
        block("Master Agreement", 40, size=20),
        block(TEXT, 70),
        block("Term and termination", 100, size=14),
    ) == ["title", "paragraph", "heading"]


@pytest.mark.parametrize("size", [10.0, 0.0])
def test_headings_in_capitals_above_a_sentence(size: float) -> None:
    above = [block(TEXT, 40, size=size), block("CONFIDENTIALITY", size=size)]
    assert kinds(*above, block(TEXT, 120, size=size)) == ["paragraph", "heading", "paragraph"]


@pytest.mark.parametrize(
    "text", ["ACME HOLDINGS, INC.", "BY: JOHN SMITH", "[REDACTED]", "TOTAL 12,500", "AND"]
)
def test_capitals_that_head_nothing(text: str) -> None:
    assert kinds(block(TEXT, 40), block(text), block(TEXT, 120))[1] == "paragraph"


def test_capitals_above_no_sentence_head_nothing() -> None:
    page = Page(number=1, width=600, height=800, rotation=0, text_source="digital")
    receipt = [block(text, 40 + 20 * n) for n, text in enumerate(["CASH", "CHANGE", "THANKS"])]
    content = PageContent(page, receipt)
    set_roles([content])
    assert {found.kind for found in content.blocks} == {"paragraph"}


def test_bold_and_lettered_headings() -> None:
    assert kinds(block(TEXT, 40), block("Governing law", bold=True))[1] == "heading"
    assert kinds(block(TEXT, 40), block("A. Definitions", bold=True))[1] == "heading"
    assert kinds(block(TEXT, 40), block("A. Definitions"))[1] == "heading"
    assert kinds(block(TEXT, 40), block("A. Smith"), block("By:"))[1] == "list_item"
    assert kinds(block(TEXT, 40), block("A. Definitions apply."))[1] == "list_item"
    assert kinds(block(TEXT, 40), block("Acme Holdings Inc.", bold=True))[1] == "paragraph"
    assert kinds(block(TEXT, 40), block("Governing law ........ 12", bold=True))[1] == "paragraph"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Figure 2: Sales by region", "caption"),
        ("Table 1. Results", "caption"),
        ("Fig. 3 Overview", "caption"),
        ("Table 4", "paragraph"),
        ("Figure 2 shows that sales rose", "paragraph"),
        ("• an item", "list_item"),
        ("(iv) an item", "list_item"),
        ("12. an item", "list_item"),
        ("– 12 –", "list_item"),
        ("–", "paragraph"),
        ("2024 was a good year", "paragraph"),
    ],
)
def test_captions_and_list_items(text: str, kind: str) -> None:
    assert kinds(block(TEXT, 40), block(text))[1] == kind


def test_small_print_with_a_mark_at_the_foot_is_a_footnote() -> None:
    page = Page(number=1, width=600, height=800, rotation=0, text_source="digital")
    blocks = [
        block(TEXT, 60),
        block("1 Not above the middle.", 80, size=7),
        block(TEXT, 500),
        block("no mark", 690, size=7),
        block("1 As amended.", 700, size=7),
        block("and restated.", 712, size=7),
        block("* Not audited.", 724, size=7),
    ]
    content = PageContent(page, blocks)
    set_roles([content])
    assert [found.kind for found in content.blocks] == ["paragraph"] * 4 + ["footnote"] * 3


@pytest.mark.parametrize("laid_out", [True, False])
def test_the_title_is_above_the_text(laid_out: bool) -> None:
    page = Page(number=1, width=600, height=800, rotation=0, text_source="digital")
    texts = ["Exhibit 10.2", "MASTER AGREEMENT", TEXT, "GOVERNING LAW", TEXT]
    blocks = [block(text, 40 + 20 * n) for n, text in enumerate(texts)]
    blocks = [replace(b, kind="heading") if n in (0, 1, 3) else b for n, b in enumerate(blocks)]
    content = PageContent(page, blocks, laid_out)
    set_roles([content])
    assert [found.kind for found in content.blocks] == [
        "heading",
        "title",
        "paragraph",
        "heading",
        "paragraph",
    ]


def test_pages_that_a_model_has_seen_are_left_alone() -> None:
    page = Page(number=1, width=600, height=800, rotation=0, text_source="digital")
    content = PageContent(page, [block("CONFIDENTIALITY"), block(TEXT, 120)], laid_out=True)
    set_roles([content])
    assert [found.kind for found in content.blocks] == ["paragraph", "paragraph"]

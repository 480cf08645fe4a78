"""Running heads, feet and page numbers: what repeats, and what only looks like it."""

from __future__ import annotations

import pytest

from ingest.extract.blocks import Block, Line, PageContent, PageWord, RowSpan
from ingest.extract.furniture import mark_furniture
from schemas.document import Page, TextSource

HEIGHT = 800.0


def line(text: str, top: float, source: TextSource = "digital") -> Line:
    confidence = 90.0 if source == "ocr" else None
    return tuple(
        PageWord(word, (50 + 60 * n, top, 100 + 60 * n, top + 10), confidence, source)
        for n, word in enumerate(text.split())
    )


def pages(*texts: list[Line], laid_out: bool = False) -> list[PageContent]:
    return [
        PageContent(
            Page(number=number, width=600, height=HEIGHT, rotation=0, text_source="digital"),
            [Block("paragraph", tuple(lines))],
            laid_out,
        )
        for number, lines in enumerate(texts, start=1)
    ]


def marked(contents: list[PageContent]) -> list[list[tuple[str, str]]]:
    """Return for each page what became a header or footer."""
    mark_furniture(contents)
    return [
        [(block.kind, block.text) for block in content.blocks if block.kind != "paragraph"]
        for content in contents
    ]


def body(number: int, top: float = 300) -> list[Line]:
    return [line(f"clause {'abcdefgh'[number]} of this page", top)]


def test_odd_and_even_pages_have_heads_of_their_own() -> None:
    heads = ["Acme plc", "Annual report", "Acme plc", "Annual report"]
    found = marked(pages(*([line(head, 20), *body(n)] for n, head in enumerate(heads))))
    assert found == [[("header", head)] for head in heads]


@pytest.mark.parametrize(
    "texts",
    [
        ("3", "4"),
        ("- 3 -", "- 4 -"),
        ("Page 3 of 12", "Page 4 of 12"),
        ("page 3/12", "page 4/12"),
        ("iii", "iv"),
        ("Draft of 3 May 2024 – 1", "Draft of 3 May 2024 – 2"),
    ],
)
def test_page_numbers(texts: tuple[str, str]) -> None:
    found = marked(pages(*([*body(n), line(text, 770)] for n, text in enumerate(texts))))
    assert found == [[("footer", text)] for text in texts]


def test_recognised_heads_may_differ_in_some_letters() -> None:
    heads = ["MASTER SERVICES AGREEMENT", "MASTER SERV1CES AGREEMENT", "MASIER SERVICES AGREEMENI"]
    found = marked(pages(*([line(head, 20, "ocr"), *body(n)] for n, head in enumerate(heads))))
    assert found == [[("header", head)] for head in heads]
    digital = marked(pages(*([line(head, 20), *body(n)] for n, head in enumerate(heads))))
    assert digital == [[], [], []], "digital text has no wrong letters"


def test_recognised_text_in_the_margin_is_no_head_by_chance() -> None:
    heads = ["The Supplier shall deliver", "of the goods in question", "Neither party may assign"]
    assert marked(pages(*([line(head, 20, "ocr"), *body(n)] for n, head in enumerate(heads)))) == [
        [],
        [],
        [],
    ]


def test_the_last_line_of_pages_that_end_early() -> None:
    feet = [f"Exhibit L-2 - Page {n}" for n in (1, 2, 3)]
    found = marked(
        pages(*([*body(n, 200), line(foot, 300 + 90 * n)] for n, foot in enumerate(feet)))
    )
    assert found == [[("footer", foot)] for foot in feet]
    two = marked(pages(*([*body(n, 200), line(feet[n], 300 + 90 * n)] for n in range(2))))
    assert two == [[], []], "twice is chance"


def test_what_the_layout_model_missed_on_three_pages() -> None:
    texts = [[line("Acme plc", 20), *body(n)] for n in range(3)]
    assert marked(pages(*texts, laid_out=True)) == [[("header", "Acme plc")]] * 3
    assert marked(pages(*texts[:2], laid_out=True)) == [[], []]


def test_a_row_in_the_margin_is_still_a_row() -> None:
    contents = pages([line("Total 12", 770)], [line("Total 14", 770)])
    for content in contents:
        content.blocks = [Block("table", content.blocks[0].lines, rows=(RowSpan(1),))]
    mark_furniture(contents)
    assert [content.blocks[0].kind for content in contents] == ["table", "table"]


def test_nothing_is_lost_where_a_head_is_cut_out_of_a_block() -> None:
    contents = pages(
        [line("one", 300), line("Acme plc", 20), line("two", 320)], [line("Acme plc", 20)]
    )
    mark_furniture(contents)
    assert [(b.kind, b.text) for b in contents[0].blocks] == [
        ("paragraph", "one"),
        ("header", "Acme plc"),
        ("paragraph", "two"),
    ]

"""Payloads: the link that opens a web page at the passage."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from extract.checks import read

from ingest.fragments import PageText, with_fragment


def directive(page: str, passage: str, at: int = 0) -> str:
    """Return the directive for the ``at``-th place of ``passage`` on a page."""
    extraction = read(page.encode(), "page.html")
    start = -1
    for _ in range(at + 1):
        start = extraction.text.index(passage, start + 1)
    found = PageText(extraction).fragment(start, start + len(passage))
    assert found is not None
    assert found.startswith("text=")
    return found.removeprefix("text=")


def page(*blocks: str) -> str:
    return "<html><body>" + "".join(f"<p>{block}</p>" for block in blocks) + "</body></html>"


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("Prices rise.", "Prices%20rise."),
        ("one, two & three-four", "one%2C%20two%20%26%20three%2Dfour"),
        ("Grüße 🎉 an alle", "Gr%C3%BC%C3%9Fe%20%F0%9F%8E%89%20an%20alle"),
        (
            "a b c d e f g h i j k l m",
            "a%20b%20c%20d%20e,i%20j%20k%20l%20m",
        ),
    ],
)
def test_words_of_a_passage_and_their_encoding(text: str, fragment: str) -> None:
    assert directive(page("Before it.", text.replace("&", "&amp;"), "After it."), text) == fragment


def test_a_term_never_joins_words_of_two_blocks_or_lines() -> None:
    first = "Short heading"
    second = "The first paragraph goes on for a while<br>and has a second line here, the last one."
    shown = second.replace("<br>", "\n")
    start, end = directive(page(first, second), f"{first}\n\n{shown}").split(",")
    assert unquote(start) == "Short"
    assert unquote(end) == "line here, the last one."


def test_words_that_stand_earlier_get_the_words_around_them() -> None:
    clause = "The fee is due monthly in advance."
    source = page("Part one says this.", clause, "Part two says that.", clause, "The end is near.")
    assert directive(source, clause) == "The%20fee%20is%20due%20monthly%20in%20advance."
    again = directive(source, clause, at=1)
    assert again == "two%20says%20that.-,The%20fee%20is%20due%20monthly%20in%20advance."


def test_case_and_accents_make_no_difference_to_a_browser() -> None:
    source = page("CAFE ROYAL IS OPEN", "Something else", "Café Royal is open")
    assert directive(source, "Café Royal is open").startswith("Something%20else-,Caf%C3%A9")


def test_a_part_of_a_word_is_no_other_place() -> None:
    source = page("Prefeelings come first.", "The fee is due")
    assert directive(source, "fee is due") == "fee%20is%20due"


def test_the_end_is_the_first_of_its_kind_behind_the_start() -> None:
    body = "We begin here with words " + "and then the rent is paid on time " * 9 + "as agreed"
    found = directive(page(body), body.removesuffix(" as agreed"))
    assert found == ("We%20begin%20here%20with%20words,rent%20is%20paid%20on%20time,-as%20agreed")
    longer = body.replace("as agreed", "before the rent is paid on time")
    assert directive(page(longer), longer).endswith(
        ",time%20before%20the%20rent%20is%20paid%20on%20time"
    )


def test_cells_are_blocks_of_their_own() -> None:
    source = (
        "<html><body><p>A list of what things cost in the shop around the corner.</p><table>"
        "<tr><th>Item name</th><th>Price each</th></tr><tr><td>Big desk</td><td>9 euro</td></tr>"
        "</table></body></html>"
    )
    assert directive(source, "Item name Price each\nBig desk 9 euro") == "Item,9%20euro"


def test_numbers_of_items_are_not_searched_for() -> None:
    source = '<html><body><ol type="a"><li>The first thing.</li><li>The second.</li></ol></body>'
    assert directive(source, "b. The second.") == "The%20second."


def test_a_passage_without_words_has_no_directive() -> None:
    extraction = read(page("* * *", "Words.").encode(), "page.html")
    assert PageText(extraction).fragment(0, 5) is None


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("https://a.example/x", "https://a.example/x#:~:text=y"),
        ("https://a.example/x?q=1#part", "https://a.example/x?q=1#part:~:text=y"),
        ("https://a.example/x#:~:text=old", "https://a.example/x#:~:text=y"),
    ],
)
def test_the_address_keeps_its_own_fragment(uri: str, expected: str) -> None:
    assert with_fragment(uri, "text=y") == expected

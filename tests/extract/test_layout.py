"""Pages without the layout model: order, paragraphs and the frame of turned text."""

from __future__ import annotations

import random
import re
from itertools import pairwise

import pymupdf
import pytest
from extract.checks import read

from ingest.extract.blocks import PageWord
from ingest.extract.layout import blocks_in_order
from ingest.extract.text_layer import read_text_layer
from ingest.extract.text_line import TextLine
from ingest.extract.turns import Frame, Turn, main_turn, to_frame
from schemas.document import Extraction

Area = tuple[float, float, float, float]
MADE: dict[str, list[tuple[Area, int]]] = {
    "two columns": [((50, 50, 290, 740), 330), ((310, 50, 550, 740), 330)],
    "three columns under a title": [
        ((100, 40, 500, 70), 8),
        ((40, 90, 200, 740), 190),
        ((220, 90, 380, 740), 190),
        ((400, 90, 560, 740), 190),
    ],
    "columns, text across, columns": [
        ((50, 50, 290, 300), 100),
        ((310, 50, 550, 300), 100),
        ((50, 330, 550, 420), 80),
        ((50, 450, 290, 740), 120),
        ((310, 450, 550, 740), 120),
    ],
    "a sidebar": [((40, 50, 190, 740), 160), ((220, 50, 560, 740), 450)],
}
"""Areas of a page in reading order, each with its number of words."""


def made_page(areas: list[tuple[Area, int]], seed: int) -> bytes:
    """Make a page of numbered words, its areas drawn in any order."""
    drawn: list[tuple[Area, str]] = []
    first = 0
    for area, count in areas:
        words = [f"w{n:04d}{'x' * (n * 7 % 5)}" for n in range(first, first + count)]
        drawn.append((area, " ".join(words)))
        first += count
    random.Random(seed).shuffle(drawn)
    with pymupdf.open() as document:
        page = document.new_page(width=600, height=800)
        for area, text in drawn:
            assert page.insert_textbox(area, text, fontsize=9) >= 0, "the words fit their area"
        return bytes(document.tobytes())


def kept_pairs(text: str) -> float:
    """Return the share of words that are followed by the one that should."""
    numbers = [int(found) for found in re.findall(r"w(\d{4})", text)]
    return sum(b == a + 1 for a, b in pairwise(numbers)) / (len(numbers) - 1)


@pytest.mark.parametrize("name", MADE)
def test_the_order_does_not_depend_on_how_the_file_draws(name: str) -> None:
    for seed in range(3):
        with pymupdf.open(stream=made_page(MADE[name], seed)) as document:
            lines = read_text_layer(document[0], 0, 600, 800).lines
        text = " ".join(block.text for block in blocks_in_order(lines, None))
        assert kept_pairs(text) == 1.0


def body(extraction: Extraction) -> list[str]:
    return [
        " ".join(extraction.text[e.char_start : e.char_end].split())
        for e in extraction.elements
        if e.char_start < extraction.body_end
    ]


def page_pdf(*lines: tuple[float, float, str], size: float = 10) -> bytes:
    with pymupdf.open() as document:
        page = document.new_page(width=600, height=800)
        for x, y, text in lines:
            page.insert_text((x, y), text, fontsize=size)
        return bytes(document.tobytes())


FULL = "the Supplier shall deliver the goods to the place that the Customer has named in writ"


def test_paragraphs_end_where_a_reader_sees_an_end() -> None:
    found = read(
        page_pdf(
            (50, 100, FULL),
            (50, 112, "and at its own cost."),
            (
                50,
                124,
                "It bears the risk until then, whoever may have caused the delay of its trip",
            ),
            (50, 136, "and the loss."),
            (70, 148, "An indent begins a paragraph, and a wider gap does so in the same way, too"),
            (50, 160, "as here it goes on."),
            (50, 190, "A gap comes before this."),
            (50, 202, "- one thing is on this list"),
            (50, 214, "- another thing is on it too"),
            (50, 226, "(a) a third one; and"),
            (50, 238, "(b) a fourth."),
        ),
        "paragraphs.pdf",
    )
    starts = [text.split()[0] for text in body(found)]
    assert starts == ["the", "It", "An", "A", "-", "-", "(a)", "(b)"]
    assert [e.kind for e in found.elements][-4:] == ["list_item"] * 4


def test_a_number_that_wraps_is_no_list_mark() -> None:
    found = read(
        page_pdf(
            (50, 100, FULL), (50, 112, "(b) of this clause, and no list begins at such a place.")
        ),
        "wrapped.pdf",
    )
    assert len(body(found)) == 1


def word(text: str, x: float, y: float) -> PageWord:
    return PageWord(text, (x, y, x + 5 * len(text), y + 8), None, "digital")


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_turned_text_reads_as_upright_text_does(turn: Turn) -> None:
    """The words keep their boxes on the page; only the order is that of their frame."""
    upright = [
        [word("7.", 50, 100), word("Term", 70, 100)],
        [word("It", 50, 112), word("ends.", 70, 112)],
    ]
    # The inverse of to_frame is the turn the other way.
    back: dict[Turn, Turn] = {90: 270, 180: 180, 270: 90}
    lines = [
        TextLine(
            tuple(PageWord(w.text, to_frame(w.box, back[turn]), None, "digital") for w in words),
            block=number,
            size=8,
            horizontal=turn == 180,
            angle=turn,
        )
        for number, words in enumerate(reversed(upright))
    ]
    assert main_turn((line.angle, 1) for line in lines) == turn
    blocks = blocks_in_order(lines, None)
    assert [w.text for b in blocks for line in b.lines for w in line] == [
        "7.",
        "Term",
        "It",
        "ends.",
    ]
    given = {id(w) for line in lines for w in line.words}
    assert {id(w) for b in blocks for line in b.lines for w in line} == given


def test_a_page_of_both_directions_is_not_turned() -> None:
    assert main_turn([(0, 50), (90, 50)]) == 0
    assert main_turn([(0, 20), (-90, 80)]) == 270
    assert main_turn([(45, 100)]) == 0
    assert main_turn([]) == 0
    assert Frame([], 90).lines == []

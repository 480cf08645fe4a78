"""Payloads: the link that opens a web page at the passage."""

from __future__ import annotations

from urllib.parse import unquote

import pytest

from ingest.payloads import text_fragment


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("Prices rise.", "#:~:text=Prices%20rise."),
        ("one, two & three-four", "#:~:text=one%2C%20two%20%26%20three%2Dfour"),
        (
            "a b c d e f g h i j k l",
            "#:~:text=a%20b%20c%20d%20e,h%20i%20j%20k%20l",
        ),
        ("Grüße 🎉", "#:~:text=Gr%C3%BC%C3%9Fe%20%F0%9F%8E%89"),
    ],
)
def test_fragment(text: str, fragment: str) -> None:
    assert text_fragment(text) == fragment


def test_a_fragment_never_joins_words_of_two_blocks() -> None:
    text = "Short heading\n\n" + "The first paragraph goes on for a while here. " * 3
    start, end = text_fragment(text).removeprefix("#:~:text=").split(",")
    assert unquote(start) == "Short heading"
    assert unquote(end) == "on for a while here."

"""Where a text may be cut."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
import regex  # type: ignore[import-untyped]  # its stubs are a package of their own
from hypothesis import given, settings
from strategies import texts

from ingest.boundaries import cluster_at, cut_inside, sentence_ends

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"


@pytest.mark.parametrize(
    "parts",
    [
        ["The fee is due. ", "It is paid monthly! ", "Is it? ", "Yes, always."],
        ["Mr. Smith of Acme Inc. Delaware signs. ", "See Sec. 4.2 and No. 5 of it."],
        ["J. P. Morgan pays U.S. Dollars, e.g. $4.50 at 3.5 p.m. sharp. ", "Then it ends."],
        ["He said “stop.” ", "She went (at last.) ", "Then 3 came."],
        ["1. The term is a year. ", "2.1. Fees are due. ", "(iv). Notice is given."],
        ["It ends... and goes on. ", "It ends… ", "It is over."],
        ["你好。", "世界！", "再见"],
        ["क्या हुआ। ", "वह गया। ", "ठीक"],
        ["One line\nof a sentence. ", "Another\r\nline."],
        ["A heading without a stop\n\n", "Then a paragraph\r\n\r\n", "and one more"],
        ["No stop at all"],
        ["www.example.com/a.B is a name, v1.2.3 a version."],
        ["One. Two. ", "Three. ", "Four."],
    ],
)
def test_sentences(parts: list[str]) -> None:
    text = "".join(parts)
    ends = [0, *sentence_ends(text, 0, len(text)), len(text)]
    assert [text[a:b].strip() for a, b in pairwise(ends)] == [part.strip() for part in parts]


def test_ends_are_inside_the_given_run() -> None:
    text = "First one. Second one. Third one. Fourth one."
    assert sentence_ends(text, 0, len(text)) == [10, 22, 33]
    assert sentence_ends(text, 11, 33) == [22]


@pytest.mark.parametrize(
    ("text", "position", "cluster"),
    [
        ("abc", 1, (1, 1)),
        ("abc", 0, (0, 0)),
        ("abc", 3, (3, 3)),
        ("", 0, (0, 0)),
        ("e\u0301a", 1, (0, 2)),
        ("e\u0301a", 2, (2, 2)),
        ("\r\n", 1, (0, 2)),
        (f"x{FAMILY}y", 4, (1, 8)),
        (f"x{FAMILY}y", 8, (8, 8)),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", 1, (0, 2)),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", 2, (2, 2)),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", 3, (2, 4)),
        ("\u06001", 1, (0, 2)),  # a number sign goes with the digit after it
    ],
)
def test_clusters(text: str, position: int, cluster: tuple[int, int]) -> None:
    assert cluster_at(text, position) == cluster


@settings(max_examples=200)
@given(texts())
def test_clusters_are_those_of_a_scan_of_the_whole(text: str) -> None:
    for match in regex.finditer(r"\X", text):
        assert cluster_at(text, match.start()) == (match.start(), match.start())
        for position in range(match.start() + 1, match.end()):
            assert cluster_at(text, position) == match.span()


@pytest.mark.parametrize(
    ("text", "limit", "first"),
    [
        ("one two three four", 9, "one two"),
        ("one two three four", 7, "one two"),
        ("one two; three four", 12, "one two;"),
        ("one; two three four five", 19, "one; two three four"),
        ("ten\u00a0000 euros", 6, "ten\u00a0"),
        ("abcdefghij", 4, "abcd"),
        ("你好世界", 3, "你好"),
        ("e\u0301e\u0301e\u0301", 3, "e\u0301"),
        (FAMILY * 2, 9, FAMILY),
        (FAMILY, 3, FAMILY[:3]),
        ("a \u0301b c d", 3, "a \u0301"),
    ],
)
def test_cut_inside(text: str, limit: int, first: str) -> None:
    assert text[: cut_inside(text, 0, limit)] == first


@settings(max_examples=300)
@given(texts())
def test_a_cut_goes_forward_and_stays_within_its_limit(text: str) -> None:
    for limit in range(1, len(text), 7):
        assert 0 < cut_inside(text, 0, limit) <= limit


@pytest.mark.parametrize(
    "text",
    [
        "." * 300_000,
        ". " * 150_000,
        "\n" * 300_000,
        "\n \n" * 100_000,
        ".)" * 150_000,
        "a.B" * 100_000,
        "\u0301" * 300_000,
        "No. " * 75_000,
    ],
)
def test_hostile_texts_cost_linear_time(text: str) -> None:
    begun = time.process_time()
    sentence_ends(text, 0, len(text))
    assert time.process_time() - begun < 5

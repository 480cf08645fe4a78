from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.quality.values import inert, show


@given(st.text(st.characters(codec=None)))
def test_no_text_is_left_that_a_page_or_a_terminal_could_obey(text: str) -> None:
    shown = inert(text)
    assert shown.isprintable()
    assert not set("<>") & set(shown)
    shown.encode("utf-8")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "missing"),
        ("a & b", '"a & b"'),
        ("<b>\x1b[31m\u202e\ud800\n", r'"\u003cb\u003e\u001b[31m\u202e\ud800\n"'),
        ("\U000e0041", r'"\U000e0041"'),
        (21.887005649717516, "21.887"),
        (7, "7"),
        (datetime(2026, 3, 31, tzinfo=UTC), "2026-03-31T00:00:00Z"),
    ],
)
def test_values_are_shown_as_people_write_them(value: object, shown: str) -> None:
    assert show(value) == shown


def test_long_text_is_cut_before_it_is_escaped() -> None:
    assert inert("x" * 80) == "x" * 80
    assert inert("x" * 81) == "x" * 80 + "…"
    assert inert("<" * 81, limit=2) == "\\u003c\\u003c…"

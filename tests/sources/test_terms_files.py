"""An item's own terms, in a file beside it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from source_kit import connector, keys, problems
from workspace import Workspace


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / "in" / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


def test_they_go_with_their_file_and_are_no_item(tmp_path: Path) -> None:
    write(tmp_path, **{"a.pdf": "%PDF-", "b.pdf": "%PDF-", "sub__c.pdf": "%PDF-"})
    write(
        tmp_path, **{"a.pdf.terms.yaml": "max_quote_chars: 20\nvalid_until: '2030-01-01T00:00:00Z'"}
    )
    write(tmp_path, **{"sub__c.pdf.terms.yaml": "display_allowed: false"})
    listing = connector(tmp_path, connector="files", address="in", pattern="**/*.pdf").list()
    assert keys(listing) == ["a.pdf", "b.pdf", "sub/c.pdf"]
    assert listing.problems == ()
    first, second, third = listing.items
    assert first.terms is not None
    assert first.terms.max_quote_chars == 20
    assert second.terms is None
    assert third.terms is not None
    assert third.terms.display_allowed is False


def test_a_change_of_them_is_a_change_of_the_item_alone(tmp_path: Path) -> None:
    write(tmp_path, **{"a.txt": "a", "b.txt": "b", "a.txt.terms.yaml": "max_quote_chars: 20"})
    source = connector(tmp_path, connector="files", address="in")
    before = [item.fingerprint for item in source.list().items]
    write(tmp_path, **{"a.txt.terms.yaml": "max_quote_chars: 30"})
    after = [item.fingerprint for item in source.list().items]
    assert before[0] != after[0]
    assert before[1] == after[1]
    assert source.fetch(source.list().items[0]).fingerprint == after[0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("max_quote_chars: many", "max_quote_chars: "),
        ("max_quotes: 4", "max_quotes: "),
        ("- 1", "valid dictionary"),
        ("a: [", "line 1"),
        ("valid_until: '31/01/2030'", "RFC 3339"),
        ("valid_from: '2031-01-01T00:00:00Z'\nvalid_until: '2030-01-01T00:00:00Z'", "not after"),
        ("allowed_uses: [training]", "nothing in common"),
        ("", "valid dictionary"),
    ],
)
def test_what_cannot_be_followed_costs_the_item(tmp_path: Path, text: str, words: str) -> None:
    write(tmp_path, **{"a.txt": "a", "b.txt": "b", "a.txt.terms.yaml": text})
    listing = connector(tmp_path, connector="files", address="in").list()
    assert keys(listing) == ["b.txt"]
    assert problems(listing) == [("a.txt", "terms_invalid")]
    assert words in listing.problems[0].message


def test_terms_without_their_file_are_named(tmp_path: Path) -> None:
    write(tmp_path, **{"b.txt": "b", "a.txt.terms.yaml": "max_quote_chars: 20"})
    listing = connector(tmp_path, connector="files", address="in").list()
    assert keys(listing) == ["b.txt"]
    assert problems(listing) == [("a.txt.terms.yaml", "terms_file_missing")]


def test_what_would_widen_counts_for_nothing_and_is_said(tmp_path: Path) -> None:
    write(tmp_path, **{"a.txt": "a", "a.txt.terms.yaml": "redistribution_allowed: true"})
    (item,) = connector(tmp_path, connector="files", address="in").list().items
    (warning,) = item.warnings
    assert warning.code == "terms_widen"
    assert "redistribution_allowed True where the licence has False" in warning.message


def test_they_reach_the_points_and_a_change_embeds_nothing(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("in")
    ws.write("in/a.txt", "The tenant shall keep a register of all visitors.")
    ws.write("in/a.txt.terms.yaml", "max_quote_chars: 20\nvalid_until: '2030-01-01T00:00:00Z'")
    ws.run()
    (point,) = ws.points().values()
    assert point["max_quote_chars"] == 20
    assert point["licence_valid_until"] == "2030-01-01T00:00:00Z"
    ws.write("in/a.txt.terms.yaml", "max_quote_chars: 10")
    ledger = ws.run()
    assert (ledger.lines[0].changed, ledger.lines[0].embedded) == (1, 0)
    (changed,) = ws.points().values()
    assert changed["max_quote_chars"] == 10
    assert changed["licence_valid_until"] == "9999-12-31T00:00:00Z"
    assert changed["chunk_id"] == point["chunk_id"]


def test_terms_that_cannot_be_read_keep_their_file_out(tmp_path: Path) -> None:
    """Without them it would be shown under the wider licence of its source."""
    write(tmp_path, **{f"{name}.txt": name for name in "abcd"})
    inside = tmp_path / "in"
    (inside / "a.txt.terms.yaml").symlink_to("nowhere")
    os.mkfifo(inside / "b.txt.terms.yaml")
    write(tmp_path, **{"c.txt.terms.yaml": "max_quote_chars: 20\n#" + "x" * 70_000})
    listing = connector(tmp_path, connector="files", address="in").list()
    assert keys(listing) == ["d.txt"]
    assert problems(listing) == [(f"{name}.txt", "terms_invalid") for name in "abc"]


def test_terms_of_a_file_that_the_pattern_leaves_out_are_no_problem(tmp_path: Path) -> None:
    write(tmp_path, **{"a.pdf": "%PDF-", "b.txt": "b", "b.txt.terms.yaml": "max_quote_chars: 20"})
    write(tmp_path, **{"c.pfd.terms.yaml": "max_quote_chars: 20"})
    listing = connector(tmp_path, connector="files", address="in", pattern="*.pdf").list()
    assert keys(listing) == ["a.pdf"]
    assert problems(listing) == [("c.pfd.terms.yaml", "terms_file_missing")]

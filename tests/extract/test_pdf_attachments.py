"""Files that a PDF carries."""

from __future__ import annotations

from pathlib import Path

import pymupdf
import pytest
from extract.checks import FAST, check_invariants, limited, text_pdf

from ingest.errors import ItemError
from ingest.extract import extract_with_members

PDF = text_pdf()


def carrying(*embedded: tuple[str, bytes], pinned: tuple[tuple[str, bytes], ...] = ()) -> bytes:
    """Return a PDF of two pages with files of the document, and files pinned to the second."""
    with pymupdf.open(stream=text_pdf(pages=2), filetype="pdf") as document:
        for number, (name, data) in enumerate(embedded):
            document.embfile_add(str(number), data, filename=name, ufilename=name)
        for number, (name, data) in enumerate(pinned):
            document[1].add_file_annot((50 + 30 * number, 50), data, name)
        return bytes(document.tobytes(deflate=True))


def test_files_of_the_document_and_files_pinned_to_a_page() -> None:
    data = carrying(("terms.pdf", PDF), ("a.txt", b"Words."), pinned=(("note.txt", b"A note."),))
    extraction, members = extract_with_members(data, name="a.pdf", settings=FAST)
    check_invariants(extraction)
    assert [(m.name, m.data) for m in members] == [
        ("terms.pdf", PDF),
        ("a.txt", b"Words."),
        ("note.txt", b"A note."),
    ]
    assert "This Agreement" in extraction.text


def test_a_file_that_is_listed_twice_is_one_and_names_are_made_safe() -> None:
    data = carrying(
        ("../../a.txt", b"1"), ("a.txt", b"2"), ("", b"3"), pinned=(("a.txt", b"2"), ("b", b"4"))
    )
    _, members = extract_with_members(data, name="a.pdf", settings=FAST)
    assert [(m.name, m.data) for m in members] == [
        ("a.txt", b"1"),
        ("a (2).txt", b"2"),
        ("2", b"3"),
        ("b", b"4"),
    ]


def test_a_bomb_is_refused_by_itself() -> None:
    data = carrying(("bomb.bin", bytes(70 * 1024**2)), ("a.txt", b"Words."))
    extraction, members = extract_with_members(data, name="a.pdf", settings=FAST)
    assert [m.name for m in members] == ["a.txt"]
    assert [(p.name, p.code) for p in extraction.member_problems] == [("bomb.bin", "archive_bomb")]


def test_limits() -> None:
    data = carrying(("a.txt", b"12345"), ("b.txt", b"12345"))
    for limits, code in (
        ({"members": 1}, "too_many_members"),
        ({"member_bytes": 9}, "members_too_large"),
    ):
        with pytest.raises(ItemError) as caught:
            extract_with_members(data, name="a.pdf", settings=limited(**limits))
        assert caught.value.code == code


def test_a_real_file(corpus: Path) -> None:
    data = (corpus / "pdf_nasty/attachment.pdf").read_bytes()
    extraction, (member,) = extract_with_members(data, name="attachment.pdf", settings=FAST)
    assert (member.name, member.data) == ("foo.txt", b"bar baz \n")
    assert [(a.name, a.size) for a in extraction.attachments] == [("foo.txt", 9)]

from __future__ import annotations

import pytest
from extract.checks import codes, kinds, read
from extract.office import zipped
from strategies import counter

from ingest.chunking import Chunker
from ingest.errors import ItemError
from ingest.extract import media
from ingest.settings import ChunkingSettings

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OPS/book.opf"/></rootfiles></container>'
)
OPF = (
    '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
    "<metadata><dc:title>The Book</dc:title><dc:creator>Jane Roe</dc:creator></metadata><manifest>"
    '<item id="a" href="ch%20one.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="b" href="../two.html" media-type="application/xhtml+xml"/>'
    '<item id="c" href="gone.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="d" href="cover.png" media-type="image/png"/></manifest>'
    '<spine><itemref idref="b"/><itemref idref="a"/><itemref idref="c"/><itemref idref="d"/>'
    "</spine></package>"
)
ONE = (
    '<?xml version="1.0" encoding="utf-8"?><!DOCTYPE html PUBLIC "x" "y"><html '
    'xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body><h1>Chapter&nbsp;one</h1>'
    '<p>It begins &amp; goes&#8212;on.</p><img src="x.png" alt="no text"/></body></html>'
)
TWO = "<html><body><h1>Preface</h1><p>Broken <b>markup</p></body>"


def book(**more: str) -> bytes:
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": CONTAINER,
            "OPS/book.opf": OPF,
            "OPS/ch one.xhtml": ONE,
            "two.html": TWO,
        }
        | {name.replace("__", "/"): part for name, part in more.items()}
    )


def test_parts_come_in_the_order_of_the_spine() -> None:
    extraction = read(book(), "a.epub")
    assert extraction.media_type == media.EPUB
    assert kinds(extraction) == [
        ("heading", "Preface"),
        ("paragraph", "Broken markup"),
        ("heading", "Chapter one"),
        ("paragraph", "It begins & goes—on."),
    ]
    assert [e.part for e in extraction.elements] == ["two.html"] * 2 + ["OPS/ch one.xhtml"] * 2
    assert (extraction.title, extraction.author) == ("The Book", "Jane Roe")
    assert codes(extraction) == ["parts_missing", "pictures_not_read"]


def test_chunks_never_mix_parts() -> None:
    chunks = Chunker(counter(), ChunkingSettings()).chunk(read(book(), "a.epub"))
    assert [chunk.locator and chunk.locator.part for chunk in chunks] == [
        "two.html",
        "OPS/ch one.xhtml",
    ]


def test_protected_and_damaged_books() -> None:
    method = (
        '<encryption xmlns="x"><EncryptionMethod xmlns="http://www.w3.org/2001/04/xmlenc#" '
        'Algorithm="{}"/></encryption>'
    )
    font = method.format("http://www.idpf.org/2008/embedding")
    assert read(book(**{"META-INF__encryption.xml": font}), "a.epub").text
    text = method.format("http://www.w3.org/2001/04/xmlenc#aes256-cbc")
    for data, code in (
        (book(**{"META-INF__encryption.xml": text}), "password_needed"),
        (book(**{"META-INF__container.xml": "<container/>"}), "damaged"),
        (
            book(**{"OPS__book.opf": "<!DOCTYPE x [<!ENTITY a 'b'>]><package>&a;</package>"}),
            "unsafe_xml",
        ),
    ):
        with pytest.raises(ItemError) as caught:
            read(data, "a.epub")
        assert caught.value.code == code

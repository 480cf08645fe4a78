from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from extract.checks import codes, kinds, read

PAGE = """<!DOCTYPE html>
<html><head><title>Prices &amp; Terms
 2026</title><meta name="Author" content="Jane Roe"></head>
<body><nav><a href="/">Home</a> <a href="/about">About us</a></nav>
<main><h1>Price list</h1><p>The supplier sells <b>desks</b> and <a href="#x">chairs</a> to all.</p>
<h3>7. TERMINATION</h3><p>7.2 Notice</p>
<ul><li>First item</li><li>Second item</li></ul>
<table><tr><th>Item</th><th>Price</th></tr><tr><td>Desk</td><td>9 &euro;</td></tr></table>
<p>Grüße 👩\u200d👩\u200d👧 e\u0301 ½ &amp;#0; שלום</p><script>var hidden = 1;</script>
<img src="x.png" alt="not on the page"></main></body></html>
"""


def test_elements_of_a_page() -> None:
    extraction = read(PAGE.encode(), "page.html")
    assert kinds(extraction) == [
        ("heading", "Price list"),
        ("paragraph", "The supplier sells desks and chairs to all."),
        ("heading", "7. TERMINATION"),
        ("heading", "7.2 Notice"),
        ("list_item", "First item"),
        ("list_item", "Second item"),
        ("table", "Item Price\nDesk 9 €"),
        ("paragraph", "Grüße 👩\u200d👩\u200d👧 e\u0301 ½ &#0; שלום"),
    ]
    assert [e.level for e in extraction.elements if e.level] == [1, 3, 2]
    assert [e.paragraph for e in extraction.elements] == list(range(1, 9))
    [table] = [e for e in extraction.elements if e.kind == "table"]
    assert [(extraction.text[r.char_start : r.char_end], r.header) for r in table.rows] == [
        ("Item Price", True),
        ("Desk 9 €", False),
    ]
    assert (extraction.title, extraction.author) == ("Prices & Terms 2026", "Jane Roe")
    assert extraction.pages == ()
    assert extraction.text == "\n\n".join(text for _, text in kinds(extraction))


def test_the_first_heading_is_the_title_of_a_page_without_one() -> None:
    extraction = read(b"<html><body><h1>Price\n list</h1><p>Some words here.</p>", "page.html")
    assert extraction.title == "Price list"


@pytest.mark.parametrize(
    ("encoding", "head", "warned"),
    [
        ("utf-8", "", []),
        ("utf-8-sig", "", []),
        ("utf-16", "", []),
        ("cp1250", '<meta charset="windows-1250">', []),
        (
            "iso-8859-2",
            "<meta http-equiv=content-type content='text/html; charset=ISO-8859-2'>",
            [],
        ),
        ("cp1252", '<meta charset="iso-8859-1">', ["encoding_assumed"]),
        ("cp1252", "", ["encoding_assumed"]),
        ("utf-8", '<meta charset="no-such-thing">', []),
        ("utf-8", '<meta charset="utf-16">', []),
    ],
)
def test_encodings(encoding: str, head: str, warned: list[str]) -> None:
    word = "Dvořák" if encoding in ("cp1250", "iso-8859-2") else "“Grüße”"
    page = f"<!DOCTYPE html><html><head>{head}</head><body><p>{word} greets you.</p></body></html>"
    extraction = read(page.encode(encoding), "page.html")
    assert extraction.text == f"{word} greets you."
    assert codes(extraction) == warned


def test_xhtml_with_an_encoding_declaration() -> None:
    page = (
        "<?xml version='1.0' encoding='ISO-8859-2'?><html xmlns='http://www.w3.org/1999/xhtml'>"
        "<head><title>t</title></head><body><p>Dvořák greets you.</p></body></html>"
    )
    assert read(page.encode("iso-8859-2"), "page.xhtml").text == "Dvořák greets you."


def test_broken_markup_is_read_as_far_as_it_goes() -> None:
    page = b"<html><body><p>One <b>two<p>three</b> <table><tr><td>4<td>5</table></i></body>"
    extraction = read(page, "page.html")
    assert extraction.text.split() == ["One", "two", "three", "4", "5"]


def test_articles_keep_most_of_their_words(corpus: Path) -> None:
    folder = corpus / "news_html"
    truth = json.loads((folder / "ground-truth.json").read_text("utf-8"))
    recalls = []
    for path in sorted(folder.glob("*.gz"))[:12]:
        article = truth.get(path.name.split(".")[0])
        if article is None or not article["articleBody"]:
            continue
        extraction = read(gzip.decompress(path.read_bytes()), path.name.removesuffix(".gz"))
        words = article["articleBody"].split()
        found = set(extraction.text.split())
        recalls.append(sum(word in found for word in words) / len(words))
    assert len(recalls) > 5
    assert sorted(recalls)[len(recalls) // 2] > 0.95


OFFLINE = """
import socket, sys, urllib.request
def refuse(*args, **kwargs):
    print("NETWORK", args, flush=True)
    raise OSError("no network in this test")
for name in ("connect", "connect_ex", "sendto"):
    setattr(socket.socket, name, refuse)
socket.getaddrinfo = socket.create_connection = urllib.request.urlopen = refuse
from ingest.extract import extract
from ingest.settings import ExtractionSettings
data = sys.stdin.buffer.read()
print(extract(data, name="page.html", settings=ExtractionSettings()).text[:10])
"""


def test_no_network_is_touched() -> None:
    environment = {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE],
        input=PAGE.encode(),
        capture_output=True,
        check=False,
        env=environment,
    )
    assert done.stdout.decode().strip() == "Price list", done.stderr.decode()

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from collections import Counter
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


PARAGRAPH = "The parties agree on this and that, and on what follows from it, in number {}. "
TEASER = "Another story is here, a teaser that nobody has read so far"
ARTICLE = f"""<!DOCTYPE html><html><head><title>News</title></head><body>
<div class="cookie-banner"><p>We use cookies to give you the best of experiences.</p></div>
<header><ul class="menu"><li><a href="/a">Home</a></li><li><a href="/b">Sport</a></li></ul>
</header><article><h1>Headline of the day</h1>
{"".join(f"<p>{PARAGRAPH.format(n) * 4}</p>" for n in range(4))}
<h2>A smaller heading</h2><ul><li>One point of the list that counts for something</li></ul>
<blockquote><p>{PARAGRAPH.format("quoted") * 3}</p></blockquote><figure><img src="x.png" alt="a">
<figcaption>What the picture shows to its viewers</figcaption></figure>
<p>{PARAGRAPH.format("last") * 4}</p></article>
<aside class="related"><h3>Related</h3><ul><li><a href="/c">{TEASER}</a></li></ul></aside>
<footer><p>Copyright of all this by the publisher, who reserves every right there is.</p></footer>
</body></html>"""


def test_an_article_loses_its_banners_menus_and_teasers() -> None:
    extraction = read(ARTICLE.encode(), "news.html")
    found = kinds(extraction)
    assert found[0] == ("heading", "Headline of the day")
    assert ("heading", "A smaller heading") in found
    assert ("list_item", "One point of the list that counts for something") in found
    assert ("caption", "What the picture shows to its viewers") in found
    assert PARAGRAPH.format("quoted").strip() in extraction.text
    assert PARAGRAPH.format("last").strip() in extraction.text
    for lost in ("cookies", "Sport", "teaser", "Copyright"):
        assert lost not in extraction.text
    assert codes(extraction) == ["page_parts_left_out"]
    assert extraction.warnings[0].message.split()[0].isdecimal()


def contract(sections: int) -> str:
    """Return a contract as a page: short clauses, tables, a menu, nothing like an article."""
    clauses = "".join(
        f"<div class='s{n}'><h3>{n}. Section {n}</h3><ol type='a'><li>Item {n} is due.</li>"
        f"<li>So is this.</li></ol><table><tr><td>Fee {n}</td><td>{n * 10} euro</td></tr>"
        f"<tr><td>Tax {n}</td><td>{n} euro</td></tr></table>"
        f"<div>The parties of section {n} agree to be bound by it.<br><br>They sign in two "
        f"copies, of which each of them keeps one for number {n}.</div></div>"
        for n in range(1, sections + 1)
    )
    return (
        "<html><body><nav><a href='/x'>Menu entry</a></nav><div>MASTER AGREEMENT</div>"
        f"{clauses}</body></html>"
    )


@pytest.mark.parametrize("sections", [1, 3, 30])
def test_a_contract_as_a_page_loses_nothing(sections: int) -> None:
    extraction = read(contract(sections).encode(), "contract.html")
    assert extraction.text.startswith("MASTER AGREEMENT")
    assert "Menu entry" not in extraction.text
    for n in range(1, sections + 1):
        for part in (
            f"{n}. Section {n}",
            f"a. Item {n} is due.",
            "b. So is this.",
            f"Fee {n} {n * 10} euro\nTax {n} {n} euro",
            f"The parties of section {n} agree to be bound by it.\n\nThey sign in two",
        ):
            assert part in extraction.text
    assert codes(extraction) == ["main_text_unclear"]


def test_tables_of_data_have_cells_and_layout_tables_have_none() -> None:
    page = (
        "<html><body><table><thead><tr><th rowspan=2>Item</th><th colspan=2>Price</th></tr>"
        "<tr><th>net</th><th>gross</th></tr></thead><tr><td>Desk</td><td>9</td><td>11</td></tr>"
        "</table><table><tr><td><h2>Left</h2><p>Text one</p></td><td><p>Text two</p></td></tr>"
        "</table></body></html>"
    )
    extraction = read(page.encode(), "page.html")
    assert kinds(extraction) == [
        ("table", "Item Price\nnet gross\nDesk 9 11"),
        ("heading", "Left"),
        ("paragraph", "Text one"),
        ("paragraph", "Text two"),
    ]
    rows = extraction.elements[0].rows
    assert [row.header for row in rows] == [True, True, False]
    assert [(c.row, c.column, c.row_span, c.column_span) for row in rows for c in row.cells] == [
        (1, 1, 2, 1),
        (1, 2, 1, 2),
        (2, 2, 1, 1),
        (2, 3, 1, 1),
        (3, 1, 1, 1),
        (3, 2, 1, 1),
        (3, 3, 1, 1),
    ]


def test_white_space_and_what_is_never_shown() -> None:
    page = (
        "<html><body><p>  one\n <b> two</b> three<br>four<!-- no --></p><pre>a\n  b</pre>"
        "<p hidden>unseen</p><p style='display: none'>unseen</p><template><p>unseen</p></template>"
        "<noscript>unseen</noscript><p>x<script>unseen</script>y</p></body></html>"
    )
    extraction = read(page.encode(), "page.html")
    assert extraction.text == "one two three\nfour\n\na\n  b\n\nxy"


def test_main_text_of_news_against_the_truth(corpus: Path) -> None:
    folder = corpus / "news_html"
    truth = json.loads((folder / "ground-truth.json").read_text("utf-8"))
    scores = []
    for path in sorted(folder.glob("*.gz")):
        body = truth.get(path.name.split(".")[0], {}).get("articleBody")
        if not body:
            continue
        extraction = read(gzip.decompress(path.read_bytes()), path.name.removesuffix(".gz"))
        found, true = (Counter(re.findall(r"\w+", text)) for text in (extraction.text, body))
        common = sum((found & true).values())
        scores.append((common / sum(found.values()), common / sum(true.values())))
    precision, recall = (sum(column) / len(scores) for column in zip(*scores, strict=True))
    assert len(scores) > 40
    # Headlines and captions count as wrong here, and are kept on purpose.
    assert precision > 0.91
    assert recall > 0.985
    assert min(recall for _, recall in scores) > 0.85

"""The page: whole in itself, escaped, and silent about what may not be shown."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from diff.versions import compared, document
from lxml import html

from ingest.diff.model import VersionDiff
from ingest.diff.page import write_page
from ingest.diff.pictures import PagePicture, PagePictures

HOSTILE = "<script>alert(1)</script> & \"quoted\" <img src=x onerror='alert(2)'>"
BEFORE = ["1. Fees", f"1.1 {HOSTILE} is due in thirty days.", "The old clause goes.", "The end."]
AFTER = [
    "1. Fees",
    f"1.1 {HOSTILE} is due in sixty days.",
    "The end.",
    "Something new stands here.",
]


def page(found: VersionDiff, folder: Path, pictures: PagePictures | None = None) -> Any:
    out = write_page(found, pictures or PagePictures(), folder / "sub" / "diff.html")
    text = out.read_text(encoding="utf-8")
    HTMLParser().feed(text)
    assert [file.name for file in out.parent.iterdir()] == ["diff.html"]
    return html.fromstring(text), text


def test_words_of_documents_are_text_and_nothing_else(tmp_path: Path) -> None:
    found = compared(document(BEFORE), document(AFTER))
    hostile = found.model_copy(update={"title": HOSTILE})
    tree, _ = page(hostile, tmp_path)
    assert tree.xpath("//script") == []
    assert tree.xpath("//img") == []
    assert tree.xpath("//@*[starts-with(name(), 'on')]") == []
    assert tree.xpath("string(//h1)") == HOSTILE
    assert HOSTILE in tree.xpath("string(//article[.//del]//div[contains(@class, 'before')])")


def test_nothing_comes_from_the_network_and_no_script_may_run(tmp_path: Path) -> None:
    picture = PagePicture(1, b"\x89PNG", 595, 842)
    tree, text = page(
        compared(document(BEFORE), document(AFTER)), tmp_path, PagePictures(before=[picture])
    )
    policy = tree.xpath("string(//meta[@http-equiv='Content-Security-Policy']/@content)")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
    assert re.findall(r"url\(|@import|https?://", text) == []
    assert all(link.startswith("#") for link in tree.xpath("//a/@href"))
    assert all(link.startswith("data:image/png;base64,") for link in tree.xpath("//@src"))


def test_changes_are_marked_on_their_side_and_every_link_has_a_target(tmp_path: Path) -> None:
    found = compared(document(BEFORE), document(AFTER))
    tree, _ = page(found, tmp_path)
    assert tree.xpath("//del/text()") == ["thirty"]
    assert tree.xpath("//ins/text()") == ["sixty"]
    shown = tree.xpath("//article//span[contains(@class, 'status')]/text()")
    assert shown == ["changed", "removed", "added"]
    ids = set(tree.xpath("//@id"))
    assert len(ids) == len(tree.xpath("//@id"))
    assert {link[1:] for link in tree.xpath("//a/@href")} <= ids
    assert {name for names in tree.xpath("//@aria-labelledby") for name in names.split()} <= ids
    counts = " ".join(tree.xpath("string(//ul[@class='counts'])").split())
    assert counts == "1 changed 0 moved 1 added 1 removed 2 unchanged"
    for side in (found.before, found.after):
        assert side.doc_sha256 in tree.text_content()


def test_a_text_that_may_not_be_displayed_is_not_on_the_page(tmp_path: Path) -> None:
    found = compared(document(BEFORE), document(AFTER), display_allowed=False)
    _, text = page(found, tmp_path)
    assert "does not allow the text to be displayed" in text
    for word in ("thirty", "sixty", "old clause", "Something new", "The end"):
        assert word not in text
        assert word not in found.model_dump_json()


def test_no_more_is_quoted_than_the_licence_allows(tmp_path: Path) -> None:
    limit = 20
    found = compared(document(BEFORE), document(AFTER), max_quote_chars=limit)
    tree, text = page(found, tmp_path)
    assert tree.xpath("//del/text()") == ["thirty"]
    assert "The end." in text
    assert "Something new" not in text
    for change in found.clauses:
        for side in ("before", "after"):
            clause = getattr(change, side)
            if clause is None or clause.text is not None:
                continue
            runs = [getattr(word, side) for word in change.words]
            assert sum(len(run.text or "") for run in runs if run is not None) <= limit


def test_equal_versions_make_a_page_without_changes(tmp_path: Path) -> None:
    tree, _ = page(compared(document(BEFORE), document(BEFORE)), tmp_path)
    assert tree.xpath("//article") == []
    assert "4 clauses unchanged" in tree.text_content()

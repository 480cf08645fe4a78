"""Field cases of exports and feeds: what went wrong for users of other tools."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from extract.checks import FAST, check_invariants, read_file
from source_kit import connector, keys, problems

from ingest.extract import extract
from schemas.document import Extraction

Cells = list[tuple[str | None, str | None, str]]


def cells(extraction: Extraction) -> Cells:
    """Return row, field and text of each cell."""
    return [
        (e.row, e.field, extraction.text[e.char_start : e.char_end]) for e in extraction.elements
    ]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param("\ufeffName,note\nA,one\nB,two\n", ["one", "two"], id="BOM"),
        pytest.param('Name,note\nA,"one\ntwo"\nB,"th\n\nree"\n', ["one\ntwo", "th\n\nree"]),
        pytest.param('Name,note\r\nA,"one\r\ntwo"\r\nB,x\r\n', ["one\r\ntwo", "x"], id="CRLF"),
        pytest.param("Name;note\nA;1,5 and 2,5\nB;x\n", ["1,5 and 2,5", "x"], id="semicolons"),
        pytest.param("Name,note\nA,Größe\nB,é\n".encode("latin-1"), ["Größe", "é"], id="Latin-1"),
    ],
)
def test_csv_shapes(data: str | bytes, expected: list[str], tmp_path: Path) -> None:
    """Every record is fetched and read with exactly its cells under the names of their columns."""
    (tmp_path / "crm.csv").write_bytes(data.encode() if isinstance(data, str) else data)
    crm = connector(tmp_path, connector="csv", address="crm.csv", key="Name", text=["note"])
    listing = crm.list()
    assert keys(listing) == ["A", "B"]
    assert problems(listing) == []
    for item, note in zip(listing.items, expected, strict=True):
        extraction = extract(
            crm.fetch(item).data,
            name="crm.csv",
            media_type="text/csv",
            options=item.options,
            settings=FAST,
        )
        check_invariants(extraction)
        assert cells(extraction) == [(item.source_key, "note", note)]


def test_csv_shapes_ragged_and_repeated(tmp_path: Path) -> None:
    """Rows of another length are reported one by one; columns of one name are told apart."""
    (tmp_path / "crm.csv").write_text("Name,note\nA,one\nB,two,three\nC\nD,four\n", "utf-8")
    crm = connector(tmp_path, connector="csv", address="crm.csv", key="Name", text=["note"])
    assert keys(crm.list()) == ["A", "D"]
    assert [code for _, code in problems(crm.list())] == ["ragged_row"] * 2

    written = io.StringIO()
    csv.writer(written).writerows([["Name", "Name", "note"], ["A", "a", "one"]])
    repeated = extract(written.getvalue().encode(), name="a.csv", settings=FAST)
    assert cells(repeated) == [("1", "Name", "A"), ("1", "Name (2)", "a"), ("1", "note", "one")]


def test_csv_shapes_of_real_exports(corpus: Path) -> None:
    def of(name: str) -> Cells:
        return cells(read_file(corpus / "crm_csv" / name))

    assert of("csvkit_test_utf8_bom.csv")[0] == ("1", "foo", "1")
    assert of("csvkit_test_utf16_big.csv")[-1] == ("2", "c", "ʤ")
    assert ("2", "a", "Once upon\ra time") in of("csvkit_mac_newlines.csv")
    assert ("2", "Revenue", "143,1") in of("table-semicolon-delimiter.csv")


def rss(*entries: str) -> str:
    items = "".join(f"<item>{entry}</item>" for entry in entries)
    return f'<?xml version="1.0"?><rss version="2.0"><channel>{items}</channel></rss>'


def test_feed_dates(tmp_path: Path) -> None:
    """A 12-hour clock and the name of a zone are read; what is not certain is not guessed."""
    (tmp_path / "feed.xml").write_text(
        rss(
            "<guid>1</guid><pubDate>Tue, 24 May 2016 2:17:57 PM CEST</pubDate>",
            "<guid>2</guid><pubDate>Tue, 24 May 2016 2:17:57 PM</pubDate>",
        ),
        "utf-8",
    )
    listing = connector(tmp_path, connector="feed", address="feed.xml").list()
    dates = {item.source_key: item.effective_from for item in listing.items}
    assert dates["1"] is not None
    assert dates["1"].isoformat() == "2016-05-24T12:17:57+00:00"
    assert dates["2"] is None


def test_feed_guid(tmp_path: Path) -> None:
    """Two entries with one guid are two versions; without a guid the key is the same each time."""
    first = "<guid>g</guid><title>Old</title><pubDate>Mon, 02 Mar 2026 09:00:00 GMT</pubDate>"
    second = "<guid>g</guid><title>New</title><pubDate>Tue, 03 Mar 2026 09:00:00 GMT</pubDate>"
    bare = "<title>No address</title><pubDate>Mon, 02 Mar 2026 09:00:00 GMT</pubDate>"
    (tmp_path / "feed.xml").write_text(rss(second, first, bare), "utf-8")
    feed = connector(tmp_path, connector="feed", address="feed.xml")
    listing = feed.list()
    versions = [item for item in listing.items if item.document_key == "g"]
    assert [item.title for item in versions] == ["Old", "New"]
    assert len({item.source_key for item in versions}) == 2
    (other,) = (item for item in listing.items if item.document_key != "g")
    assert other.source_key.startswith("sha256:")
    assert keys(feed.list()) == keys(listing)

    (tmp_path / "feed.xml").write_text(rss(bare, first), "utf-8")
    assert other.source_key in keys(feed.list())

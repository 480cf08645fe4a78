"""Bad input: each is indexed, or in quarantine with a reason that a person understands."""

from __future__ import annotations

from pathlib import Path

import pymupdf
import pytest
from workspace import Workspace, pdf

from ingest.errors import ConfigurationError
from ingest.pipeline import open_catalog

GOOD = "A sound report on planning systems for the mid-market, which must not be held up."
TEXT = "The quick report.\n\n" + "Planning systems for mid-sized companies are growing. " * 12


def encrypted(user_password: str) -> bytes:
    document = pymupdf.open(stream=pdf(TEXT), filetype="pdf")
    data: bytes = document.tobytes(
        encryption=pymupdf.PDF_ENCRYPT_AES_256, owner_pw="owner", user_pw=user_password
    )
    return data


NO_PAGES = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n"
    b"2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n"
    b"trailer<</Root 1 0 R/Size 3>>\n%%EOF\n"
)


@pytest.mark.parametrize(
    ("name", "data", "code", "words"),
    [
        ("empty.pdf", b"", "empty_file", "empty"),
        ("cut.pdf", pdf(TEXT)[:300], "damaged", "damaged"),
        ("locked.pdf", encrypted("secret"), "password_needed", "password"),
        ("nopages.pdf", NO_PAGES, "no_pages", "page"),
        ("blank.pdf", pdf(""), "no_text", "text"),
        ("blank.txt", b" \n\n ", "no_text", "text"),
        ("archive.zip", b"PK\x03\x04" + b"\x00" * 60, "damaged", "intact"),
    ],
)
def test_a_file_that_cannot_be_read_is_quarantined_alone(
    tmp_path: Path, name: str, data: bytes, code: str, words: str
) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports")
    ws.write("reports/good.txt", GOOD)
    ws.write(f"reports/{name}", data)
    ledger = ws.run()
    assert ledger.balanced, ledger
    assert ws.quarantine() == [(name, code)]
    (entry,) = open_catalog(ws.settings).quarantine()
    assert name in entry.message
    assert words in entry.message.lower()
    assert {p["source_key"] for p in ws.points().values()} == {"good.txt"}

    again = ws.run()
    assert again.balanced
    assert again.lines[0].unchanged == 2
    assert again.lines[0].quarantined == 0
    assert ws.quarantine() == [(name, code)]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("open.pdf", encrypted("")),
        ("really-a-pdf.txt", pdf(TEXT)),
        ("really-html.pdf", f"<html><body><p>{TEXT}</p></body></html>".encode()),
    ],
)
def test_a_file_that_only_looks_wrong_is_read(tmp_path: Path, name: str, data: bytes) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports")
    ws.write(f"reports/{name}", data)
    ledger = ws.run()
    assert ledger.balanced
    assert ws.quarantine() == []
    assert any("Planning systems" in p["text"] for p in ws.points().values())


@pytest.mark.parametrize(
    ("data", "note"),
    [
        ('\ufeffid,note\nn1,"Grüße, first\nsecond line"\n'.encode(), "Grüße, first\nsecond line"),
        ("id,note\nn1,Gr\xfc\xdfe aus Köln\n".encode("latin-1"), "Grüße aus Köln"),
        (b"id;note\r\nn1;semicolons and CRLF\r\n", "semicolons and CRLF"),
        ("id\tnote\nn1\tin UTF-16 🎉\n".encode("utf-16"), "in UTF-16 🎉"),
    ],
)
def test_every_shape_of_csv_gives_exact_cells(tmp_path: Path, data: bytes, note: str) -> None:
    ws = Workspace(tmp_path)
    ws.write("crm.csv", data)
    ws.add_source("notes", kind="crm", connector="csv", address="crm.csv", key="id", text=["note"])
    ledger = ws.run()
    assert ledger.balanced, ledger
    (payload,) = ws.points().values()
    assert payload["text"] == note
    assert payload["locator"]["row"] == "n1"
    assert payload["locator"]["fields"] == ["note"]


def test_a_ragged_row_is_quarantined_and_the_others_are_indexed(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.write("crm.csv", "id,note,stage\nn1,fine,open\nn2,too,many,cells\nn3,fine too,won\n")
    ws.add_source("notes", kind="crm", connector="csv", address="crm.csv", key="id", text=["note"])
    ledger = ws.run()
    assert ledger.balanced, ledger
    (line,) = ledger.lines
    assert (line.listed, line.new, line.failed, line.quarantined) == (3, 2, 1, 1)
    assert [code for _, code in ws.quarantine()] == ["ragged_row"]
    assert sorted(p["source_key"] for p in ws.points().values()) == ["n1", "n3"]


FEED = """<?xml version="1.0"?><rss version="2.0"><channel><title>Wire</title>{}</channel></rss>"""


def entry(guid: str, date: str, text: str) -> str:
    return (
        f"<item><title>Prices</title><guid>{guid}</guid><pubDate>{date}</pubDate>"
        f"<description>{text}</description></item>"
    )


def feed_workspace(tmp_path: Path, *entries: str) -> Workspace:
    ws = Workspace(tmp_path)
    ws.write("feed.xml", FEED.format("".join(entries)))
    ws.add_source("news", kind="news", connector="feed", address="feed.xml", follow_links=False)
    return ws


def test_a_feed_date_that_no_one_can_read_is_flagged_not_guessed(tmp_path: Path) -> None:
    ws = feed_workspace(tmp_path, entry("a", "Mo, 25 Jun 2018 11:41:36", "Corvane raises prices."))
    assert ws.run().balanced
    (payload,) = ws.points().values()
    (record,) = open_catalog(ws.settings).versions(payload["doc_id"])
    assert record.effective_basis == "receipt"
    assert payload["effective_from"][:4] != "2018"


def test_two_feed_entries_with_one_guid_are_two_versions_of_one_document(tmp_path: Path) -> None:
    ws = feed_workspace(
        tmp_path,
        entry("a", "Mon, 02 Mar 2026 09:00:00 GMT", "Corvane raises prices by nine percent."),
        entry("a", "Tue, 03 Mar 2026 09:00:00 GMT", "Corvane raises prices by seven percent."),
    )
    ledger = ws.run()
    assert ledger.balanced, ledger
    assert ledger.lines[0].listed == 2
    points = sorted(ws.points().values(), key=lambda p: p["version"])
    assert len({p["doc_id"] for p in points}) == 1
    assert [p["version"] for p in points] == [1, 2]
    assert points[0]["effective_until"] == points[1]["effective_from"] == "2026-03-03T09:00:00Z"
    assert "seven" in points[1]["text"]


def test_an_item_whose_licence_is_unknown_is_never_loaded(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports", manifest="terms.csv")
    ws.write("reports/good.txt", GOOD)
    ws.write("reports/odd.txt", "Under terms that nobody registered.")
    ws.write("reports/terms.csv", "file,licence\ngood.txt,open\nodd.txt,gone-2019\n")
    ledger = ws.run()
    assert ledger.balanced, ledger
    assert ws.quarantine() == [("odd.txt", "licence_unknown")]
    assert {p["source_key"] for p in ws.points().values()} == {"good.txt"}


def test_a_source_whose_licence_is_unknown_starts_nothing(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports", licence="gone-2019")
    with pytest.raises(ConfigurationError, match=r"sources\.yaml:\d+.*gone-2019"):
        ws.run()


def test_a_source_that_lists_nothing_on_its_first_night_is_no_error(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    (tmp_path / "reports").mkdir()
    ws.add_source("reports")
    ledger = ws.run()
    assert ledger.balanced
    assert ledger.lines[0].listed == 0


def test_a_quarantined_item_that_was_mended_is_indexed_and_its_entry_closed(
    tmp_path: Path,
) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports")
    ws.write("reports/a.pdf", pdf(TEXT)[:300])
    ws.run()
    assert ws.quarantine() == [("a.pdf", "damaged")]
    ws.write("reports/a.pdf", pdf(TEXT))
    ledger = ws.run()
    assert ledger.balanced
    assert ws.quarantine() == []
    assert ws.points()


def test_a_version_that_is_refused_leaves_the_one_before_it_in_place(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports")
    ws.write("reports/a.pdf", pdf(TEXT))
    ws.run()
    before = ws.points()
    ws.write("reports/a.pdf", pdf(TEXT)[:300])
    ledger = ws.run()
    assert ledger.balanced
    assert ledger.lines[0].changed == 1
    assert ledger.lines[0].quarantined == 1
    assert ws.points() == before


def test_a_retried_item_is_tried_at_the_next_run(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports")
    ws.write("reports/a.pdf", pdf(TEXT)[:300])
    ws.run()
    catalog = open_catalog(ws.settings)
    (item,) = catalog.quarantine()
    catalog.retry_quarantine(item.id)
    ledger = ws.run()
    assert ledger.lines[0].new == 1
    assert ledger.lines[0].quarantined == 1
    assert ledger.balanced

"""The whole line, from sources to published points, without an orchestrator."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from workspace import Workspace, pdf, scan

from attribution.filters import default_filter
from ingest.embedding import Embedder
from ingest.pipeline import open_catalog, open_index
from schemas.payload import MUTABLE_FIELDS
from schemas.run import Ledger

CLAUSE = (
    "7. TERMINATION\n\n7.1 Either party may terminate this agreement by giving {days} days' "
    "written notice to the other party.\n\n7.2 On termination the supplier returns all data of "
    "the customer within fourteen days."
)
FEED = """<?xml version="1.0"?><rss version="2.0"><channel><title>ERP Wire</title>
<item><title>Corvane raises prices</title><guid>a1</guid><link>https://wire.example/a1.html</link>
<pubDate>Mon, 02 Mar 2026 09:00:00 GMT</pubDate></item></channel></rss>"""
ARTICLE = (
    "<html><head><title>Corvane raises prices</title></head><body><article><h1>Corvane raises "
    "prices</h1><p>Corvane will raise its subscription prices by nine percent in April, the "
    "company said on Monday. Existing customers keep their terms until renewal.</p></article>"
    "</body></html>"
)
NOTES = (
    "id,client,subject,note\n"
    'n1,northwind,Renewal,"Asked for a cap on the indexation.\nWants an answer by May."\n'
    "n2,contoso,Pilot,Pilot starts in June with forty users. Grüße! 🎉\n"
)


@pytest.fixture
def whole(tmp_path: Path) -> Workspace:
    """A workspace with one source of each kind, one contract in two versions among them."""
    ws = Workspace(tmp_path)
    ws.licences.append(
        {
            "id": "norvale",
            "name": "Norvale",
            "attribution_required": True,
            "attribution_text": "Source: Norvale Research",
        }
    )
    ws.write("reports/erp.pdf", pdf("1. Market\n\nCorvane leads the mid-market with 21 percent."))
    ws.write("contracts/msa-v1.pdf", scan(CLAUSE.format(days="ninety")))
    ws.write("contracts/msa-v2.pdf", scan(CLAUSE.format(days="thirty")))
    ws.write(
        "contracts/manifest.csv",
        "file,document,title,version_label,effective_from\n"
        "msa-v1.pdf,msa,Services agreement,1.0,2024-04-01\n"
        "msa-v2.pdf,msa,Services agreement,2.0,2026-02-01\n",
    )
    ws.write("crm.csv", NOTES)
    ws.write("feed.xml", FEED)
    ws.write("articles/a1.html", ARTICLE)
    ws.add_source("reports", licence="norvale")
    ws.add_source("contracts", kind="contract", manifest="manifest.csv")
    ws.add_source(
        "notes",
        kind="crm",
        connector="csv",
        address="crm.csv",
        key="id",
        text=["subject", "note"],
        title="subject",
        client="client",
    )
    ws.add_source(
        "news",
        kind="news",
        connector="feed",
        address="feed.xml",
        mirror={"https://wire.example/": "articles/"},
    )
    return ws


def visible(ws: Workspace, at: datetime | None = None, client: str | None = None) -> list[Any]:
    """Return the payloads that the default filter lets through."""
    with open_index(ws.settings, Embedder(ws.settings.embedding_model)) as index:
        found = dict(index.scroll(default_filter(at=at, client_id=client)))
    return list(found.values())


def sums(ledger: Ledger) -> dict[str, int]:
    names = ("listed", "new", "changed", "unchanged", "failed", "quarantined", "retired")
    names += ("points_new", "points_reused", "pages_recognised", "embedded")
    return {name: sum(getattr(line, name) for line in ledger.lines) for name in names}


def without_run(points: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the points without what names the run and its time."""
    times = ("run_id", "published_at", "recorded_at", "interval_history")
    return {
        chunk_id: {k: v for k, v in payload.items() if k not in times}
        for chunk_id, payload in points.items()
    }


def test_four_kinds_of_source_become_points_and_a_second_run_does_nothing(
    whole: Workspace,
) -> None:
    first = whole.run()
    assert first.balanced, first
    assert sums(first)["listed"] == sums(first)["new"] == 6
    assert sums(first)["quarantined"] == 0
    assert sums(first)["pages_recognised"] == 2
    points = whole.points()
    assert len(points) == sums(first)["points_new"] == sums(first)["embedded"]
    assert all(payload["published_at"] for payload in points.values())

    second = whole.run()
    assert second.balanced
    assert sums(second)["unchanged"] == 6
    for name in ("new", "changed", "points_new", "points_reused", "pages_recognised", "embedded"):
        assert sums(second)[name] == 0, name
    assert whole.points() == points


def test_only_the_version_in_force_is_returned(whole: Workspace) -> None:
    whole.run()
    for at, notice, label in [
        (datetime(2025, 1, 1, tzinfo=UTC), "ninety", "1.0"),
        (datetime(2026, 6, 1, tzinfo=UTC), "thirty", "2.0"),
    ]:
        texts = [p for p in visible(whole, at) if p["source_id"] == "contracts"]
        assert {p["version_label"] for p in texts} == {label}
        assert any(notice in p["text"] for p in texts)
    assert not [
        p
        for p in visible(whole, datetime(2024, 3, 31, tzinfo=UTC))
        if p["source_id"] == "contracts"
    ]


def test_a_client_sees_its_own_notes_alone(whole: Workspace) -> None:
    whole.run()
    notes = {
        client: sorted(p["source_key"] for p in visible(whole, client=client) if p["client_id"])
        for client in (None, "northwind", "contoso")
    }
    assert notes == {None: [], "northwind": ["n1"], "contoso": ["n2"]}


def test_provenance_reaches_the_payload(whole: Workspace) -> None:
    whole.run()
    by_source = {payload["source_id"]: payload for payload in whole.points().values()}
    assert by_source["reports"]["attribution_text"] == "Source: Norvale Research"
    assert by_source["reports"]["page_first"] == 1
    assert by_source["contracts"]["text_source"] == "ocr"
    assert by_source["contracts"]["ocr_confidence"] > 60
    assert by_source["contracts"]["boxes"]
    assert by_source["notes"]["page_first"] is None
    assert by_source["notes"]["locator"]["fields"] == ["subject", "note"]
    assert by_source["news"]["source_uri"] == "https://wire.example/a1.html"
    assert by_source["news"]["locator"]["url"].startswith("https://wire.example/a1.html#:~:text=")


def test_a_changed_document_is_a_new_version_and_its_old_text_is_superseded(
    whole: Workspace,
) -> None:
    whole.run()
    whole.write(
        "reports/erp.pdf", pdf("1. Market\n\nTessaly leads the mid-market with 24 percent.")
    )
    ledger = whole.run()
    assert ledger.balanced
    assert (sums(ledger)["changed"], sums(ledger)["unchanged"]) == (1, 5)
    shown = [p for p in visible(whole) if p["source_id"] == "reports"]
    assert {p["version"] for p in shown} == {2}
    assert all("Corvane" not in p["text"] for p in shown)


def test_a_document_that_lost_its_end_keeps_no_old_chunks(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports")
    ws.write("reports/a.pdf", pdf("First page. " * 60, "Second page. " * 60, "Third page. " * 60))
    ws.run()
    ws.write("reports/a.pdf", pdf("First page. " * 60, "Second page. " * 60))
    ws.run()
    record = open_catalog(ws.settings).versions(next(iter(ws.points().values()))["doc_id"])[-1]
    now = visible(ws)
    assert len(now) == record.chunk_count
    assert not [p for p in now if "Third" in p["text"]]


def test_new_metadata_alone_changes_no_point_but_its_dates(whole: Workspace) -> None:
    whole.run()
    before = whole.points()
    manifest = (whole.folder / "contracts/manifest.csv").read_text()
    whole.write("contracts/manifest.csv", manifest.replace("2026-02-01", "2026-03-01"))
    ledger = whole.run()
    assert ledger.balanced
    assert (sums(ledger)["changed"], sums(ledger)["points_new"]) == (1, 0)
    assert (sums(ledger)["embedded"], sums(ledger)["pages_recognised"]) == (0, 0)
    after = whole.points()
    fixed = [
        {i: {k: v for k, v in p.items() if k not in MUTABLE_FIELDS} for i, p in points.items()}
        for points in (before, after)
    ]
    assert fixed[0] == fixed[1]
    untils = {
        p["version_label"]: p["effective_until"] for p in after.values() if p["version_label"]
    }
    assert untils == {"1.0": "2026-03-01T00:00:00Z", "2.0": "9999-12-31T00:00:00Z"}


def test_a_document_that_is_gone_is_retired_and_comes_back(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports")
    for name in ("a", "b", "c"):
        ws.write(f"reports/{name}.txt", f"Report {name} is about the market for planning systems.")
    ws.run()
    before = without_run(ws.points())
    kept = (ws.folder / "reports/c.txt").read_bytes()
    stat = (ws.folder / "reports/c.txt").stat()
    (ws.folder / "reports/c.txt").unlink()
    ledger = ws.run()
    assert sums(ledger)["retired"] == 1
    assert ledger.balanced
    assert sorted(p["source_key"] for p in visible(ws)) == ["a.txt", "b.txt"]
    assert len(ws.points()) == 3

    back = ws.write("reports/c.txt", kept)
    os.utime(back, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert ws.run().balanced
    assert len(visible(ws)) == 3
    assert without_run(ws.points()) == before
    [gone] = [p["interval_history"] for p in ws.points().values() if p["source_key"] == "c.txt"]
    assert len(gone) in (1, 3)  # listed, gone, listed again; in one second nothing was told


@pytest.mark.parametrize("remaining", [0, 1])
def test_a_listing_that_is_suddenly_short_retires_nothing(tmp_path: Path, remaining: int) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports")
    for number in range(4):
        ws.write(f"reports/{number}.txt", f"Report number {number} on planning systems.")
    ws.run()
    for number in range(remaining, 4):
        (ws.folder / f"reports/{number}.txt").unlink()
    ledger = ws.run()
    assert sums(ledger)["retired"] == 0
    assert len(ledger.alerts) == 1
    assert f"lists {remaining} of the 4" in ledger.alerts[0]
    assert len(visible(ws)) == 4


def test_a_source_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("missing", address="nowhere")
    ws.add_source("reports")
    ws.write("reports/a.txt", "A report on planning systems for the mid-market.")
    ledger = ws.run()
    lines = {line.source_id: line for line in ledger.lines}
    assert lines["missing"].stopped_in == ("plan",)
    assert "nowhere" in (lines["missing"].error or "")
    assert lines["reports"].published == 1
    assert not ledger.balanced


def test_versions_of_a_document_are_not_mixed_up_by_the_same_text(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports")
    same = "The same sentence stands in both files, word for word."
    ws.write("reports/a.txt", same)
    ws.write("reports/b.txt", same)
    ledger = ws.run()
    assert (sums(ledger)["points_new"], sums(ledger)["embedded"]) == (2, 1)
    assert len({p["doc_id"] for p in ws.points().values()}) == 2

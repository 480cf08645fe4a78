"""plan: what is new, changed, gone or back, and how the work is grouped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from workspace import Workspace

from ingest.pipeline import open_catalog
from ingest.steps.plan import plan
from schemas.run import SourcePlan

TEXT = "A report on planning systems for the mid-market, number {}."
ENTRY = (
    "<item><title>News {n}</title><guid>{n}</guid><pubDate>Mon, 02 Mar 2026 09:00:00 GMT</pubDate>"
    "<description>News number {n} about planning systems.</description></item>"
)


def write_feed(ws: Workspace, *numbers: int) -> None:
    entries = "".join(ENTRY.format(n=number) for number in numbers)
    ws.write("feed.xml", f'<rss version="2.0"><channel><title>W</title>{entries}</channel></rss>')


def test_news_that_scrolled_off_its_feed_is_not_retired(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("news", kind="news", connector="feed", address="feed.xml", follow_links=False)
    write_feed(ws, 1, 2)
    ws.run()
    write_feed(ws, 3)
    ledger = ws.run()
    assert ledger.lines[0].retired == 0
    assert len(ws.points()) == 3


def test_an_empty_feed_raises_an_alert(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("news", kind="news", connector="feed", address="feed.xml", follow_links=False)
    write_feed(ws, 1, 2)
    ws.run()
    write_feed(ws)
    (alert,) = ws.run().alerts
    assert "lists 0 of the 2" in alert


def test_a_retired_document_that_comes_back_changed_has_its_old_version_back_too(
    tmp_path: Path,
) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports", manifest="terms.csv")
    terms = "file,document,version_label,effective_from\n"
    for name in ("a", "b", "c"):
        ws.write(f"reports/{name}.txt", TEXT.format(name))
        terms += f"{name}.txt,{name},1,2024-01-01\n"
    ws.write("reports/terms.csv", terms)
    ws.run()
    (ws.folder / "reports/c.txt").unlink()
    ws.write("reports/terms.csv", terms.replace("c.txt,c,1,2024-01-01\n", ""))
    assert ws.run().lines[0].retired == 1
    ws.write("reports/c.txt", TEXT.format("c, revised"))
    ws.write("reports/terms.csv", terms.replace("c,1,2024", "c,2,2026"))
    ledger = ws.run()
    assert ledger.balanced
    points = [p for p in ws.points().values() if p["source_key"] == "c.txt"]
    assert sorted(p["version"] for p in points) == [1, 2]
    assert {p["retired_at"][:4] for p in points} == {"9999"}
    records = open_catalog(ws.settings).versions(points[0]["doc_id"])
    assert {record.retired_at.year for record in records} == {9999}


def test_batches_follow_the_cost_and_keep_versions_together(tmp_path: Path) -> None:
    ws = Workspace(tmp_path, batch_cost=3)
    ws.add_source("reports", name_pattern=r"(?P<document>\w+)-v(?P<version_label>\d+)\.txt")
    for name in ("a", "b", "c"):
        for version in (1, 2):
            ws.write(f"reports/{name}-v{version}.txt", TEXT.format(f"{name}{version}"))
    pipeline = ws.pipeline()
    refs = plan(pipeline, "reports")
    batches = [pipeline.batch(ref).items for ref in refs]
    assert [len(items) for items in batches] == [2, 2, 2]
    for items in batches:
        assert len({planned.doc_id for planned in items}) == 1
        assert [planned.item.version_label for planned in items] == ["1", "2"]


def test_one_huge_item_is_a_batch_of_its_own(tmp_path: Path) -> None:
    ws = Workspace(tmp_path, batch_cost=10)
    ws.add_source("reports")
    ws.write("reports/a.txt", "x" * 2_000_000)
    ws.write("reports/b.txt", "small")
    ws.write("reports/c.txt", "small too")
    assert [ref.counts["items"] for ref in plan(ws.pipeline(), "reports")] == [1, 2]


@pytest.mark.parametrize("touched", [False, True])
def test_an_item_is_compared_by_what_its_source_tells(tmp_path: Path, touched: bool) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports")
    file = ws.write("reports/a.txt", TEXT.format(1))
    ws.run()
    if touched:
        os.utime(file, (1, 1))
    pipeline = ws.pipeline()
    plan(pipeline, "reports")
    found = pipeline.artifacts.read(pipeline.plan_path("reports"), SourcePlan)
    assert (found.changed, found.unchanged) == ((1, 0) if touched else (0, 1))

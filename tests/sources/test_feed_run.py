"""A feed through whole runs: what its entries' identity and dates come to."""

from __future__ import annotations

from pathlib import Path

from feed_texts import item, rss
from workspace import Workspace

from ingest.pipeline import open_catalog

MONDAY = "Mon, 02 Mar 2026 09:00:00 GMT"
TUESDAY = "Tue, 03 Mar 2026 09:00:00 GMT"


def test_a_guid_that_comes_again_is_a_new_version_and_the_same_again_is_nothing(
    tmp_path: Path,
) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("news", kind="news", connector="feed", address="feed.xml")
    body = "Corvane raises prices by {} percent, the board said on the day."
    first = item(guid="g", title="Prices", pubDate=MONDAY, description=body.format("nine"))
    ws.write("feed.xml", rss(first))
    assert ws.run().lines[0].new == 1

    ws.write("feed.xml", rss(first.replace("<title>", "<title> \n"), head="<!-- new --><!-- -->"))
    (line,) = ws.run().lines
    assert (line.unchanged, line.changed, line.points_new) == (1, 0, 0)

    second = item(guid="g", title="Prices", pubDate=TUESDAY, description=body.format("seven"))
    ws.write("feed.xml", rss(second))
    (line,) = ws.run().lines
    assert (line.changed, line.published, line.retired) == (1, 1, 0)
    points = sorted(ws.points().values(), key=lambda point: point["version"])
    assert [point["version"] for point in points] == [1, 2]
    assert len({point["doc_id"] for point in points}) == 1
    assert points[0]["effective_until"] == points[1]["effective_from"] == "2026-03-03T09:00:00Z"

    # The feed went back to what it was: nothing is retired, and both versions are known.
    ws.write("feed.xml", rss())
    ledger = ws.run()
    assert ledger.lines[0].retired == 0
    assert len(ws.points()) == 2


def test_a_date_that_cannot_be_read_stands_in_the_report_and_refuses_nothing(
    tmp_path: Path,
) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("news", kind="news", connector="feed", address="feed.xml")
    entry = item(guid="g", pubDate="24 Mai 2016 12:17", description="Corvane raises its prices.")
    ws.write("feed.xml", rss(entry))
    ledger = ws.run()
    assert ledger.balanced
    assert (ledger.lines[0].published, ledger.lines[0].failed) == (1, 0)
    (payload,) = ws.points().values()
    (record,) = open_catalog(ws.settings).versions(payload["doc_id"])
    assert record.effective_basis == "receipt"
    (report,) = ws.settings.home.rglob("quality.html")
    text = report.read_text("utf-8")
    assert "date_unreadable" in text
    assert "24 Mai 2016 12:17" in text

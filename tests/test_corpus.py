"""A slice of real files, from their folders to proved points."""

from __future__ import annotations

import gzip
import shutil
from collections import defaultdict
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from workspace import Workspace

from ingest.pipeline import open_artifacts, open_catalog
from schemas.document import Extraction

COPIED = {
    "reports": [
        "pdf_reports/multi-column.pdf",
        "pdf_reports/list-item-example.pdf",
        "pdf_reports/single_table.pdf",
        "pdf_nasty/bad-PageLabels.pdf",
        "pdf_nasty/rotated-page-90.pdf",
        "pdf_nasty/negative-coords.pdf",
        "pdf_nasty/password.pdf",
        "pdf_nasty/invalid.pdf",
        "office/simple.docx",
    ],
    "scans": ["scans_synth/seriesseed_s1.pdf", "scans_scribe/filing_01.png"],
}
VERSIONS = "contract_versions/github-registered-developer-agreement"
NAME = r"(?P<document>\w+)/v(?P<version_label>\d+)_(?P<effective_from>\d{4}-\d{2}-\d{2})_\w+\.md"


@pytest.fixture(scope="module")
def run(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, Any]:
    """One run over the slice."""
    ws = Workspace(tmp_path_factory.mktemp("corpus"), extraction={"layout": True, "workers": 2})
    for folder, files in COPIED.items():
        for file in files:
            ws.write(f"{folder}/{Path(file).name}", (corpus / file).read_bytes())
    shutil.copytree(corpus / VERSIONS, ws.folder / "agreements" / "developer")
    pages = sorted((corpus / "news_html").glob("*.html.gz"))[:3]
    entries = ""
    for number, page in enumerate(pages):
        ws.write(f"pages/{number}.html", gzip.decompress(page.read_bytes()))
        entries += (
            f"<item><title>Page {number}</title><guid>{number}</guid>"
            f"<link>https://pages.example/{number}.html</link>"
            "<pubDate>Mon, 02 Mar 2026 09:00:00 GMT</pubDate></item>"
        )
    ws.write("feed.xml", f'<rss version="2.0"><channel><title>P</title>{entries}</channel></rss>')
    ws.add_source("reports")
    ws.add_source("scans", kind="contract")
    ws.add_source("agreements", kind="contract", name_pattern=NAME)
    ws.add_source(
        "news",
        kind="news",
        connector="feed",
        address="feed.xml",
        mirror={"https://pages.example/": "pages/"},
    )
    ws.add_source(
        "companies",
        kind="crm",
        connector="csv",
        address=str(corpus / "crm_csv/company_data.csv"),
        key="id",
        text=["property_name", "property_description", "property_industry"],
    )
    return ws, ws.run()


def test_everything_is_accounted_for(run: tuple[Workspace, Any]) -> None:
    ws, ledger = run
    assert ledger.balanced, ledger
    assert all(line.error is None for line in ledger.lines)
    assert dict(ws.quarantine()) == {
        "password.pdf": "password_needed",
        "invalid.pdf": "damaged",
    }
    lines = {line.source_id: line for line in ledger.lines}
    assert lines["reports"].published == 7
    assert lines["scans"].published == 2
    assert lines["news"].published == 3
    assert lines["companies"].published > 0


def test_offsets_pages_and_boxes_hold_for_every_point(run: tuple[Workspace, Any]) -> None:
    ws, _ = run
    catalog, artifacts = open_catalog(ws.settings), open_artifacts(ws.settings)
    extractions: dict[str, Extraction] = {}
    starts: dict[tuple[str, int], list[int]] = defaultdict(list)
    for payload in ws.points().values():
        record = catalog.version(payload["doc_id"], payload["version"])
        assert record is not None
        if record.extraction_uri not in extractions:
            extractions[record.extraction_uri] = artifacts.read(record.extraction_uri, Extraction)
        extraction = extractions[record.extraction_uri]
        start, end = payload["char_start"], payload["char_end"]
        assert extraction.text[start:end] == payload["text"]
        starts[payload["doc_id"], payload["version"]].append(start)
        if not extraction.pages:
            assert payload["page_first"] is None
            assert payload["locator"] is not None
            continue
        sizes = {page.number: (page.width, page.height) for page in extraction.pages}
        words = [w for w in extraction.words if w.char_end > start and w.char_start < end]
        assert payload["page_first"] == min(word.page for word in words)
        assert payload["page_last"] == max(word.page for word in words)
        covered = sum(
            len("".join(extraction.text[max(w.char_start, start) : min(w.char_end, end)].split()))
            for w in words
        )
        assert covered == len("".join(payload["text"].split()))
        for box in payload["boxes"]:
            width, height = sizes[box["page"]]
            assert 0 <= box["x0"] < box["x1"] <= width
            assert 0 <= box["y0"] < box["y1"] <= height
    for found in starts.values():
        assert len(set(found)) == len(found)


def test_exactly_one_version_of_an_agreement_is_in_force_at_any_time(
    run: tuple[Workspace, Any], corpus: Path
) -> None:
    ws, _ = run
    intervals: dict[int, tuple[datetime, datetime]] = {}
    for payload in ws.points().values():
        if payload["source_id"] == "agreements":
            interval = (
                datetime.fromisoformat(payload["effective_from"]),
                datetime.fromisoformat(payload["effective_until"]),
            )
            assert intervals.setdefault(payload["version"], interval) == interval
    assert len(intervals) == len(list((corpus / VERSIONS).glob("*.md")))
    ordered = sorted(interval for interval in intervals.values() if interval[0] < interval[1])
    assert all(one[1] == two[0] for one, two in pairwise(ordered))
    assert ordered[-1][1].year == 9999


def test_a_second_run_does_nothing(run: tuple[Workspace, Any]) -> None:
    ws, _ = run
    before = ws.points()
    ledger = ws.run()
    for name in ("new", "changed", "points_new", "points_reused", "pages_recognised", "embedded"):
        assert sum(getattr(line, name) for line in ledger.lines) == 0, name
    assert ws.points() == before

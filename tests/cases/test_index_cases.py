"""Field cases of loading and retiring: what went wrong for users of other tools."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from points import BACKENDS, as_points, fields_of, index_on, payload, utc
from workspace import Workspace, pdf

from attribution.filters import (
    all_versions,
    as_published,
    default_filter,
    document_filter,
    in_force,
    permitted,
    staged_filter,
)
from ingest.embedding import Embedder
from ingest.index import VectorIndex
from ingest.pipeline import open_catalog, open_index
from schemas.payload import payload_indexes
from schemas.run import Ledger


@pytest.fixture(params=BACKENDS)
def index(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorIndex]:
    with index_on(request.param, tmp_path) as opened:
        yield opened


def visible(ws: Workspace, at: datetime | None = None) -> list[dict[str, Any]]:
    """Return the payloads that the default filter lets through."""
    with open_index(ws.settings, Embedder(ws.settings.embedding_model)) as opened:
        found: dict[str, dict[str, Any]] = dict(opened.scroll(default_filter(at=at)))
    return list(found.values())


def total(ledger: Ledger, name: str) -> int:
    return sum(getattr(line, name) for line in ledger.lines)


def test_same_again(tmp_path: Path) -> None:
    """The second and the third run write nothing, and the points are those of the first."""
    ws = Workspace(tmp_path)
    ws.add_source("reports")
    for name in ("a", "b", "c"):
        ws.write(f"reports/{name}.txt", f"Report {name} is about the market for planning systems.")
    assert total(ws.run(), "points_new") == 3
    points = ws.points()
    for _ in range(2):
        ledger = ws.run()
        assert ledger.balanced
        for name in ("new", "changed", "points_new", "points_reused", "embedded"):
            assert total(ledger, name) == 0, name
        assert ws.points() == points


def test_shrunk(tmp_path: Path) -> None:
    """A document that lost its last third has as many visible points as it has chunks."""
    ws = Workspace(tmp_path)
    ws.add_source("reports")
    thirds = [f"{part} third of the report. " * 40 for part in ("First", "Second", "Last")]
    ws.write("reports/a.pdf", pdf(*thirds))
    ws.run()
    assert any("Last third" in point["text"] for point in visible(ws))
    ws.write("reports/a.pdf", pdf(*thirds[:2]))
    ws.run()
    now = visible(ws)
    [doc_id] = {point["doc_id"] for point in ws.points().values()}
    assert len(now) == open_catalog(ws.settings).versions(doc_id)[-1].chunk_count
    assert not any("Last third" in point["text"] for point in now)


def test_empty_listing(tmp_path: Path) -> None:
    """A source that suddenly lists nothing loses nothing, and says so."""
    ws = Workspace(tmp_path)
    ws.add_source("reports")
    for number in range(4):
        ws.write(f"reports/{number}.txt", f"Report number {number} on planning systems.")
    ws.run()
    for number in range(4):
        (ws.folder / f"reports/{number}.txt").unlink()
    ledger = ws.run()
    assert total(ledger, "retired") == 0
    assert len(visible(ws)) == 4
    [alert] = ledger.alerts
    assert "lists 0 of the 4" in alert


def test_last_chunk_only(index: VectorIndex) -> None:
    """All chunks of a document are kept, not only the one that was written last."""
    chunks = [payload(f"Clause {n}.", char_start=20 * n) for n in range(5)]
    index.upsert(as_points(*chunks))
    assert {found for found, _ in index.scroll(document_filter(chunks[0].doc_id))} == {
        chunk.chunk_id for chunk in chunks
    }


def test_stale_contract(tmp_path: Path) -> None:
    """By default only the version in force is returned, and the older one as of its date."""
    ws = Workspace(tmp_path)
    ws.add_source("contracts", kind="contract", manifest="manifest.csv")
    for number, days in ((1, "ninety"), (2, "thirty")):
        ws.write(f"contracts/{number}.txt", f"The notice period of the agreement is {days} days.")
    ws.write(
        "contracts/manifest.csv",
        "file,document,title,version_label,effective_from\n"
        "1.txt,msa,Agreement,1.0,2020-01-01\n2.txt,msa,Agreement,2.0,2022-01-01\n",
    )
    ws.run()
    assert len(ws.points()) == 2
    assert ["thirty" in point["text"] for point in visible(ws)] == [True]
    then = visible(ws, datetime(2021, 6, 1, tzinfo=UTC))
    assert [point["version_label"] for point in then] == ["1.0"]


def test_unindexed_filter(index: VectorIndex) -> None:
    """Each documented filter has an index for every field it asks, so strict mode answers it."""
    index.upsert(as_points(payload(published_at=utc(2024, 2))))
    for chosen, count in (
        (default_filter(now=utc(2026), client_id="acme"), 1),
        (default_filter(now=utc(2026), on=utc(2025), at=utc(2024, 6)), 1),
        (in_force(now=utc(2026)), 1),
        (as_published(utc(2025)), 1),
        (as_published(utc(2025), at=utc(2024, 6)), 1),
        (all_versions(now=utc(2026)), 1),
        (permitted(now=utc(2026), use="retrieval", territory="NO"), 1),
        (document_filter(payload().doc_id, 1), 1),
        (staged_filter(payload().doc_id, 1), 0),
    ):
        asked = fields_of(chosen)
        assert asked
        assert asked <= payload_indexes().keys()
        assert len(list(index.scroll(chosen))) == count

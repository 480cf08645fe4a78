"""A listing passes through the plan without being held, however long it is."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from more_itertools import chunked
from sqlalchemy import insert
from workspace import Workspace

from ingest.catalog.models import ItemRow
from ingest.pipeline import Pipeline
from ingest.sources.listed_keys import ListedKeys
from ingest.steps.plan import plan
from ingest.version import PIPELINE_VERSION
from schemas.base import utc_now
from schemas.identity import document_id
from schemas.run import SourcePlan
from schemas.source import Item, ListingEntry

FEW, MANY = 6_000, 60_000
BOUND = 48 * 2**20
"""Bytes that a plan may take, whatever the number of entries."""


class Endless:
    """A connector that makes entries up as it goes."""

    def __init__(self, entries: int) -> None:
        self._entries = entries

    def list(self) -> Iterator[ListingEntry]:
        for number in range(self._entries):
            key = f"folder/{number % 97:02}/report {number:08}.txt"
            yield Item(
                source_id="reports",
                source_key=key,
                document_key=key,
                uri=f"https://example.org/{key}",
                fetch_uri=f"https://example.org/{key}",
                fingerprint=f"state of {number}",
                size=1_000,
                licence_id="open",
                confidentiality="internal",
            )


def pipeline(ws: Workspace, entries: int) -> Pipeline:
    made = ws.pipeline()
    made._connectors["reports"] = Endless(entries)  # type: ignore[assignment]
    return made


def peak_of_plan(folder: Path, entries: int, *, known: bool) -> tuple[int, SourcePlan]:
    ws = Workspace(folder, batch_cost=2_000)
    ws.add_source("reports")
    if known:
        know_all(ws, entries)
    made = pipeline(ws, entries)
    assert made.catalog.count_live("reports") == (entries if known else 0)
    tracemalloc.start()
    try:
        plan(made, "reports")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    found = made.artifacts.read(made.plan_path("reports"), SourcePlan)
    return peak, found


def know_all(ws: Workspace, entries: int) -> None:
    """Write the items' rows as a first run would have left them."""
    catalog = ws.pipeline().catalog
    at = utc_now()
    for page in chunked(Endless(entries).list(), 5_000):
        rows = [
            {
                "source_id": item.source_id,
                "source_key": item.source_key,
                "doc_id": document_id(item.source_id, item.document_key),
                "fingerprint": item.fingerprint,
                "state": "indexed",
                "listed": True,
                "doc_sha256": "0" * 64,
                "version": 1,
                "pipeline_version": PIPELINE_VERSION,
                "first_seen": at,
                "last_seen": at,
                "run_id": "first",
            }
            for item in page
            if isinstance(item, Item)
        ]
        with catalog.engine.begin() as connection:
            connection.execute(insert(ItemRow), rows)


@pytest.mark.parametrize("known", [False, True], ids=["all are new", "all are as they were"])
def test_ten_times_the_entries_take_no_more_memory(tmp_path: Path, known: bool) -> None:
    few, _ = peak_of_plan(tmp_path / "few", FEW, known=known)
    many, found = peak_of_plan(tmp_path / "many", MANY, known=known)
    assert found.listed == MANY
    assert (found.new, found.unchanged) == ((0, MANY) if known else (MANY, 0))
    assert found.gone == ()
    assert max(few, many) < BOUND, (few, many)


def test_keys_beyond_what_memory_is_for_are_told_apart_on_disk() -> None:
    with ListedKeys(in_memory=10) as keys:
        assert all(keys.add(f"key {number}") for number in range(1_000))
        assert not any(keys.add(f"key {number}") for number in range(1_000))
        assert "key 3" in keys
        assert "key 999" in keys
        assert "key 1000" not in keys

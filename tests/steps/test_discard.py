"""Retention: superseded versions go when their source's policy says so, and nothing else does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from workspace import Workspace

from attribution.filters import default_filter
from ingest.catalog.records import VersionRecord
from ingest.embedding import Embedder
from ingest.pipeline import open_catalog, open_index
from ingest.steps.discard import kept_no_longer
from schemas.base import OPEN_END
from schemas.source import Retention

HEAD = "file,document,version_label,effective_from\n"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def make(folder: Path, **retention: Any) -> Workspace:
    ws = Workspace(folder)
    rows = HEAD
    for number, year in ((1, 2018), (2, 2020), (3, 2022), (4, 2999)):
        ws.write(f"contracts/{number}.txt", f"The notice period is {number}0 days.")
        rows += f"{number}.txt,msa,{number},{year}-01-01\n"
    ws.write("contracts/terms.csv", rows)
    ws.add_source("contracts", kind="contract", manifest="terms.csv", retention=retention)
    return ws


def labels(ws: Workspace) -> list[str]:
    return sorted(point["version_label"] for point in ws.points().values())


def asked(ws: Workspace, year: int) -> list[str]:
    with open_index(ws.settings, Embedder(ws.settings.embedding_model)) as index:
        at = datetime(year, 6, 1, tzinfo=UTC)
        return [point["version_label"] for _, point in index.scroll(default_filter(at=at))]


@pytest.mark.parametrize(
    ("retention", "left"),
    [
        ({}, ["1", "2", "3", "4"]),
        ({"versions": 1}, ["2", "3", "4"]),
        ({"versions": 0}, ["3", "4"]),
        ({"days": 1}, ["3", "4"]),
        ({"days": 36_500}, ["1", "2", "3", "4"]),
        ({"versions": 1, "days": 1}, ["3", "4"]),
    ],
)
def test_a_policy_says_what_stays(
    tmp_path: Path, retention: dict[str, Any], left: list[str]
) -> None:
    ws = make(tmp_path, **retention)
    ledger = ws.run()
    assert ledger.balanced
    assert labels(ws) == left
    assert ledger.lines[0].discarded == 4 - len(left)
    # Nobody takes the place in time of what went.
    assert asked(ws, 2018) == (["1"] if "1" in left else [])
    assert asked(ws, 2023) == ["3"]
    again = ws.run()
    assert (again.lines[0].discarded, again.lines[0].points_new) == (0, 0)
    assert labels(ws) == left


def test_what_went_is_loaded_again_with_its_number_when_its_item_changes(tmp_path: Path) -> None:
    ws = make(tmp_path, versions=0)
    ws.run()
    rows = (ws.folder / "contracts/terms.csv").read_text()
    ws.write(
        "contracts/terms.csv",
        rows.replace("msa,1,2018", "msa,1,2999").replace("2999-01-01\n2", "2998-01-01\n2"),
    )
    assert ws.run().balanced
    assert labels(ws) == ["1", "3", "4"]
    [doc_id] = open_catalog(ws.settings).document_ids()
    states = {one.version: one.state for one in open_catalog(ws.settings).versions(doc_id)}
    assert states == {1: "published", 2: "discarded", 3: "published", 4: "published"}


def record(number: int, start: datetime, end: datetime) -> VersionRecord:
    return VersionRecord.model_construct(
        version=number, state="published", effective_from=start, effective_until=end
    )


@given(
    st.lists(st.integers(0, 3_000), min_size=1, max_size=8),
    st.one_of(st.none(), st.integers(0, 5)),
    st.one_of(st.none(), st.integers(1, 2_000)),
)
def test_what_is_in_force_or_will_be_always_stays(
    days: list[int], versions: int | None, age: int | None
) -> None:
    starts = sorted(NOW - timedelta(days=2_000) + timedelta(days=day) for day in days)
    ends = [*starts[1:], OPEN_END]
    records = [record(n, *span) for n, span in enumerate(zip(starts, ends, strict=True), start=1)]
    retention = Retention(versions=versions, days=age)
    going = kept_no_longer(records, retention, NOW)
    assert all(one.effective_until <= NOW for one in going)
    stay = [one for one in records if one not in going and one.effective_until <= NOW]
    if versions is not None:
        assert len(stay) <= versions
    if age is not None:
        assert all(one.effective_until >= NOW - timedelta(days=age) for one in stay)
    if versions is None and age is None:
        assert going == []

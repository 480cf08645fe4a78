"""Exports in Parquet."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from source_kit import Whole, connector, keys, problems

from ingest.errors import ConfigurationError, ItemError


def parquet(folder: Path, rows: list[dict[str, Any]], **source: Any) -> Whole:
    pq.write_table(pa.Table.from_pylist(rows), folder / "crm.parquet", row_group_size=3)
    given = {"address": "crm.parquet", "key": "id", "text": ["note"], **source}
    return connector(folder, connector="parquet", **given)


def test_values_of_all_kinds_are_written_as_the_docs_say(tmp_path: Path) -> None:
    row = {
        "id": 7,
        "note": "Årø",
        "sum": Decimal("12.50"),
        "at": datetime(2026, 3, 1, 12, tzinfo=UTC),
        "raw": b"\x00\xff",
        "who": {"name": "Ann", "tags": ["x", "y"]},
        "unread": "nobody asks for it",
    }
    source = parquet(tmp_path, [row], text=["note", "sum", "raw", "who.name"], date="at")
    (item,) = source.list().items
    assert item.effective_from == row["at"]
    assert json.loads(source.fetch(item).data) == {
        "id": 7,
        "note": "Årø",
        "sum": "12.50",
        "raw": "AP8=",
        "who": {"name": "Ann"},
        "at": "2026-03-01T12:00:00Z",
    }


def test_rows_of_many_groups_are_fetched_from_their_place(tmp_path: Path) -> None:
    rows = [{"id": f"k{number}", "note": f"note {number}"} for number in range(2_500)]
    source = parquet(tmp_path, rows)
    items = source.list().items
    assert [item.source_key for item in items] == [row["id"] for row in rows]
    for number in (0, 2, 3, 1_700, 2_499):
        assert json.loads(source.fetch(items[number]).data) == rows[number]


def test_what_is_wrong_with_a_row_costs_that_row(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "note": "x", "at": datetime(2026, 3, 1)},  # noqa: DTZ001  # the point of it
        {"id": None, "note": "y", "at": None},
        {"id": "b", "note": "z", "at": None},
        {"id": "b", "note": "again", "at": None},
    ]
    listing = parquet(tmp_path, rows, date="at").list()
    assert keys(listing) == ["b"]
    assert problems(listing) == [
        ("a", "date_invalid"),
        ("row 2", "key_missing"),
        ("row 4", "key_duplicate"),
    ]


def test_columns_that_nobody_asked_for_change_nothing(tmp_path: Path) -> None:
    before = parquet(tmp_path, [{"id": "a", "note": "x", "seen": 1}]).list().items
    after = parquet(tmp_path, [{"seen": 2, "note": "x", "id": "a"}]).list().items
    assert [item.fingerprint for item in before] == [item.fingerprint for item in after]


def test_an_export_that_was_replaced_still_gives_its_records(tmp_path: Path) -> None:
    rows = [{"id": key, "note": f"note {key}"} for key in "abcde"]
    source = parquet(tmp_path, rows)
    items = source.list().items
    parquet(tmp_path, rows[:0:-1])
    assert [json.loads(source.fetch(item).data) for item in items[1:]] == rows[1:]
    with pytest.raises(ItemError):
        source.fetch(items[0])


@pytest.mark.parametrize("name", ["lost", "who.lost.deeper"])
def test_a_column_that_is_not_there_is_a_wrong_configuration(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match="no column"):
        parquet(tmp_path, [{"id": "a", "note": "x"}], text=["note", name]).list()


def test_what_is_no_parquet_is_said(tmp_path: Path) -> None:
    (tmp_path / "crm.parquet").write_bytes(b"id,note\n")
    source = connector(
        tmp_path, connector="parquet", address="crm.parquet", key="id", text=["note"]
    )
    with pytest.raises(ConfigurationError, match="cannot be read as Parquet"):
        source.list()

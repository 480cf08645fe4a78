"""Listing an export takes the same memory, whatever its size."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from source_kit import connector

from schemas.source import Item

NOTE = "The client asked for the terms of the framework agreement. " * 16


def line(kind: str, number: int) -> str:
    if kind == "csv":
        return f'{number},"{NOTE}"\r\n'
    return json.dumps({"id": number, "note": NOTE}) + "\n"


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_peak_memory_does_not_follow_the_size(kind: str, tmp_path: Path) -> None:
    file = tmp_path / f"crm.{kind}"
    with file.open("w", encoding="utf-8", newline="") as stream:
        stream.write("id,note\r\n" if kind == "csv" else "")
        stream.writelines(line(kind, number) for number in range(20_000))
    assert file.stat().st_size > 18_000_000
    source = connector(tmp_path, connector=kind, address=file.name, key="id", text=["note"])
    tracemalloc.start()
    try:
        listed = sum(isinstance(entry, Item) for entry in source.connector.list())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert listed == 20_000
    # Of the 20,000 keys about 2 MB are remembered; the delimiter is looked for in 1 MB.
    assert peak < 9_000_000

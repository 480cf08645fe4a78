"""Quarantine entries as CSV or JSON Lines, for spreadsheets and for other programs."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from typing import TextIO

from ingest.catalog.records import QuarantineRecord

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet would work out (OWASP, CSV injection)."""


def write_csv(entries: Iterable[QuarantineRecord], stream: TextIO) -> None:
    """Write a table with a header; cells that a spreadsheet would work out get an apostrophe."""
    writer = csv.DictWriter(stream, list(QuarantineRecord.model_fields), lineterminator="\n")
    writer.writeheader()
    for entry in entries:
        row = entry.model_dump(mode="json")
        row["evidence"] = json.dumps(row["evidence"], ensure_ascii=False, sort_keys=True)
        writer.writerow({name: _cell(value) for name, value in row.items()})


def write_json_lines(entries: Iterable[QuarantineRecord], stream: TextIO) -> None:
    """Write an object a line."""
    for entry in entries:
        stream.write(json.dumps(entry.model_dump(mode="json"), ensure_ascii=False) + "\n")


def _cell(value: object) -> object:
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value

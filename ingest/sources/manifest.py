"""The manifest of a folder: what a CSV file says about the files beside it."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from pathlib import PurePosixPath

from ingest.errors import ConfigurationError
from ingest.sources.base import UnlistableError
from ingest.sources.location import Location, listing
from ingest.sources.tables import Row, Table, open_table

COLUMNS = (
    "file",
    "document",
    "title",
    "version_label",
    "effective_from",
    "licence",
    "confidentiality",
    "client_id",
    "withdrawn",
)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The rows by the file they are about, and why other rows cannot be used."""

    rows: dict[str, dict[str, str]]
    """The cells that are not empty, by column."""
    faults: dict[str, UnlistableError]
    """By the file that the row is about, or by the row where it names none."""


def read_manifest(folder: Location, path: str, name: str) -> Manifest:
    """Read the manifest at ``path``.

    Raises:
        ConfigurationError: it is not there, or has columns that mean nothing here.
        RetriableError: it cannot be read at the moment.
    """
    rows: dict[str, dict[str, str]] = {}
    faults: dict[str, UnlistableError] = {}
    with (
        listing(name),
        open_table(name, lambda: folder.open(path), wanted=COLUMNS) as table,
    ):
        _check_columns(table)
        for row in table.rows:
            cells = _cells(table, row)
            file = key_of(cells["file"]) if "file" in cells else f"{name}, {row}"
            if row.fault:
                faults[file] = UnlistableError("ragged_row", f"{name}, {row}: {row.fault}")
            elif "file" not in cells:
                faults[file] = UnlistableError("manifest_file_missing", "it names no file")
            elif file in rows:
                faults[file] = UnlistableError(
                    "manifest_duplicate",
                    f"{name}, {row}: an earlier row is about this file too, so it is not known "
                    "which of them holds",
                )
            else:
                rows[file] = cells
    return Manifest(rows, faults)


def key_of(path: str) -> str:
    """Return the key of the file at ``path`` in its folder: with "/" and in NFC, as people see it.

    File systems keep names as they were typed, and some decompose them.
    """
    return unicodedata.normalize("NFC", PurePosixPath(path).as_posix())


def _check_columns(table: Table) -> None:
    header = table.header.cells
    unknown = [cell for cell in header if cell not in COLUMNS]
    if unknown or "file" not in header or len(set(header)) != len(header):
        if unknown:
            wrong = f"unknown columns {', '.join(map(repr, unknown))}"
        elif "file" in header:
            wrong = "a column that is there twice"
        else:
            wrong = "no column 'file'"
        raise ConfigurationError(
            "manifest_column",
            f"{table.name}: the manifest has {wrong}. Its columns may be {', '.join(COLUMNS)}; "
            "'file' must be there. Correct its header row.",
        )


def _cells(table: Table, row: Row) -> dict[str, str]:
    pairs = zip(table.header.cells, row.cells, strict=False)
    return {name: cell.strip() for name, cell in pairs if cell.strip()}

"""Tables as pages show them and as CSV gives them: declared once, with a kind for each column."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

Kind = Literal["text", "number", "hash", "instant", "state"]
"""A hash is shown by its first twelve digits, and given whole as CSV."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a cell that begins so for a formula (OWASP, CSV Injection)."""


@dataclass(frozen=True)
class Column:
    """A column: the key of its values in the rows, its heading, and how they are shown."""

    key: str
    heading: str
    kind: Kind = "text"


@dataclass(frozen=True)
class Table:
    """A table. A row's value under ``key`` + "_href" is the address that its cell leads to."""

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[dict[str, Any]]
    none: str = "Nothing."
    """What is said where there is no row."""
    more: str | None = None
    """Address of the next rows, where these are not all."""
    wide: frozenset[str] = field(default_factory=frozenset)
    """Keys of the columns whose texts are long."""

    def csv(self) -> str:
        """Return the rows as CSV (RFC 4180), instants in RFC 3339, numbers in full."""
        out = io.StringIO()
        writer = csv.writer(out)
        writer.writerow([column.heading for column in self.columns])
        for row in self.rows:
            writer.writerow([_plain(row.get(column.key)) for column in self.columns])
        return out.getvalue()


def _plain(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value


def shown(value: Any, kind: Kind) -> str:
    """Return a value as people read it; an en dash where there is none."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        instant = value.astimezone(UTC)
        return "open" if instant.year == 9999 else f"{instant:%Y-%m-%d %H:%M}"
    if kind == "hash":
        return f"{str(value)[:12]}…"
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)

"""Quarantine: what was refused, why, and what a person decides."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

from dashboard.queries import PAGE, quarantine_counts, quarantine_page
from dashboard.site import Site
from dashboard.tables import Column, Table

TITLE = "Quarantine"
STATES = ("open", "dismissed", "closed")


def quarantine(
    site: Site, state: str = "open", source: str = "", code: str = "", before: int | None = None
) -> dict[str, Any]:
    """Return what the page shows."""
    found = quarantine_page(site.catalog, state, source, code, before)
    rows = found[:PAGE]
    more = None
    if len(found) > PAGE:
        asked = {"state": state, "source": source, "code": code, "before": rows[-1]["id"]}
        more = f"/quarantine?{urlencode(asked)}"
    table = Table(
        "quarantine",
        "Entries",
        (
            Column("id", "Entry", "number"),
            Column("source_id", "Source"),
            Column("source_key", "Item"),
            Column("stage", "Step"),
            Column("code", "Reason"),
            Column("message", "What happened"),
            Column("first_seen", "First seen", "instant"),
            Column("last_seen", "Last seen", "instant"),
            Column("times_seen", "Times", "number"),
        ),
        [{**row, "id_href": f"/quarantine/{row['id']}"} for row in rows],
        none="No entry is like that.",
        more=more,
        wide=frozenset({"message", "source_key"}),
    )
    counts = quarantine_counts(site.catalog)
    return {
        "state": state,
        "states": STATES,
        "source": source,
        "code": code,
        "sources": sorted({row["source_id"] for row in counts} | ({source} - {""})),
        "codes": sorted({row["code"] for row in counts} | ({code} - {""})),
        "tables": [table],
    }


def entry(site: Site, number: int) -> dict[str, Any]:
    """Return what the page of one entry shows.

    Raises:
        ItemError: ``quarantine_unknown``.
    """
    record = site.catalog.quarantine_entry(number)
    return {
        "entry": record,
        "evidence": json.dumps(record.evidence, indent=2, ensure_ascii=False, sort_keys=True),
        "tables": [],
    }

"""Licences: what is held under which terms, what ends, and what is missing."""

from __future__ import annotations

from typing import Any

from dashboard.site import Site
from dashboard.tables import Column, Table
from ingest.licences_report import licences_report
from schemas.base import utc_now

TITLE = "Licences"


def licences(site: Site) -> dict[str, Any]:
    """Return what the page shows."""
    days = site.settings.alerts.licence_days
    report = licences_report(site.catalog, site.configuration, utc_now(), days)
    held = Table(
        "held",
        "Held",
        (
            Column("licence_id", "Licence"),
            Column("name", "Name"),
            Column("provider", "Provider"),
            Column("state", "State", "state"),
            Column("valid_until", "Valid until", "instant"),
            Column("sources", "Sources"),
            Column("documents", "Documents", "number"),
            Column("versions", "Versions", "number"),
            Column("points", "Points", "number"),
        ),
        [{**one.model_dump(), "sources": ", ".join(one.sources)} for one in report.holdings],
        none="Nothing is held.",
    )
    missing = Table(
        "missing",
        "Items without a licence that allows them",
        (Column("source_id", "Source"), Column("items", "Items", "number")),
        [{"source_id": source, "items": items} for source, items in report.missing.items()],
        none="None.",
    )
    unused = Table(
        "unused",
        "Licences that nothing is held under",
        (Column("licence_id", "Licence"),),
        [{"licence_id": one} for one in report.unused],
        none="None.",
    )
    return {"days": days, "expiring": len(report.expiring), "tables": [held, missing, unused]}

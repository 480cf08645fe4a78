"""Sources: how fresh each is, what it holds, and what stands against it."""

from __future__ import annotations

from typing import Any

from dashboard.site import Site
from dashboard.tables import Column, Table
from ingest.freshness import freshness
from schemas.base import utc_now

TITLE = "Sources"


def sources(site: Site) -> dict[str, Any]:
    """Return what the page shows."""
    configuration = site.configuration
    ledger = site.catalog.last_run()
    lines = {line.source_id: line for line in ledger.lines} if ledger else {}
    rows = []
    for source, health in zip(
        configuration.sources,
        freshness(site.catalog, configuration.sources, utc_now()),
        strict=True,
    ):
        line = lines.get(source.id)
        state = "failed" if health.failed_at else "stale" if health.stale else "ok"
        rows.append(
            {
                **health.model_dump(),
                "source_id_href": f"/quality?source={source.id}",
                "kind": source.kind,
                "connector": source.connector,
                "licence": source.licence,
                "licence_href": "/licences",
                "state": state,
                "changed": line.new + line.changed if line else None,
                "quarantined": line.quarantined if line else None,
            }
        )
    table = Table(
        "sources",
        "Sources",
        (
            Column("source_id", "Source"),
            Column("kind", "Kind"),
            Column("connector", "Connector"),
            Column("licence", "Licence"),
            Column("state", "State", "state"),
            Column("listed_at", "Last listed", "instant"),
            Column("age_hours", "Hours ago", "number"),
            Column("stale_after_hours", "Stale after", "number"),
            Column("entries", "Entries", "number"),
            Column("changed", "New or changed in the last run", "number"),
            Column("quarantined", "Quarantined in it", "number"),
            Column("error", "Why it could not be listed"),
        ),
        rows,
        none="No source is configured.",
        wide=frozenset({"error"}),
    )
    return {"tables": [table]}

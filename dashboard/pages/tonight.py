"""Tonight: did it run, did the ledger balance, what needs a person."""

from __future__ import annotations

from typing import Any

from dashboard.queries import quarantine_counts, totals
from dashboard.site import Site
from dashboard.tables import Column, Table
from schemas.base import utc_now

TITLE = "Tonight"

_LINE = (
    Column("source_id", "Source"),
    Column("state", "State", "state"),
    *(
        Column(name, heading, "number")
        for name, heading in (
            ("listed", "Listed"),
            ("new", "New"),
            ("changed", "Changed"),
            ("unchanged", "Unchanged"),
            ("retired", "Retired"),
            ("quarantined", "Quarantined"),
            ("published", "Published"),
            ("points_new", "Points new"),
            ("points_reused", "Points reused"),
        )
    ),
    Column("error", "Why it stopped"),
)


def tonight(site: Site) -> dict[str, Any]:
    """Return what the page shows."""
    catalog = site.catalog
    ledger = catalog.last_run()
    now = utc_now()
    hours = None
    if ledger is not None and ledger.finished_at is not None:
        hours = (now - ledger.finished_at).total_seconds() / 3600
    lines = [
        {
            **line.model_dump(),
            "state": "stopped" if line.stopped_in else "ok" if line.balanced else "unbalanced",
            "source_id_href": f"/quality?source={line.source_id}",
        }
        for line in (ledger.lines if ledger else ())
    ]
    open_entries = quarantine_counts(catalog)
    incidents = catalog.incidents()
    return {
        "ledger": ledger,
        "hours": hours,
        "late": hours is not None and hours > site.settings.alerts.late_after_hours,
        "totals": totals(catalog),
        "waiting": sum(row["entries"] for row in open_entries),
        "tables": [
            Table(
                "incidents",
                "What needs a person",
                (
                    Column("opened_at", "Since", "instant"),
                    Column("kind", "What"),
                    Column("subject", "Of"),
                    Column("message", "What to do"),
                    Column("told_at", "Told", "instant"),
                ),
                [{**one.model_dump(), "kind": one.kind.replace("_", " ")} for one in incidents],
                none="No incident is open.",
                wide=frozenset({"message"}),
            ),
            Table(
                "quarantine",
                "In quarantine",
                (
                    Column("source_id", "Source"),
                    Column("code", "Reason"),
                    Column("entries", "Entries", "number"),
                    Column("since", "Since", "instant"),
                ),
                [
                    {
                        **row,
                        "code_href": f"/quarantine?source={row['source_id']}&code={row['code']}",
                    }
                    for row in open_entries
                ],
                none="Nothing is in quarantine.",
            ),
            Table(
                "alerts",
                "What the last run warned of",
                (Column("alert", "Warning"),),
                [{"alert": alert} for alert in (*ledger.alerts, *ledger.unprovable)]
                if ledger
                else [],
                none="Nothing.",
                wide=frozenset({"alert"}),
            ),
            Table(
                "ledger",
                "The ledger of the last run",
                _LINE,
                lines,
                none="There was no run yet: muniment run",
                wide=frozenset({"error"}),
            ),
        ],
    }

"""What is so now that a person should know of: from a run's ledger, and from the catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from ingest.catalog import Catalog
from ingest.configuration import Configuration
from ingest.freshness import freshness, staleness_alert
from ingest.licences_report import Holding, licences_report
from ingest.settings import AlertSettings
from schemas.incident import Finding, IncidentKind
from schemas.run import Ledger, LedgerLine

OF_SOURCES: frozenset[IncidentKind] = frozenset(
    {"run_incomplete", "ledger_unbalanced", "gate_stopped"}
)
"""What the ledger says of each of its sources."""
OF_RUN: frozenset[IncidentKind] = frozenset({"unprovable"})
OF_DEADLINE: frozenset[IncidentKind] = frozenset({"deadline_missed"})
"""What the orchestrator finds; it is over once a run ends."""
OF_STATE: frozenset[IncidentKind] = frozenset({"run_late", "source_stale", "licence_ending"})
"""What the catalogue says at any time, between runs too."""


def of_ledger(ledger: Ledger) -> Iterator[Finding]:
    """Yield what a run's ledger says that a person should know."""
    for line in ledger.lines:
        yield from _of_line(ledger, line)
    if ledger.unprovable:
        shown = "; ".join(ledger.unprovable[:3])
        yield Finding(
            kind="unprovable",
            subject="",
            message=f"{len(ledger.unprovable):,} findings on published points that cannot be "
            f"proved any more: {shown}. The index, the vault or their storage is damaged: see "
            "`muniment status`, and restore them.",
        )


def _of_line(ledger: Ledger, line: LedgerLine) -> Iterator[Finding]:
    if "gate" in line.stopped_in:
        yield Finding(
            kind="gate_stopped",
            subject=line.source_id,
            message=f"{line.source_id}: the quality gate stopped a batch of run {ledger.run_id}; "
            "nothing of it was published, and readers keep what they had. Look at what failed: "
            "muniment quarantine list",
        )
    if line.error and set(line.stopped_in) - {"gate"}:
        yield Finding(
            kind="run_incomplete",
            subject=line.source_id,
            message=f"{line.source_id}: run {ledger.run_id} did not get to its end: {line.error} "
            "The next run takes it up.",
        )
    elif not line.balanced and not line.stopped_in:
        yield Finding(
            kind="ledger_unbalanced",
            subject=line.source_id,
            message=f"{line.source_id}: the ledger of run {ledger.run_id} does not balance: what "
            "came in is not all accounted for. See `muniment status`, and run again.",
        )


def of_state(
    catalog: Catalog, configuration: Configuration, settings: AlertSettings, now: datetime
) -> Iterator[Finding]:
    """Yield what the catalogue says at ``now`` that a person should know."""
    last = catalog.last_finished_at()
    if last is not None and now - last > timedelta(hours=settings.late_after_hours):
        hours = (now - last).total_seconds() / 3600
        yield Finding(
            kind="run_late",
            subject="",
            message=f"No run has ended for {hours:.0f} hours, since {last:%Y-%m-%d %H:%M} UTC. "
            "Look at the scheduler, and at a run that hangs.",
        )
    for health in freshness(catalog, configuration.sources, now):
        # One that was never listed may have been configured just now: the next run lists it.
        if health.stale and health.listed_at is not None:
            yield Finding(
                kind="source_stale", subject=health.source_id, message=staleness_alert(health)
            )
    report = licences_report(catalog, configuration, now, settings.licence_days)
    ends: dict[str, Holding] = {}
    for holding in report.expiring:
        first = ends.setdefault(holding.licence_id, holding)
        if holding.valid_until < first.valid_until:
            ends[holding.licence_id] = holding
    for licence_id, holding in sorted(ends.items()):
        has = "has ended" if holding.valid_until <= now else "ends"
        yield Finding(
            kind="licence_ending",
            subject=licence_id,
            message=f"Licence {licence_id} {has} on {holding.valid_until:%Y-%m-%d}; documents "
            f"under it: {holding.documents:,}, of {', '.join(holding.sources)}. Have it renewed: "
            "what it covers is hidden from readers when it ends.",
        )

"""The same figures for Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from dashboard.queries import quarantine_counts, totals
from dashboard.site import Site
from ingest.freshness import freshness
from schemas.base import utc_now
from schemas.quality import MetricState

_STATES: dict[MetricState, int] = {"learning": 0, "ok": 0, "warn": 1, "stop": 2}


def figures(site: Site) -> bytes:
    """Return the figures in Prometheus' text format."""
    registry = CollectorRegistry()

    def gauge(name: str, about: str, *labels: str) -> Gauge:
        return Gauge(f"muniment_{name}", about, labels, registry=registry)

    catalog, now = site.catalog, utc_now()
    for name, count in totals(catalog).items():
        gauge(name, f"Published {name}.").set(count)
    open_entries = gauge("quarantine_open", "Open quarantine entries.", "source", "code")
    for row in quarantine_counts(catalog):
        open_entries.labels(row["source_id"], row["code"]).set(row["entries"])
    incidents = gauge("incident_open", "1 for each open incident.", "kind", "subject")
    for incident in catalog.incidents():
        incidents.labels(incident.kind, incident.subject).set(1)
    age = gauge("source_age_seconds", "Since the source was last listed.", "source")
    stale = gauge("source_stale", "1 if that is too long ago.", "source")
    for health in freshness(catalog, site.configuration.sources, now):
        stale.labels(health.source_id).set(health.stale)
        if health.listed_at is not None:
            age.labels(health.source_id).set((now - health.listed_at).total_seconds())
    ledger = catalog.last_run()
    if ledger is not None:
        if ledger.finished_at is not None:
            since = gauge("last_run_finished_timestamp_seconds", "When the last run ended.")
            since.set(ledger.finished_at.timestamp())
        gauge("last_run_balanced", "1 if the last ledger balanced.").set(ledger.balanced)
        gauge("last_run_unprovable", "Findings on points that cannot be proved.").set(
            len(ledger.unprovable)
        )
        items = gauge("last_run_items", "Items of the last run.", "source", "what")
        for line in ledger.lines:
            for what in ("listed", "new", "changed", "unchanged", "failed", "quarantined"):
                items.labels(line.source_id, what).set(getattr(line, what))
        value = gauge("metric", "What was measured of the last run.", "source", "name")
        state = gauge("metric_state", "0 in its band, 1 warns, 2 stops.", "source", "name")
        for metric in catalog.metrics(ledger.run_id):
            value.labels(metric.source_id, metric.name).set(metric.value)
            state.labels(metric.source_id, metric.name).set(_STATES[metric.state])
    return generate_latest(registry)

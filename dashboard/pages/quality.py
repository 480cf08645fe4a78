"""Quality: each metric over runs with its band, and the rows that failed the gate."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import Any

from dashboard.charts import over_runs
from dashboard.queries import metric_runs
from dashboard.site import Site
from dashboard.tables import Column, Table
from ingest.quality.results import GateResult
from schemas.quality import WHOLE_RUN, Metric

TITLE = "Quality"
_RUNS = 60
_ALL_RUNS = 730


def quality(site: Site, source: str = WHOLE_RUN) -> dict[str, Any]:
    """Return what the page shows of a source, or of all together."""
    by_name: dict[str, list[tuple[str, datetime, Metric]]] = defaultdict(list)
    for run_id, at, metric in metric_runs(site.catalog, source, None, _RUNS):
        by_name[metric.name].append((run_id, at, metric))
    rows = []
    for name, values in sorted(by_name.items()):
        metric = values[-1][2]
        rows.append(
            {
                **metric.model_dump(),
                "name_href": f"/quality/{name}?source={source}",
                "at": values[-1][1],
                "runs": len(values),
            }
        )
    metrics = Table(
        "metrics",
        "What was measured of the last run",
        (
            Column("name", "Metric"),
            Column("state", "State", "state"),
            Column("value", "Value", "number"),
            Column("low", "Band from", "number"),
            Column("high", "Band to", "number"),
            Column("runs", "Runs", "number"),
            Column("at", "Measured", "instant"),
        ),
        rows,
        none="Nothing was measured yet: metrics are kept when a run ends.",
    )
    return {
        "source": source,
        "sources": [one.id for one in site.configuration.sources],
        "outside": [row for row in rows if row["state"] in ("warn", "stop")],
        "tables": [metrics, _failures(site, source)],
    }


def one_metric(site: Site, name: str, source: str = WHOLE_RUN) -> dict[str, Any]:
    """Return what the page of one metric shows."""
    values = metric_runs(site.catalog, source, name, _ALL_RUNS)
    table = Table(
        "runs",
        "Each run",
        (
            Column("run_id", "Run"),
            Column("at", "Begun", "instant"),
            Column("value", "Value", "number"),
            Column("low", "Band from", "number"),
            Column("high", "Band to", "number"),
            Column("state", "State", "state"),
        ),
        [
            {"run_id": run_id, "at": at, **metric.model_dump()}
            for run_id, at, metric in reversed(values)
        ],
        none="It was not measured yet.",
    )
    return {"source": source, "name": name, "has_chart": bool(values), "tables": [table]}


def chart(site: Site, name: str, source: str = WHOLE_RUN) -> bytes:
    """Return the chart of one metric as SVG."""
    return over_runs(
        [(at, metric) for _, at, metric in metric_runs(site.catalog, source, name, _ALL_RUNS)]
    )


def _failures(site: Site, source: str) -> Table:
    """Return what failed the gate in the last run: every passage, by expectation."""
    ledger = site.catalog.last_run()
    rows: list[dict[str, Any]] = []
    paths = site.artifacts.list(f"runs/{ledger.run_id}/batches") if ledger else []
    for path in paths:
        batch = path.split("/")[-2]
        if "/gate-result." not in path or (source and not batch.startswith(f"{source}-")):
            continue
        result = site.artifacts.read(path, GateResult)
        rows += [
            {
                "batch": batch,
                "code": failure.code,
                "severity": failure.severity,
                "chunk_id": chunk_id,
                "chunk_id_href": f"/chunks/{chunk_id}",
            }
            for failure in result.failures
            for chunk_id in failure.chunk_ids
        ]
    return Table(
        "failures",
        "Passages that failed the gate in the last run",
        (
            Column("severity", "Severity", "state"),
            Column("code", "Expectation"),
            Column("batch", "Batch"),
            Column("chunk_id", "Passage"),
        ),
        rows,
        none="None.",
    )

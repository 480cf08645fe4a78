"""Backfills and rebuilds: what was done to what is stored."""

from __future__ import annotations

from typing import Any

from dashboard.queries import last_runs, runs_of
from dashboard.site import Site
from dashboard.tables import Column, Table
from ingest.backfill.run import plan_path, result_path
from schemas.backfill import BackfillPlan, BackfillResult

TITLE = "Backfills"
_RUNS = 100


def backfills(site: Site) -> dict[str, Any]:
    """Return what the page shows: those among the last runs, and every rebuild."""
    rows = []
    # A ledger is large, and of most runs it is not wanted here.
    ids = [one for one in last_runs(site.catalog, _RUNS) if site.artifacts.exists(plan_path(one))]
    for run in runs_of(site.catalog, ids):
        plan = site.artifacts.read(plan_path(run.run_id), BackfillPlan)
        done = None
        if site.artifacts.exists(result_path(run.run_id)):
            done = site.artifacts.read(result_path(run.run_id), BackfillResult)
        balanced = run.ledger is not None and run.ledger.balanced
        rows.append(
            {
                "run_id": run.run_id,
                "started_at": run.started_at,
                "state": "under way" if run.ledger is None else "ok" if balanced else "failed",
                "reason": plan.request.reason,
                "versions": len(plan.work),
                "documents": len(done.documents) if done else None,
                **{
                    name: getattr(done.done, name) if done else None
                    for name in ("points_new", "embedded", "points_patched", "points_redated")
                },
                "points_deleted": done.done.points_deleted if done else None,
            }
        )
    done_columns = (
        Column("documents", "Documents", "number"),
        Column("points_new", "Points added", "number"),
        Column("embedded", "Embedded", "number"),
        Column("points_patched", "Other terms", "number"),
        Column("points_redated", "Other dates", "number"),
        Column("points_deleted", "Deleted", "number"),
    )
    runs = Table(
        "backfills",
        f"Backfills among the last {_RUNS} runs",
        (
            Column("run_id", "Run"),
            Column("started_at", "Begun", "instant"),
            Column("state", "State", "state"),
            Column("reason", "Why"),
            Column("versions", "Versions planned", "number"),
            *done_columns,
        ),
        rows,
        none="None: muniment backfill --reason … --dry-run",
        wide=frozenset({"reason"}),
    )
    rebuilds = Table(
        "rebuilds",
        "Rebuilds of the index",
        (
            Column("id", "Rebuild", "number"),
            Column("collection", "Collection"),
            Column("state", "State", "state"),
            Column("started_at", "Begun", "instant"),
            Column("turned_at", "Readers turned", "instant"),
            Column("former", "Former collection"),
            Column("former_until", "Kept until", "instant"),
            Column("reason", "Why"),
        ),
        [one.model_dump() for one in reversed(site.catalog.rebuilds(site.settings.qdrant.alias))],
        none="None.",
        wide=frozenset({"reason"}),
    )
    return {"tables": [runs, rebuilds]}

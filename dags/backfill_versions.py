"""backfill_versions: bring stored versions up to date with the code, terms and dates of now.

Runs by hand with parameters; after each nightly run that changed versions, on the documents that it
changed; and over dates, each run on the versions that begin in its data interval: every morning on
those of the day before, or with `airflow backfill create` on any span. With `dry_run` it only says
what would be done. It asks nothing of the sources unless the vault has lost bytes, and may run
beside the nightly run.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pendulum
from airflow.sdk import (
    AssetOrTimeSchedule,
    CronDataIntervalTimetable,
    Param,
    dag,
    get_current_context,
    task,
)

from dags.wiring import BACKFILLS, RETRIES, VERSIONS, batch, current_pipeline, tell


@dag(
    dag_id="backfill_versions",
    schedule=AssetOrTimeSchedule(
        timetable=CronDataIntervalTimetable("0 5 * * *", timezone="UTC"), assets=VERSIONS
    ),
    start_date=pendulum.datetime(1990, 1, 1, tz="UTC"),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=24),
    default_args=RETRIES,
    params={
        "run_id": Param(None, type=["null", "string"], description="Name of the run's ledger."),
        "documents": Param(
            None, type=["null", "array"], description="Ids of the documents; all if empty."
        ),
        "sources": Param(
            None, type=["null", "array"], description="Ids of the sources; all if empty."
        ),
        "effective_from": Param(
            None,
            type=["null", "string"],
            description="Versions that begin at this instant or later (RFC 3339).",
        ),
        "effective_until": Param(
            None,
            type=["null", "string"],
            description="Versions that begin before this instant (RFC 3339).",
        ),
        "reason": Param(None, type=["null", "string"], description="Why; kept with the run."),
        "dry_run": Param(False, type="boolean", description="Only say what would be done."),
    },
    doc_md=__doc__,
    tags=["muniment"],
)
def backfill_versions() -> None:
    """Wire the steps."""

    @task(execution_timeout=timedelta(hours=6), pool="index")
    def plan(triggering_asset_events: Any = None) -> list[dict[str, Any]]:
        """Find out what is to be done, print it, and return the batches."""
        from ingest.backfill.cli import print_backfill
        from ingest.backfill.run import plan_backfill
        from ingest.cli_common import console
        from ingest.runner import resume_settling

        pipeline = current_pipeline()
        request = _request(pipeline, triggering_asset_events or {})
        if request is None:
            return []
        if not request.dry_run:
            resume_settling(pipeline)
        found, refs = plan_backfill(pipeline, request)
        print_backfill(console, found, None)
        return [ref.model_dump() for ref in refs]

    @task(trigger_rule="all_done", execution_timeout=timedelta(minutes=10), outlets=[BACKFILLS])
    def announce(outlet_events: Any = None) -> None:
        """Tell which documents changed."""
        tell(outlet_events, BACKFILLS, current_pipeline())

    @task(trigger_rule="all_done", execution_timeout=timedelta(hours=1))
    def report(planned: list[dict[str, Any]] | None) -> None:
        """Close the ledger, and fail if anything went wrong."""
        from ingest.backfill.run import finish_backfill, stored_plan
        from ingest.errors import FatalError
        from ingest.runner import raise_if_failed

        if planned is None:
            raise FatalError("backfill_not_planned", "Look at the log of the task plan.")
        pipeline = current_pipeline()
        found = stored_plan(pipeline)
        if found is not None and found.work:
            _, ledger = finish_backfill(pipeline, found)
            raise_if_failed(ledger)

    planned: Any = plan()
    batch.expand(ref=planned) >> announce() >> report(planned)


def _request(pipeline: Any, events: Any) -> Any:
    """Return what this run is asked for; None where an event names nothing."""
    from ingest.pipeline import Pipeline
    from ingest.runner import changed_documents
    from schemas.backfill import BackfillRequest

    context = get_current_context()
    params, run = context["params"], context["dag_run"]
    documents = list(params["documents"] or [])
    first, last = params["effective_from"], params["effective_until"]
    why = f"{run.run_type} run"
    extras = [event.extra for some in events.values() for event in some]
    if extras:
        why = "versions changed in " + ", ".join(sorted({str(one["run_id"]) for one in extras}))
        for extra in extras:
            if extra.get("more"):
                nightly = Pipeline(pipeline.settings, str(extra["run_id"]))
                documents += changed_documents(nightly)
            else:
                documents += extra.get("changed", [])
        # What was forgotten since then is no longer there to be brought up to date.
        documents = [one for one in dict.fromkeys(documents) if pipeline.catalog.document(one)]
        if not documents:
            return None
    elif run.run_type in ("scheduled", "backfill") and not (first or last):
        first, last = context["data_interval_start"], context["data_interval_end"]
    return BackfillRequest.model_validate(
        {
            "documents": tuple(documents),
            "sources": tuple(params["sources"] or ()),
            "effective_from": first,
            "effective_until": last,
            "reason": params["reason"] or why,
            "dry_run": params["dry_run"],
        }
    )


backfill_versions()

"""nightly_ingest: pull every source, keep what changed provable, and publish it.

One mapped task lists each source; what it finds is grouped into batches, and each batch goes
through the stages on its own, so a source or a batch that fails does not stop the others. The last
task closes the ledger and fails if anything went wrong, so that a red run is always a reason to
look.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pendulum
from airflow.sdk import Param, dag, get_current_context, task
from airflow.sdk.definitions.callback import AsyncCallback
from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference

from dags.wiring import RETRIES, VERSIONS, batch, current_pipeline, tell


@dag(
    dag_id="nightly_ingest",
    schedule="0 2 * * *",
    start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=12),
    # At 08:00 people begin to ask; the run is told to be late two hours before.
    deadline=DeadlineAlert(
        reference=DeadlineReference.DAGRUN_QUEUED_AT,
        interval=timedelta(hours=4),
        callback=AsyncCallback("ingest.alerts.airflow.nightly_is_late"),
    ),
    default_args=RETRIES,
    params={
        "run_id": Param(None, type=["null", "string"], description="Name of the run's ledger."),
        "sources": Param(
            None, type=["null", "array"], description="Ids of the sources to run; all if empty."
        ),
    },
    doc_md=__doc__,
    tags=["muniment"],
)
def nightly_ingest() -> None:
    """Wire the steps."""

    @task(execution_timeout=timedelta(minutes=5))
    def sources() -> list[str]:
        """Check the configuration before anything starts, and return the ids of the sources."""
        from ingest.quality.thresholds import load_thresholds
        from ingest.runner import resume_erasures, resume_settling

        pipeline = current_pipeline()
        configuration = pipeline.configuration
        load_thresholds(pipeline.settings.gate)
        resume_erasures(pipeline)
        resume_settling(pipeline)
        wanted = get_current_context()["params"]["sources"]
        if wanted:
            return [configuration.source(source_id).id for source_id in wanted]
        return [source.id for source in configuration.sources]

    @task(execution_timeout=timedelta(hours=1), map_index_template="{{ source_id }}")
    def plan(source_id: str) -> list[dict[str, Any]]:
        """List one source and return its batches."""
        from ingest.runner import plan_source

        get_current_context()["source_id"] = source_id  # type: ignore[typeddict-unknown-key]  # for the label
        return [ref.model_dump() for ref in plan_source(current_pipeline(), source_id)]

    @task(trigger_rule="all_done", execution_timeout=timedelta(minutes=5))
    def batches(planned: Any) -> list[dict[str, Any]]:
        """Put the batches of all sources that could be listed into one list."""
        return [ref for refs in planned if refs for ref in refs]

    @task(
        trigger_rule="all_done",
        execution_timeout=timedelta(hours=1),
        pool="index",
        map_index_template="{{ source_id }}",
    )
    def retire(source_id: str) -> None:
        """Close the documents that a source no longer lists."""
        from ingest.runner import retire_source

        get_current_context()["source_id"] = source_id  # type: ignore[typeddict-unknown-key]  # for the label
        retire_source(current_pipeline(), source_id)

    @task(trigger_rule="all_done", execution_timeout=timedelta(hours=2), pool="index")
    def sweep() -> None:
        """Take back what no licence covers any more, and bring back what one covers again."""
        from ingest.runner import sweep_licences

        sweep_licences(current_pipeline())

    @task(trigger_rule="all_done", execution_timeout=timedelta(hours=4), pool="index")
    def erase() -> None:
        """Erase the documents that left a source whose policy says so."""
        from ingest.runner import erase_gone

        erase_gone(current_pipeline())

    @task(trigger_rule="all_done", execution_timeout=timedelta(hours=4), pool="index")
    def discard() -> None:
        """Take superseded versions out that the source's policy no longer keeps."""
        from ingest.runner import discard_superseded

        discard_superseded(current_pipeline())

    @task(trigger_rule="all_done", execution_timeout=timedelta(hours=4), pool="index")
    def recheck() -> None:
        """Read back a share of what was published before, and prove it again."""
        from ingest.runner import recheck_share

        recheck_share(current_pipeline())

    @task(trigger_rule="all_done", execution_timeout=timedelta(minutes=10), outlets=[VERSIONS])
    def announce(outlet_events: Any = None) -> None:
        """Tell which documents changed, to readers and to the backfill that follows."""
        tell(outlet_events, VERSIONS, current_pipeline())

    @task(trigger_rule="all_done", execution_timeout=timedelta(hours=1))
    def report(source_ids: list[str]) -> None:
        """Close the ledger, and fail if anything went wrong."""
        from ingest.runner import finish_run, raise_if_failed

        raise_if_failed(finish_run(current_pipeline(), source_ids))

    source_ids: Any = sources()
    planned = plan.expand(source_id=source_ids)
    processed = batch.expand(ref=batches(planned))
    retired = retire.expand(source_id=source_ids)
    told = announce()
    last = processed >> retired >> sweep() >> erase() >> discard() >> recheck()
    last >> told >> report(source_ids)


nightly_ingest()

"""nightly_ingest: pull every source, keep what changed provable, and publish it.

One mapped task lists each source; what it finds is grouped into batches, and each batch goes
through the stages on its own, so a source or a batch that fails does not stop the others. The last
task closes the ledger and fails if anything went wrong, so that a red run is always a reason to
look.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pendulum
from airflow.sdk import (
    Asset,
    ExceptionRetryPolicy,
    Param,
    RetryAction,
    RetryRule,
    dag,
    get_current_context,
    task,
    task_group,
)

if TYPE_CHECKING:
    from schemas.run import Stage

VERSIONS = Asset(name="versions", uri="muniment://versions")
"""Updated when versions were published or retired; the event's extra names the documents."""

# Only what may pass by itself is tried again: a wrong file stays wrong.
RETRIES: dict[str, Any] = {
    "retries": 3,
    "retry_delay": timedelta(seconds=10),
    "retry_exponential_backoff": 2.0,
    "max_retry_delay": timedelta(minutes=10),
    "retry_policy": ExceptionRetryPolicy(
        rules=[RetryRule(exception="ingest.errors.RetriableError", action=RetryAction.RETRY)],
        default=RetryAction.FAIL,
    ),
}


def _pipeline() -> Any:
    """Return the pipeline of this DAG run."""
    from ingest.pipeline import Pipeline
    from ingest.runner import safe_run_id
    from ingest.settings import load_settings

    context = get_current_context()
    run_id = context["params"]["run_id"] or safe_run_id(context["dag_run"].run_id)
    return Pipeline(load_settings(), run_id, credentials=_credentials)


def _credentials(name: str) -> Any:
    """Return what the Airflow connection ``name`` holds; without one, what the environment does."""
    from airflow.sdk import Connection
    from airflow.sdk.exceptions import AirflowNotFoundException

    from ingest.sources.credentials import Credentials, from_environment

    try:
        found = Connection.get(name)
    except AirflowNotFoundException:
        return from_environment(name)
    return Credentials(
        login=found.login or None,
        password=found.password or None,
        host=found.host or None,
        port=found.port,
        schema=found.schema or None,
        extra=found.extra_dejson,
    )


def _run_stage(stage: Stage, ref: dict[str, Any]) -> dict[str, Any]:
    from ingest.runner import run_stage
    from schemas.run import BatchRef

    return run_stage(_pipeline(), stage, BatchRef.model_validate(ref)).model_dump()


@dag(
    dag_id="nightly_ingest",
    schedule="0 2 * * *",
    start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
    catchup=False,
    max_active_runs=1,
    dagrun_timeout=timedelta(hours=12),
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
        from ingest.runner import resume_erasures, resume_settling

        pipeline = _pipeline()
        configuration = pipeline.configuration
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
        return [ref.model_dump() for ref in plan_source(_pipeline(), source_id)]

    @task(trigger_rule="all_done", execution_timeout=timedelta(minutes=5))
    def batches(planned: Any) -> list[dict[str, Any]]:
        """Put the batches of all sources that could be listed into one list."""
        return [ref for refs in planned if refs for ref in refs]

    @task_group
    def batch(ref: dict[str, Any]) -> None:
        """Take one batch through the stages."""

        @task(execution_timeout=timedelta(hours=2))
        def fetch(ref: dict[str, Any]) -> dict[str, Any]:
            return _run_stage("fetch", ref)

        @task(execution_timeout=timedelta(hours=6), pool="extract")
        def extract(ref: dict[str, Any]) -> dict[str, Any]:
            return _run_stage("extract", ref)

        @task(execution_timeout=timedelta(hours=1))
        def chunk(ref: dict[str, Any]) -> dict[str, Any]:
            return _run_stage("chunk", ref)

        @task(execution_timeout=timedelta(hours=1))
        def gate(ref: dict[str, Any]) -> dict[str, Any]:
            return _run_stage("gate", ref)

        @task(execution_timeout=timedelta(hours=6), pool="index")
        def index(ref: dict[str, Any]) -> dict[str, Any]:
            return _run_stage("index", ref)

        @task(execution_timeout=timedelta(hours=2), pool="index")
        def audit(ref: dict[str, Any]) -> dict[str, Any]:
            return _run_stage("audit", ref)

        @task(execution_timeout=timedelta(hours=1), pool="index")
        def publish(ref: dict[str, Any]) -> dict[str, Any]:
            return _run_stage("publish", ref)

        result: Any = ref
        for stage in (fetch, extract, chunk, gate, index, audit, publish):
            result = stage(result)

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
        retire_source(_pipeline(), source_id)

    @task(trigger_rule="all_done", execution_timeout=timedelta(hours=2), pool="index")
    def sweep() -> None:
        """Take back what no licence covers any more, and bring back what one covers again."""
        from ingest.runner import sweep_licences

        sweep_licences(_pipeline())

    @task(trigger_rule="all_done", execution_timeout=timedelta(hours=4), pool="index")
    def erase() -> None:
        """Erase the documents that left a source whose policy says so."""
        from ingest.runner import erase_gone

        erase_gone(_pipeline())

    @task(trigger_rule="all_done", execution_timeout=timedelta(hours=4), pool="index")
    def recheck() -> None:
        """Read back a share of what was published before, and prove it again."""
        from ingest.runner import recheck_share

        recheck_share(_pipeline())

    @task(trigger_rule="all_done", execution_timeout=timedelta(hours=1), outlets=[VERSIONS])
    def report(source_ids: list[str], outlet_events: Any = None) -> None:
        """Close the ledger, tell which documents changed, and fail if anything went wrong."""
        from ingest.runner import changed_documents, finish_run, raise_if_failed

        pipeline = _pipeline()
        ledger = finish_run(pipeline, source_ids)
        outlet_events[VERSIONS].extra = {
            "run_id": pipeline.run_id,
            "changed": changed_documents(pipeline),
        }
        raise_if_failed(ledger)

    source_ids: Any = sources()
    planned = plan.expand(source_id=source_ids)
    processed = batch.expand(ref=batches(planned))
    retired = retire.expand(source_id=source_ids)
    processed >> retired >> sweep() >> erase() >> recheck() >> report(source_ids)


nightly_ingest()

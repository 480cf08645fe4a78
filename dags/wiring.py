"""What the DAGs share: retries, assets, credentials, and the stages of a batch."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from airflow.sdk import (
    Asset,
    ExceptionRetryPolicy,
    RetryAction,
    RetryRule,
    get_current_context,
    task,
    task_group,
)

if TYPE_CHECKING:
    from ingest.pipeline import Pipeline
    from schemas.run import Stage

VERSIONS = Asset(name="versions", uri="muniment://versions")
"""Updated by a nightly run in which versions were published, retired or restored, or took other
dates; the event's extra says of which documents."""

BACKFILLS = Asset(name="backfills", uri="muniment://backfills")
"""Updated by a backfill that changed something for readers; the extra is that of `VERSIONS`."""

_MOST_TOLD = 1_000

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


def current_pipeline() -> Pipeline:
    """Return the pipeline of this DAG run."""
    from ingest.pipeline import Pipeline
    from ingest.runner import safe_run_id
    from ingest.settings import load_settings

    context = get_current_context()
    run_id = context["params"]["run_id"] or safe_run_id(context["dag_run"].run_id)
    return Pipeline(load_settings(), run_id, credentials=credentials)


def credentials(name: str) -> Any:
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

    return run_stage(current_pipeline(), stage, BatchRef.model_validate(ref)).model_dump()


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


def tell(outlet_events: Any, asset: Asset, pipeline: Pipeline) -> None:
    """Give the asset's event an extra that says what a run changed; skip it if that is nothing.

    A run may change more documents than an event should carry: then ``more`` says how many are left
    out, and the run's own files have them all.
    """
    from airflow.sdk.exceptions import AirflowSkipException

    from ingest.runner import changed_documents

    changed = changed_documents(pipeline)
    if not changed:
        raise AirflowSkipException("Nothing changed for readers.")
    outlet_events[asset].extra = {
        "run_id": pipeline.run_id,
        "changed": changed[:_MOST_TOLD],
        "more": max(0, len(changed) - _MOST_TOLD),
    }

"""rebuild_index: a new collection for a new chunker, payload schema or embedding model.

Runs by hand. It fills the collection from what is stored, proves every version there, and turns
readers to it in one call; nothing is fetched, read or recognised anew. Other runs go on meanwhile.
A run that was stopped, or failed, is taken up again by the next one, which fills only what is
missing. The former collection is kept for `MUNIMENT_QDRANT__FORMER_DAYS` days.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pendulum
from airflow.sdk import Param, dag, get_current_context, task

from dags.wiring import RETRIES, current_pipeline


@dag(
    dag_id="rebuild_index",
    schedule=None,
    start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
    catchup=False,
    max_active_runs=1,
    default_args=RETRIES,
    params={
        "run_id": Param(None, type=["null", "string"], description="Name of the run's progress."),
        "reason": Param(type="string", minLength=1, description="Why; kept with the rebuild."),
    },
    doc_md=__doc__,
    tags=["muniment"],
)
def rebuild_index() -> None:
    """Wire the steps."""

    @task(execution_timeout=timedelta(minutes=10), pool="index")
    def begin() -> list[dict[str, Any]]:
        """Make the collection, and return the documents in parts."""
        from ingest.rebuild import run

        pipeline = current_pipeline()
        run.begin(pipeline, get_current_context()["params"]["reason"])
        return [shard.model_dump() for shard in run.shards(pipeline)]

    @task(execution_timeout=timedelta(hours=12), pool="index")
    def fill(shard: dict[str, Any]) -> dict[str, Any]:
        """Fill what the collection lacks of a part of the documents."""
        from ingest.rebuild import run
        from schemas.rebuild import RebuildShard

        pipeline = current_pipeline()
        part = RebuildShard.model_validate(shard)
        filled = run.fill_shard(pipeline, run.under_way(pipeline), part)
        return filled.model_dump()

    @task(trigger_rule="none_failed", execution_timeout=timedelta(hours=2), pool="index")
    def switch() -> None:
        """Fill what has changed meanwhile, and turn the readers; fail if a version is missing."""
        from ingest.errors import FatalError
        from ingest.rebuild import run
        from ingest.rebuild.cli import print_rebuild

        pipeline = current_pipeline()
        report = run.switch(pipeline, run.under_way(pipeline))
        print_rebuild(report)
        if report.switched_at is None:
            raise FatalError("rebuild_incomplete", "; ".join(report.filled.failed))

    parts: Any = begin()
    fill.expand(shard=parts) >> switch()


rebuild_index()

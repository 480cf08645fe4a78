"""watch_state: look each hour for what is late, stale or ending, and tell people once.

What a run finds is told when the run ends. This DAG finds what no run tells: that none has ended.
"""

from __future__ import annotations

from datetime import timedelta

import pendulum
from airflow.sdk import dag, task

from dags.wiring import RETRIES


@dag(
    dag_id="watch_state",
    schedule="30 * * * *",
    start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
    catchup=False,
    max_active_runs=1,
    default_args=RETRIES,
    doc_md=__doc__,
    tags=["muniment"],
)
def watch_state() -> None:
    """Wire the step."""

    @task(execution_timeout=timedelta(minutes=10))
    def watch() -> list[str]:
        """Look, tell, and return what is open."""
        from ingest.alerts.airflow import watch_now

        return watch_now()

    watch()


watch_state()

"""review_quarantine: put what is in quarantine before a person, and do what they decide.

Every morning after the nightly run, and by hand. Each open entry becomes a required action of this
run: *retry* tries its item again at once, *dismiss* leaves it out for good and asks for a reason,
*leave* keeps it where it is. Whoever does not answer in time has left it: the entry stays in
quarantine and is asked about again the next day.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pendulum
from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import Param, dag, get_current_context, task

from dags.wiring import RETRIES, current_pipeline


@dag(
    dag_id="review_quarantine",
    schedule="0 7 * * *",
    start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
    catchup=False,
    max_active_runs=1,
    default_args=RETRIES,
    params={
        "run_id": Param(None, type=["null", "string"], description="Name of the retries' ledger."),
        "most": Param(20, type="integer", minimum=1, maximum=500, description="Entries to ask of."),
        "older_than_days": Param(
            0, type="number", minimum=0, description="Only entries that have waited so long."
        ),
    },
    doc_md=__doc__,
    tags=["muniment"],
)
def review_quarantine() -> None:
    """Wire the steps."""

    @task(execution_timeout=timedelta(minutes=5))
    def waiting() -> list[dict[str, Any]]:
        """Return what is to be asked, those that have waited longest first."""
        from ingest.quarantine_review import questions

        params = get_current_context()["params"]
        found = questions(
            current_pipeline(), most=params["most"], older_than_days=params["older_than_days"]
        )
        return [question.model_dump() for question in found]

    @task(execution_timeout=timedelta(minutes=1))
    def ask(asked: list[dict[str, Any]]) -> list[dict[str, str]]:
        """Return what a person sees of each."""
        return [{"subject": one["subject"], "body": one["body"]} for one in asked]

    @task(trigger_rule="all_done", execution_timeout=timedelta(hours=6), pool="index")
    def apply(asked: list[dict[str, Any]] | None) -> None:
        """Do what was decided."""
        from ingest.quarantine_review import apply_decisions, decision_of

        instance: Any = get_current_context()["ti"]
        decisions = {}
        for index, question in enumerate(asked or []):
            # One by one, because an instance that failed leaves no answer between the others.
            answer = instance.xcom_pull(task_ids="decide", map_indexes=index)
            decisions[question["number"]] = decision_of(answer)
        apply_decisions(current_pipeline(), decisions)

    asked: Any = waiting()
    decided = HITLOperator.partial(
        task_id="decide",
        options=["leave", "retry", "dismiss"],
        defaults=["leave"],
        params={"reason": Param("", type="string", description="Why; a dismissal needs one.")},
        response_timeout=timedelta(hours=20),
        retries=0,
    ).expand_kwargs(ask(asked))
    decided >> apply(asked)


review_quarantine()

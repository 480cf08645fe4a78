"""The DAG that puts the quarantine before a person."""

from __future__ import annotations

from pathlib import Path

import pytest
from airflow_kit import in_airflow
from workspace import Workspace

from ingest.errors import ItemError
from ingest.pipeline import open_catalog
from ingest.quarantine_review import (
    OPTIONS,
    Decision,
    apply_decisions,
    decision_of,
    questions,
)


def test_the_dag_is_wired_as_documented_and_a_timeout_leaves_entries(tmp_path: Path) -> None:
    in_airflow(
        tmp_path,
        f"""
        from datetime import timedelta
        from airflow.dag_processing.dagbag import DagBag
        from airflow.serialization.serialized_objects import DagSerialization
        bag = DagBag("dags")
        assert bag.import_errors == {{}}, bag.import_errors
        dag = bag.dags["review_quarantine"]
        assert dag.max_active_runs == 1
        assert not dag.catchup
        decide = dag.task_dict["decide"]
        assert decide.upstream_task_ids == {{"ask"}}
        assert decide.downstream_task_ids == {{"apply"}}
        assert dag.task_dict["apply"].trigger_rule == "all_done"
        assert dag.task_dict["apply"].pool == "index"
        given = decide.partial_kwargs
        assert tuple(given["options"]) == {OPTIONS!r}
        assert given["defaults"] == ["leave"]
        assert given["response_timeout"] == timedelta(hours=20)
        assert given.get("execution_timeout") is None
        assert "decide" in str(DagSerialization.to_dict(dag))
        """,
    )


@pytest.fixture
def site(tmp_path: Path) -> Workspace:
    site = Workspace(tmp_path)
    site.add_source("reports")
    for name in "abc":
        site.write(f"reports/{name}.txt", " ")
    site.run()
    assert len(site.quarantine()) == 3
    return site


def test_what_a_person_decides_is_done(site: Workspace) -> None:
    pipeline = site.pipeline()
    first, second, third = questions(pipeline, most=10)
    assert "reports, a.txt: no_text" in first.subject
    assert "refused by: extract" in first.body
    assert f"muniment quarantine show {first.number}" in first.body
    assert [one.number for one in questions(pipeline, most=1)] == [first.number]
    assert questions(pipeline, most=10, older_than_days=1) == []
    with pytest.raises(ItemError, match="no reason is given"):
        apply_decisions(
            pipeline,
            {first.number: Decision(option="retry"), second.number: Decision(option="dismiss")},
        )
    site.write("reports/a.txt", "The notice period is thirty days.")
    result = apply_decisions(
        pipeline,
        {
            first.number: decision_of({"chosen_options": ["retry"], "params_input": {}}),
            second.number: decision_of(
                {"chosen_options": ["dismiss"], "params_input": {"reason": "meant to be empty"}}
            ),
            third.number: decision_of(None),
        },
    )
    assert result.closed == (first.number,)
    catalog = open_catalog(site.settings)
    states = {one.source_key: one.state for one in catalog.quarantine(None)}
    assert states == {"a.txt": "closed", "b.txt": "dismissed", "c.txt": "open"}
    assert catalog.quarantine_entry(second.number).dismiss_reason == "meant to be empty"
    assert {point["source_key"] for point in site.points().values()} == {"a.txt"}
    # Asked again later, an answer to what is settled does nothing.
    again = apply_decisions(pipeline, {first.number: Decision(option="dismiss", reason="late")})
    assert (again.runs, catalog.quarantine_entry(first.number).state) == ((), "closed")


def test_a_document_s_words_are_neither_template_nor_markup(site: Workspace) -> None:
    site.write("reports/{{ 7 * 7 }}<b>.txt", " ")
    site.run()
    shown = questions(site.pipeline(), most=10)[-1]
    assert "(( 7 * 7 ))" in shown.subject
    assert "{" not in shown.subject + shown.body
    assert "<" not in shown.subject + shown.body

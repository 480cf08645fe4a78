"""The DAG of rebuilds: wired as documented, and run to its end in a real Airflow."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from airflow_kit import in_airflow
from workspace import ROOT, Workspace

from ingest.pipeline import open_catalog


def test_the_dag_is_wired_as_documented(tmp_path: Path) -> None:
    in_airflow(
        tmp_path,
        """
        from airflow.dag_processing.dagbag import DagBag
        bag = DagBag("dags")
        assert bag.import_errors == {}, bag.import_errors
        dag = bag.dags["rebuild_index"]
        assert dag.max_active_runs == 1
        assert dag.task_dict["fill"].upstream_task_ids == {"begin"}
        assert dag.task_dict["switch"].upstream_task_ids == {"fill"}
        # An installation without a document has nothing to fill; a failed part stops the turn.
        assert dag.task_dict["switch"].trigger_rule == "none_failed"
        for task in dag.task_dict.values():
            assert task.execution_timeout is not None, task.task_id
            assert (task.retries, task.pool) == (3, "index")
        """,
    )


def test_a_run_by_hand_turns_readers_to_a_new_collection(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports")
    ws.write("reports/1.txt", "The notice period is thirty days.")
    assert ws.run().balanced
    before = ws.points()
    airflow = ws.settings.home / "airflow"
    environment = ws.environment() | {
        "AIRFLOW_HOME": str(airflow),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{airflow / 'airflow.db'}",
    }
    asked = json.dumps({"reason": "new disks"})
    for command in (["db", "migrate"], ["dags", "test", "rebuild_index", "--conf", asked]):
        done = subprocess.run(
            [sys.executable, "-m", "airflow", *command],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    [rebuild] = open_catalog(ws.settings).rebuilds("muniment")
    assert (rebuild.state, rebuild.reason) == ("switched", "new disks")
    after = ws.points()
    assert after.keys() == before.keys()
    assert {point["run_id"] for point in after.values()} == {"rebuild-1"}

"""The DAG of backfills: wired as documented, and run to its end in a real Airflow."""

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
        dag = bag.dags["backfill_versions"]
        assert dag.max_active_runs == 1
        assert not dag.catchup
        assert "report" in dag.task_dict["announce"].downstream_task_ids
        assert {"batch.publish"} <= dag.task_dict["announce"].upstream_task_ids
        outlets = [one.name for one in dag.task_dict["announce"].outlets]
        assert outlets == ["backfills"], outlets
        nightly = bag.dags["nightly_ingest"].task_dict["announce"].outlets
        assert [one.name for one in nightly] == ["versions"]
        for task in dag.task_dict.values():
            assert task.execution_timeout is not None, task.task_id
            assert task.retries == 3
        """,
    )


def test_it_can_be_backfilled_over_dates_and_is_triggered_by_the_nightly_run(
    tmp_path: Path,
) -> None:
    """Its timetable is both: periodic, which Airflow's own backfill needs, and by asset."""
    in_airflow(
        tmp_path,
        """
        from airflow.dag_processing.dagbag import DagBag
        from airflow.serialization.serialized_objects import DagSerialization
        data = DagSerialization.to_dict(DagBag("dags").dags["backfill_versions"])
        dag = DagSerialization.from_dict(data)
        assert dag.timetable.periodic
        assert dag.timetable.can_be_scheduled
        names = [asset.name for _, asset in dag.timetable.asset_condition.iter_assets()]
        assert names == ["versions"], names
        import pendulum
        span = (pendulum.datetime(2026, 3, 1, tz="UTC"), pendulum.datetime(2026, 3, 4, tz="UTC"))
        infos = list(dag.iter_dagrun_infos_between(*span))
        first = infos[0].data_interval
        assert (first.end - first.start).days == 1, first
        """,
    )


def test_a_run_by_hand_brings_versions_up_to_date(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("contracts", kind="contract")
    ws.write("contracts/1.txt", "The notice period is thirty days.")
    assert ws.cli("run", "--airflow").returncode == 0
    ws.licences[0]["attribution_required"] = True
    ws.licences[0]["attribution_text"] = "By permission"
    ws.save()

    def backfill(**conf: object) -> subprocess.CompletedProcess[str]:
        airflow = ws.settings.home / "airflow"
        return subprocess.run(
            [
                sys.executable, "-m", "airflow", "dags", "test", "backfill_versions",
                "--conf", json.dumps(conf),
            ],
            env=ws.environment()
            | {
                "AIRFLOW_HOME": str(airflow),
                "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
                "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
                "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{airflow / 'airflow.db'}",
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )  # fmt: skip

    def credits() -> set[str | None]:
        return {point["attribution_text"] for point in ws.points().values()}

    dry = backfill(run_id="dry", dry_run=True)
    assert dry.returncode == 0, dry.stdout + dry.stderr
    assert "points that take other terms" in dry.stdout + dry.stderr
    assert credits() == {None}
    real = backfill(run_id="real", reason="licence renewed")
    assert real.returncode == 0, real.stdout + real.stderr
    assert credits() == {"By permission"}
    ledger = open_catalog(ws.settings).last_run()
    assert ledger is not None
    assert (ledger.run_id, ledger.balanced) == ("real", True)

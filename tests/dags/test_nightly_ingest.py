"""The DAG: light to parse, wired as documented, and run to its end in a real Airflow."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from airflow_kit import in_airflow
from stores import PASSWORD, sftp_connection, sftp_server
from workspace import ROOT, Workspace, pdf

from ingest.pipeline import open_catalog

HEAVY = ("torch", "unstructured", "pymupdf", "great_expectations", "qdrant_client", "pandas")


@pytest.mark.parametrize(
    "name", [path.stem for path in sorted((ROOT / "dags").glob("*.py")) if path.stem != "__init__"]
)
def test_a_dag_file_is_imported_in_under_a_second_and_loads_nothing_heavy(
    name: str, tmp_path: Path
) -> None:
    in_airflow(
        tmp_path,
        f"""
        import sys, time
        import airflow.sdk, pendulum
        start = time.perf_counter()
        import dags.{name}
        taken = time.perf_counter() - start
        assert taken < 1, taken
        loaded = [m for m in {HEAVY!r} if m in sys.modules]
        assert not loaded, loaded
        """,
    )


def test_the_dag_is_wired_as_documented(tmp_path: Path) -> None:
    in_airflow(
        tmp_path,
        """
        from airflow.dag_processing.dagbag import DagBag
        bag = DagBag("dags")
        assert bag.import_errors == {}, bag.import_errors
        dag = bag.dags["nightly_ingest"]
        assert dag.schedule == "0 2 * * *", dag.schedule
        assert str(dag.timezone) == "UTC"
        assert not dag.catchup
        [late] = dag.deadline if isinstance(dag.deadline, list) else [dag.deadline]
        assert late.callback.path == "ingest.alerts.airflow.nightly_is_late"
        assert bag.dags["watch_state"].task_dict["watch"].execution_timeout is not None
        assert dag.max_active_runs == 1
        stages = ["fetch", "extract", "chunk", "gate", "index", "audit", "publish"]
        for before, after in zip(stages, stages[1:]):
            downstream = dag.task_dict["batch." + before].downstream_task_ids
            assert downstream == {"batch." + after}, (before, downstream)
        assert "plan" in dag.task_dict["batches"].upstream_task_ids
        assert "sweep" in dag.task_dict["retire"].downstream_task_ids
        assert "erase" in dag.task_dict["sweep"].downstream_task_ids
        assert "discard" in dag.task_dict["erase"].downstream_task_ids
        assert "recheck" in dag.task_dict["discard"].downstream_task_ids
        assert "announce" in dag.task_dict["recheck"].downstream_task_ids
        assert "report" in dag.task_dict["announce"].downstream_task_ids
        pools = {name: task.pool for name, task in dag.task_dict.items()}
        assert pools["batch.extract"] == "extract"
        assert pools["batch.index"] == pools["batch.publish"] == pools["retire"] == "index"
        for task in dag.task_dict.values():
            assert task.execution_timeout is not None, task.task_id
            assert task.retries == 3
            assert task.retry_exponential_backoff
        """,
    )


def test_only_what_may_pass_by_itself_is_tried_again(tmp_path: Path) -> None:
    in_airflow(
        tmp_path,
        """
        from dags.wiring import RETRIES
        from ingest import errors
        policy = RETRIES["retry_policy"]
        def action(kind):
            return policy.evaluate(kind("code", "message"), 1, 3).action.value
        assert action(errors.RetriableError) == "retry"
        for kind in (errors.ConfigurationError, errors.ItemError, errors.DataQualityError,
                     errors.FatalError):
            assert action(kind) == "fail", kind
        assert policy.evaluate(ValueError(), 1, 3).action.value == "fail"
        """,
    )


def test_pools_are_those_that_the_tasks_ask_for() -> None:
    import json

    pools = json.loads((ROOT / "dags" / "pools.json").read_text())
    assert set(pools) == {"extract", "index"}
    assert pools["index"]["slots"] == 1


def test_the_dag_runs_to_its_end_and_one_failing_source_stops_no_other(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("missing", address="nowhere")
    ws.add_source("reports")
    ws.write("reports/erp.pdf", pdf("1. Market\n\nCorvane leads the mid-market."))
    ws.write("reports/bad.pdf", b"")
    done = ws.cli("run", "--airflow")
    log = next((ws.settings.home / "logs").glob("*.log")).read_text()
    assert done.returncode == 6, done.stdout + done.stderr + log[-3000:]
    assert "missing: plan:" in done.stdout
    ledger = open_catalog(ws.settings).last_run()
    assert ledger is not None
    lines = {line.source_id: line for line in ledger.lines}
    assert (lines["reports"].published, lines["reports"].quarantined) == (1, 1)
    assert lines["missing"].stopped_in == ("plan",)

    ws.sources = [source for source in ws.sources if source["id"] != "missing"]
    ws.save()
    before = ws.points()
    done = ws.cli("run", "--airflow")
    assert done.returncode == 0, done.stdout + done.stderr
    assert ws.points() == before
    status = ws.cli_json("status", "--json")
    assert status["balanced"]
    assert status["points"] == {"new": 0, "reused": 0, "retired": 0}


def test_credentials_come_from_airflow_s_connections_else_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = {"conn_type": "sftp", "login": "ann", "password": "Tor:7/x", "extra": {"host_key": "k"}}
    monkeypatch.setenv("AIRFLOW_CONN_DROP", json.dumps(shown))
    monkeypatch.setenv("MUNIMENT_CONNECTION_DROP", '{"login": "not this one"}')
    monkeypatch.setenv("MUNIMENT_CONNECTION_OTHER", '{"login": "bob"}')
    said = in_airflow(
        tmp_path,
        """
        from dags.wiring import credentials
        from ingest.errors import ConfigurationError

        found = credentials("drop")
        assert (found.login, found.password, found.extra) == ("ann", "Tor:7/x", {"host_key": "k"})
        assert credentials("other").login == "bob"
        try:
            credentials("nobody's")
        except ConfigurationError as error:
            print(error.code)
        """,
    )
    assert said.splitlines()[-1] == "connection_unknown"


def test_a_run_reads_a_server_with_the_credentials_of_an_airflow_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws = Workspace(tmp_path)
    (tmp_path / "served/in").mkdir(parents=True)
    (tmp_path / "served/in/a.txt").write_text("The tenant shall keep a register of all visitors.")
    with sftp_server(tmp_path / "served") as (url, host_key):
        monkeypatch.setenv("AIRFLOW_CONN_DROP", sftp_connection(host_key, conn_type="sftp"))
        ws.add_source("drop", address=f"{url}/in", connection="drop")
        done = ws.cli("run", "--airflow")
    log = next((ws.settings.home / "logs").glob("*.log")).read_text()
    assert done.returncode == 0, done.stdout + done.stderr + log[-3000:]
    assert len(ws.points()) == 1
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in written if PASSWORD.encode() in path.read_bytes()] == []

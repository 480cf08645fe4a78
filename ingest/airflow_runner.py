"""Running the nightly DAG to its end from the shell, in an Airflow of its own.

Airflow runs in a child process; this module imports nothing of it. The child's output goes to a
log file, and progress comes from the file that the steps write.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from ingest.errors import ConfigurationError, FatalError
from ingest.pipeline import progress_path
from ingest.progress import ProgressReader, ProgressSink
from ingest.settings import Settings

_POLL_SECONDS = 0.2


def run_dag(
    settings: Settings, run_id: str, source_ids: Sequence[str], progress: ProgressSink
) -> Path:
    """Run ``nightly_ingest`` once on ``source_ids`` and return its log's path.

    The run's outcome is in the ledger; a DAG run that failed is no error here, for its ledger says
    more.

    Raises:
        ConfigurationError: Airflow is not installed or cannot prepare its database.
        FatalError: the DAG ended without writing a ledger line at all.
    """
    home = settings.home.absolute()
    log_path = home / "logs" / f"{run_id}.log"
    log_path.parent.mkdir(parents=True, exist_ok=True)
    environment = _environment(settings)
    with log_path.open("ab") as log:
        _prepare(home / "airflow", environment, log_path)
        child = subprocess.Popen(  # noqa: S603  # our own interpreter and fixed arguments
            [
                sys.executable,
                "-m",
                "airflow",
                "dags",
                "test",
                "nightly_ingest",
                "--conf",
                json.dumps({"run_id": run_id, "sources": list(source_ids)}),
            ],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )
        events = ProgressReader(progress_path(home, run_id))
        seen = 0
        try:
            while True:
                finished = child.poll() is not None
                for event in events.new_events():
                    seen += 1
                    progress.emit(event)
                if finished:
                    break
                time.sleep(_POLL_SECONDS)
        except BaseException:
            # "dags test" swallows SIGTERM, so an interrupted run is ended the hard way; the next
            # run takes up what it left.
            child.kill()
            child.wait()
            raise
    if not seen:
        raise FatalError(
            "dag_not_started",
            f"nightly_ingest ended with status {child.returncode} before its first task. "
            f"Read {log_path} for the reason.",
        )
    return log_path


def _dags_folder() -> Path:
    spec = find_spec("dags")
    if spec is None or not spec.submodule_search_locations:
        raise ConfigurationError(
            "dags_missing", "The package dags is not installed. Install Muniment with its DAGs."
        )
    return Path(spec.submodule_search_locations[0])


def _environment(settings: Settings) -> dict[str, str]:
    """Return the child's environment: an Airflow of its own, and our settings as absolute paths."""
    airflow_home = settings.home.absolute() / "airflow"
    return {
        **os.environ,
        "AIRFLOW_HOME": str(airflow_home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__DAGS_FOLDER": str(_dags_folder()),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{airflow_home / 'airflow.db'}",
        "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
        "MUNIMENT_HOME": str(settings.home.absolute()),
        "MUNIMENT_SOURCES_FILE": str(settings.sources_file.absolute()),
        "MUNIMENT_LICENCES_FILE": str(settings.licences_file.absolute()),
    }


def _prepare(airflow_home: Path, environment: Mapping[str, str], log_path: Path) -> None:
    """Make Airflow's database and our pools, once for each release of Airflow."""
    stamp = airflow_home / f"prepared-{version('apache-airflow')}"
    if stamp.exists():
        return
    airflow_home.mkdir(parents=True, exist_ok=True)
    pools = _dags_folder() / "pools.json"
    for arguments in (["db", "migrate"], ["pools", "import", str(pools)]):
        with log_path.open("ab") as log:
            done = subprocess.run(  # noqa: S603  # our own interpreter and fixed arguments
                [sys.executable, "-m", "airflow", *arguments],
                env=dict(environment),
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        if done.returncode != 0:
            raise ConfigurationError(
                "airflow_not_prepared",
                f"airflow {' '.join(arguments)} ended with status {done.returncode}. "
                f"Read {log_path} for the reason.",
            )
    stamp.touch()

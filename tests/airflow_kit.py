"""Airflow for tests: scripts in a process whose Airflow is one of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from workspace import ROOT


def in_airflow(home: Path, script: str) -> str:
    """Run a script in a process whose Airflow is one of its own."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={
            **os.environ,
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
        },
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout

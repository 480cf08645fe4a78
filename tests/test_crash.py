"""A crash changes nothing: killed at any moment and run again, the index ends the same."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from workspace import Workspace, pdf, scan

KILLS = int(os.environ.get("MUNIMENT_TEST_KILLS", "4"))
SEED = 20260201


def make(folder: Path) -> Workspace:
    """A workspace whose dates are all the source's own, so that runs at other times are alike."""
    ws = Workspace(folder, batch_cost=2)
    ws.write("reports/a.pdf", pdf(*(f"Page {n} on planning systems. " * 40 for n in range(3))))
    ws.write(
        "reports/b.txt", "A short report on prices.\n\n" + "Prices rise by nine percent. " * 80
    )
    ws.write("reports/broken.pdf", pdf("cut short")[:200])
    ws.write("contracts/v1.pdf", scan("7.1 Notice of ninety days.", dpi=100))
    ws.write("contracts/v2.pdf", scan("7.1 Notice of thirty days.", dpi=100))
    dates = "2026-01-01"
    ws.write(
        "reports/terms.csv",
        f"file,effective_from\na.pdf,{dates}\nb.txt,{dates}\nbroken.pdf,{dates}\n",
    )
    ws.write(
        "contracts/terms.csv",
        "file,document,version_label,effective_from\n"
        "v1.pdf,msa,1,2024-04-01\nv2.pdf,msa,2,2026-02-01\n",
    )
    ws.add_source("reports", manifest="terms.csv")
    ws.add_source("contracts", kind="contract", manifest="terms.csv")
    return ws


def comparable(ws: Workspace) -> dict[str, dict[str, Any]]:
    """Return all points without what names the run, its time, or the temporary folder."""
    varying = ("run_id", "published_at", "recorded_at", "interval_history", "source_uri")
    return {
        chunk_id: {name: value for name, value in payload.items() if name not in varying}
        for chunk_id, payload in ws.points().items()
    }


def events(ws: Workspace) -> int:
    """Count the progress events written so far: the run's own clock."""
    files = (ws.settings.home / "progress").glob("*.jsonl")
    return sum(path.read_bytes().count(b"\n") for path in files)


def start(ws: Workspace) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", RUN],
        env=ws.environment() | {"MUNIMENT_BATCH_COST": "2"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


# The run that is killed writes its progress to a file, as one in an orchestrator does.
RUN = """
from ingest.pipeline import Pipeline
from ingest.runner import new_run_id, run_all
from ingest.settings import load_settings
run_all(Pipeline(load_settings(), new_run_id()), ["reports", "contracts"])
"""


def test_a_run_killed_at_any_moment_and_run_again_ends_the_same(tmp_path: Path) -> None:
    undisturbed = make(tmp_path / "undisturbed")
    child = start(undisturbed)
    assert child.wait(timeout=300) == 0
    expected = comparable(undisturbed)
    length = events(undisturbed)
    assert len(expected) > 5
    assert length > 20

    chance = random.Random(SEED)
    killed_inside = 0
    for number in range(KILLS):
        ws = make(tmp_path / f"killed-{number}")
        moment = chance.randrange(1, length)
        child = start(ws)
        deadline = time.monotonic() + 120
        while events(ws) < moment and child.poll() is None and time.monotonic() < deadline:
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.03))
        killed_inside += child.poll() is None
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()

        ledger = ws.run()
        assert ledger.balanced, (moment, ledger)
        assert comparable(ws) == expected, f"killed after event {moment} of {length}"
        assert ws.quarantine() == [("broken.pdf", "damaged")]
        again = ws.run()
        assert sum(line.points_new + line.chunks for line in again.lines) == 0
    assert killed_inside >= KILLS // 2, "most kills came too late to test anything"

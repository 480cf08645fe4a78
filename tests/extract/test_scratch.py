"""Scratch folders: one's own goes at the end, a dead process's at the next start."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ingest.extract.scratch import scratch_folder

HOLD = """
import time
from ingest.extract.scratch import scratch_folder
with scratch_folder() as folder:
    (folder / "work").write_text("half done")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)


def test_a_folder_is_there_and_then_gone() -> None:
    with scratch_folder() as folder:
        (folder / "file").write_text("x")
        assert folder.is_dir()
    assert not folder.exists()


def test_what_a_killed_process_left_is_removed_but_not_what_a_living_one_uses() -> None:
    killed, living = (
        subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    )
    try:
        left, used = (
            Path(process.stdout.readline().strip())  # type: ignore[union-attr]
            for process in (killed, living)
        )
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert left.is_dir()
        with scratch_folder():
            assert not left.exists()
            assert (used / "work").read_text() == "half done"
    finally:
        living.kill()
        for process in (killed, living):
            process.communicate()

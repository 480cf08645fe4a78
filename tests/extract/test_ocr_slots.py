from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from ingest.extract.ocr_slots import OcrSlots

HOLD = """
import sys, time
from pathlib import Path
from ingest.extract.ocr_slots import OcrSlots
with OcrSlots(Path(sys.argv[1]), int(sys.argv[2])).take():
    print("held", flush=True)
    time.sleep(60)
"""


def holder(folder: Path, count: int) -> subprocess.Popen[str]:
    """Start a process that holds a turn."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder), str(count)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "held\n"
    return child


def open_locks(folder: Path) -> list[str]:
    """Return the files in ``folder`` that this process has open."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            target = link.readlink()
            if target.parent == folder:
                found.append(target.name)
    return found


def test_no_more_run_at_once_than_there_are_turns(tmp_path: Path) -> None:
    running = 0
    most = 0
    done = 0
    guard = threading.Lock()

    def work() -> None:
        nonlocal running, most, done
        slots = OcrSlots(tmp_path / "slots", 3)
        for _ in range(4):
            with slots.take():
                with guard:
                    running += 1
                    most = max(most, running)
                time.sleep(0.01)
                with guard:
                    running -= 1
                    done += 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert (most, done) == (3, 32)


def test_a_process_that_is_killed_gives_its_turn_back(tmp_path: Path) -> None:
    child = holder(tmp_path, 1)
    try:
        taken = threading.Event()

        def work() -> None:
            with OcrSlots(tmp_path, 1).take():
                taken.set()

        thread = threading.Thread(target=work)
        thread.start()
        assert not taken.wait(0.2), "another process holds the only turn"
        os.kill(child.pid, signal.SIGKILL)
        assert taken.wait(30)
        thread.join(30)
    finally:
        child.kill()
        child.wait()
        assert child.stdout is not None
        child.stdout.close()


def test_a_failure_inside_gives_the_turn_back(tmp_path: Path) -> None:
    slots = OcrSlots(tmp_path, 1)
    with slots.take():
        assert open_locks(tmp_path) == ["0.lock"]
    with pytest.raises(MemoryError), slots.take():
        raise MemoryError
    with slots.take():
        pass
    assert open_locks(tmp_path) == []


def test_a_child_does_not_keep_the_turn_of_its_parent(tmp_path: Path) -> None:
    """An engine is a program that is started while the turn is held."""
    slots = OcrSlots(tmp_path, 1)
    with slots.take():
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        started = time.monotonic()
        with slots.take():
            assert time.monotonic() - started < 10
    finally:
        child.kill()
        child.wait()


def test_no_turns_at_all_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="0 slots"):
        OcrSlots(tmp_path, 0)

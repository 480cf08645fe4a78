"""What a document can do to its worker, and what it costs."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from extract.checks import image_bytes, page_image, text_pdf
from PIL import Image

from ingest.errors import ConfigurationError, FatalError
from ingest.extract.sandbox import ExtractJob, ExtractOutcome, extract_all
from ingest.settings import ExtractionLimits, ExtractionSettings

HOSTILE = '''
"""Runs at the start of every worker, and makes documents with certain names hostile."""
import os, signal, subprocess, sys, time
import ingest.extract as package

real = package.extract_with_members

def extract(data, *, name, **more):
    if name.startswith("segfault"):
        os.write(2, b"a library complains")
        os.kill(os.getpid(), signal.SIGSEGV)
    if name.startswith("abort"):
        os.abort()
    if name.startswith("exit"):
        os._exit(0)
    if name.startswith("killed"):
        os.kill(os.getpid(), signal.SIGKILL)
    if name.startswith("hang"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        child = subprocess.Popen(["sleep", "600"])
        with open(data.decode(), "w") as file:
            print(os.getpid(), child.pid, file=file)
        time.sleep(600)
    if name.startswith("memory"):
        return bytearray(64 * 1024**3)
    if name.startswith("library"):
        raise RuntimeError("std::bad_alloc")
    if name.startswith("busy"):
        while True:
            pass
    if name.startswith("bug"):
        raise KeyError("a bug")
    return real(data, name=name, **more)

package.extract_with_members = extract
'''


def settings_of(workers: int = 2, **limits: Any) -> ExtractionSettings:
    return ExtractionSettings(
        layout=False, workers=workers, limits=ExtractionLimits(**{"seconds": 60.0, **limits})
    )


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "hostile"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HOSTILE)
    monkeypatch.setenv("PYTHONPATH", str(folder))


def job(folder: Path, name: str, data: bytes) -> ExtractJob:
    path = folder / name
    path.write_bytes(data)
    return ExtractJob(key=f"key of {name}", path=str(path), name=name)


def run(jobs: list[ExtractJob], settings: ExtractionSettings) -> dict[str, ExtractOutcome]:
    outcomes = list(extract_all(jobs, settings))
    assert sorted(o.key for o in outcomes) == sorted(j.key for j in jobs), "one outcome a job"
    for outcome in outcomes:
        assert (outcome.extraction is None) == (outcome.error_code is not None)
    return {outcome.key.removeprefix("key of "): outcome for outcome in outcomes}


def test_documents_of_all_kinds(tmp_path: Path) -> None:
    jobs = [
        job(tmp_path, "a.pdf", text_pdf()),
        job(tmp_path, "b.txt", b"Some words."),
        job(tmp_path, "empty.pdf", b""),
        ExtractJob(
            key="key of c",
            path=job(tmp_path, "c", b"id,note\nA1,hello\n").path,
            name="c",
            media_type="text/csv",
            options={"key": "id", "text": ["note"]},
        ),
    ]
    outcomes = run(jobs, settings_of())
    assert outcomes["a.pdf"].extraction is not None
    assert len(outcomes["a.pdf"].extraction.words) > 20
    assert outcomes["c"].extraction is not None
    assert outcomes["c"].extraction.elements[0].row == "A1"
    assert outcomes["empty.pdf"].error_code == "empty_file"
    assert list(extract_all([], settings_of())) == []


@pytest.mark.usefixtures("hostile")
def test_each_hostile_document_costs_one_outcome(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    expected = {
        "segfault.pdf": "extraction_crashed",
        "abort.pdf": "extraction_crashed",
        "killed.pdf": "extraction_out_of_memory",
        "memory.pdf": "extraction_out_of_memory",
        "library.pdf": "extraction_out_of_memory",
        "bug.pdf": "extraction_crashed",
    }
    jobs = [job(tmp_path, name, b"x") for name in expected]
    for number in range(6):
        jobs.insert(2 * number, job(tmp_path, f"good{number}.txt", b"Good words."))
    outcomes = run(jobs, settings_of())
    assert "a library complains" in caplog.text
    assert "a library complains" not in capfd.readouterr().err
    for name, code in expected.items():
        outcome = outcomes.pop(name)
        assert outcome.error_code == code, name
        assert outcome.error_message is not None
        assert outcome.error_message.startswith(f"{name}: ")
        assert "retry the item" in outcome.error_message
    assert all(outcome.extraction is not None for outcome in outcomes.values())


@pytest.mark.usefixtures("hostile")
def test_a_hang_ends_with_all_that_it_started(tmp_path: Path) -> None:
    notes = tmp_path / "pids"
    jobs = [
        job(tmp_path, "hang.pdf", str(notes).encode()),
        job(tmp_path, "good.txt", b"Good words."),
        job(tmp_path, "more.txt", b"Good words."),
    ]
    outcomes = run(jobs, settings_of(seconds=4))
    assert outcomes["hang.pdf"].error_code == "extraction_timed_out"
    assert "4 seconds" in (outcomes["hang.pdf"].error_message or "")
    assert outcomes["good.txt"].extraction is not None
    assert outcomes["more.txt"].extraction is not None
    for pid in notes.read_text().split():
        assert gone(int(pid)), "worker and grandchild have ended"


@pytest.mark.usefixtures("hostile")
def test_processor_time_is_counted_for_each_document(tmp_path: Path) -> None:
    jobs = [job(tmp_path, f"{number}.pdf", text_pdf(pages=40)) for number in range(4)]
    jobs.append(job(tmp_path, "busy.pdf", b"x"))
    outcomes = run(jobs, settings_of(workers=1, cpu_seconds=3))
    busy = outcomes.pop("busy.pdf")
    assert busy.error_code == "extraction_cpu_time"
    assert "3 seconds of processor time" in (busy.error_message or "")
    assert all(outcome.extraction is not None for outcome in outcomes.values())


def test_what_a_worker_writes_is_limited(tmp_path: Path) -> None:
    jobs = [
        job(tmp_path, "long.txt", b"Some words. " * 10_000),
        job(tmp_path, "good.txt", b"Good."),
    ]
    outcomes = run(jobs, settings_of(output_bytes=60_000))
    assert outcomes["long.txt"].error_code == "extraction_output_too_large"
    assert outcomes["good.txt"].extraction is not None


@pytest.mark.usefixtures("hostile")
def test_a_worker_that_leaves_quietly(tmp_path: Path) -> None:
    outcomes = run([job(tmp_path, "exit.pdf", b"x")], settings_of(seconds=3))
    assert outcomes["exit.pdf"].error_code in ("extraction_crashed", "extraction_timed_out")


def test_memory_is_limited_for_real(tmp_path: Path) -> None:
    bomb = Image.new("1", (20_000, 20_000), 1)
    data = image_bytes(bomb, "TIFF", compression="group4", dpi=(2400, 2400))
    assert len(data) < 1024**2
    jobs = [job(tmp_path, "bomb.tif", data), job(tmp_path, "good.pdf", text_pdf())]
    outcomes = run(jobs, settings_of(workers=1, memory_bytes=1024**3))
    assert outcomes["bomb.tif"].error_code == "extraction_out_of_memory"
    assert "1.0 GiB" in (outcomes["bomb.tif"].error_message or "")
    assert outcomes["good.pdf"].extraction is not None


def test_what_concerns_all_documents_stops_the_run(tmp_path: Path) -> None:
    scan = image_bytes(page_image(text_pdf(), 200), "PNG", dpi=(200, 200))
    settings = ExtractionSettings(layout=False, ocr_languages="xyz")
    with pytest.raises(ConfigurationError) as caught:
        list(extract_all([job(tmp_path, "scan.png", scan)], settings))
    assert "apt-get install tesseract-ocr-xyz" in caught.value.message


def test_workers_that_cannot_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os; os._exit(3)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(FatalError) as caught:
        run([job(tmp_path, "a.txt", b"words")], settings_of())
    assert caught.value.code == "extraction_workers_failed"


def test_a_consumer_may_stop_early(tmp_path: Path) -> None:
    jobs = [job(tmp_path, f"{number}.txt", b"Some words.") for number in range(8)]
    outcomes = extract_all(jobs, settings_of())
    assert next(outcomes).extraction is not None
    started = time.monotonic()
    outcomes.close()
    assert time.monotonic() - started < 10


PARENT = """
import sys, time
print("main runs", flush=True)
{guard}
from ingest.extract.sandbox import ExtractJob, extract_all
from ingest.settings import ExtractionSettings
job = ExtractJob(key="k", path={path!r}, name="a.txt")
for outcome in extract_all([job], ExtractionSettings(layout=False)):
    print(outcome.extraction.text)
"""


@pytest.mark.parametrize("how", ["script", "program without suffix", "stdin", "-c"])
def test_any_program_can_be_the_parent(tmp_path: Path, how: str) -> None:
    """Its main module is not run again in the workers, guarded or not."""
    source = PARENT.format(guard="", path=job(tmp_path, "a.txt", b"Good words.").path)
    script = tmp_path / ("parent.py" if how == "script" else "parent")
    script.write_text(source)
    arguments = {"stdin": ["-"], "-c": ["-c", source]}.get(how, [str(script)])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, *arguments],
        input=source if how == "stdin" else "",
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=120,
    )
    assert done.stdout.splitlines() == ["main runs", "Good words."], done.stderr
    assert done.returncode == 0


@pytest.mark.usefixtures("hostile")
def test_workers_end_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    source = PARENT.format(guard="", path=job(tmp_path, "a.txt", b"Good words.").path)
    source += "import os; print(os.getpid()); time.sleep(600)"
    source = source.replace(
        "for outcome in extract_all([job], ", "outcomes = extract_all([job, job, job], "
    ).replace("\n    print(outcome.extraction.text)", "\nprint(next(outcomes).extraction.text)")
    source = source.replace("layout=False)):", "layout=False, workers=1))")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([os.environ["PYTHONPATH"], *filter(None, sys.path)]),
    }
    with subprocess.Popen(
        [sys.executable, "-c", source], stdout=subprocess.PIPE, text=True, env=environment
    ) as parent:
        assert parent.stdout is not None
        lines = [parent.stdout.readline().strip() for _ in range(3)]
        assert lines[1] == "Good words."
        workers = children(parent.pid)
        assert workers
        parent.kill()
        parent.wait()
    assert all(gone(pid) for pid in workers)


def children(parent: int) -> list[int]:
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[1]) == parent:
            found.append(int(status.parent.name))
    return found


def gone(pid: int) -> bool:
    """Wait a while for a process to end; a zombie has ended."""
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.1)
    return False

"""Extraction in child processes: what crashes, hangs or eats memory costs one document.

Each job goes to a worker with limits on its time, its processor time, its address space and the
files that it writes. The worker writes the
extraction to a file and sends back only a word: a worker that dies while it sends leaves half a
message in a pipe that all workers share, and short messages are written whole or not at all.
"""

from __future__ import annotations

import errno
import logging
import math
import os
import resource
import shutil
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import BrokenExecutor, Future, as_completed
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from pebble import ProcessExpired, ProcessPool
from pydantic import Field

from ingest.errors import FatalError, ItemError, MunimentError
from ingest.extract.faults import is_out_of_memory
from ingest.extract.ocr_slots import share_slots
from ingest.extract.scratch import scratch_folder
from ingest.extract.spawn import CleanSpawnContext
from ingest.settings import ExtractionSettings
from schemas.base import Model
from schemas.document import Extraction

log = logging.getLogger(__name__)

_MAX_TASKS = 100
"""Documents that a worker reads before a new one takes its place: parsers leak."""
_LAST_WORDS = 2_000
"""Characters of a lost worker's standard error that are logged."""
_THREADS = (
    "OMP_THREAD_LIMIT",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "OPENCV_FOR_THREADS_NUM",
)
"""Variables that tell numerical libraries how many threads to use."""


class ExtractJob(Model):
    """A document to extract."""

    key: str
    """Names the job; comes back with its outcome."""
    path: str
    """Local file with the bytes."""
    name: str
    media_type: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)


class MemberFile(Model):
    """A file that was inside a document, as a local file."""

    name: str
    path: str
    """Gone once the next outcome is asked for."""
    size: int
    media_type: str | None = None


class ExtractOutcome(Model):
    """What became of a job: an extraction, or a code and a message."""

    key: str
    extraction: Extraction | None = None
    members: tuple[MemberFile, ...] = ()
    """The extraction's attachments, in the same order."""
    error_code: str | None = None
    error_message: str | None = None

    def result(self) -> Extraction:
        """Return the extraction.

        Raises:
            ItemError: there is none; code and message say why.
        """
        if self.extraction is None:
            raise ItemError(self.error_code or "extraction_failed", self.error_message or self.key)
        return self.extraction


class _Report(Model):
    """What a worker sends back: nothing on success, else why the item is refused."""

    code: str | None = None
    message: str | None = None


def extract_all(
    jobs: Sequence[ExtractJob], settings: ExtractionSettings
) -> Iterator[ExtractOutcome]:
    """Extract every job and yield the outcomes as they finish, one for each job.

    Raises:
        ConfigurationError: documents need OCR, and the engine or a language is not installed.
        FatalError: workers cannot be started, or the disk is full.
    """
    if not jobs:
        return
    with scratch_folder() as folder:
        pool = ProcessPool(
            max_workers=min(settings.workers, len(jobs)),
            max_tasks=_MAX_TASKS,
            initializer=_start_worker,
            initargs=(settings, str(folder / "slots")),
            context=CleanSpawnContext(),
        )
        try:
            places: dict[Future[_Report], tuple[ExtractJob, Path]] = {}
            for number, job in enumerate(jobs):
                place = folder / str(number)
                future = pool.schedule(
                    _work, args=(job, settings, str(place)), timeout=settings.limits.seconds
                )
                places[cast("Future[_Report]", future)] = job, place
            for done in as_completed(places):
                yield _outcome(done, *places[done], settings)
                shutil.rmtree(_members_folder(places[done][1]), ignore_errors=True)
                _said(places[done][1]).unlink(missing_ok=True)
        finally:
            pool.stop()  # type: ignore[no-untyped-call]  # pebble leaves it unannotated
            pool.join()


def _start_worker(settings: ExtractionSettings, slots: str) -> None:
    # A group of its own, so that a Tesseract that it started can be ended with it.
    os.setpgid(0, 0)
    # One thread each: the documents are what is read in parallel.
    for variable in _THREADS:
        os.environ[variable] = "1"
    share_slots(Path(slots), settings.workers)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _limit(resource.RLIMIT_AS, settings.limits.memory_bytes)
    # Python ignores SIGXFSZ, so writing past the limit is an error (EFBIG) and not a death.
    _limit(resource.RLIMIT_FSIZE, settings.limits.output_bytes)


def _limit(what: int, wanted: int) -> None:
    _, hard = resource.getrlimit(what)
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(what, (limit, hard))


def _limit_processor_time(settings: ExtractionSettings) -> None:
    """Give the process what a document may take beside what it took for earlier ones."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    allowed = settings.limits.cpu_seconds * settings.workers
    _limit(resource.RLIMIT_CPU, math.ceil(used.ru_utime + used.ru_stime) + allowed)


def _work(job: ExtractJob, settings: ExtractionSettings, place: str) -> _Report:
    """Run in the worker: extract one job and leave the result at ``place``."""
    from ingest.extract import extract_with_members

    target = Path(place)
    target.with_suffix(".pid").write_text(str(os.getpid()))
    # C libraries write what they think of a file to stderr, which belongs to the whole run.
    with _said(target).open("wb") as said:
        os.dup2(said.fileno(), 2)
    _limit_processor_time(settings)
    try:
        extraction, members = extract_with_members(
            Path(job.path).read_bytes(),
            name=job.name,
            media_type=job.media_type,
            options=job.options,
            settings=settings,
        )
        if members:
            folder = _members_folder(target)
            folder.mkdir()
            for number, member in enumerate(members):
                (folder / str(number)).write_bytes(member.data)
        target.write_text(extraction.model_dump_json(), encoding="utf-8")
    except ItemError as error:
        return _Report(code=error.code, message=error.message)
    return _Report()


def _outcome(
    done: Future[_Report], job: ExtractJob, place: Path, settings: ExtractionSettings
) -> ExtractOutcome:
    error = done.exception()
    if error is None:
        report = done.result()
        if report.code is not None:
            return ExtractOutcome(key=job.key, error_code=report.code, error_message=report.message)
        extraction = Extraction.model_validate_json(place.read_bytes())
        place.unlink()
        folder = _members_folder(place)
        members = tuple(
            MemberFile(
                name=attachment.name,
                path=str(folder / str(number)),
                size=attachment.size,
                media_type=attachment.media_type,
            )
            for number, attachment in enumerate(extraction.attachments)
        )
        return ExtractOutcome(key=job.key, extraction=extraction, members=members)
    if isinstance(error, (TimeoutError, ProcessExpired)):
        _end_leftovers(place)
    if isinstance(error, MunimentError):
        raise error
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        raise FatalError(
            "disk_full", f"{job.name}: the disk is full. Make room on it, then run again."
        ) from error
    if isinstance(error, BrokenExecutor):
        raise FatalError(
            "extraction_workers_failed",
            "The processes that read documents cannot be started or were killed between two "
            "documents. Look for a reason in the system's log, or raise "
            "MUNIMENT_EXTRACTION__LIMITS__MEMORY_BYTES, then run again.",
        ) from error
    code, message = _explain(error, job.name, settings)
    log.warning("%s%s", message, _last_words(place), exc_info=error)
    return ExtractOutcome(key=job.key, error_code=code, error_message=message)


def _members_folder(place: Path) -> Path:
    """Return where a worker leaves the files inside a document, by their numbers."""
    return place.with_suffix(".members")


def _said(place: Path) -> Path:
    """Return where a worker's standard error goes while it reads a document."""
    return place.with_suffix(".stderr")


def _last_words(place: Path) -> str:
    with suppress(FileNotFoundError):
        said = _said(place).read_text(encoding="utf-8", errors="replace").strip()
        if said:
            return f"\nIts process wrote: …{said[-_LAST_WORDS:]}"
    return ""


def _explain(error: BaseException, name: str, settings: ExtractionSettings) -> tuple[str, str]:
    """Return the code and message for a document that a worker did not survive."""
    again = "then retry the item; dismiss the entry if the document is not needed."
    # The kernel's out-of-memory killer sends SIGKILL, which pebble itself sends only on timeout.
    killed = isinstance(error, ProcessExpired) and error.exitcode == -signal.SIGKILL
    if isinstance(error, TimeoutError):
        return "extraction_timed_out", (
            f"{name}: reading it took longer than {settings.limits.seconds:g} seconds and was "
            f"stopped. Split the document, or raise MUNIMENT_EXTRACTION__LIMITS__SECONDS, {again}"
        )
    if killed or is_out_of_memory(error):
        limit = settings.limits.memory_bytes / 1024**3
        return "extraction_out_of_memory", (
            f"{name}: reading it took more memory than there is (the limit is {limit:.1f} GiB). "
            "Get a smaller copy, or raise MUNIMENT_EXTRACTION__LIMITS__MEMORY_BYTES, " + again
        )
    if isinstance(error, ProcessExpired) and error.exitcode == -signal.SIGXCPU:
        return "extraction_cpu_time", (
            f"{name}: reading it took more than {settings.limits.cpu_seconds} seconds of processor "
            f"time on each of {settings.workers} cores and was stopped. Split the document, or "
            f"raise MUNIMENT_EXTRACTION__LIMITS__CPU_SECONDS, {again}"
        )
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        return "extraction_output_too_large", (
            f"{name}: what was read from it, or a file inside it, is larger than "
            f"{settings.limits.output_bytes:,} bytes. Split the document, or raise "
            f"MUNIMENT_EXTRACTION__LIMITS__OUTPUT_BYTES, {again}"
        )
    if isinstance(error, ProcessExpired):
        how = f"the process that read it ended with status {error.exitcode}"
    else:
        how = f"{type(error).__name__}: {error}"
    return "extraction_crashed", (
        f"{name}: it could not be read ({how}). Get another copy, or save it anew as PDF, {again}"
    )


def _end_leftovers(place: Path) -> None:
    """End what a worker that is no more started and left running, such as Tesseract."""
    with suppress(FileNotFoundError, ValueError, ProcessLookupError, PermissionError):
        os.killpg(int(place.with_suffix(".pid").read_text()), signal.SIGKILL)

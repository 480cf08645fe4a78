"""The quality report: what a run did, what was checked and what was found, on one page.

The page is whole in itself: no file beside it, no script, nothing from the network. Great
Expectations' own Data Docs are not used, because they show values of documents unescaped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Protocol

from jinja2 import Environment, PackageLoader, StrictUndefined

from ingest.freshness import age_in_words
from ingest.quality.results import ExpectationCheck, FailedVersion, GateFailure, GateResult
from schemas.document import ExtractionWarning
from schemas.run import Ledger, LedgerLine, SourceHealth

_EXAMPLES = 5
_LISTED_CHUNKS = 50

COLUMNS: tuple[tuple[str, str], ...] = (
    ("listed", "Listed"),
    ("new", "New"),
    ("changed", "Changed"),
    ("unchanged", "Unchanged"),
    ("failed", "Failed"),
    ("quarantined", "Quarantined"),
    ("published", "Published"),
    ("chunks", "Chunks"),
    ("points_new", "Points new"),
    ("points_reused", "Points reused"),
)
"""The counts of the table of sources: fields of :class:`schemas.run.LedgerLine`, and headings."""


class QuarantineEntry(Protocol):
    """What the report needs to know of an entry."""

    @property
    def source_id(self) -> str: ...  # noqa: D102
    @property
    def source_key(self) -> str: ...  # noqa: D102
    @property
    def stage(self) -> str: ...  # noqa: D102
    @property
    def code(self) -> str: ...  # noqa: D102
    @property
    def message(self) -> str: ...  # noqa: D102
    @property
    def first_seen(self) -> datetime: ...  # noqa: D102
    @property
    def times_seen(self) -> int: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class ReadingNote:
    """A warning that reading a document gave, and the item that it is about."""

    source_id: str
    source_key: str
    warning: ExtractionWarning


@dataclass(frozen=True, slots=True)
class _Reading:
    """Every warning of one code in the run."""

    code: str
    pages: int
    """Of all documents together; 0 where the warnings are about documents as a whole."""
    documents: int
    examples: list[ReadingNote]


@dataclass(frozen=True, slots=True)
class _Finding:
    """An expectation's failures in all batches of the run."""

    failure: GateFailure
    owner: str | None
    chunk_ids: list[str]
    documents: int
    examples: list[str]

    @property
    def listed(self) -> list[str]:
        return self.chunk_ids[:_LISTED_CHUNKS]


def write_report(
    ledger: Ledger,
    results: Sequence[GateResult],
    quarantine: Sequence[QuarantineEntry],
    out: Path,
    *,
    notes: Sequence[ReadingNote] = (),
    freshness: Sequence[SourceHealth] = (),
) -> Path:
    """Write the report as one HTML file at ``out``, making its folder, and return its path.

    ``results`` are the gate's, one a batch; ``quarantine`` are the open entries; ``notes`` are what
    reading the run's documents found; ``freshness`` tells of every configured source when it was
    last listed. The file is replaced at once, so that whoever has it open never reads half of it.
    """
    checks = _merge_checks(results)
    page = (
        _environment()
        .get_template("report.html.j2")
        .render(
            ledger=ledger,
            columns=COLUMNS,
            totals=_totals(ledger.lines),
            checks=checks,
            findings=_merge_failures(results, {check.code: check for check in checks}),
            batches=len(results),
            stopped=sum(result.stopped for result in results),
            rows=sum(result.checked_rows for result in results),
            refused=len({key for result in results for key in result.failed_versions}),
            readings=_readings(notes),
            freshness=freshness,
            quarantine=sorted(quarantine, key=lambda entry: (entry.source_id, entry.source_key)),
        )
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = out.with_name(f".{out.name}.part")
    # A message may hold a lone surrogate, which UTF-8 can't write.
    draft.write_bytes(page.encode("utf-8", "backslashreplace"))
    return draft.replace(out)


def _readings(notes: Sequence[ReadingNote]) -> list[_Reading]:
    """Group the warnings by code, those of the most documents first."""
    by_code: dict[str, list[ReadingNote]] = defaultdict(list)
    for note in notes:
        by_code[note.warning.code].append(note)
    readings = [
        _Reading(
            code=code,
            pages=sum(note.warning.page is not None for note in found),
            documents=len({(note.source_id, note.source_key) for note in found}),
            examples=found[:_EXAMPLES],
        )
        for code, found in by_code.items()
    ]
    return sorted(readings, key=lambda reading: (-reading.documents, reading.code))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("ingest.quality"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(moment=_moment, duration=_duration, number=_number, age=age_in_words)
    return environment


def _totals(lines: Sequence[LedgerLine]) -> dict[str, int]:
    return {name: sum(getattr(line, name) for line in lines) for name, _ in COLUMNS}


def _merge_checks(results: Sequence[GateResult]) -> list[ExpectationCheck]:
    """Add up what each expectation checked over the batches, in the suite's order."""
    merged: dict[str, ExpectationCheck] = {}
    for check in chain.from_iterable(result.checks for result in results):
        before = merged.get(check.code)
        if before is not None:
            rows = before.checked_rows + check.checked_rows
            failed = before.failed_rows + check.failed_rows
            check = check.model_copy(update={"checked_rows": rows, "failed_rows": failed})
        merged[check.code] = check
    return list(merged.values())


def _merge_failures(
    results: Sequence[GateResult], checks: dict[str, ExpectationCheck]
) -> list[_Finding]:
    """Bring together each expectation's failures over the batches, the critical ones first."""
    by_code: dict[str, list[GateFailure]] = {}
    for failure in chain.from_iterable(result.failures for result in results):
        by_code.setdefault(failure.code, []).append(failure)
    findings = [
        _Finding(
            failure=failures[0],
            owner=checks[code].owner,
            chunk_ids=[chunk_id for failure in failures for chunk_id in failure.chunk_ids],
            documents=_documents(chain.from_iterable(failure.versions for failure in failures)),
            examples=list(dict.fromkeys(e for failure in failures for e in failure.examples))[
                :_EXAMPLES
            ],
        )
        for code, failures in by_code.items()
    ]
    order = ("critical", "warning", "info")
    return sorted(findings, key=lambda finding: order.index(finding.failure.severity))


def _documents(versions: chain[FailedVersion]) -> int:
    return len({failed.doc_id for failed in versions})


def _moment(value: datetime) -> str:
    """Write an instant for people, in UTC; one without an offset is written as it is."""
    if value.tzinfo is None:
        return f"{value.day} {value:%b %Y, %H:%M} (no zone)"
    utc = value.astimezone(UTC)
    return f"{utc.day} {utc:%b %Y, %H:%M} UTC"


def _duration(value: timedelta) -> str:
    minutes, seconds = divmod(round(value.total_seconds()), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02} min"
    return f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"


def _number(value: int) -> str:
    """Write a count with thin spaces between the thousands (ISO 80000-1 §7.3.1)."""
    return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")

"""What the gate found: plain records that a step keeps, a report shows and a dashboard reads."""

from __future__ import annotations

from collections import defaultdict
from typing import Literal

from ingest.errors import DataQualityError
from schemas.base import Model

Severity = Literal["critical", "warning", "info"]
CheckStage = Literal["items", "versions", "chunks", "points"]


class ExpectationCheck(Model):
    """One expectation as it was applied to a batch."""

    code: str
    """Stable name, used in the quarantine and on dashboards."""
    expectation: str
    """Great Expectations' name of the kind of expectation."""
    columns: tuple[str, ...]
    severity: Severity
    description: str
    """What must be so, as a sentence."""
    guarantee: int | None
    """Number of the guarantee it stands for; None where it stands for none."""
    owner: str | None
    """Who mends what it finds."""
    stage: CheckStage = "chunks"
    """What its rows are."""
    checked_rows: int
    """Rows that it judged: not those its condition leaves out, nor those without a value."""
    failed_rows: int


class FailedVersion(Model):
    """A version of a document, and how many of its chunks fail."""

    doc_id: str
    version: int
    chunks: int
    of_chunks: int | None = None
    """How many it has."""

    def is_within(self, limit: float | None) -> bool:
        """Tell whether no larger a share of its chunks fails than ``limit``."""
        if limit is None or self.of_chunks is None:
            return False
        return self.chunks <= limit * self.of_chunks


class GateFailure(Model):
    """An expectation that some rows of a batch do not meet."""

    code: str
    expectation: str
    column: str
    """The column, or several joined by commas."""
    severity: Severity
    description: str
    guarantee: int | None
    stage: CheckStage = "chunks"
    """What its rows are."""
    chunk_ids: tuple[str, ...]
    """Of all failing rows, in the order of the batch; of items and versions the items' keys."""
    versions: tuple[FailedVersion, ...]
    limit: float | None = None
    """Share of a version's chunks that may fail without keeping it out; None for none."""
    examples: tuple[str, ...]
    """A few of the values, short and inert (:func:`ingest.quality.values.inert`)."""

    @property
    def requirement(self) -> str:
        """The description without its full stop, to stand inside a sentence."""
        return self.description[:1].lower() + self.description[1:].removesuffix(".")


class GateResult(Model):
    """What the gate found in one batch."""

    checked_rows: int
    checked_documents: int
    checks: tuple[ExpectationCheck, ...]
    failures: tuple[GateFailure, ...] = ()
    """The critical ones first."""
    stop_share: float
    stop_min_documents: int
    unlike_history: tuple[str, ...] = ()
    """Why the source is stopped, whatever its chunks are like, in sentences."""

    @property
    def checked_expectations(self) -> int:
        """Number of expectations that were applied."""
        return len(self.checks)

    @property
    def critical(self) -> list[GateFailure]:
        """The failures that keep their documents out of the index."""
        return [failure for failure in self.failures if failure.severity == "critical"]

    @property
    def warnings(self) -> dict[str, int]:
        """Number of rows for each expectation that fails without keeping anything out."""
        return {
            failure.code: len(failure.chunk_ids)
            for failure in self.failures
            if failure.severity != "critical"
        }

    @property
    def failed_versions(self) -> dict[tuple[str, int], list[str]]:
        """Why each version with a critical failure is refused, by document id and version."""
        reasons: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
        for failure in self.critical:
            for failed in _kept_out(failure):
                where = ""
                if failure.stage == "chunks":
                    where = f" in {_count(failed.chunks, 'chunk')}"
                reason = f"{failure.code}{where} ({failure.requirement})"
                reasons[failed.doc_id, failed.version].append(reason)
        return dict(reasons)

    @property
    def failed_documents(self) -> dict[str, list[str]]:
        """Codes of the critical failures of each document, by document id."""
        codes: defaultdict[str, dict[str, None]] = defaultdict(dict)
        for failure in self.critical:
            for failed in _kept_out(failure):
                codes[failed.doc_id][failure.code] = None
        return {doc_id: list(of_document) for doc_id, of_document in codes.items()}

    @property
    def passed(self) -> bool:
        """True if nothing is kept out."""
        return not self.failed_documents and not self.unlike_history

    @property
    def stopped(self) -> bool:
        """True if the source is unlike itself, or so many documents fail that the batch is."""
        failed = len(self.failed_documents)
        return bool(self.unlike_history) or (
            failed >= self.stop_min_documents and failed > self.stop_share * self.checked_documents
        )

    def raise_if_stopped(self) -> None:
        """Raise if the batch is stopped as a whole.

        Raises:
            DataQualityError: ``gate_unlike_history``, or ``gate_stopped`` with the main reasons,
                their counts, and what to do next.
        """
        if not self.stopped:
            return
        if self.unlike_history:
            raise DataQualityError(
                "gate_unlike_history",
                f"The batch is stopped, and so are those of its source that follow: "
                f"{' '.join(self.unlike_history)} Nothing of it was loaded, and its items are "
                "tried again at the next run. If the source is meant to be like this, widen the "
                "band or set its action to warn in the file of thresholds.",
            )
        by_documents = sorted(self.critical, key=lambda failure: -_documents(failure))
        reasons = "; ".join(
            f"{failure.code} in {_count(_documents(failure), 'document')}, "
            f"{_count(len(failure.chunk_ids), 'chunk')} ({failure.requirement})"
            for failure in by_documents[:3]
        )
        more = f"; and {len(by_documents) - 3} more kinds" if len(by_documents) > 3 else ""
        raise DataQualityError(
            "gate_stopped",
            f"{len(self.failed_documents)} of the batch's {self.checked_documents} documents fail "
            f"the quality gate, so the batch is stopped: {reasons}{more}. Nothing of it was "
            "loaded. So many failures at once usually have one cause: read the quality report, "
            "correct the source, the licence registry or the extraction, and run again. "
            "MUNIMENT_GATE__STOP_SHARE and MUNIMENT_GATE__STOP_MIN_DOCUMENTS set when a batch is "
            "stopped.",
        )


def _kept_out(failure: GateFailure) -> list[FailedVersion]:
    return [failed for failed in failure.versions if not failed.is_within(failure.limit)]


def _documents(failure: GateFailure) -> int:
    return len({failed.doc_id for failed in failure.versions})


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"

"""Replaying thresholds: what past runs would have come to under others, from what they left.

Nothing is checked anew: a run's gate results name every failing chunk with its version, whatever
its severity was, and its metrics are in the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from ingest.pipeline import Pipeline
from ingest.quality.catalogue import catalogue
from ingest.quality.metrics import MOST_RUNS, judge
from ingest.quality.results import GateFailure, GateResult, Severity
from ingest.quality.thresholds import Rules, Thresholds
from ingest.settings import GateSettings, Settings
from schemas.base import Model
from schemas.quality import Metric
from schemas.run import GateStep


class JudgedVersion(Model):
    """A version that is kept out, and the codes of the expectations that it fails."""

    source_id: str
    doc_id: str
    version: int
    codes: tuple[str, ...]


class Outcome(Model):
    """What a run's gate came to."""

    kept_out: tuple[JudgedVersion, ...] = ()
    stopped: tuple[str, ...] = ()
    """Batches that were stopped for the share of their documents that fail, by id."""
    warnings: int = 0
    """Chunks that an expectation warns of, one for each."""
    outside: tuple[Metric, ...] = ()
    """Metrics outside their band."""


class ReplayedRun(Model):
    """A past run as it was judged then, and as it would be now."""

    run_id: str
    started_at: datetime
    then: Outcome
    now: Outcome

    @property
    def newly_kept_out(self) -> tuple[JudgedVersion, ...]:
        """Versions that are kept out now and were let through then."""
        before = {(one.doc_id, one.version) for one in self.then.kept_out}
        return tuple(one for one in self.now.kept_out if (one.doc_id, one.version) not in before)

    @property
    def newly_let_through(self) -> tuple[JudgedVersion, ...]:
        """Versions that were kept out then and are let through now."""
        after = {(one.doc_id, one.version) for one in self.now.kept_out}
        return tuple(one for one in self.then.kept_out if (one.doc_id, one.version) not in after)


def replay(
    pipeline: Pipeline, settings: Settings, thresholds: Thresholds, runs: int
) -> list[ReplayedRun]:
    """Judge the last ``runs`` runs that ended again, the latest first; nothing is written.

    Args:
        pipeline: for the catalogue, which says what runs there were.
        settings: the installation's, with the shares at which a batch is stopped.
        thresholds: what is tried out.
        runs: how many.
    """
    defaults = {one.code: one.severity for one in catalogue(settings.gate)}
    replayed = []
    for record in pipeline.catalog.runs(runs):
        if record.finished_at is None:
            continue
        past = Pipeline(settings, record.run_id, pipeline.progress)
        then, now = _Tally(), _Tally()
        for source_id, batch_id, result in _results(past):
            then.add(source_id, batch_id, result)
            rules = thresholds.of(source_id)
            now.add(source_id, batch_id, _judged(result, rules, defaults, settings.gate))
        kept = pipeline.catalog.metrics(record.run_id)
        replayed.append(
            ReplayedRun(
                run_id=record.run_id,
                started_at=record.started_at,
                then=then.outcome(kept),
                now=now.outcome(_measured_again(pipeline, record.run_id, kept, thresholds)),
            )
        )
    return replayed


class _Tally:
    def __init__(self) -> None:
        self._kept_out: list[JudgedVersion] = []
        self._stopped: list[str] = []
        self._warnings = 0

    def add(self, source_id: str, batch_id: str, result: GateResult) -> None:
        self._kept_out += (
            JudgedVersion(
                source_id=source_id,
                doc_id=doc_id,
                version=version,
                codes=tuple(reason.partition(" ")[0] for reason in reasons),
            )
            for (doc_id, version), reasons in result.failed_versions.items()
        )
        if result.stopped:
            self._stopped.append(batch_id)
        self._warnings += sum(
            len(failure.chunk_ids) for failure in result.failures if failure.severity == "warning"
        )

    def outcome(self, metrics: list[Metric]) -> Outcome:
        return Outcome(
            kept_out=tuple(self._kept_out),
            stopped=tuple(self._stopped),
            warnings=self._warnings,
            outside=tuple(one for one in metrics if one.state in ("warn", "stop")),
        )


def _results(past: Pipeline) -> Iterator[tuple[str, str, GateResult]]:
    for plan in past.plans():
        for batch_id in plan.batches:
            path = past.stage_path(batch_id, "gate")
            if not past.artifacts.exists(path):
                continue
            uri = past.artifacts.read(path, GateStep).result_uri
            if uri is not None and past.artifacts.exists(uri):
                yield plan.source_id, batch_id, past.artifacts.read(uri, GateResult)


def _judged(
    result: GateResult, rules: Rules, defaults: dict[str, Severity], settings: GateSettings
) -> GateResult:
    """Return the result as it would be under the rules; only what it found is judged."""

    def judged(failure: GateFailure) -> GateFailure:
        own = rules.expectation(failure.code)
        severity = own.severity or defaults.get(failure.code, failure.severity)
        return failure.model_copy(update={"severity": severity, "limit": own.limit})

    return result.model_copy(
        update={
            "failures": tuple(judged(failure) for failure in result.failures),
            "stop_share": settings.stop_share,
            "stop_min_documents": settings.stop_min_documents,
            # Metrics are judged by themselves, whole.
            "unlike_history": (),
        }
    )


def _measured_again(
    pipeline: Pipeline, run_id: str, kept: list[Metric], thresholds: Thresholds
) -> list[Metric]:
    by_source: dict[str, dict[str, float]] = {}
    for metric in kept:
        by_source.setdefault(metric.source_id, {})[metric.name] = metric.value
    return [
        metric
        for source_id, values in by_source.items()
        for metric in judge(
            source_id,
            values,
            pipeline.catalog.metric_history(source_id, run_id, MOST_RUNS),
            thresholds.of(source_id),
        )
    ]

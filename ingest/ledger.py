"""The ledger: a run's accounts, put together from what its steps wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from ingest.freshness import freshness, staleness_alert
from ingest.pipeline import Pipeline
from ingest.steps.retire import retire_path
from schemas.base import Model, utc_now
from schemas.run import (
    AuditResult,
    BatchFailure,
    BatchRef,
    ChunkResult,
    DiscardResult,
    EraseResult,
    ExtractResult,
    FetchResult,
    GateStep,
    IndexResult,
    Ledger,
    LedgerLine,
    PublishResult,
    RecheckResult,
    RetireResult,
    SourcePlan,
    Stage,
    SweepResult,
    SweptSource,
)

ModelT = TypeVar("ModelT", bound=Model)

BATCH_STAGES: tuple[Stage, ...] = (
    "fetch",
    "extract",
    "chunk",
    "gate",
    "index",
    "audit",
    "publish",
)


def build_ledger(pipeline: Pipeline, source_ids: Sequence[str]) -> Ledger:
    """Add up the run's results, source by source.

    Counts come from the steps' own files, not from counters that tasks increment, so a task that
    ran twice counts once.
    """
    plans = {plan.source_id: plan for plan in pipeline.plans()}
    started_at = pipeline.catalog.start_run(pipeline.run_id, utc_now())
    path = recheck_path(pipeline.run_id)
    rechecked = RecheckResult(versions=0, points=0)
    if pipeline.artifacts.exists(path):
        rechecked = pipeline.artifacts.read(path, RecheckResult)
    return Ledger(
        run_id=pipeline.run_id,
        started_at=started_at,
        finished_at=utc_now(),
        lines=tuple(_line(pipeline, source_id, plans.get(source_id)) for source_id in source_ids),
        alerts=(
            *(alert for plan in plans.values() for alert in plan.alerts),
            *_stale(pipeline, source_ids),
            *_unfinished_erasures(pipeline),
        ),
        unprovable=rechecked.findings,
        points_rechecked=rechecked.points,
    )


def _stale(pipeline: Pipeline, source_ids: Sequence[str]) -> list[str]:
    sources = [pipeline.configuration.source(source_id) for source_id in source_ids]
    found = freshness(pipeline.catalog, sources, utc_now())
    return [staleness_alert(health) for health in found if health.stale]


def _unfinished_erasures(pipeline: Pipeline) -> list[str]:
    return [
        f"Erasure {erasure.id}, asked for at {erasure.requested_at.isoformat()}, is not finished. "
        "The next run goes on with it, or: muniment forget resume"
        for erasure in pipeline.catalog.erasures()
        if erasure.finished_at is None
    ]


def erase_path(run_id: str) -> str:
    """Return where it is kept what the run erased."""
    return f"runs/{run_id}/erased.json"


def discard_path(run_id: str) -> str:
    """Return where it is kept which superseded versions the run discarded."""
    return f"runs/{run_id}/discarded.json"


def sweep_path(run_id: str) -> str:
    """Return where it is kept what the run's sweep of licences did."""
    return f"runs/{run_id}/swept.json"


def recheck_path(run_id: str) -> str:
    """Return where the run's recheck is kept."""
    return f"runs/{run_id}/recheck.json"


def failure_path(pipeline: Pipeline, batch_id: str) -> str:
    """Return where the reason is kept why a batch (or the plan of a source) went no further."""
    return f"runs/{pipeline.run_id}/failures/{batch_id}.json"


def _line(pipeline: Pipeline, source_id: str, plan: SourcePlan | None) -> LedgerLine:
    if plan is None:
        error = _failure(pipeline, source_id, "plan")
        return LedgerLine(source_id=source_id, error=error, stopped_in=("plan",))
    counts = {
        "listed": plan.listed,
        "new": plan.new,
        "changed": plan.changed,
        "unchanged": plan.unchanged,
        "forgotten": plan.forgotten,
        "failed": len(plan.failed),
        "quarantined": len(plan.failed),
    }
    errors: list[str] = []
    stopped_in: list[Stage] = []
    for batch_id in plan.batches:
        ref = BatchRef(run_id=pipeline.run_id, batch_id=batch_id, source_id=source_id)
        for name, count in _batch_counts(pipeline, ref).items():
            counts[name] = counts.get(name, 0) + count
        stopped = _stopped_in(pipeline, ref)
        if stopped is not None:
            stopped_in.append(stopped)
            errors.append(_failure(pipeline, batch_id, stopped))
    path = retire_path(pipeline, source_id)
    if pipeline.artifacts.exists(path):
        retired = pipeline.artifacts.read(path, RetireResult)
        counts["retired"] = len(retired.retired)
        counts["points_retired"] = retired.points_retired
    path = sweep_path(pipeline.run_id)
    if pipeline.artifacts.exists(path):
        swept = pipeline.artifacts.read(path, SweepResult).sources.get(source_id, SweptSource())
        counts["retired"] = counts.get("retired", 0) + len(swept.retired)
        counts["points_retired"] = counts.get("points_retired", 0) + swept.points_retired
        counts["erased"] = swept.erased
    path = erase_path(pipeline.run_id)
    if pipeline.artifacts.exists(path):
        erased = pipeline.artifacts.read(path, EraseResult)
        counts["erased"] = counts.get("erased", 0) + erased.documents.get(source_id, 0)
    path = discard_path(pipeline.run_id)
    if pipeline.artifacts.exists(path):
        discarded = pipeline.artifacts.read(path, DiscardResult).sources.get(source_id)
        counts["discarded"] = discarded.versions if discarded is not None else 0
    return LedgerLine(
        source_id=source_id,
        **counts,
        error="; ".join(dict.fromkeys(errors)) or None,
        stopped_in=tuple(dict.fromkeys(stopped_in)),
    )


def _batch_counts(pipeline: Pipeline, ref: BatchRef) -> dict[str, int]:
    """Return what a batch adds to its source's line."""
    counts: dict[str, int] = {}

    def add(**more: int) -> None:
        for name, count in more.items():
            counts[name] = counts.get(name, 0) + count

    if (fetch := _result(pipeline, ref, "fetch", FetchResult)) is not None:
        # An item that could not be fetched is neither new nor changed: nobody has seen it.
        planned = {item.item.source_key: item for item in pipeline.batch(ref).items}
        for refusal in fetch.refused:
            add(**{planned[refusal.source_key].change: -1}, failed=1, quarantined=1)
    if (extract := _result(pipeline, ref, "extract", ExtractResult)) is not None:
        add(
            extracted=len(extract.extracted),
            opened=len(extract.opened),
            members=extract.members,
            quarantined=len(extract.refused),
            pages_recognised=extract.pages_recognised,
        )
    if (chunk := _result(pipeline, ref, "chunk", ChunkResult)) is not None:
        add(
            chunks=sum(version.chunks for version in chunk.chunked),
            quarantined=len(chunk.refused),
        )
    if (gate := _result(pipeline, ref, "gate", GateStep)) is not None:
        add(quarantined=len(gate.refused), chunks_quarantined=gate.chunks_refused)
    if (index := _result(pipeline, ref, "index", IndexResult)) is not None:
        add(
            points_new=index.points_new,
            points_reused=index.points_reused,
            embedded=index.embedded,
        )
    if (audit := _result(pipeline, ref, "audit", AuditResult)) is not None:
        withdrawn = audit.points_withdrawn
        from_new = min(withdrawn, counts.get("points_new", 0))
        add(
            quarantined=len(audit.refused),
            points_new=-from_new,
            points_reused=from_new - withdrawn,
            chunks_quarantined=withdrawn,
        )
    if (publish := _result(pipeline, ref, "publish", PublishResult)) is not None:
        add(published=len(publish.published))
    return counts


def _result(pipeline: Pipeline, ref: BatchRef, stage: Stage, kind: type[ModelT]) -> ModelT | None:
    path = pipeline.stage_path(ref.batch_id, stage)
    return pipeline.artifacts.read(path, kind) if pipeline.artifacts.exists(path) else None


def _stopped_in(pipeline: Pipeline, ref: BatchRef) -> Stage | None:
    """Return the stage that went no further; None if the batch went all the way."""
    gate = _result(pipeline, ref, "gate", GateStep)
    if gate is not None and gate.stopped:
        return "gate"
    for stage in BATCH_STAGES:
        if not pipeline.artifacts.exists(pipeline.stage_path(ref.batch_id, stage)):
            return stage
    return None


def _failure(pipeline: Pipeline, name: str, stage: Stage) -> str:
    path = failure_path(pipeline, name)
    if pipeline.artifacts.exists(path):
        return pipeline.artifacts.read(path, BatchFailure).message
    return f"{name} was not finished: it stopped in {stage}. Run again; what is done is kept."

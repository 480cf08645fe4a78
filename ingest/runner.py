"""Running steps: one step with its bookkeeping, and a whole run without an orchestrator."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from importlib import import_module
from typing import ParamSpec, TypeVar

import tenacity

from ingest.errors import DataQualityError, FatalError, MunimentError, RetriableError
from ingest.ledger import BATCH_STAGES, failure_path, sweep_path
from ingest.pipeline import Pipeline
from ingest.progress import ProgressEvent
from ingest.quality.thresholds import load_thresholds
from ingest.secrets import redact
from ingest.steps.retire import retire_path
from schemas.base import utc_now
from schemas.run import (
    BatchFailure,
    BatchRef,
    Ledger,
    PublishResult,
    RetireResult,
    Stage,
    SweepResult,
)

_ATTEMPTS = 4

log = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")


def new_run_id() -> str:
    """Return a run id that sorts by time and is safe in paths."""
    return f"run-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"


def safe_run_id(orchestrator_id: str) -> str:
    """Return an orchestrator's run id with only characters that are safe in a path."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", orchestrator_id)


def plan_source(pipeline: Pipeline, source_id: str) -> list[BatchRef]:
    """List one source, with progress and a record of a failure."""
    from ingest.steps.plan import plan

    pipeline.catalog.start_run(pipeline.run_id, utc_now())
    with recorded(pipeline, "plan", source_id, None) as finished:
        try:
            refs = plan(pipeline, source_id)
        except Exception as error:
            # Where the catalogue itself is the trouble, the step's error says so.
            with suppress(MunimentError):
                pipeline.catalog.source_failed(source_id, redact(str(error)), utc_now())
            raise
        finished(sum(ref.counts.get("items", 0) for ref in refs), f"{len(refs)} batches")
    return refs


def run_stage(pipeline: Pipeline, stage: Stage, ref: BatchRef) -> BatchRef:
    """Run one stage on one batch, with progress and a record of a failure."""
    step: Callable[[Pipeline, BatchRef], BatchRef] = getattr(
        import_module(f"ingest.steps.{stage}"), stage
    )
    with recorded(pipeline, stage, ref.source_id, ref.batch_id) as finished:
        result = step(pipeline, ref)
        detail = ", ".join(f"{count} {name}" for name, count in result.counts.items())
        finished(len(pipeline.batch(ref).items), detail)
    return result


def retire_source(pipeline: Pipeline, source_id: str) -> None:
    """Retire and restore what the source's plan says, if it could be listed."""
    from ingest.steps.retire import retire

    if pipeline.artifacts.exists(pipeline.plan_path(source_id)):
        with recorded(pipeline, "retire", source_id, None) as finished:
            result = retire(pipeline, source_id)
            finished(len(result.retired), f"{len(result.restored)} restored")


def resume_erasures(pipeline: Pipeline) -> None:
    """Finish what an erasure that was killed left, before anything is listed.

    One that cannot be finished does not stop the run; the ledger has an alert for it.

    Raises:
        RetriableError: the index or the catalogue is in use.
    """
    from ingest.erasure.erase import resume

    try:
        for receipt in resume(pipeline, in_run=True):
            log.warning("Erasure %s was taken to its end.", receipt.number)
    except FatalError as error:
        log.error("%s", error)


def resume_settling(pipeline: Pipeline) -> None:
    """Bring the index up to date with what a run that was stopped left in the catalogue alone.

    Raises:
        RetriableError: the index, a document or the catalogue is in use.
    """
    from ingest.settling import settle_unfinished

    for doc_id in settle_unfinished(pipeline):
        log.warning("Document %s was brought up to date in the index.", doc_id)


def sweep_licences(pipeline: Pipeline) -> None:
    """Retire or erase what no licence covers any more, and restore what one covers again."""
    from ingest.steps.sweep import sweep

    with recorded(pipeline, "sweep", "all", None) as finished:
        swept = sweep(pipeline, utc_now()).sources.values()
        taken = sum(len(source.retired) + source.erased for source in swept)
        finished(taken, f"{sum(len(source.restored) for source in swept)} restored")


def erase_gone(pipeline: Pipeline) -> None:
    """Erase what left its source, where the source's policy says so."""
    from ingest.steps.erase import erase

    with recorded(pipeline, "erase", "all", None) as finished:
        result = erase(pipeline)
        finished(sum(result.documents.values()), f"{result.resumed} resumed")


def discard_superseded(pipeline: Pipeline) -> None:
    """Take superseded versions out of the index that their source's policy no longer keeps.

    And delete the collections that a rebuild has taken the place of, when their time is up.
    """
    from ingest.rebuild.run import drop_former
    from ingest.steps.discard import discard

    with recorded(pipeline, "discard", "all", None) as finished:
        for collection in drop_former(pipeline):
            log.warning("Collection %s was deleted: a rebuild has replaced it.", collection)
        sources = discard(pipeline, utc_now()).sources.values()
        points = sum(source.points for source in sources)
        finished(sum(source.versions for source in sources), f"{points} points")


def recheck_share(pipeline: Pipeline) -> None:
    """Read back tonight's share of what was published before."""
    from ingest.steps.recheck import recheck

    with recorded(pipeline, "recheck", "all", None) as finished:
        result = recheck(pipeline, utc_now())
        finished(result.versions, f"{result.points} points, {len(result.findings)} not proved")


def finish_run(pipeline: Pipeline, source_ids: Sequence[str]) -> Ledger:
    """Write the ledger and the report, and tell people what they should know of."""
    from ingest.alerts.watch import watch_run
    from ingest.lineage import emit
    from ingest.steps.report import report

    with recorded(pipeline, "report", "all", None) as finished:
        ledger = report(pipeline, source_ids)
        finished(len(source_ids), "balanced" if ledger.balanced else "not balanced")
    watch_run(pipeline, ledger)
    emit(pipeline, ledger)
    return ledger


def run_all(pipeline: Pipeline, source_ids: Sequence[str]) -> Ledger:
    """Run the whole pipeline in this process: list every source, then batch by batch.

    A source or a batch that fails is recorded and does not stop the others.

    Raises:
        ConfigurationError: the configuration is wrong; nothing was started.
    """
    for source_id in source_ids:
        pipeline.configuration.source(source_id)
    load_thresholds(pipeline.settings.gate)
    # A FatalError ends the work; the ledger then says what was left undone.
    with suppress(FatalError):
        with others_go_on():
            retrying(resume_erasures)(pipeline)
            retrying(resume_settling)(pipeline)
        batches: list[BatchRef] = []
        for source_id in source_ids:
            with others_go_on():
                batches += retrying(plan_source)(pipeline, source_id)
        for ref in batches:
            with others_go_on():
                for stage in BATCH_STAGES:
                    retrying(run_stage)(pipeline, stage, ref)
        for source_id in source_ids:
            with others_go_on():
                retrying(retire_source)(pipeline, source_id)
        with others_go_on():
            retrying(sweep_licences)(pipeline)
        with others_go_on():
            retrying(erase_gone)(pipeline)
        with others_go_on():
            retrying(discard_superseded)(pipeline)
        with others_go_on():
            retrying(recheck_share)(pipeline)
    return finish_run(pipeline, source_ids)


@contextmanager
def others_go_on() -> Iterator[None]:
    """Let an error end what is inside; it is recorded where it was raised."""
    try:
        yield
    except FatalError:
        raise
    except MunimentError as error:
        log.error("%s", error)


def exit_status(ledger: Ledger) -> int:
    """Return the exit status of a run: 0 done, 5 the gate stopped a batch, 6 something else failed.

    Quarantined items are no failure of the run: they are accounted for.
    """
    if ledger.unprovable:
        return FatalError.exit_status
    stages = {stage for line in ledger.lines for stage in line.stopped_in}
    if stages == {"gate"}:
        return DataQualityError.exit_status
    return 0 if ledger.balanced and not stages else FatalError.exit_status


def raise_if_failed(ledger: Ledger) -> None:
    """Raise what the run came to, for an orchestrator that shows a red run.

    Raises:
        DataQualityError: the gate stopped a batch.
        FatalError: a source could not be listed, a batch was not finished, or the ledger does not
            balance.
    """
    status = exit_status(ledger)
    if status == 0:
        return
    reasons = [f"{line.source_id}: {line.error}" for line in ledger.lines if line.error]
    reasons += ledger.unprovable
    message = "; ".join(reasons) or "the ledger does not balance"
    if status == DataQualityError.exit_status:
        raise DataQualityError("gate_stopped", message)
    raise FatalError("run_incomplete", message)


def changed_documents(pipeline: Pipeline) -> list[str]:
    """Return the ids of the documents that this run published, retired or restored."""
    changed: set[str] = set()
    path = sweep_path(pipeline.run_id)
    if pipeline.artifacts.exists(path):
        for swept in pipeline.artifacts.read(path, SweepResult).sources.values():
            changed.update(swept.retired, swept.restored)
    for plan in pipeline.plans():
        path = retire_path(pipeline, plan.source_id)
        if pipeline.artifacts.exists(path):
            retired = pipeline.artifacts.read(path, RetireResult)
            changed.update(retired.retired, retired.restored)
        for batch_id in plan.batches:
            path = pipeline.stage_path(batch_id, "publish")
            if pipeline.artifacts.exists(path):
                result = pipeline.artifacts.read(path, PublishResult)
                changed.update(version.doc_id for version in result.published)
    return sorted(changed)


@contextmanager
def recorded(
    pipeline: Pipeline, stage: Stage, source_id: str, batch_id: str | None
) -> Iterator[Callable[[int, str], None]]:
    """Emit progress around a step, and keep the reason if it fails."""

    def emit(state: str, done: int = 0, detail: str = "") -> None:
        pipeline.progress.emit(
            ProgressEvent.model_validate(
                {
                    "run_id": pipeline.run_id,
                    "stage": stage,
                    "source_id": source_id,
                    "batch_id": batch_id,
                    "state": state,
                    "done": done,
                    "detail": detail,
                }
            )
        )

    emit("started")
    try:
        yield lambda done, detail: emit("finished", done, detail)
    except Exception as error:
        code = error.code if isinstance(error, MunimentError) else type(error).__name__
        reason = redact(str(error))
        pipeline.artifacts.write(
            failure_path(pipeline, batch_id or source_id),
            BatchFailure(stage=stage, code=code, message=f"{stage}: {reason}"),
        )
        emit("failed", detail=reason)
        raise


def retrying(function: Callable[P, R]) -> Callable[P, R]:
    """Try again on RetriableError, as the orchestrator does."""
    return tenacity.retry(
        retry=tenacity.retry_if_exception_type(RetriableError),
        stop=tenacity.stop_after_attempt(_ATTEMPTS),
        wait=tenacity.wait_exponential_jitter(multiplier=1, max=30),
        reraise=True,
    )(function)

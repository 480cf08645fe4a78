"""A backfill as a run: planned, taken through the steps, and accounted for like a nightly one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TypeVar

from ingest.backfill.assessment import assess
from ingest.backfill.selection import choose
from ingest.errors import FatalError
from ingest.ledger import BATCH_STAGES
from ingest.pipeline import Pipeline
from ingest.runner import finish_run, others_go_on, recorded, resume_settling, retrying, run_stage
from schemas.backfill import BackfillPlan, BackfillRequest, BackfillResult, VersionWork, Work
from schemas.base import Model, utc_now
from schemas.run import (
    Batch,
    BatchRef,
    ExtractResult,
    FetchResult,
    IndexResult,
    Ledger,
    PlannedItem,
    PublishResult,
    SourcePlan,
    Stage,
)

ModelT = TypeVar("ModelT", bound=Model)


def plan_backfill(
    pipeline: Pipeline, request: BackfillRequest
) -> tuple[BackfillPlan, list[BatchRef]]:
    """Find out what the request takes, and write the batches unless it is a dry run.

    Raises:
        ConfigurationError: there is no such source.
        ItemError: there is no such document.
        RetriableError: the index or the catalogue is locked or does not answer.
    """
    if not request.dry_run:
        pipeline.catalog.start_run(pipeline.run_id, utc_now())
    work: list[VersionWork] = []
    items: dict[str, list[tuple[PlannedItem, int]]] = defaultdict(list)
    skipped: list[str] = []
    count = 0
    with recorded(pipeline, "plan", "all", None) as finished:
        with pipeline.index() as qdrant:
            qdrant.ensure()
            for chosen in choose(pipeline, request):
                found = assess(pipeline, qdrant, chosen)
                work += found.work
                skipped += found.skipped
                count += len(chosen.chosen)
                cost = sum(record.chunk_count for record in chosen.chosen)
                items[chosen.document.source_id] += ((item, cost) for item in found.items)
        plan = BackfillPlan(
            run_id=pipeline.run_id,
            request=request,
            versions_looked_at=count,
            work=tuple(work),
            skipped=tuple(skipped),
        )
        refs = [] if request.dry_run else _write(pipeline, plan, items)
        finished(count, f"{len(work)} versions need work")
    return plan, refs


def run_backfill(
    pipeline: Pipeline, request: BackfillRequest
) -> tuple[BackfillPlan, BackfillResult, Ledger]:
    """Bring what the request names up to date, in this process, and account for it.

    A batch that fails is recorded and does not stop the others.

    Raises:
        ConfigurationError: the configuration is wrong, or there is no such source.
        ItemError: there is no such document.
        RetriableError: the index or the catalogue is locked or does not answer.
    """
    retrying(resume_settling)(pipeline)
    plan, refs = retrying(plan_backfill)(pipeline, request)
    # A FatalError ends the work; the ledger then says what was left undone.
    with suppress(FatalError):
        for ref in refs:
            with others_go_on():
                for stage in BATCH_STAGES:
                    retrying(run_stage)(pipeline, stage, ref)
    result, ledger = finish_backfill(pipeline, plan)
    return plan, result, ledger


def finish_backfill(pipeline: Pipeline, plan: BackfillPlan) -> tuple[BackfillResult, Ledger]:
    """Say what a backfill did, and close its ledger."""
    result = _result(pipeline, plan)
    pipeline.artifacts.write(result_path(pipeline.run_id), result)
    return result, finish_run(pipeline, sources_of(plan))


def stored_plan(pipeline: Pipeline) -> BackfillPlan | None:
    """Return what this run was to do; None if that was not written, as of a dry run."""
    path = plan_path(pipeline.run_id)
    if not pipeline.artifacts.exists(path):
        return None
    return pipeline.artifacts.read(path, BackfillPlan)


def sources_of(plan: BackfillPlan) -> list[str]:
    """Return the sources whose versions are worked on."""
    return sorted({one.source_id for one in plan.work})


def plan_path(run_id: str) -> str:
    """Return where it is kept what a backfill was asked for and was to do."""
    return f"runs/{run_id}/backfill/plan.json"


def result_path(run_id: str) -> str:
    """Return where it is kept what a backfill did."""
    return f"runs/{run_id}/backfill/result.json"


def _write(
    pipeline: Pipeline, plan: BackfillPlan, items: dict[str, list[tuple[PlannedItem, int]]]
) -> list[BatchRef]:
    refs: list[BatchRef] = []
    pipeline.artifacts.write(plan_path(plan.run_id), plan)
    for source_id in sources_of(plan):
        batches = list(_batches(items[source_id], pipeline.settings.batch_cost))
        source_refs = []
        for number, batch in enumerate(batches, start=1):
            batch_id = f"{source_id}-{number:04d}"
            pipeline.artifacts.write(
                pipeline.stage_path(batch_id, "plan"),
                Batch(
                    run_id=plan.run_id, batch_id=batch_id, source_id=source_id, items=tuple(batch)
                ),
            )
            source_refs.append(
                BatchRef(
                    run_id=plan.run_id,
                    batch_id=batch_id,
                    source_id=source_id,
                    counts={"items": len(batch)},
                )
            )
        listed = len(items[source_id])
        pipeline.artifacts.write(
            pipeline.plan_path(source_id),
            SourcePlan(
                run_id=plan.run_id,
                source_id=source_id,
                listed=listed,
                changed=listed,
                batches=tuple(ref.batch_id for ref in source_refs),
            ),
        )
        refs += source_refs
    return refs


def _batches(items: Iterable[tuple[PlannedItem, int]], most: int) -> Iterator[list[PlannedItem]]:
    """Yield the items in batches of about ``most`` chunks, those of a document together."""
    batch: list[PlannedItem] = []
    cost = 0
    for item, of_document in items:
        if batch and item.doc_id != batch[-1].doc_id and cost + of_document > most:
            yield batch
            batch, cost = [], 0
        if not batch or item.doc_id != batch[-1].doc_id:
            cost += of_document
        batch.append(item)
    if batch:
        yield batch


def _result(pipeline: Pipeline, plan: BackfillPlan) -> BackfillResult:
    fetched = list(_results(pipeline, "fetch", FetchResult))
    read = list(_results(pipeline, "extract", ExtractResult))
    loaded = list(_results(pipeline, "index", IndexResult))
    published = list(_results(pipeline, "publish", PublishResult))
    done = Work(
        refetched=sum(one.refetched for one in fetched),
        reread=sum(one.reread for one in read),
        pages_recognised=sum(one.pages_recognised for one in read),
        points_new=sum(one.points_new for one in loaded),
        embedded=sum(one.embedded for one in loaded),
        points_patched=sum(one.points_patched for one in loaded),
        points_redated=sum(one.points_redated for one in published),
        points_deleted=sum(one.points_deleted for one in published),
    )
    documents = {version.doc_id for one in published for version in one.published}
    return BackfillResult(run_id=plan.run_id, done=done, documents=tuple(sorted(documents)))


def _results(pipeline: Pipeline, stage: Stage, kind: type[ModelT]) -> Iterator[ModelT]:
    for source_plan in pipeline.plans():
        for batch_id in source_plan.batches:
            path = pipeline.stage_path(batch_id, stage)
            if pipeline.artifacts.exists(path):
                yield pipeline.artifacts.read(path, kind)

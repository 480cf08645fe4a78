"""retire: close documents that their source no longer lists, and reopen those that came back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from ingest.index import VectorIndex
from ingest.pipeline import Pipeline
from ingest.settling import settle_all
from schemas.base import OPEN_END, utc_now
from schemas.run import ExtractResult, FetchResult, RetireResult, SourcePlan


def retire(pipeline: Pipeline, source_id: str) -> RetireResult:
    """Retire and restore what the source's plan and its containers say.

    Kept points answer as-of queries. A document stays if another item is a version of it, such as a
    file of the same name in a newer archive.

    Raises:
        RetriableError: the index or the catalogue is locked or does not answer.
    """
    plan = pipeline.artifacts.read(pipeline.plan_path(source_id), SourcePlan)
    read = list(_extract_results(pipeline, plan))
    gone = {*plan.gone, *(key for result in read for key in result.members_gone)}
    gone -= _awaited(pipeline, plan)
    leaving = {*plan.retire, *(doc_id for result in read for doc_id in result.retire)}
    if leaving:
        leaving -= pipeline.catalog.still_there(source_id, leaving, gone)
    returned = {*plan.restore, *(doc_id for result in read for doc_id in result.restore)}
    retired, restored = tuple(sorted(leaving)), tuple(sorted(returned))
    points = 0
    if retired or restored:
        with pipeline.index() as qdrant:
            qdrant.ensure()
            points = retire_documents(pipeline, qdrant, retired, utc_now())
            restore_documents(pipeline, qdrant, restored)
    # Last, so that a crash above leaves the items to be found gone again at the next run.
    pipeline.catalog.mark_gone(source_id, gone)
    result = RetireResult(retired=retired, restored=restored, points_retired=points)
    pipeline.artifacts.write(retire_path(pipeline, source_id), result)
    return result


def _awaited(pipeline: Pipeline, plan: SourcePlan) -> set[str]:
    """Return the keys that stay for now, since what they may be called now was not read.

    The next run finds them gone again, and then sees whether they were renamed.
    """
    keys: set[str] = set()
    for batch_id, may_be_renamed in plan.awaited.items():
        fetched = pipeline.stage_path(batch_id, "fetch")
        done = pipeline.artifacts.exists(pipeline.stage_path(batch_id, "publish"))
        if not done or any(
            refusal.fingerprint is None
            for refusal in pipeline.artifacts.read(fetched, FetchResult).refused
        ):
            keys.update(may_be_renamed)
    return keys


def _extract_results(pipeline: Pipeline, plan: SourcePlan) -> Iterator[ExtractResult]:
    """Yield what reading the source's containers found; a batch that was not read says nothing."""
    for batch_id in plan.batches:
        path = pipeline.stage_path(batch_id, "extract")
        if pipeline.artifacts.exists(path):
            yield pipeline.artifacts.read(path, ExtractResult)


def retire_documents(
    pipeline: Pipeline, qdrant: VectorIndex, doc_ids: Iterable[str], at: datetime
) -> int:
    """Retire documents from ``at`` on and return how many points that took back.

    One that was retired before keeps its date.
    """
    points = 0
    for doc_id in doc_ids:
        points += sum(
            record.chunk_count
            for record in pipeline.catalog.versions(doc_id)
            if record.state == "published" and record.retired_at == OPEN_END
        )
        pipeline.catalog.retire(doc_id, at)
        settle_all(pipeline, qdrant, [doc_id])
    return points


def restore_documents(pipeline: Pipeline, qdrant: VectorIndex, doc_ids: Iterable[str]) -> None:
    """Undo the retirement of documents."""
    for doc_id in doc_ids:
        pipeline.catalog.restore(doc_id)
        settle_all(pipeline, qdrant, [doc_id])


def retire_path(pipeline: Pipeline, source_id: str) -> str:
    """Return where the result for a source is kept."""
    return f"runs/{pipeline.run_id}/retired/{source_id}.json"

"""retire: close documents that their source no longer lists, and reopen those that came back."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from ingest.pipeline import Pipeline
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
        at = utc_now()
        with pipeline.index() as qdrant:
            qdrant.ensure()
            for doc_id in retired:
                # The catalogue keeps the first date; a run after a crash gives the index that one.
                pipeline.catalog.retire(doc_id, at)
                points += qdrant.retire(doc_id, _retired_at(pipeline, doc_id, at))
            for doc_id in restored:
                qdrant.restore(doc_id)
                pipeline.catalog.restore(doc_id)
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


def _retired_at(pipeline: Pipeline, doc_id: str, otherwise: datetime) -> datetime:
    dates = [version.retired_at for version in pipeline.catalog.versions(doc_id)]
    return max((date for date in dates if date != OPEN_END), default=otherwise)


def retire_path(pipeline: Pipeline, source_id: str) -> str:
    """Return where the result for a source is kept."""
    return f"runs/{pipeline.run_id}/retired/{source_id}.json"

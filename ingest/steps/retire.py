"""retire: close documents that their source no longer lists, and reopen those that came back."""

from __future__ import annotations

from datetime import datetime

from ingest.pipeline import Pipeline
from schemas.base import OPEN_END, utc_now
from schemas.run import RetireResult, SourcePlan


def retire(pipeline: Pipeline, source_id: str) -> RetireResult:
    """Retire and restore what the source's plan says; kept points answer as-of queries.

    Raises:
        RetriableError: the index or the catalogue is locked or does not answer.
    """
    plan = pipeline.artifacts.read(pipeline.plan_path(source_id), SourcePlan)
    points = 0
    if plan.retire or plan.restore:
        at = utc_now()
        with pipeline.index() as qdrant:
            qdrant.ensure()
            for doc_id in plan.retire:
                # The catalogue keeps the first date; a run after a crash gives the index that one.
                pipeline.catalog.retire(doc_id, at)
                points += qdrant.retire(doc_id, _retired_at(pipeline, doc_id, at))
            for doc_id in plan.restore:
                qdrant.restore(doc_id)
                pipeline.catalog.restore(doc_id)
    # Last, so that a crash above leaves the items to be found gone again at the next run.
    pipeline.catalog.mark_gone(source_id, plan.gone)
    result = RetireResult(retired=plan.retire, restored=plan.restore, points_retired=points)
    pipeline.artifacts.write(retire_path(pipeline, source_id), result)
    return result


def _retired_at(pipeline: Pipeline, doc_id: str, otherwise: datetime) -> datetime:
    dates = [version.retired_at for version in pipeline.catalog.versions(doc_id)]
    return max((date for date in dates if date != OPEN_END), default=otherwise)


def retire_path(pipeline: Pipeline, source_id: str) -> str:
    """Return where the result for a source is kept."""
    return f"runs/{pipeline.run_id}/retired/{source_id}.json"

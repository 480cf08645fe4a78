"""plan: list one source, compare with the catalogue, and group the work into batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ingest.pipeline import Pipeline
from ingest.steps.forgotten import ForgottenFilter
from ingest.steps.listing import Listing
from ingest.steps.listing_gone import find_departed, find_gone
from ingest.version import PIPELINE_VERSION
from schemas.base import utc_now
from schemas.run import Batch, BatchRef, Departed, PlannedItem, Refusal, SourcePlan
from schemas.source import ListingProblem


def plan(pipeline: Pipeline, source_id: str) -> list[BatchRef]:
    """List ``source_id`` and write the batches of what is new or changed.

    Unchanged items cost the listing alone: nothing is written for them, nor held in memory. An item
    in quarantine is left there until someone retries it, it changes, or the pipeline does. A file
    inside an item is reached through it: the item is worked on again if one of its members has to
    be.

    Raises:
        RetriableError: the source does not answer.
        ConfigurationError: the source is not what the configuration says.
    """
    source = pipeline.configuration.source(source_id)
    catalog = pipeline.catalog
    allowed = ForgottenFilter(catalog, source_id)
    with Listing(catalog, source_id) as listing:
        listing.take(allowed.rest_of(pipeline.connector(source_id).list()))
        listed = listing.entries + allowed.left_out
        catalog.source_listed(source_id, listed, utc_now())
        gone = find_gone(catalog, source, listing)
        departed = find_departed(catalog, pipeline.vault, source, listing, gone)
        record_problems(pipeline, source_id, listing.problems)
        if not gone.alerts:
            still = {(problem.source_key, problem.code) for problem in listing.problems}
            catalog.close_listing_problems(source_id, still)
        for keys in listing.spool.listed_again():
            catalog.seen(source_id, keys, pipeline.run_id)
        batches = listing.spool.batches(pipeline.settings.batch_cost)
        refs, awaited = write_batches(pipeline, source_id, batches, departed)
    pipeline.artifacts.write(
        pipeline.plan_path(source_id),
        SourcePlan(
            run_id=pipeline.run_id,
            source_id=source_id,
            listed=listed,
            new=listing.new,
            changed=listing.changed,
            unchanged=listing.unchanged,
            forgotten=allowed.left_out,
            failed=tuple(listing.problems),
            batches=tuple(ref.batch_id for ref in refs),
            retire=tuple(sorted(gone.leaving)),
            restore=tuple(sorted(listing.returned)),
            gone=tuple(sorted(gone.keys)),
            awaited=dict(awaited),
            alerts=tuple(gone.alerts),
        ),
    )
    return refs


def record_problems(pipeline: Pipeline, source_id: str, problems: Iterable[ListingProblem]) -> None:
    """Put what cannot be listed into quarantine."""
    for problem in problems:
        pipeline.catalog.record_refused(
            Refusal(
                source_id=source_id,
                source_key=problem.source_key,
                doc_id=None,
                stage="plan",
                code=problem.code,
                message=problem.message,
            ),
            run_id=pipeline.run_id,
            pipeline_version=PIPELINE_VERSION,
            level="item",
        )


def write_batches(
    pipeline: Pipeline,
    source_id: str,
    batches: Iterator[list[PlannedItem]],
    departed: Sequence[Departed],
) -> tuple[list[BatchRef], Mapping[str, tuple[str, ...]]]:
    """Write the batches; return them, and by batch the keys that one of it may have been before."""
    refs: list[BatchRef] = []
    awaited: dict[str, tuple[str, ...]] = {}
    for number, items in enumerate(batches, start=1):
        batch = Batch(
            run_id=pipeline.run_id,
            batch_id=f"{source_id}-{number:04d}",
            source_id=source_id,
            items=tuple(items),
            departed=_possible(items, departed),
        )
        pipeline.artifacts.write(pipeline.stage_path(batch.batch_id, "plan"), batch)
        if batch.departed:
            awaited[batch.batch_id] = tuple(one.source_key for one in batch.departed)
        refs.append(
            BatchRef(
                run_id=pipeline.run_id,
                batch_id=batch.batch_id,
                source_id=source_id,
                counts={"items": len(items)},
            )
        )
    return refs, awaited


def _possible(items: Sequence[PlannedItem], departed: Sequence[Departed]) -> tuple[Departed, ...]:
    """Return those that a newcomer among the items may have been, as far as sizes tell."""
    sizes = {planned.item.size for planned in items if planned.is_newcomer}
    return tuple(one for one in departed if sizes & {None, one.size})

"""Trying quarantine entries again at once: only their items, through the same steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress

from ingest.backfill.run import run_backfill
from ingest.catalog.records import QuarantineRecord
from ingest.errors import FatalError
from ingest.ledger import BATCH_STAGES
from ingest.pipeline import Pipeline
from ingest.quality.metrics import retry_path
from ingest.runner import (
    finish_run,
    new_run_id,
    others_go_on,
    recorded,
    resume_settling,
    retrying,
    run_stage,
)
from ingest.steps.forgotten import ForgottenFilter
from ingest.steps.listing import Listing
from ingest.steps.plan import record_problems, write_batches
from schemas.backfill import BackfillRequest
from schemas.base import Model, utc_now
from schemas.run import BatchRef, SourcePlan
from schemas.source import ListingEntry


class RetryResult(Model):
    """What trying entries again came to."""

    runs: tuple[str, ...] = ()
    """Runs that did it: one for what sources list, one for stored versions."""
    closed: tuple[int, ...] = ()
    """Numbers of the entries that passed."""
    left: tuple[int, ...] = ()
    """Numbers of those that are still in quarantine."""


class _Retry(Model):
    entries: tuple[int, ...]


def retry_now(pipeline: Pipeline, entries: Sequence[QuarantineRecord]) -> RetryResult:
    """Work on the entries' items again; what passes is published, and closes its entry.

    Sources are listed, and nothing else of them is worked on, retired or measured. A file inside
    an item is reached through it, with all that is in it. A source or a batch that fails does not
    stop the others.

    Raises:
        ConfigurationError: a source is no longer configured.
        ItemError: a document of a stored version was forgotten meanwhile.
        RetriableError: the index or the catalogue is locked or does not answer.
    """
    listed: defaultdict[str, set[str]] = defaultdict(set)
    stored: set[str] = set()
    for entry in entries:
        if entry.version is not None and entry.doc_id is not None:
            stored.add(entry.doc_id)
        else:
            pipeline.configuration.source(entry.source_id)
            pipeline.catalog.retry_quarantine(entry.id)
            listed[entry.source_id].add(entry.source_key)
    runs = []
    if listed:
        _run(pipeline, listed, tuple(entry.id for entry in entries))
        runs.append(pipeline.run_id)
    if stored:
        again = Pipeline(pipeline.settings, new_run_id(), pipeline.progress)
        reason = "quarantine entries are tried again"
        run_backfill(again, BackfillRequest(documents=tuple(sorted(stored)), reason=reason))
        runs.append(again.run_id)
    states = {entry.id: pipeline.catalog.quarantine_entry(entry.id).state for entry in entries}
    return RetryResult(
        runs=tuple(runs),
        closed=tuple(number for number, state in states.items() if state == "closed"),
        left=tuple(number for number, state in states.items() if state != "closed"),
    )


def _run(pipeline: Pipeline, listed: dict[str, set[str]], numbers: tuple[int, ...]) -> None:
    pipeline.artifacts.write(retry_path(pipeline.run_id), _Retry(entries=numbers))
    # A FatalError ends the work; the ledger then says what was left undone.
    with suppress(FatalError):
        retrying(resume_settling)(pipeline)
        refs: list[BatchRef] = []
        for source_id, keys in listed.items():
            with others_go_on():
                refs += retrying(_plan)(pipeline, source_id, keys)
        for ref in refs:
            with others_go_on():
                for stage in BATCH_STAGES:
                    retrying(run_stage)(pipeline, stage, ref)
    finish_run(pipeline, sorted(listed))


def _plan(pipeline: Pipeline, source_id: str, keys: Collection[str]) -> list[BatchRef]:
    """List the source and write the batches of the items that are meant."""
    catalog = pipeline.catalog
    catalog.start_run(pipeline.run_id, utc_now())
    known = catalog.items_of(source_id, keys)
    meant = {known[key].container_key or key if key in known else key for key in keys}
    with (
        recorded(pipeline, "plan", source_id, None) as finished,
        Listing(catalog, source_id) as listing,
    ):
        entries = ForgottenFilter(catalog, source_id).rest_of(pipeline.connector(source_id).list())
        listing.take(_only(entries, meant))
        record_problems(pipeline, source_id, listing.problems)
        still = {(problem.source_key, problem.code) for problem in listing.problems}
        catalog.close_listing_problems(source_id, still, meant)
        refs, _ = write_batches(
            pipeline, source_id, listing.spool.batches(pipeline.settings.batch_cost), ()
        )
        pipeline.artifacts.write(
            pipeline.plan_path(source_id),
            SourcePlan(
                run_id=pipeline.run_id,
                source_id=source_id,
                listed=listing.entries,
                new=listing.new,
                changed=listing.changed,
                unchanged=listing.unchanged,
                failed=tuple(listing.problems),
                batches=tuple(ref.batch_id for ref in refs),
            ),
        )
        finished(listing.entries, f"{len(refs)} batches")
    return refs


def _only(entries: Iterator[ListingEntry], keys: Collection[str]) -> Iterator[ListingEntry]:
    return (entry for entry in entries if entry.source_key in keys)

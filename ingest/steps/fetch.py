"""fetch: copy the items' bytes into the vault."""

from __future__ import annotations

import tenacity

from ingest.errors import ItemError, RetriableError
from ingest.pipeline import Pipeline
from ingest.sources.base import Fetched
from ingest.steps.refusals import refuse, settle_members
from ingest.steps.renames import take_renames
from ingest.steps.stored import fetch_stored, has_bytes
from schemas.base import utc_now
from schemas.run import BatchRef, FetchedItem, FetchResult, PlannedItem, Refusal

_ATTEMPTS = 3


def fetch(pipeline: Pipeline, ref: BatchRef) -> BatchRef:
    """Fetch every item of the batch.

    An item that cannot be had is refused alone: for good if it is gone, or until the next run if
    the source did not answer. If none answers, the step itself fails and is tried again.

    Raises:
        RetriableError: not one item of the batch could be fetched.
        FatalError: the vault's disk is full.
    """
    batch = pipeline.batch(ref)
    fetched: list[FetchedItem] = []
    refused: list[Refusal] = []
    unanswered: list[RetriableError] = []
    refetched = 0
    for number, planned in enumerate(batch.items, start=1):
        try:
            if planned.stored is None:
                fetched.append(_fetch(pipeline, planned))
            else:
                lost = not has_bytes(pipeline, planned.stored.doc_sha256)
                again = _with_retries(pipeline, planned) if lost else None
                fetched.append(fetch_stored(pipeline, planned, again))
                refetched += lost
        except ItemError as error:
            refused.append(refuse(pipeline, planned, "fetch", error))
            settle_members(pipeline, planned)
        except RetriableError as error:
            unanswered.append(error)
            refused.append(refuse(pipeline, planned, "fetch", error, again=True))
        pipeline.advance(ref, "fetch", number, len(batch.items), planned.item.source_key)
    if unanswered and len(unanswered) == len(batch.items):
        raise unanswered[0]
    result = FetchResult(
        fetched=tuple(take_renames(batch, fetched)), refused=tuple(refused), refetched=refetched
    )
    return pipeline.finish(ref, "fetch", result, fetched=len(fetched), refused=len(refused))


def _fetch(pipeline: Pipeline, planned: PlannedItem) -> FetchedItem:
    content = _with_retries(pipeline, planned)
    limit = pipeline.configuration.source(planned.item.source_id).max_item_bytes
    if len(content.data) > limit:
        raise ItemError(
            "too_large",
            f"{planned.item.source_key}: {len(content.data):,} bytes are over the source's limit "
            f"of {limit:,}. Raise max_item_bytes if it is meant to be this large.",
        )
    # The listing may be older than the bytes; what counts at the next run is what was fetched.
    item = planned.item.model_copy(update={"fingerprint": content.fingerprint})
    return FetchedItem(
        planned=planned.model_copy(update={"item": item}),
        doc_sha256=pipeline.vault.put(content.data),
        size=len(content.data),
        media_type=content.media_type or planned.item.media_type,
        received_at=utc_now(),
    )


def _with_retries(pipeline: Pipeline, planned: PlannedItem) -> Fetched:
    attempts = tenacity.Retrying(
        retry=tenacity.retry_if_exception_type(RetriableError),
        stop=tenacity.stop_after_attempt(_ATTEMPTS),
        wait=tenacity.wait_exponential_jitter(multiplier=0.5, max=10),
        reraise=True,
    )
    connector = pipeline.connector(planned.item.source_id)
    return attempts(connector.fetch, planned.item)

"""Refusing an item or a version: the same way in every step."""

from __future__ import annotations

from collections.abc import Mapping

from ingest.errors import MunimentError
from ingest.pipeline import Pipeline
from ingest.version import PIPELINE_VERSION
from schemas.run import PlannedItem, Refusal, Stage


def refuse(
    pipeline: Pipeline,
    planned: PlannedItem,
    stage: Stage,
    error: MunimentError,
    *,
    again: bool = False,
    evidence: Mapping[str, str] | None = None,
) -> Refusal:
    """Put ``planned`` into quarantine with the error as its reason.

    With ``again`` the item's state is not remembered, so that the next run tries it anew; without,
    it waits until it changes or someone retries it. Of a stored version that is worked on again
    nothing is remembered but the reason: what is published of it stays.
    """
    item = planned.item
    again = again or planned.stored is not None
    refusal = Refusal(
        source_id=item.source_id,
        source_key=item.source_key,
        doc_id=_document_refused(pipeline, planned),
        stage=stage,
        code=error.code,
        message=error.message,
        evidence=dict(evidence or {}),
        fingerprint=None if again else item.fingerprint,
        stored=None if planned.stored is None else planned.stored.version,
    )
    pipeline.catalog.record_refused(
        refusal,
        run_id=pipeline.run_id,
        pipeline_version=PIPELINE_VERSION,
        level="item" if stage in ("plan", "fetch") else "document",
    )
    return refusal


def _document_refused(pipeline: Pipeline, planned: PlannedItem) -> str:
    """Return the document that is refused with the item.

    A renamed item is refused as a new document; the one that it was goes as its old name did.
    """
    if planned.renamed_from is None:
        return planned.doc_id
    pipeline.catalog.drop_pending(planned.doc_id, pipeline.run_id)
    key = planned.item.document_key
    return pipeline.catalog.place(planned.item.source_id, [key])[key].doc_id


def settle_members(pipeline: Pipeline, planned: PlannedItem) -> None:
    """Leave the members of a document that cannot be read until it can.

    If they were waiting to be tried again, they would make every run read it again otherwise.
    """
    if planned.stored is not None:
        return  # only what a source lists is read for what is inside it
    item = planned.item
    container = planned.container_key or item.source_key
    pipeline.catalog.settle_members(item.source_id, container, item.source_key)

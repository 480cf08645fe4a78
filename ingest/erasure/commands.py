"""What ``muniment forget`` does: each function answers one command with data, not with print."""

from __future__ import annotations

from collections.abc import Sequence

from ingest.catalog.records import ErasureRecord
from ingest.erasure.erase import erase_client, erase_documents, preview, resume
from ingest.erasure.receipt import Receipt
from ingest.pipeline import Pipeline, open_catalog
from ingest.settings import Settings

_RUN_ID = "forget"
"""Stands for a run where none is under way; nothing is written under this name."""


def forget(
    settings: Settings,
    doc_ids: Sequence[str],
    client_id: str | None,
    reason: str,
    *,
    dry_run: bool,
) -> Receipt:
    """Erase documents or a client, or tell what there is of them.

    Raises:
        ItemError: there is no such document or client, or one lies in a container that stays.
        RetriableError: a run is under way.
        FatalError: something was found again afterwards.
    """
    pipeline = Pipeline(settings, _RUN_ID)
    if dry_run:
        return preview(pipeline, doc_ids, client_id, reason)
    if client_id is not None:
        return erase_client(pipeline, client_id, reason)
    return erase_documents(pipeline, doc_ids, reason)


def forget_resume(settings: Settings) -> list[Receipt]:
    """Finish every erasure that was begun.

    Raises:
        RetriableError: a run is under way.
        FatalError: something was found again afterwards.
    """
    return resume(Pipeline(settings, _RUN_ID))


def erasures(settings: Settings) -> list[ErasureRecord]:
    """Return every erasure, those under way too, without what these have to do."""
    return [_shown(record) for record in open_catalog(settings).erasures()]


def erasure(settings: Settings, number: int) -> ErasureRecord:
    """Return one erasure with its receipt.

    Raises:
        ItemError: there is none with this number.
    """
    return _shown(open_catalog(settings).erasure(number))


def forget_lift(settings: Settings, number: int) -> ErasureRecord:
    """Let what was forgotten be pulled in again if its source lists it.

    Raises:
        ItemError: there is none with this number.
    """
    return _shown(open_catalog(settings).lift_erasure(number))


def _shown(record: ErasureRecord) -> ErasureRecord:
    return record if record.finished_at else record.model_copy(update={"receipt": None})

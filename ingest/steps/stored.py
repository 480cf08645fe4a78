"""Stored versions: working on a published version again, from its bytes in the vault."""

from __future__ import annotations

from ingest.errors import FatalError, ItemError
from ingest.pipeline import Pipeline
from ingest.sources.base import Fetched
from schemas.base import sha256_bytes
from schemas.run import ExtractedVersion, FetchedItem, PlannedItem


def fetch_stored(pipeline: Pipeline, planned: PlannedItem, fetched: Fetched | None) -> FetchedItem:
    """Return a stored version's bytes as fetched: as they are in the vault, or newly ``fetched``.

    Raises:
        ItemError: ``version_bytes_lost`` where the source has other bytes by now.
        ValueError: it is not a stored version.
    """
    stored = planned.stored
    if stored is None:
        raise ValueError(f"{planned.item.source_key} is no stored version")
    if fetched is not None and sha256_bytes(fetched.data) != stored.doc_sha256:
        raise ItemError(
            "version_bytes_lost",
            f"{planned.item.source_key}: the vault has lost the bytes of version {stored.version}, "
            "and its source has others by now. What is published of it stays, but can no longer be "
            "proved: restore the vault from a backup.",
        )
    if fetched is not None:
        pipeline.vault.put(fetched.data)
    return FetchedItem(
        planned=planned,
        doc_sha256=stored.doc_sha256,
        size=stored.size,
        media_type=planned.item.media_type,
        received_at=stored.received_at,
    )


def has_bytes(pipeline: Pipeline, doc_sha256: str) -> bool:
    """Tell whether the vault has the bytes, undamaged."""
    try:
        pipeline.vault.get(doc_sha256)
    except FatalError:
        return False
    return True


def is_overtaken(pipeline: Pipeline, version: ExtractedVersion) -> bool:
    """Tell whether another run has brought a stored version up to date since this was planned.

    Then its work counts, which may rest on newer metadata, and this one's is left out.
    """
    planned = version.fetched.planned
    if planned.stored is None:
        return False
    record = pipeline.catalog.version(planned.doc_id, planned.stored.version)
    return (
        record is None
        or record.state not in ("published", "withdrawn")
        or record.run_id not in (planned.stored.run_id, pipeline.run_id)
    )

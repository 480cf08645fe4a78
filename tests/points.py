"""Points for tests: payloads whose ids and hashes are right, and an index to put them into."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qdrant_client import models

from ingest.index import VectorIndex
from ingest.settings import QdrantSettings
from schemas.base import OPEN_END, sha256_text
from schemas.identity import chunk_id, document_id
from schemas.payload import Payload
from schemas.version import HeldInterval

DIMENSION = 8
CHUNKER = "7"
PIPELINE = f"0.1.0+extract.3.chunk.{CHUNKER}"
DOC = document_id("contracts", "msa")

_SERVER = os.environ.get("MUNIMENT_TEST_QDRANT_URL")
_NO_SERVER = pytest.mark.skipif(
    not _SERVER, reason="no Qdrant server: set MUNIMENT_TEST_QDRANT_URL to test on one"
)
BACKENDS = [
    "embedded",
    pytest.param("rest", marks=_NO_SERVER),
    pytest.param("grpc", marks=_NO_SERVER),
]
"""Every test of the index runs on each of these."""


def utc(year: int, month: int = 1, day: int = 1) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


def payload(text: str = "Notice of 30 days.", *, char_start: int = 0, **changes: Any) -> Payload:
    """Return the payload of a staged point in a format without pages.

    With ``published_at`` it is one that readers were told of then, and of nothing else since.
    """
    fields: dict[str, Any] = {
        "doc_id": DOC,
        "version": 1,
        "text": text,
        "char_start": char_start,
        "char_end": char_start + len(text),
        "text_sha256": sha256_text(text),
        "title": "Master services agreement",
        "source_id": "contracts",
        "source_kind": "contract",
        "source_uri": "file:///contracts/msa.txt",
        "source_key": "msa.txt",
        "version_label": "1.0",
        "effective_from": utc(2024),
        "effective_basis": "source",
        "effective_evidence": None,
        "page_first": None,
        "page_last": None,
        "page_label": None,
        "boxes": (),
        "section": ("7. Termination",),
        "element_kinds": ("paragraph",),
        "locator": None,
        "licence_id": "own",
        "attribution_required": False,
        "attribution_text": None,
        "display_allowed": True,
        "max_quote_chars": None,
        "redistribution_allowed": False,
        "allowed_uses": ("retrieval",),
        "territories": ("*",),
        "confidentiality": "internal",
        "client_id": None,
        "text_source": "digital",
        "ocr_confidence": None,
        "language": "en",
        "doc_sha256": "0" * 64,
        "pipeline_version": PIPELINE,
        "embedding_model": "test",
        "run_id": "run-1",
        **changes,
    }
    identity = (fields[name] for name in ("doc_id", "version", "char_start", "char_end"))
    fields.setdefault("chunk_id", chunk_id(*identity, fields["text_sha256"], CHUNKER))
    if fields.get("published_at") is not None:
        fields.setdefault("recorded_at", fields["published_at"])
        start, end = fields["effective_from"], fields.get("effective_until", OPEN_END)
        held = HeldInterval(
            effective_from=start,
            effective_until=max(start, min(end, fields.get("retired_at", OPEN_END))),
            recorded_at=fields["recorded_at"],
        )
        fields.setdefault("interval_history", (held,))
    return Payload.model_validate(fields)


def vector(seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)


def as_points(*payloads: Payload) -> list[tuple[str, np.ndarray, Payload]]:
    return [(one.chunk_id, vector(number), one) for number, one in enumerate(payloads)]


@contextmanager
def index_on(backend: str, folder: Path) -> Iterator[VectorIndex]:
    """Open an empty index, embedded in ``folder`` or on the test server, and drop it afterwards."""
    settings = QdrantSettings()
    if backend != "embedded":
        settings = QdrantSettings(
            url=_SERVER,
            api_key=os.environ.get("MUNIMENT_TEST_QDRANT_API_KEY"),
            prefer_grpc=backend == "grpc",
            alias=f"muniment-test-{uuid.uuid4().hex[:12]}",
        )
    with VectorIndex(settings, folder, model_name="test", dimension=DIMENSION) as index:
        index.ensure()
        try:
            yield index
        finally:
            index._client.delete_collection(index.collection)


def fields_of(condition: Any) -> set[str]:
    """Return the payload fields that a filter looks at, however deep."""
    if isinstance(condition, models.Filter):
        parts = [*(condition.must or []), *(condition.should or []), *(condition.must_not or [])]
        return set().union(*map(fields_of, parts))
    if isinstance(condition, models.IsEmptyCondition):
        return {condition.is_empty.key}
    if isinstance(condition, models.NestedCondition):
        nested = condition.nested
        return {f"{nested.key}[].{field}" for field in fields_of(nested.filter)}
    return {condition.key}

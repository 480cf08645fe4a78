"""Rows for the gate: documents whose every chunk is right, as many as are wanted."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from ingest.quality.frame import GateInput
from schemas.base import OPEN_END, sha256_text
from schemas.chunk import PageBox
from schemas.identity import chunk_id, document_id
from schemas.payload import Payload

CHUNKS_A_DOCUMENT = 50
NOW = datetime(2026, 6, 1, tzinfo=UTC)

_SENTENCE = "The supplier gives notice of {} days before clause {} of this agreement ends. "
_SENTENCES = 10
_PAGE = (595.0, 842.0)
_BEGUN = datetime(2026, 1, 1, tzinfo=UTC)


def rows(chunks: int) -> Iterator[GateInput]:
    """Yield ``chunks`` rows of paged documents, a chunk to a page, about 780 characters each."""
    for number in range(0, chunks, CHUNKS_A_DOCUMENT):
        yield from _document(number, min(CHUNKS_A_DOCUMENT, chunks - number))


def _document(number: int, chunks: int) -> Iterator[GateInput]:
    texts = [
        "".join(_SENTENCE.format(number + i, f"{i}.{j}") for j in range(_SENTENCES))
        for i in range(chunks)
    ]
    whole = "".join(texts)
    doc_id = document_id("contracts", f"contract {number}")
    sizes = dict.fromkeys(range(1, chunks + 1), _PAGE)
    start = 0
    for page, text in enumerate(texts, start=1):
        yield GateInput(
            payload=_payload(doc_id, text, start, page),
            tokens=180,
            token_limit=256,
            version_text=whole,
            page_sizes=sizes,
            words_cover=True,
            body_end=len(whole),
        )
        start += len(text)


def _payload(doc_id: str, text: str, start: int, page: int) -> Payload:
    digest = sha256_text(text)
    fields: dict[str, Any] = {
        "text": text,
        "chunk_id": chunk_id(doc_id, 1, start, start + len(text), digest, "1"),
        "doc_id": doc_id,
        "title": "Agreement",
        "source_id": "contracts",
        "source_kind": "contract",
        "source_uri": "file:///contracts/a.pdf",
        "source_key": "a.pdf",
        "version": 1,
        "version_label": None,
        "effective_from": _BEGUN,
        "effective_until": OPEN_END,
        "effective_basis": "source",
        "published_at": None,
        "retired_at": OPEN_END,
        "page_first": page,
        "page_last": page,
        "page_label": None,
        "boxes": tuple(
            PageBox(page=page, x0=72, y0=72 + 14 * line, x1=500, y1=84 + 14 * line)
            for line in range(_SENTENCES)
        ),
        "char_start": start,
        "char_end": start + len(text),
        "section": ("Terms",),
        "element_kinds": ("paragraph",),
        "locator": None,
        "licence_id": "own",
        "attribution_required": False,
        "attribution_text": None,
        "display_allowed": True,
        "redistribution_allowed": False,
        "allowed_uses": ("retrieval",),
        "territories": ("001",),
        "max_quote_chars": None,
        "licence_valid_until": OPEN_END,
        "confidentiality": "internal",
        "client_id": None,
        "text_source": "digital",
        "ocr_confidence": None,
        "language": "en",
        "doc_sha256": sha256_text(doc_id),
        "text_sha256": digest,
        "pipeline_version": "1",
        "embedding_model": "model",
        "run_id": "run",
    }
    return Payload.model_validate(fields)

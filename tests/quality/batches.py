"""Batches for the gate: documents whose every chunk is right, for tests to break."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pandas as pd
from points import payload

from ingest.quality.frame import GateInput, build_frame
from ingest.settings import GateSettings
from schemas.chunk import PageBox
from schemas.identity import document_id

NOW = datetime(2026, 6, 1, tzinfo=UTC)
SETTINGS = GateSettings()
PAGE = (595.0, 842.0)


def document(
    number: int = 0, *, chunks: int = 4, paged: bool = True, **changes: Any
) -> list[GateInput]:
    """Return the rows of one document, a chunk to a page; ``changes`` go into each payload."""
    texts = [f"Clause {number}.{i}. Notice of {i + 7} days is given. " for i in range(chunks)]
    version_text = "".join(texts)
    doc_id = document_id("contracts", f"contract {number}")
    rows = []
    start = 0
    for page, text in enumerate(texts, start=1):
        place: dict[str, Any] = {"locator": {"paragraph_first": page, "paragraph_last": page}}
        if paged:
            boxes = (PageBox(page=page, x0=72, y0=72, x1=500, y1=84),)
            place = {"page_first": page, "page_last": page, "boxes": boxes}
        record = payload(text, char_start=start, **{"doc_id": doc_id, **place, **changes})
        start += len(text)
        rows.append(
            GateInput(
                payload=record,
                tokens=12,
                token_limit=256,
                version_text=version_text,
                page_sizes=dict.fromkeys(range(1, chunks + 1), PAGE) if paged else {},
                words_cover=True if paged else None,
                body_end=len(version_text),
            )
        )
    return rows


def frame_of(*documents: Sequence[GateInput]) -> pd.DataFrame:
    return build_frame(row for rows in documents for row in rows)

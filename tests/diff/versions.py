"""What the tests of the comparison share: compared versions, and documents made of clauses."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from ingest.diff.clauses import Clause, clauses_of
from ingest.diff.compare import compare
from ingest.diff.model import ComparedVersion, VersionDiff
from schemas.base import OPEN_END, sha256_text
from schemas.document import Element, Extraction


def described(number: int, extraction: Extraction, **changes: Any) -> ComparedVersion:
    given: dict[str, Any] = {
        "version": number,
        "version_label": None,
        "source_key": f"msa-v{number}.pdf",
        "source_uri": f"file:///msa-v{number}.pdf",
        "media_type": extraction.media_type,
        "effective_from": datetime(2020 + number, 1, 1, tzinfo=UTC),
        "effective_until": OPEN_END,
        "doc_sha256": extraction.doc_sha256,
        "text_sha256": extraction.text_sha256,
        "pages": len(extraction.pages),
        "licence_id": "open",
        "attribution_text": None,
        "display_allowed": True,
        "max_quote_chars": None,
    }
    return ComparedVersion.model_validate({**given, **changes})


def compared(before: Extraction, after: Extraction, **terms: Any) -> VersionDiff:
    """Compare two extractions; ``terms`` are those of the second one."""
    return compare(
        before,
        after,
        doc_id="0f8fad5b-d9cb-469f-a165-70867728950e",
        title="Master services agreement",
        versions=(described(1, before), described(2, after, **terms)),
    )


def document(paragraphs: Sequence[str], kind: str = "paragraph") -> Extraction:
    """Return a version without pages, one element for each paragraph."""
    elements, text = [], ""
    for paragraph in paragraphs:
        text += "\n\n" if text else ""
        elements.append(
            Element.model_validate(
                {"kind": kind, "char_start": len(text), "char_end": len(text) + len(paragraph)}
            )
        )
        text += paragraph
    return Extraction(
        media_type="text/plain",
        extractor_version="1",
        doc_sha256=sha256_text(text),
        text=text,
        body_end=len(text),
        elements=tuple(elements),
    )


def clauses(*paragraphs: str) -> list[Clause]:
    return clauses_of(document(paragraphs))


def statuses(found: VersionDiff) -> list[str]:
    return [change.status for change in found.clauses]

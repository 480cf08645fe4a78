"""The receipt of an erasure: what was erased where, in counts and hashes, and what stayed."""

from __future__ import annotations

from typing import Literal

from pydantic import computed_field

from ingest.catalog.records import ErasureKind
from schemas.base import Model, Sha256, UtcDatetime

Place = Literal[
    "index",
    "embeddings",
    "proofs",
    "report_pictures",
    "reports",
    "progress_and_logs",
    "ocr_cache",
    "web_cache",
    "vault",
    "extractions",
    "run_files",
    "chunks",
    "catalogue",
]
"""Where something of a document may be."""


class Stayed(Model):
    """Bytes that are still in the vault, and why."""

    sha256: Sha256
    why: str


class Receipt(Model):
    """What an erasure did. It holds ids, hashes and counts; no text, no title, no key."""

    number: int | None
    """Of the erasure in the catalogue; None where nothing was erased yet."""
    kind: ErasureKind
    subject: str
    """The document's id, or the SHA-256 of the client's."""
    reason: str
    lasting: bool
    """Whether it stays out although its source lists it again."""
    requested_at: UtcDatetime
    finished_at: UtcDatetime | None = None
    program: str
    """Release, extractor and chunker that erased."""
    documents: tuple[str, ...]
    """Ids of all documents that were erased, members of containers among them."""
    members: int = 0
    """How many of them lay inside others, and were erased with those."""
    erased: dict[Place, int]
    """What was found in each place: points, vectors, files, or rows."""
    sha256s: tuple[Sha256, ...] = ()
    """Of the bytes that were erased from the vault."""
    stayed: tuple[Stayed, ...] = ()
    left: dict[Place, int] | None = None
    """What was found in each place when it was searched again afterwards; None before that."""

    @computed_field  # type: ignore[prop-decorator]  # pydantic's documented use of property
    @property
    def complete(self) -> bool:
        """True if everything was searched again and nothing was found."""
        return self.left is not None and not any(self.left.values())

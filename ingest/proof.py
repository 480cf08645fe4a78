"""The proof of one point: the chain from the point to its source bytes, and a picture of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError, computed_field

from ingest.audit import POINT_CHECKS, Evidence
from ingest.errors import FatalError, ItemError
from ingest.pictures import DPI, draw_page, draw_text
from ingest.vault import Vault
from schemas.base import Model, Sha256, UtcDatetime
from schemas.chunk import Locator, PageBox
from schemas.document import Extraction
from schemas.payload import Payload


class ProofStep(Model):
    """One link of the chain."""

    name: str
    ok: bool
    detail: str
    """What was found, in a sentence for people."""


class Proof(Model):
    """Where a passage comes from, step by step, for people and as JSON."""

    chunk_id: str
    doc_id: str
    title: str
    source_uri: str
    media_type: str
    doc_sha256: Sha256
    size: int | None
    """Length of the source bytes; None where the vault does not have them, or has others."""
    version: int
    version_label: str | None
    effective_from: UtcDatetime
    effective_until: UtcDatetime
    published_at: UtcDatetime | None
    retired_at: UtcDatetime
    licence_id: str
    attribution_text: str | None
    display_allowed: bool
    """Whether the licence lets a reader see the passage and its pictures."""
    licence_valid_until: UtcDatetime
    text_sha256: Sha256
    char_start: int
    char_end: int
    page_first: int | None
    page_last: int | None
    page_label: str | None
    boxes: tuple[PageBox, ...]
    locator: Locator | None
    text: str
    steps: tuple[ProofStep, ...]
    pictures: tuple[str, ...] = ()
    """Where the pictures were put; filled in by whoever writes them."""

    @computed_field  # type: ignore[prop-decorator]  # pydantic's documented use of property
    @property
    def proved(self) -> bool:
        """True if every step holds."""
        return bool(self.steps) and all(step.ok for step in self.steps)


@dataclass(frozen=True)
class Picture:
    """One PNG of the passage.

    ``suffix`` goes behind a file's name and tells the pictures of one passage apart: "-p3" for
    page 3, nothing where the format has no pages.
    """

    suffix: str
    png: bytes


def draw_passage(
    data: bytes, extraction: Extraction, payload: Payload, *, dpi: int = DPI
) -> list[Picture]:
    """Draw each page that the passage is on, marked; the text around it if there are no pages.

    Raises:
        ItemError: the bytes cannot be drawn, or a box is on a page that does not exist.
    """
    if not extraction.pages:
        png = draw_text(extraction.text, payload.char_start, payload.char_end, dpi=dpi)
        return [Picture("", png)]
    by_number = {page.number: page for page in extraction.pages}
    pictures = []
    for number in sorted({box.page for box in payload.boxes}):
        if number not in by_number:
            raise ItemError("picture_failed", f"A box is on page {number}, which does not exist.")
        png = draw_page(data, extraction.media_type, by_number[number], payload.boxes, dpi=dpi)
        pictures.append(Picture(f"-p{number}", png))
    return pictures


def prove(
    point: Mapping[str, Any], *, vault: Vault, extraction: Extraction, dpi: int = DPI
) -> tuple[Proof, list[Picture]]:
    """Follow the chain from a point to its source bytes (guarantee 11).

    A link that does not hold is a failed step, not an error, so that a reader sees which one.

    Args:
        point: the payload as the index returned it.
        vault: the source bytes.
        extraction: the text of the version that the point names, with its evidence.
        dpi: of the pictures.

    Raises:
        ItemError: the point is so damaged that it names no passage.
    """
    try:
        payload = Payload.model_validate(point)
    except ValidationError as error:
        raise ItemError(
            "payload_invalid",
            f"Point {point.get('chunk_id')} does not have a valid payload, so there is nothing to "
            f"follow: {error}",
        ) from error

    data: bytes | None = None
    try:
        data = vault.get(payload.doc_sha256)
        found = f"{len(data):,} bytes in the vault have the SHA-256 {payload.doc_sha256}"
        steps = [ProofStep(name="source bytes", ok=True, detail=found)]
    except FatalError as error:
        steps = [ProofStep(name="source bytes", ok=False, detail=error.message)]
    steps += _steps(payload, Evidence(extraction))

    pictures: list[Picture] = []
    if data is not None:
        try:
            pictures = draw_passage(data, extraction, payload, dpi=dpi)
            drawn = f"{len(pictures)} drawn from these bytes with the passage marked"
            steps.append(ProofStep(name="picture", ok=bool(pictures), detail=drawn))
        except ItemError as error:
            steps.append(ProofStep(name="picture", ok=False, detail=error.message))

    told = payload.model_dump(include=Proof.model_fields.keys() & Payload.model_fields.keys())
    proof = Proof(
        **told,
        media_type=extraction.media_type,
        size=None if data is None else len(data),
        steps=tuple(steps),
    )
    return proof, pictures


def _steps(payload: Payload, evidence: Evidence) -> Iterator[ProofStep]:
    held = _what_holds(payload, evidence)
    for name, check in POINT_CHECKS.items():
        faults = [message for _, message in check(payload, evidence)]
        yield ProofStep(name=name, ok=not faults, detail="; ".join(faults) or held[name])


def _what_holds(payload: Payload, evidence: Evidence) -> dict[str, str]:
    """Say what each check of the audit has shown where it finds no fault."""
    held = {
        "identity": f"version {payload.version} of document {payload.doc_id}, made of these bytes",
        "text": f"{len(payload.text):,} characters with the SHA-256 {payload.text_sha256}",
        "offsets": f"characters {payload.char_start:,} to {payload.char_end:,} of the version's "
        f"{len(evidence.extraction.text):,} are exactly this text",
    }
    if not evidence.pages:
        none = "the format has no pages"
        return {**held, "words": none, "pages": none, "boxes": none}
    words = evidence.words(payload.char_start, payload.char_end)
    first, last = payload.page_first, payload.page_last
    return {
        **held,
        "words": f"{len(words):,} words on the page hold every character of it",
        "pages": f"page {first}" if first == last else f"pages {first} to {last}",
        "boxes": f"{len(payload.boxes)} lines, each around its words and inside its page",
    }

"""What the catalogue gives back: frozen records that have no tie to the database."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from schemas.base import OPEN_END, Model, Sha256, UtcDatetime
from schemas.licence import Confidentiality
from schemas.run import Ledger, QuarantineState, Stage
from schemas.version import DateEvidence, EffectiveBasis

ItemState = Literal["found", "opened", "indexed", "quarantined", "gone"]
"""found: a file inside another one that was not yet worked on; opened: an archive without a text,
whose members are items."""
VersionState = Literal["staged", "published", "withdrawn", "discarded", "abandoned"]
QuarantineLevel = Literal["item", "document", "chunk"]
ErasureKind = Literal["document", "client"]
RebuildState = Literal["filling", "switched", "abandoned"]


class KnownItem(Model):
    """An item as it was last worked on."""

    doc_id: str
    container_key: str | None
    """The listed item that a member lies in, at whatever depth; None for what is listed itself."""
    listed: bool
    """Whether the latest listing had it; of a member, its container when it was last read."""
    fingerprint: str | None
    """None if a retry was asked for: no listed item has it, so the next run works on it again."""
    state: ItemState
    doc_sha256: Sha256 | None
    version: int | None
    """The version that is indexed of it; None if none ever was."""
    pipeline_version: str
    run_id: str
    """The run that last worked on it, found it in its container, or found it listed again."""


class SourceRecord(Model):
    """How listing a source went."""

    source_id: str
    listed_at: UtcDatetime | None
    """When it was last listed to its end; None if it never was."""
    entries: int | None
    """Items and problems of that listing."""
    failed_at: UtcDatetime | None
    """When it last could not be listed; None once it has been listed again."""
    error: str | None


class DocumentRecord(Model):
    """A document."""

    doc_id: str
    source_id: str
    document_key: str
    """What its source calls it now; a renamed item's document has the new key."""
    title: str
    created_at: UtcDatetime


class Correction(Model):
    """An effective date that a person set."""

    effective_from: UtcDatetime
    reason: str
    corrected_at: UtcDatetime
    instead_of: UtcDatetime
    """The date that counts again once the correction is taken back."""
    basis: EffectiveBasis
    """How that one is known."""


class Withdrawal(Model):
    """Why a person withdrew a version."""

    reason: str
    withdrawn_at: UtcDatetime


class VersionDraft(Model):
    """What is known of a version when its number is reserved."""

    doc_sha256: Sha256
    text_sha256: Sha256
    version_label: str | None
    title: str
    source_key: str
    source_uri: str
    media_type: str
    licence_id: str
    licence_valid_until: UtcDatetime = OPEN_END
    """Of the licence as the item's own terms narrow it."""
    confidentiality: Confidentiality
    client_id: str | None
    effective_from: UtcDatetime
    effective_basis: EffectiveBasis
    effective_evidence: DateEvidence | None = None
    withdrawn: bool = False
    """Whether its source says that it never held."""
    received_at: UtcDatetime
    extraction_uri: str
    run_id: str
    """The run that last worked on it."""
    item: dict[str, Any] | None = None
    """The item as it was listed then."""


class VersionRecord(VersionDraft):
    """A version of a document."""

    doc_id: str
    version: int
    effective_until: UtcDatetime
    state: VersionState
    published_at: UtcDatetime | None
    """When readers could first see it."""
    retired_at: UtcDatetime
    payloads_uri: str | None
    chunk_count: int
    correction: Correction | None
    withdrawal: Withdrawal | None
    unsettled_at: UtcDatetime | None
    """Since when the index may say something else; None where it is known to say the same."""


class LicensedDocument(Model):
    """A document and the licence that it stands, or stood, under."""

    doc_id: str
    source_id: str
    licence_id: str


class HeldRecord(Model):
    """What a source holds under a licence that ends at one instant."""

    source_id: str
    licence_id: str
    valid_until: UtcDatetime
    documents: int
    versions: int
    points: int


class RunRecord(Model):
    """A run."""

    run_id: str
    started_at: UtcDatetime
    finished_at: UtcDatetime | None
    ledger: Ledger | None


class QuarantineRecord(Model):
    """Something that was refused, and why."""

    id: int
    source_id: str
    source_key: str
    doc_id: str | None
    version: int | None
    """Of the stored version that was worked on again; None for what its source lists."""
    level: QuarantineLevel
    stage: Stage
    code: str
    message: str
    evidence: dict[str, Any] = Field(default_factory=dict)
    state: QuarantineState
    dismiss_reason: str | None
    first_run: str
    last_run: str
    first_seen: UtcDatetime
    last_seen: UtcDatetime
    times_seen: int
    """Number of runs that refused it."""


class ErasureRecord(Model):
    """A request to forget something."""

    id: int
    kind: ErasureKind
    subject: str
    """The document's id, or the SHA-256 of the client's."""
    reason: str
    requested_at: UtcDatetime
    finished_at: UtcDatetime | None
    """None while it is under way."""
    lasting: bool
    """Whether it stays out although its source lists it again."""
    receipt: dict[str, Any] | None
    """While it is under way, what there is to do."""


class RebuildRecord(Model):
    """A new collection for what is stored."""

    id: int
    alias: str
    collection: str
    former: str | None
    """The collection that readers turn away from; None once it has been dropped."""
    reason: str
    state: RebuildState
    started_at: UtcDatetime
    switched_at: UtcDatetime | None
    """Since when it is written to."""
    turned_at: UtcDatetime | None
    """When readers' alias followed."""
    former_until: UtcDatetime | None
    """From then on the former collection may be dropped."""


class RebuiltVersion(Model):
    """A version whose points are in a collection that is being filled."""

    stamp: str
    payloads_uri: str
    chunk_count: int

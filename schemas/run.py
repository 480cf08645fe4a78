"""References between steps, and the ledger that must balance."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, computed_field

from schemas.base import Model, Sha256, UtcDatetime
from schemas.document import ExtractionWarning
from schemas.payload import Payload
from schemas.source import Item, ListingProblem
from schemas.version import DateEvidence, EffectiveBasis

Stage = Literal[
    "plan",
    "fetch",
    "extract",
    "chunk",
    "gate",
    "index",
    "audit",
    "publish",
    "retire",
    "sweep",
    "erase",
    "discard",
    "recheck",
    "report",
]


QuarantineState = Literal["open", "dismissed", "closed"]
"""open: waits for someone; dismissed: left out for a reason; closed: published after all."""


class BatchRef(Model):
    """What a step takes and returns: a name for the batch, and counts for people."""

    run_id: str
    batch_id: str
    source_id: str
    counts: dict[str, int] = Field(default_factory=dict)


class StoredItem(Model):
    """How a version's item was listed, kept with the version so that it can be worked on again."""

    item: Item
    container_key: str | None
    depth: int
    size: int
    """Of its bytes."""


class StoredVersion(Model):
    """A published version that is worked on again, from its stored bytes."""

    version: Annotated[int, Field(ge=1)]
    doc_sha256: Sha256
    size: int
    received_at: UtcDatetime
    run_id: str
    """The run that had last worked on it when this was planned: if that is another one later, the
    version has been brought up to date by that run."""


class PlannedItem(Model):
    """An item to work on, and why."""

    item: Item
    doc_id: str
    change: Literal["new", "changed"]
    container_key: str | None = None
    """The listed item that a member lies in, at whatever depth; None for what is listed itself."""
    depth: Annotated[int, Field(ge=0)] = 0
    """In how many documents it lies."""
    is_newcomer: bool = False
    """Whether its key was never listed before and is its document's: it may be a renamed item."""
    renamed_from: str | None = None
    """Key under which the source listed the same bytes before; the document stays the same."""
    stored: StoredVersion | None = None
    """None for what a source lists."""


class Departed(Model):
    """An indexed item that its source no longer lists and that may have been renamed."""

    source_key: str
    doc_id: str
    doc_sha256: Sha256
    size: int | None = None
    """Of its bytes, which newcomers have to have; None while it was not looked up."""


class SourcePlan(Model):
    """What listing one source found, compared with the catalogue."""

    run_id: str
    source_id: str
    listed: int
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    forgotten: int = 0
    """Items that are left out because they, or their client, were erased for good."""
    failed: tuple[ListingProblem, ...] = ()
    batches: tuple[str, ...] = ()
    retire: tuple[str, ...] = ()
    """Documents whose every item is gone."""
    restore: tuple[str, ...] = ()
    """Retired documents that are listed again, or whose container is."""
    gone: tuple[str, ...] = ()
    """Source keys that are no longer listed, with those of their members."""
    awaited: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """By batch, the keys out of ``gone`` that an item of the batch may be the new name of."""
    alerts: tuple[str, ...] = ()


class Refusal(Model):
    """Why an item or a document is in quarantine."""

    source_id: str
    source_key: str
    doc_id: str | None
    stage: Stage
    code: str
    message: str
    evidence: dict[str, str] = Field(default_factory=dict)
    fingerprint: str | None = None
    """State of the item that was refused; None if it should be tried again at the next run."""
    stored: int | None = None
    """Number of the stored version that was worked on again: what is published of it stays."""


class FetchedItem(Model):
    """An item whose bytes are in the vault."""

    planned: PlannedItem
    doc_sha256: Sha256
    size: int
    media_type: str | None
    """As the source declares it, parameters included; None where it doesn't say."""
    received_at: UtcDatetime


class ExtractedVersion(Model):
    """A version whose text is fixed."""

    fetched: FetchedItem
    version: int
    extraction_uri: str
    text_sha256: Sha256
    title: str
    effective_from: UtcDatetime
    effective_basis: EffectiveBasis
    effective_evidence: DateEvidence | None = None
    """What the date was read from, where it was read from the file."""
    warnings: tuple[ExtractionWarning, ...] = ()
    """What reading the document found."""


class ChunkedVersion(Model):
    """A version and where its chunks and payloads are."""

    extracted: ExtractedVersion
    payloads_uri: str
    chunks: int


class Batch(Model):
    """The items one task instance works on; all versions of a document are in one batch."""

    run_id: str
    batch_id: str
    source_id: str
    items: tuple[PlannedItem, ...]
    departed: tuple[Departed, ...] = ()
    """Items that are no longer listed, and that one of these may be the new name of."""


class ChunkRecord(Model):
    """A chunk on its way into the index: its payload, and what only the gate needs."""

    payload: Payload
    tokens: int
    context: str | None
    """Header row of the table that the chunk continues."""


class FetchResult(Model):
    """What the fetch step made of a batch."""

    fetched: tuple[FetchedItem, ...] = ()
    refused: tuple[Refusal, ...] = ()
    refetched: int = 0
    """Stored versions whose bytes the vault had lost, and that were fetched again."""


class ExtractResult(Model):
    """What the extract step made of a batch."""

    extracted: tuple[ExtractedVersion, ...] = ()
    refused: tuple[Refusal, ...] = ()
    opened: tuple[FetchedItem, ...] = ()
    """Archives without a text, whose members are items."""
    members: int = 0
    """New and changed files inside documents, at whatever depth; they are extracted, opened or
    refused like items that are listed."""
    members_gone: tuple[str, ...] = ()
    """Source keys of members that their container no longer has."""
    retire: tuple[str, ...] = ()
    """Documents of the members that are gone."""
    restore: tuple[str, ...] = ()
    """Retired documents of members that are there again."""
    reread: int = 0
    """Documents that were read now, and not found read from before."""
    pages_recognised: int = 0
    """Pages with words from OCR in what was read now. Of those, pages whose image was read before
    took their words from the cache."""


class ChunkResult(Model):
    """What the chunk step made of a batch."""

    chunked: tuple[ChunkedVersion, ...] = ()
    refused: tuple[Refusal, ...] = ()


class GateStep(Model):
    """What the gate let through, and what it kept back."""

    passed: tuple[ChunkedVersion, ...] = ()
    refused: tuple[Refusal, ...] = ()
    chunks_refused: int = 0
    stopped: bool = False
    """True if so much failed that the whole batch was kept back; all of it is in quarantine."""
    result_uri: str | None = None
    """The gate's full result; None where no document of the batch got as far."""


class IndexResult(Model):
    """What was written to the index for a batch."""

    loaded: tuple[ChunkedVersion, ...] = ()
    points_new: int = 0
    points_reused: int = 0
    points_patched: int = 0
    """Reused points that took other terms or metadata; their vectors stayed."""
    embedded: int = 0
    """Texts that went through the embedding model now."""
    collection: str = ""
    """Where they were written to, at least the first of them."""


class AuditResult(Model):
    """Which versions were read back and proved, point by point."""

    proved: tuple[ChunkedVersion, ...] = ()
    refused: tuple[Refusal, ...] = ()
    points_proved: int = 0
    points_withdrawn: int = 0
    """Points of refused versions, taken out of the index again."""


class PublishedVersion(Model):
    """A version that readers can now see."""

    doc_id: str
    version: int
    change: Literal["new", "changed"]


class PublishResult(Model):
    """What became visible with a batch."""

    published: tuple[PublishedVersion, ...] = ()
    points_redated: int = 0
    """Points that took other dates, those of the documents' other versions included."""
    points_deleted: int = 0
    """Points that no version has any more."""


class RetireResult(Model):
    """Documents of one source that left or came back."""

    retired: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    points_retired: int = 0


class SweptSource(Model):
    """Documents of one source whose licence ended, or is valid again."""

    retired: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    erased: int = 0
    points_retired: int = 0


class SweepResult(Model):
    """What the sweep took back and brought back, by source."""

    sources: dict[str, SweptSource] = Field(default_factory=dict)


class EraseResult(Model):
    """What was erased because its source no longer lists it."""

    documents: dict[str, int] = Field(default_factory=dict)
    """How many by source, with those inside them."""
    resumed: int = 0
    """Erasures of earlier that were taken to their end."""


class DiscardedSource(Model):
    """Superseded versions of one source that its policy no longer keeps."""

    versions: int = 0
    points: int = 0


class DiscardResult(Model):
    """What was taken out of the index because it was superseded for long enough, by source."""

    sources: dict[str, DiscardedSource] = Field(default_factory=dict)


class RecheckResult(Model):
    """What reading back a share of the published points found."""

    versions: int
    points: int
    findings: tuple[str, ...] = ()
    """What can no longer be proved, in sentences for people."""


class BatchFailure(Model):
    """Why a batch went no further."""

    stage: Stage
    code: str
    message: str


class SourceHealth(Model):
    """When a source was last listed, and whether that is too long ago."""

    source_id: str
    listed_at: UtcDatetime | None
    """None if it never was."""
    entries: int | None
    """Items and problems of that listing."""
    age_hours: float | None
    """Since then."""
    stale: bool
    """True if it was never listed, or longer ago than ``stale_after_hours``."""
    stale_after_hours: float
    failed_at: UtcDatetime | None
    """When it last could not be listed; None once it has been listed again."""
    error: str | None


class LedgerLine(Model):
    """One source's account of a run."""

    source_id: str
    listed: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    forgotten: int = 0
    """Items that are left out because they, or their client, were erased for good."""
    failed: int = 0
    members: int = 0
    """New and changed files inside documents; what is unchanged in a changed one doesn't count."""
    opened: int = 0
    """Archives, which have no text of their own: nothing is published of them but their members."""
    extracted: int = 0
    quarantined: int = 0
    """Items and documents that ended in quarantine, those that failed included."""
    retired: int = 0
    erased: int = 0
    """Documents that were erased: no longer listed, or their licence has ended."""
    discarded: int = 0
    """Superseded versions that were taken out of the index, as the source's policy says."""
    chunks: int = 0
    chunks_quarantined: int = 0
    points_new: int = 0
    points_reused: int = 0
    points_retired: int = 0
    published: int = 0
    pages_recognised: int = 0
    """Pages with words from OCR in the documents that were read in this run, cached ones too."""
    embedded: int = 0
    """Texts that went through the embedding model in this run."""
    error: str | None = None
    """Why the source could not be listed or finished; None where all went well."""
    stopped_in: tuple[Stage, ...] = ()
    """Stages in which the listing or a batch went no further."""

    @computed_field  # type: ignore[prop-decorator]  # pydantic's documented use of property
    @property
    def balanced(self) -> bool:
        """True if everything that came in is accounted for (guarantee 7)."""
        refused_after_fetch = self.quarantined - self.failed
        return (
            "plan" not in self.stopped_in
            and self.listed
            == self.new + self.changed + self.unchanged + self.forgotten + self.failed
            and self.new + self.changed + self.members
            == self.published + refused_after_fetch + self.opened
            and self.chunks == self.points_new + self.points_reused + self.chunks_quarantined
        )


class Ledger(Model):
    """A run's accounts, one line a source."""

    run_id: str
    started_at: UtcDatetime
    finished_at: UtcDatetime | None = None
    lines: tuple[LedgerLine, ...] = ()
    alerts: tuple[str, ...] = ()
    unprovable: tuple[str, ...] = ()
    """Published points that were read back and can no longer be proved."""
    points_rechecked: int = 0
    """Points published by earlier runs that were read back and proved again."""

    @computed_field  # type: ignore[prop-decorator]  # pydantic's documented use of property
    @property
    def balanced(self) -> bool:
        """True if every source's line balances and at least one source was listed."""
        return bool(self.lines) and all(line.balanced for line in self.lines)

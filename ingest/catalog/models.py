"""The tables. What they look like in a database is up to the migrations, which a test compares."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import (
    CheckConstraint,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    LargeBinary,
    MetaData,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from ingest.catalog.types import FreeText, JsonObject, UtcDateTime
from schemas.base import OPEN_END

OPEN_OF_ITEM = text("state = 'open' AND version IS NULL")
"""The condition of the index that keeps one open quarantine entry per item and reason."""

OPEN_OF_VERSION = text("state = 'open' AND version IS NOT NULL")
"""The same per stored version, item and reason."""

FILLING = text("state = 'filling'")
"""The condition of the index that keeps one rebuild under way per alias."""


class Base(DeclarativeBase):
    """Common to all tables: names of constraints, and column types by annotation."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map: ClassVar[dict[Any, Any]] = {
        str: Text(),
        datetime: UtcDateTime(),
        dict[str, Any]: JsonObject(),
    }


class DocumentRow(Base):
    """A document; ``doc_id`` is derived from source and key and never changes.

    ``document_key`` does when its item is renamed: it is what the source calls it now.
    """

    __tablename__ = "documents"
    __table_args__ = (UniqueConstraint("source_id", "document_key"),)

    doc_id: Mapped[str] = mapped_column(primary_key=True)
    source_id: Mapped[str]
    document_key: Mapped[str]
    title: Mapped[str] = mapped_column(FreeText())
    created_at: Mapped[datetime]


class AliasRow(Base):
    """The key of a document whose id is not derived from it: of an item that was renamed, or that
    has the former name of one."""

    __tablename__ = "document_aliases"
    __table_args__ = (Index(None, "doc_id"),)

    source_id: Mapped[str] = mapped_column(primary_key=True)
    document_key: Mapped[str] = mapped_column(primary_key=True)
    doc_id: Mapped[str] = mapped_column(ForeignKey("documents.doc_id"))
    created_at: Mapped[datetime]


class SourceRow(Base):
    """How listing a source went, the last time that it did and the last time that it did not."""

    __tablename__ = "sources"

    source_id: Mapped[str] = mapped_column(primary_key=True)
    listed_at: Mapped[datetime | None]
    entries: Mapped[int | None]
    """Items and problems of that listing."""
    failed_at: Mapped[datetime | None]
    """NULL once it has been listed again."""
    error: Mapped[str | None] = mapped_column(FreeText())


class ErasureRow(Base):
    """A document or client that was forgotten.

    ``subject`` is the document's id, or the SHA-256 of the client's: the name itself is forgotten.
    """

    __tablename__ = "erasures"
    __table_args__ = (
        CheckConstraint("kind IN ('document', 'client')", name="kind"),
        Index(None, "kind", "subject"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str]
    subject: Mapped[str]
    reason: Mapped[str] = mapped_column(FreeText())
    requested_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    """NULL while it is under way: a run that finds it so takes it to its end."""
    lasting: Mapped[bool]
    """Whether it stays out although its source lists it again."""
    receipt: Mapped[dict[str, Any] | None] = mapped_column(JsonObject())
    """While it is under way, what there is to do; of a further document that a request keeps out,
    the number of that request."""


class ItemRow(Base):
    """An item as it was last worked on: one that a source lists, or a file inside such a one.

    ``fingerprint`` is NULL after a retry was asked for, or while a member is being worked on: no
    item's state equals it, so the next run works on it again. ``doc_sha256`` and ``version`` name
    what is indexed of it; an archive that was opened has no version.
    """

    __tablename__ = "items"
    __table_args__ = (
        CheckConstraint(
            "state IN ('found', 'opened', 'indexed', 'quarantined', 'gone')", name="state"
        ),
        Index(None, "doc_id"),
        Index(None, "source_id", "container_key"),
    )

    source_id: Mapped[str] = mapped_column(primary_key=True)
    source_key: Mapped[str] = mapped_column(primary_key=True)
    container_key: Mapped[str | None]
    """The listed item that a member lies in, at whatever depth; NULL for what is listed itself."""
    doc_id: Mapped[str]
    fingerprint: Mapped[str | None]
    state: Mapped[str]
    listed: Mapped[bool]
    """Whether the latest listing had it; of a member, whether its container had it when it was
    last read. A gone item that is listed again stays gone until its document has been restored,
    and a member that is no longer there is live until its document has been retired, so that a
    crash in between is made good by the next run."""
    doc_sha256: Mapped[str | None]
    version: Mapped[int | None]
    pipeline_version: Mapped[str]
    first_seen: Mapped[datetime]
    last_seen: Mapped[datetime]
    """When it was last worked on, found in its container, or found listed again after it was gone;
    a listing that has it as it was writes nothing. ``sources`` says when that was."""
    run_id: Mapped[str]


class VersionRow(Base):
    """A version of a document, from its reservation on.

    staged: no reader has seen it; published; withdrawn: it was published, and is held never to have
    been in force; discarded: it was published, keeps its interval, and its points are gone;
    abandoned: its item moved on before it was published.
    """

    __tablename__ = "versions"
    __table_args__ = (
        CheckConstraint(
            "state IN ('staged', 'published', 'withdrawn', 'discarded', 'abandoned')",
            name="state",
        ),
        CheckConstraint("version >= 1", name="version"),
        CheckConstraint("effective_from <= effective_until", name="interval"),
        CheckConstraint(
            "state IN ('staged', 'abandoned') OR published_at IS NOT NULL",
            name="published_has_date",
        ),
        Index(None, "unsettled_at"),
    )

    doc_id: Mapped[str] = mapped_column(ForeignKey("documents.doc_id"), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    doc_sha256: Mapped[str]
    text_sha256: Mapped[str]
    version_label: Mapped[str | None] = mapped_column(FreeText())
    title: Mapped[str] = mapped_column(FreeText())
    source_key: Mapped[str]
    source_uri: Mapped[str] = mapped_column(FreeText())
    media_type: Mapped[str]
    licence_id: Mapped[str]
    confidentiality: Mapped[str]
    client_id: Mapped[str | None]
    effective_from: Mapped[datetime]
    effective_until: Mapped[datetime] = mapped_column(default=OPEN_END)
    effective_basis: Mapped[str]
    effective_evidence: Mapped[dict[str, Any] | None] = mapped_column(JsonObject())
    correction: Mapped[dict[str, Any] | None] = mapped_column(JsonObject())
    """An effective date that a person set, why, and the date that it stands in for."""
    withdrawn: Mapped[bool] = mapped_column(default=False)
    """Whether its source says that it never held."""
    withdrawal: Mapped[dict[str, Any] | None] = mapped_column(JsonObject())
    """Why a person withdrew it, and when."""
    received_at: Mapped[datetime]
    state: Mapped[str] = mapped_column(default="staged")
    published_at: Mapped[datetime | None]
    retired_at: Mapped[datetime] = mapped_column(default=OPEN_END)
    licence_valid_until: Mapped[datetime] = mapped_column(default=OPEN_END)
    """Of its licence as the item's own terms narrow it."""
    extraction_uri: Mapped[str]
    payloads_uri: Mapped[str | None]
    chunk_count: Mapped[int] = mapped_column(default=0)
    run_id: Mapped[str]
    item: Mapped[dict[str, Any] | None] = mapped_column(JsonObject())
    """The item as it was listed when the version was last worked on, so that it can be worked on
    again without its source."""
    pending: Mapped[dict[str, Any] | None] = mapped_column(JsonObject())
    """New metadata of a published version by the run that found it, until that run publishes the
    version with it or refuses it."""
    unsettled_at: Mapped[datetime | None]
    """Since when the index may say something else than this row and its intervals; NULL where it
    is known to say the same."""


class IntervalRow(Base):
    """What the catalogue held a version's interval to be, and from when until when it did."""

    __tablename__ = "interval_history"
    __table_args__ = (
        ForeignKeyConstraint(["doc_id", "version"], ["versions.doc_id", "versions.version"]),
        CheckConstraint("effective_from <= effective_until", name="interval"),
        CheckConstraint("recorded_at <= superseded_at", name="recorded"),
        Index(None, "doc_id", "version"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    doc_id: Mapped[str]
    version: Mapped[int]
    effective_from: Mapped[datetime]
    effective_until: Mapped[datetime]
    recorded_at: Mapped[datetime]
    superseded_at: Mapped[datetime] = mapped_column(default=OPEN_END)


class RunRow(Base):
    """A run, with its ledger once it is over."""

    __tablename__ = "runs"
    __table_args__ = (Index(None, "started_at"),)

    run_id: Mapped[str] = mapped_column(primary_key=True)
    started_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
    ledger: Mapped[dict[str, Any] | None]


class MetricRow(Base):
    """What was measured of a run, of one source or (``source_id`` empty) of all together."""

    __tablename__ = "run_metrics"
    __table_args__ = (
        CheckConstraint("state IN ('learning', 'ok', 'warn', 'stop')", name="state"),
        Index(None, "source_id", "name"),
    )

    run_id: Mapped[str] = mapped_column(primary_key=True)
    source_id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[float]
    low: Mapped[float | None]
    """The band that earlier runs give; NULL on a side where any value will do."""
    high: Mapped[float | None]
    state: Mapped[str]
    """learning: too few earlier runs for a band; warn and stop: outside it."""


class QuarantineRow(Base):
    """Something that was refused, and why.

    At most one open entry per item and reason, and for each of its stored versions.
    """

    __tablename__ = "quarantine"
    __table_args__ = (
        CheckConstraint("state IN ('open', 'dismissed', 'closed')", name="state"),
        CheckConstraint("level IN ('item', 'document', 'chunk')", name="level"),
        Index(
            "uq_quarantine_open",
            "source_id",
            "source_key",
            "code",
            unique=True,
            sqlite_where=OPEN_OF_ITEM,
            postgresql_where=OPEN_OF_ITEM,
        ),
        Index(
            "uq_quarantine_open_version",
            "source_id",
            "source_key",
            "code",
            "version",
            unique=True,
            sqlite_where=OPEN_OF_VERSION,
            postgresql_where=OPEN_OF_VERSION,
        ),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    source_id: Mapped[str]
    source_key: Mapped[str]
    doc_id: Mapped[str | None]
    version: Mapped[int | None]
    """Of the stored version that was worked on again; NULL for what its source lists."""
    level: Mapped[str]
    stage: Mapped[str]
    code: Mapped[str]
    message: Mapped[str] = mapped_column(FreeText())
    evidence: Mapped[dict[str, Any]]
    state: Mapped[str] = mapped_column(default="open")
    dismiss_reason: Mapped[str | None] = mapped_column(FreeText())
    first_run: Mapped[str]
    last_run: Mapped[str]
    first_seen: Mapped[datetime]
    last_seen: Mapped[datetime]
    times_seen: Mapped[int] = mapped_column(default=1)


class EmbeddingRow(Base):
    """A text's vector by a model: float32, little-endian."""

    __tablename__ = "embeddings"

    model: Mapped[str] = mapped_column(primary_key=True)
    text_sha256: Mapped[str] = mapped_column(primary_key=True)
    dimension: Mapped[int]
    vector: Mapped[bytes] = mapped_column(LargeBinary())


class RebuildRow(Base):
    """A new collection for what is stored.

    filling: readers use the former one; switched: they use, or used, this one; abandoned: they
    never did. The last one that was switched is the one that is written to.
    """

    __tablename__ = "rebuilds"
    __table_args__ = (
        CheckConstraint("state IN ('filling', 'switched', 'abandoned')", name="state"),
        CheckConstraint("state != 'switched' OR switched_at IS NOT NULL", name="switched_has_date"),
        Index(
            "uq_rebuilds_filling",
            "alias",
            unique=True,
            sqlite_where=FILLING,
            postgresql_where=FILLING,
        ),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    alias: Mapped[str]
    collection: Mapped[str]
    former: Mapped[str | None]
    """The collection that readers turn away from; NULL once it has been dropped."""
    reason: Mapped[str] = mapped_column(FreeText())
    state: Mapped[str] = mapped_column(default="filling")
    started_at: Mapped[datetime]
    switched_at: Mapped[datetime | None]
    """Since when it is written to."""
    turned_at: Mapped[datetime | None]
    """When readers' alias followed."""
    former_until: Mapped[datetime | None]
    """From then on the former collection may be dropped."""


class RebuiltVersionRow(Base):
    """A version whose points are in a collection that is being filled."""

    __tablename__ = "rebuilt_versions"

    rebuild_id: Mapped[int] = mapped_column(ForeignKey("rebuilds.id"), primary_key=True)
    doc_id: Mapped[str] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    stamp: Mapped[str]
    """Of all that its points were made of; another one means that they are to be made again."""
    payloads_uri: Mapped[str]
    chunk_count: Mapped[int]

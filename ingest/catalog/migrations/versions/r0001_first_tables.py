"""Documents, items, versions with their intervals, runs, quarantine and embeddings."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_INSTANT = sa.DateTime(timezone=True)
_JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "documents",
        sa.Column("doc_id", sa.Text(), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("document_key", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("created_at", _INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("doc_id", name=op.f("pk_documents")),
        sa.UniqueConstraint(
            "source_id", "document_key", name=op.f("uq_documents_source_id_document_key")
        ),
    )
    op.create_table(
        "items",
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("source_key", sa.Text(), nullable=False),
        sa.Column("doc_id", sa.Text(), nullable=False),
        sa.Column("fingerprint", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("listed", sa.Boolean(), nullable=False),
        sa.Column("doc_sha256", sa.Text(), nullable=True),
        sa.Column("version", sa.Integer(), nullable=True),
        sa.Column("pipeline_version", sa.Text(), nullable=False),
        sa.Column("first_seen", _INSTANT, nullable=False),
        sa.Column("last_seen", _INSTANT, nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("source_id", "source_key", name=op.f("pk_items")),
        sa.CheckConstraint(
            "state IN ('indexed', 'quarantined', 'gone')", name=op.f("ck_items_state")
        ),
    )
    op.create_index(op.f("ix_items_doc_id"), "items", ["doc_id"])
    op.create_table(
        "versions",
        sa.Column("doc_id", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("doc_sha256", sa.Text(), nullable=False),
        sa.Column("text_sha256", sa.Text(), nullable=False),
        sa.Column("version_label", sa.Text(), nullable=True),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("source_key", sa.Text(), nullable=False),
        sa.Column("source_uri", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("licence_id", sa.Text(), nullable=False),
        sa.Column("confidentiality", sa.Text(), nullable=False),
        sa.Column("client_id", sa.Text(), nullable=True),
        sa.Column("effective_from", _INSTANT, nullable=False),
        sa.Column("effective_until", _INSTANT, nullable=False),
        sa.Column("effective_is_receipt", sa.Boolean(), nullable=False),
        sa.Column("received_at", _INSTANT, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("published_at", _INSTANT, nullable=True),
        sa.Column("retired_at", _INSTANT, nullable=False),
        sa.Column("extraction_uri", sa.Text(), nullable=False),
        sa.Column("payloads_uri", sa.Text(), nullable=True),
        sa.Column("chunk_count", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("pending", _JSON, nullable=True),
        sa.PrimaryKeyConstraint("doc_id", "version", name=op.f("pk_versions")),
        sa.ForeignKeyConstraint(["doc_id"], ["documents.doc_id"], name=op.f("fk_versions_doc_id")),
        sa.CheckConstraint(
            "state IN ('staged', 'published', 'withdrawn')", name=op.f("ck_versions_state")
        ),
        sa.CheckConstraint("version >= 1", name=op.f("ck_versions_version")),
        sa.CheckConstraint("effective_from <= effective_until", name=op.f("ck_versions_interval")),
        sa.CheckConstraint(
            "state <> 'published' OR published_at IS NOT NULL",
            name=op.f("ck_versions_published_has_date"),
        ),
    )
    op.create_table(
        "interval_history",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("doc_id", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("effective_from", _INSTANT, nullable=False),
        sa.Column("effective_until", _INSTANT, nullable=False),
        sa.Column("recorded_at", _INSTANT, nullable=False),
        sa.Column("superseded_at", _INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_interval_history")),
        sa.ForeignKeyConstraint(
            ["doc_id", "version"],
            ["versions.doc_id", "versions.version"],
            name=op.f("fk_interval_history_doc_id_version"),
        ),
        sa.CheckConstraint(
            "effective_from <= effective_until", name=op.f("ck_interval_history_interval")
        ),
        sa.CheckConstraint(
            "recorded_at <= superseded_at", name=op.f("ck_interval_history_recorded")
        ),
    )
    op.create_index(
        op.f("ix_interval_history_doc_id_version"), "interval_history", ["doc_id", "version"]
    )
    op.create_table(
        "runs",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("started_at", _INSTANT, nullable=False),
        sa.Column("finished_at", _INSTANT, nullable=True),
        sa.Column("ledger", _JSON, nullable=True),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_runs")),
    )
    op.create_index(op.f("ix_runs_started_at"), "runs", ["started_at"])
    op.create_table(
        "quarantine",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("source_key", sa.Text(), nullable=False),
        sa.Column("doc_id", sa.Text(), nullable=True),
        sa.Column("level", sa.Text(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("code", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("evidence", _JSON, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("dismiss_reason", sa.Text(), nullable=True),
        sa.Column("first_run", sa.Text(), nullable=False),
        sa.Column("last_run", sa.Text(), nullable=False),
        sa.Column("first_seen", _INSTANT, nullable=False),
        sa.Column("last_seen", _INSTANT, nullable=False),
        sa.Column("times_seen", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_quarantine")),
        sa.CheckConstraint(
            "state IN ('open', 'dismissed', 'closed')", name=op.f("ck_quarantine_state")
        ),
        sa.CheckConstraint(
            "level IN ('item', 'document', 'chunk')", name=op.f("ck_quarantine_level")
        ),
    )
    op.create_index(
        "uq_quarantine_open",
        "quarantine",
        ["source_id", "source_key", "code"],
        unique=True,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_table(
        "embeddings",
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("text_sha256", sa.Text(), nullable=False),
        sa.Column("dimension", sa.Integer(), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("model", "text_sha256", name=op.f("pk_embeddings")),
    )


def downgrade() -> None:
    """Drop the tables, with all that is in them."""
    for table in (
        "embeddings",
        "quarantine",
        "runs",
        "interval_history",
        "versions",
        "items",
        "documents",
    ):
        op.drop_table(table)

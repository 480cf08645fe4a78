"""How each source fared, addresses that a document had, ends of licences, and what was erased."""

import sqlalchemy as sa
from alembic import op

from ingest.catalog.types import FreeText, JsonObject, UtcDateTime
from schemas.base import OPEN_END

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the three tables, and the instant at which a version's licence ends."""
    op.create_table(
        "sources",
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("listed_at", UtcDateTime(), nullable=True),
        sa.Column("entries", sa.Integer(), nullable=True),
        sa.Column("failed_at", UtcDateTime(), nullable=True),
        sa.Column("error", FreeText(), nullable=True),
        sa.PrimaryKeyConstraint("source_id", name=op.f("pk_sources")),
    )
    op.create_table(
        "document_aliases",
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("document_key", sa.Text(), nullable=False),
        sa.Column("doc_id", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["doc_id"], ["documents.doc_id"], name=op.f("fk_document_aliases_doc_id")
        ),
        sa.PrimaryKeyConstraint("source_id", "document_key", name=op.f("pk_document_aliases")),
    )
    op.create_index(op.f("ix_document_aliases_doc_id"), "document_aliases", ["doc_id"])
    op.create_table(
        "erasures",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("reason", FreeText(), nullable=False),
        sa.Column("requested_at", UtcDateTime(), nullable=False),
        sa.Column("finished_at", UtcDateTime(), nullable=True),
        sa.Column("lasting", sa.Boolean(), nullable=False),
        sa.Column("receipt", JsonObject(), nullable=True),
        sa.CheckConstraint("kind IN ('document', 'client')", name=op.f("ck_erasures_kind")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_erasures")),
    )
    op.create_index(op.f("ix_erasures_kind_subject"), "erasures", ["kind", "subject"])
    with op.batch_alter_table("versions") as batch:
        batch.add_column(sa.Column("licence_valid_until", UtcDateTime(), nullable=True))
    versions = sa.table("versions", sa.column("licence_valid_until", UtcDateTime()))
    op.execute(versions.update().values(licence_valid_until=OPEN_END))
    with op.batch_alter_table("versions") as batch:
        batch.alter_column("licence_valid_until", nullable=False)


def downgrade() -> None:
    """Drop them again; what was erased stays erased, but may then be pulled in anew."""
    with op.batch_alter_table("versions") as batch:
        batch.drop_column("licence_valid_until")
    op.drop_table("erasures")
    op.drop_table("document_aliases")
    op.drop_table("sources")

"""Rebuilds of the index into a new collection, and how far they are."""

import sqlalchemy as sa
from alembic import op

from ingest.catalog.types import FreeText, UtcDateTime

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_FILLING = sa.text("state = 'filling'")


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "rebuilds",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("alias", sa.Text(), nullable=False),
        sa.Column("collection", sa.Text(), nullable=False),
        sa.Column("former", sa.Text(), nullable=True),
        sa.Column("reason", FreeText(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=False),
        sa.Column("switched_at", UtcDateTime(), nullable=True),
        sa.Column("turned_at", UtcDateTime(), nullable=True),
        sa.Column("former_until", UtcDateTime(), nullable=True),
        sa.CheckConstraint(
            "state IN ('filling', 'switched', 'abandoned')", name=op.f("ck_rebuilds_state")
        ),
        sa.CheckConstraint(
            "state != 'switched' OR switched_at IS NOT NULL",
            name=op.f("ck_rebuilds_switched_has_date"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rebuilds")),
    )
    op.create_index(
        "uq_rebuilds_filling",
        "rebuilds",
        ["alias"],
        unique=True,
        sqlite_where=_FILLING,
        postgresql_where=_FILLING,
    )
    op.create_table(
        "rebuilt_versions",
        sa.Column("rebuild_id", sa.Integer(), nullable=False),
        sa.Column("doc_id", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("stamp", sa.Text(), nullable=False),
        sa.Column("payloads_uri", sa.Text(), nullable=False),
        sa.Column("chunk_count", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["rebuild_id"],
            ["rebuilds.id"],
            name=op.f("fk_rebuilt_versions_rebuild_id"),
        ),
        sa.PrimaryKeyConstraint(
            "rebuild_id", "doc_id", "version", name=op.f("pk_rebuilt_versions")
        ),
    )


def downgrade() -> None:
    """Drop them again."""
    op.drop_table("rebuilt_versions")
    op.drop_index("uq_rebuilds_filling", table_name="rebuilds")
    op.drop_table("rebuilds")

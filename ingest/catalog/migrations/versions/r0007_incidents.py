"""Incidents: what a person should know of, and whether they were told."""

import sqlalchemy as sa
from alembic import op

from ingest.catalog.types import FreeText, UtcDateTime

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_OPEN = sa.text("closed_at IS NULL")


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "incidents",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("message", FreeText(), nullable=False),
        sa.Column("opened_at", UtcDateTime(), nullable=False),
        sa.Column("seen_at", UtcDateTime(), nullable=False),
        sa.Column("closed_at", UtcDateTime(), nullable=True),
        sa.Column("told_at", UtcDateTime(), nullable=True),
        sa.Column("end_told_at", UtcDateTime(), nullable=True),
        sa.CheckConstraint(
            "end_told_at IS NULL OR closed_at IS NOT NULL", name=op.f("ck_incidents_end")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_incidents")),
    )
    op.create_index(
        "uq_incidents_open",
        "incidents",
        ["kind", "subject"],
        unique=True,
        sqlite_where=_OPEN,
        postgresql_where=_OPEN,
    )


def downgrade() -> None:
    """Drop it again."""
    op.drop_index("uq_incidents_open", table_name="incidents")
    op.drop_table("incidents")

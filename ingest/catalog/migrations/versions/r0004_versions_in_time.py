"""How effective dates are known, corrections, withdrawals, and what the index has yet to take."""

import sqlalchemy as sa
from alembic import op

from ingest.catalog.types import JsonObject, UtcDateTime

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_VERSIONS = sa.table(
    "versions",
    sa.column("state", sa.Text()),
    sa.column("effective_is_receipt", sa.Boolean()),
    sa.column("effective_basis", sa.Text()),
    sa.column("withdrawn", sa.Boolean()),
)


def upgrade() -> None:
    """Add the columns; what was called withdrawn so far was never published, and is abandoned."""
    with op.batch_alter_table("versions") as batch:
        batch.drop_constraint(op.f("ck_versions_state"), type_="check")
        batch.drop_constraint(op.f("ck_versions_published_has_date"), type_="check")
        batch.add_column(sa.Column("effective_basis", sa.Text(), nullable=True))
        batch.add_column(sa.Column("effective_evidence", JsonObject(), nullable=True))
        batch.add_column(sa.Column("correction", JsonObject(), nullable=True))
        batch.add_column(sa.Column("withdrawn", sa.Boolean(), nullable=True))
        batch.add_column(sa.Column("withdrawal", JsonObject(), nullable=True))
        batch.add_column(sa.Column("item", JsonObject(), nullable=True))
        batch.add_column(sa.Column("unsettled_at", UtcDateTime(), nullable=True))
    op.execute(
        _VERSIONS.update().values(
            effective_basis=sa.case((_VERSIONS.c.effective_is_receipt, "receipt"), else_="source"),
            withdrawn=sa.false(),
        )
    )
    op.execute(_VERSIONS.update().where(_VERSIONS.c.state == "withdrawn").values(state="abandoned"))
    with op.batch_alter_table("versions") as batch:
        batch.drop_column("effective_is_receipt")
        batch.alter_column("effective_basis", nullable=False)
        batch.alter_column("withdrawn", nullable=False)
        batch.create_check_constraint(
            op.f("ck_versions_state"),
            "state IN ('staged', 'published', 'withdrawn', 'discarded', 'abandoned')",
        )
        batch.create_check_constraint(
            op.f("ck_versions_published_has_date"),
            "state IN ('staged', 'abandoned') OR published_at IS NOT NULL",
        )
        batch.create_index(op.f("ix_versions_unsettled_at"), ["unsettled_at"])


def downgrade() -> None:
    """Drop them again; withdrawn and discarded versions count as published there."""
    with op.batch_alter_table("versions") as batch:
        batch.drop_index(op.f("ix_versions_unsettled_at"))
        batch.drop_constraint(op.f("ck_versions_state"), type_="check")
        batch.drop_constraint(op.f("ck_versions_published_has_date"), type_="check")
        batch.add_column(sa.Column("effective_is_receipt", sa.Boolean(), nullable=True))
    op.execute(
        _VERSIONS.update().values(
            effective_is_receipt=_VERSIONS.c.effective_basis == "receipt",
            state=sa.case(
                (_VERSIONS.c.state == "abandoned", "withdrawn"),
                (_VERSIONS.c.state == "staged", "staged"),
                else_="published",
            ),
        )
    )
    with op.batch_alter_table("versions") as batch:
        for name in (
            "effective_basis",
            "effective_evidence",
            "correction",
            "withdrawn",
            "withdrawal",
            "item",
            "unsettled_at",
        ):
            batch.drop_column(name)
        batch.alter_column("effective_is_receipt", nullable=False)
        batch.create_check_constraint(
            op.f("ck_versions_state"), "state IN ('staged', 'published', 'withdrawn')"
        )
        batch.create_check_constraint(
            op.f("ck_versions_published_has_date"),
            "state <> 'published' OR published_at IS NOT NULL",
        )

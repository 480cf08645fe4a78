"""What was measured of each run, and a quarantine entry for each stored version."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_OPEN = "state = 'open'"
_OF_ITEM = sa.text(f"{_OPEN} AND version IS NULL")
_OF_VERSION = sa.text(f"{_OPEN} AND version IS NOT NULL")
_KEY = ["source_id", "source_key", "code"]


def upgrade() -> None:
    """Add the table, the column, and an index for each kind of entry."""
    op.create_table(
        "run_metrics",
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("source_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Double(), nullable=False),
        sa.Column("low", sa.Double(), nullable=True),
        sa.Column("high", sa.Double(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "state IN ('learning', 'ok', 'warn', 'stop')", name=op.f("ck_run_metrics_state")
        ),
        sa.PrimaryKeyConstraint("run_id", "source_id", "name", name=op.f("pk_run_metrics")),
    )
    op.create_index(
        op.f("ix_run_metrics_source_id_name"), "run_metrics", ["source_id", "name"], unique=False
    )
    op.add_column("quarantine", sa.Column("version", sa.Integer(), nullable=True))
    op.drop_index("uq_quarantine_open", table_name="quarantine")
    _unique("uq_quarantine_open", _KEY, _OF_ITEM)
    _unique("uq_quarantine_open_version", [*_KEY, "version"], _OF_VERSION)


def downgrade() -> None:
    """Drop them again; of several open entries of an item and reason the first stays open."""
    op.drop_index("uq_quarantine_open_version", table_name="quarantine")
    op.drop_index("uq_quarantine_open", table_name="quarantine")
    op.execute(
        "UPDATE quarantine SET state = 'closed' WHERE state = 'open' AND id NOT IN "
        "(SELECT MIN(id) FROM quarantine WHERE state = 'open' "
        "GROUP BY source_id, source_key, code)"
    )
    op.drop_column("quarantine", "version")
    _unique("uq_quarantine_open", _KEY, sa.text(_OPEN))
    op.drop_index(op.f("ix_run_metrics_source_id_name"), table_name="run_metrics")
    op.drop_table("run_metrics")


def _unique(name: str, columns: list[str], condition: sa.TextClause) -> None:
    op.create_index(
        name,
        "quarantine",
        columns,
        unique=True,
        sqlite_where=condition,
        postgresql_where=condition,
    )

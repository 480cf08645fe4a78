"""Files inside documents are items, each with the listed item that it lies in."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_BEFORE = "state IN ('indexed', 'quarantined', 'gone')"
_STATES = "state IN ('found', 'opened', 'indexed', 'quarantined', 'gone')"


def upgrade() -> None:
    """Add the container's key, and the states of members and of archives."""
    with op.batch_alter_table("items") as items:
        items.add_column(sa.Column("container_key", sa.Text(), nullable=True))
        items.drop_constraint(op.f("ck_items_state"), type_="check")
        items.create_check_constraint(op.f("ck_items_state"), _STATES)
        items.create_index(op.f("ix_items_source_id_container_key"), ["source_id", "container_key"])


def downgrade() -> None:
    """Forget members and opened archives: the release before this one reads neither."""
    op.execute("DELETE FROM items WHERE container_key IS NOT NULL OR state = 'opened'")
    with op.batch_alter_table("items") as items:
        items.drop_index(op.f("ix_items_source_id_container_key"))
        items.drop_constraint(op.f("ck_items_state"), type_="check")
        items.create_check_constraint(op.f("ck_items_state"), _BEFORE)
        items.drop_column("container_key")

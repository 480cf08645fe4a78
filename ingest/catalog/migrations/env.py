"""Run by Alembic for each command; the connection comes from ``ingest.catalog.migrate``.

To write a migration, change ``models.py``, then add a file to ``versions/`` by hand: tests compare
the two on both databases.
"""

from alembic import context

from ingest.catalog.migrate import VERSION_TABLE
from ingest.catalog.models import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    version_table=VERSION_TABLE,
    render_as_batch=True,
    # SQLite can undo CREATE TABLE as well, since the engine begins its transactions itself.
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()

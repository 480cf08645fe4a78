"""Bringing the catalogue's tables up to date, from within the program."""

from __future__ import annotations

import threading
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from ingest.errors import ConfigurationError

VERSION_TABLE = "muniment_catalog_version"
"""Not Alembic's default name, which Airflow uses in its own database: both may share one."""

# Any constant will do, as long as nothing else in the database takes the same lock.
_ADVISORY_LOCK = 0x6D756E696D656E74
_one_at_a_time = threading.Lock()  # Alembic keeps the migration at work in module globals


def is_current(connection: Connection) -> bool:
    """Return whether the tables are those of this release.

    Raises:
        ConfigurationError: ``catalog_newer``.
    """
    context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
    current = context.get_current_revision()
    script = ScriptDirectory.from_config(_config())
    if current is not None and current not in {entry.revision for entry in script.walk_revisions()}:
        raise ConfigurationError(
            "catalog_newer",
            f"The catalogue's tables are of a newer release (revision {current}). Install that "
            "release, or point MUNIMENT_CATALOG_URL to another catalogue.",
        )
    return current == script.get_current_head()


def upgrade(connection: Connection) -> None:
    """Bring the tables up to date within the transaction that ``connection`` is in.

    Several processes may do so at the same time: one does it, the others find it done.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _ADVISORY_LOCK})
    with _one_at_a_time:
        if is_current(connection):
            return
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _config() -> Config:
    config = Config()
    folder = Path(__file__).parent / "migrations"
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config

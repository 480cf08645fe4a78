"""The catalogue: one class whose methods are each one transaction."""

from __future__ import annotations

from ingest.catalog.documents import Documents
from ingest.catalog.embeddings import Embeddings
from ingest.catalog.erasures import Erasures
from ingest.catalog.incidents import Incidents
from ingest.catalog.items import Items
from ingest.catalog.licences import Licences
from ingest.catalog.listings import Listings
from ingest.catalog.locks import Locks
from ingest.catalog.metrics import Metrics
from ingest.catalog.publishing import Publishing
from ingest.catalog.quarantine import Quarantine
from ingest.catalog.rebuilds import Rebuilds
from ingest.catalog.runs import Runs
from ingest.catalog.sources import Sources
from ingest.catalog.traces import Traces
from ingest.catalog.versions import Versions


class Catalog(
    Documents,
    Versions,
    Publishing,
    Items,
    Listings,
    Sources,
    Quarantine,
    Runs,
    Metrics,
    Embeddings,
    Erasures,
    Traces,
    Licences,
    Locks,
    Rebuilds,
    Incidents,
):
    """Which documents, versions, items, runs and refusals there are.

    In SQLite or PostgreSQL, by URL. Every method is one transaction: it happens whole or not at
    all. Any of them may raise ``RetriableError`` (``catalog_locked``, ``catalog_unreachable``),
    ``ConfigurationError`` (``catalog_denied``, ``catalog_not_migrated``) and ``FatalError``
    (``disk_full``, ``catalog_damaged``). Instants are given and taken with their time zone.
    """

    def migrate(self) -> None:
        """Bring the tables to this release; does nothing where they are.

        Raises:
            ConfigurationError: ``catalog_newer`` where a newer release has changed them.
        """
        from ingest.catalog import migrate  # Alembic takes long to import, and most calls end soon

        with self._explained():
            with self.engine.connect() as connection:
                if migrate.is_current(connection):
                    return
            with self._writer.begin() as connection:
                migrate.upgrade(connection)

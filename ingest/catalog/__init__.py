"""The catalogue: which documents, versions, items and runs there are, in SQLite or PostgreSQL."""

from ingest.catalog.catalog import Catalog

__all__ = ["Catalog"]

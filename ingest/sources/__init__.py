"""Sources: one connector a file behind one small protocol, list and fetch."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ingest.sources.credentials import CredentialLookup, from_environment

if TYPE_CHECKING:
    from ingest.configuration import Configuration
    from ingest.sources.base import Connector
    from schemas.source import Source

CONNECTORS = {
    "files": "ingest.sources.files:FilesConnector",
    "csv": "ingest.sources.crm_csv:CsvConnector",
    "jsonl": "ingest.sources.crm_jsonl:JsonLinesConnector",
    "parquet": "ingest.sources.crm_parquet:ParquetConnector",
    "sql": "ingest.sources.crm_sql:SqlConnector",
    "feed": "ingest.sources.feed:FeedConnector",
    "portal": "ingest.sources.portal:PortalConnector",
}
"""Module and class of each connector, by its name in the sources file. Each is imported when a
source asks for it: their libraries take a while to load."""


def connect(
    source: Source,
    configuration: Configuration,
    *,
    credentials: CredentialLookup = from_environment,
    cache: Path | None = None,
) -> Connector:
    """Return the connector for ``source``; nothing is read before it lists or fetches.

    Args:
        source: the configured source.
        configuration: licences, and where relative addresses start.
        credentials: gives the credentials that the source's connection names.
        cache: folder where web pages are kept with what tells whether they changed; without it
            each is read anew.

    Raises:
        ConfigurationError: the address is of a kind that no installed library can read, or there
            are no credentials of the name.
    """
    module, _, name = CONNECTORS[source.connector].partition(":")
    kind = getattr(import_module(module), name)
    return cast("Connector", kind(source, configuration, credentials=credentials, cache=cache))

"""Sources: one connector a file behind one small protocol, list and fetch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from schemas.source import CsvSource, FilesSource, Source

if TYPE_CHECKING:
    from ingest.configuration import Configuration
    from ingest.sources.base import Connector


def connect(source: Source, configuration: Configuration) -> Connector:
    """Return the connector for ``source``; nothing is read before it lists or fetches.

    Raises:
        ConfigurationError: the address is of a kind that no installed library can read.
    """
    if isinstance(source, FilesSource):
        from ingest.sources.files import FilesConnector

        return FilesConnector(source, configuration)
    if isinstance(source, CsvSource):
        from ingest.sources.crm_csv import CsvConnector

        return CsvConnector(source, configuration)
    from ingest.sources.feed import FeedConnector

    return FeedConnector(source, configuration)

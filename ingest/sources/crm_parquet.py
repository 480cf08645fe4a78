"""CRM exports in Parquet: each row is an item."""

# mypy: allow-untyped-calls

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urldefrag

import pyarrow as pa  # type: ignore[import-untyped]  # ships neither stubs nor py.typed
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from ingest.configuration import Configuration
from ingest.errors import ConfigurationError
from ingest.json_values import plain, record_bytes, text_of, value_at
from ingest.sources.base import Fetched, UnlistableError, fingerprint, state_of
from ingest.sources.credentials import CredentialLookup, credentials_of
from ingest.sources.location import Location, passing, reading_again, steady, unavailable
from ingest.sources.records import JSON_RECORD, RecordCopy, RecordFields, RecordItems
from schemas.base import sha256_bytes
from schemas.source import Item, ListingEntry, ParquetSource

_ROWS = 1_000
"""Rows that are held at a time."""


class ParquetConnector:
    """Reads the columns that are named, some rows at a time.

    A record's bytes are a JSON object of these columns (see `json_values.record_bytes`); its state
    is their SHA-256. Other columns change nothing.
    """

    def __init__(
        self,
        source: ParquetSource,
        configuration: Configuration,
        *,
        credentials: CredentialLookup,
        cache: Path | None,
    ) -> None:
        del cache
        self._source = source
        self._licence = configuration.licences[source.licence]
        self._file = Location(
            source.address, configuration.base, credentials_of(source, credentials)
        )
        self._copy: RecordCopy | None = None

    def list(self) -> Iterator[ListingEntry]:
        """Yield the rows of the export as it is now; see Connector.

        Problems are ``key_missing``, ``key_duplicate``, ``date_invalid``, ``client_missing`` and
        ``too_large``.

        Raises:
            ConfigurationError: ``column_missing``; ``parquet_unreadable`` where it is none.
        """
        self._copy = None
        uri = self._file.uri(self._file.path)
        items = RecordItems(self._source, self._licence, uri)
        with steady(self._file), self._open() as file:
            for number, (group, row, record) in enumerate(self._rows(file), start=1):
                data = record_bytes(record)
                fields = self._fields(record)
                try:
                    yield items.item(
                        fields,
                        fetch_uri=f"{uri}#group={group}&row={row}",
                        size=len(data),
                        state=sha256_bytes(data),
                        media_type=JSON_RECORD,
                    )
                except UnlistableError as error:
                    yield items.problem(fields.key, f"row {number}", error)

    def fetch(self, item: Item) -> Fetched:
        """Return the record's bytes; see Connector."""
        with reading_again(self._source.address), passing():
            data = self._at(item.fetch_uri)
            if data is None or sha256_bytes(data) != state_of(item):
                if self._copy is None:
                    self._copy = RecordCopy(self._all())
                data = self._copy.get(item.source_key)
        if data is None:
            raise unavailable(item.source_key, "the export no longer has a record with this key")
        mark = fingerprint(sha256_bytes(data), item, self._licence)
        return Fetched(data, JSON_RECORD, mark)

    def _at(self, fetch_uri: str) -> bytes | None:
        """Return the record that was at this place; None if there is nothing any more."""
        place = parse_qs(urldefrag(fetch_uri).fragment)
        group, row = int(place["group"][0]), int(place["row"][0])
        with self._open() as file:
            if group >= file.num_row_groups:
                return None
            table = file.read_row_group(group, columns=self._columns(file))
            if row >= table.num_rows:
                return None
            (record,) = table.slice(row, 1).to_pylist()
            return record_bytes(record)

    def _all(self) -> Iterator[tuple[str, bytes]]:
        with self._open() as file:
            for _, _, record in self._rows(file):
                key = self._fields(record).key
                if key:
                    yield key, record_bytes(record)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        try:
            with self._file.open(self._file.path) as stream, pq.ParquetFile(stream) as file:
                yield file
        except pa.ArrowException as error:
            raise ConfigurationError(
                "parquet_unreadable",
                f"{self._source.address}: it cannot be read as Parquet: {error}. Export it again.",
            ) from error

    def _rows(self, file: Any) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Yield the row group, the number in it, and the values of each row."""
        columns = self._columns(file)
        for group in range(file.num_row_groups):
            row = 0
            for batch in file.iter_batches(_ROWS, row_groups=[group], columns=columns):
                for record in batch.to_pylist():
                    yield group, row, record
                    row += 1

    def _columns(self, file: Any) -> Sequence[str]:
        """Return the columns to read, in the order of the configuration.

        Raises:
            ConfigurationError: one that is named is not there.
        """
        source = self._source
        optional = [name for name in (source.title, source.date, source.client) if name]
        known = set(file.schema_arrow.names)
        wanted = list(dict.fromkeys((source.key, *source.text, *optional)))
        for name in wanted:
            if name not in known and name.partition(".")[0] not in known:
                raise ConfigurationError(
                    "column_missing",
                    f"{source.address}: there is no column {name!r}. Its columns are "
                    f"{', '.join(map(repr, file.schema_arrow.names))}. Correct the source's "
                    "configuration.",
                )
        return wanted

    def _fields(self, record: dict[str, Any]) -> RecordFields:
        source = self._source

        def said(name: str | None) -> str:
            return text_of(plain(value_at(record, name))).strip() if name else ""

        return RecordFields(
            said(source.key), said(source.title), said(source.date), said(source.client)
        )

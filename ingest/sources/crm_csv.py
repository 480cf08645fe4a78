"""CRM exports: each record of a CSV file is an item."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urldefrag

from ingest.configuration import Configuration
from ingest.sources.base import Fetched, UnlistableError, fingerprint, state_of
from ingest.sources.credentials import CredentialLookup, credentials_of
from ingest.sources.location import Location, passing, reading_again, steady, unavailable
from ingest.sources.records import RecordCopy, RecordFields, RecordItems
from ingest.sources.tables import Row, Table, open_table
from schemas.base import sha256_bytes
from schemas.source import CsvSource, Item, ListingEntry


@dataclass(frozen=True, slots=True)
class _Columns:
    """Indexes of the columns that the configuration names."""

    key: int
    title: int | None
    date: int | None
    client: int | None


class CsvConnector:
    """Reads an export in one pass; rows are not held.

    A record's bytes are the header's lines and its own, exactly as they stand in the file, in
    UTF-8; its state is their SHA-256. The address to fetch it from says where in the file it was
    when it was listed. If it is there no longer, the export was replaced, and one pass over the
    new one finds all its records again.
    """

    def __init__(
        self,
        source: CsvSource,
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
        self._uri = self._file.uri(self._file.path)
        self._copy: RecordCopy | None = None

    def list(self) -> Iterator[ListingEntry]:
        """Yield the records of the export as it is now; see Connector.

        Problems are ``ragged_row``, ``row_unreadable``, ``key_missing``, ``key_duplicate`` (of each
        record with a key that an earlier one has), ``date_invalid``, ``client_missing`` and
        ``too_large``.
        """
        self._copy = None
        items = RecordItems(self._source, self._licence, self._uri)
        with steady(self._file), self._open() as table:
            columns = self._columns(table)
            for row in table.rows:
                try:
                    yield self._item(items, row, table, columns)
                except UnlistableError as error:
                    yield items.problem(
                        _cell(row, columns.key), f"row {row.number}", error, str(row)
                    )

    def fetch(self, item: Item) -> Fetched:
        """Return the record's bytes; see Connector."""
        with reading_again(self._source.address):
            data = self._read_record(item.fetch_uri)
            if data is None or sha256_bytes(data) != state_of(item):
                if self._copy is None:
                    with passing():
                        self._copy = RecordCopy(self._all())
                data = self._copy.get(item.source_key)
        if data is None:
            raise unavailable(item.source_key, "the export no longer has a record with this key")
        state = sha256_bytes(data)
        return Fetched(data, "text/csv", fingerprint(state, item, self._licence))

    def _all(self) -> Iterator[tuple[str, bytes]]:
        """Yield key and bytes of all records that have a key."""
        with self._open() as table:
            column = table.column(self._source.key)
            for row in table.rows:
                if row.fault is None and (key := _cell(row, column)):
                    yield key, _record_bytes(table.header.text, row.text)

    def _open(self) -> AbstractContextManager[Table]:
        source = self._source
        optional = [name for name in (source.title, source.date, source.client) if name]
        return open_table(
            source.address,
            lambda: self._file.open(self._file.path),
            wanted={source.key, *source.text, *optional},
            encoding=source.encoding,
            delimiter=source.delimiter,
            max_chars=source.max_item_bytes,
        )

    def _columns(self, table: Table) -> _Columns:
        source = self._source
        for name in source.text:
            table.column(name)
        return _Columns(
            key=table.column(source.key),
            title=table.column(source.title) if source.title else None,
            date=table.column(source.date) if source.date else None,
            client=table.column(source.client) if source.client else None,
        )

    def _item(self, items: RecordItems, row: Row, table: Table, columns: _Columns) -> Item:
        if row.fault:
            raise UnlistableError("ragged_row" if row.cells else "row_unreadable", row.fault)
        data = _record_bytes(table.header.text, row.text)
        return items.item(
            RecordFields(
                key=_cell(row, columns.key),
                title=_cell(row, columns.title),
                date=_cell(row, columns.date),
                client=_cell(row, columns.client),
            ),
            fetch_uri=_fetch_uri(self._uri, table, row),
            size=len(data),
            state=sha256_bytes(data),
            media_type="text/csv",
            delimiter=table.delimiter,
        )

    def _read_record(self, fetch_uri: str) -> bytes | None:
        """Read the record that was at this place; None if what is there now is not one."""
        place = parse_qs(urldefrag(fetch_uri).fragment)
        encoding = place["encoding"][0]
        pieces = []
        for name in ("header", "row"):
            offset, size = map(int, place[name][0].split("-"))
            pieces.append(self._file.read(self._file.path, offset, offset + size))
        try:
            return _record_bytes(*(piece.decode(encoding) for piece in pieces))
        except UnicodeDecodeError:
            return None


def _record_bytes(header: str, row: str) -> bytes:
    return (header + row).encode()


def _cell(row: Row, index: int | None) -> str:
    return row.cells[index].strip() if index is not None and index < len(row.cells) else ""


def _fetch_uri(uri: str, table: Table, row: Row) -> str:
    """Return an address that says where in the file the header and the record are, in bytes."""
    header = table.header
    place = f"row={row.offset}-{row.size}&header={header.offset}-{header.size}"
    return f"{uri}#{place}&encoding={table.encoding}"

"""CRM exports: each record of a CSV file is an item."""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, quote, urldefrag

from ingest.configuration import Configuration
from ingest.errors import RetriableError
from ingest.sources.base import (
    Fetched,
    UnlistableError,
    fingerprint,
    resolve_access,
    state_of,
)
from ingest.sources.credentials import CredentialLookup
from ingest.sources.dates import effective_date
from ingest.sources.location import Location, listing, passing, unavailable
from ingest.sources.tables import Row, Table, open_table
from schemas.base import sha256_bytes
from schemas.source import CsvSource, Item, ListingEntry, ListingProblem


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
        del credentials, cache
        self._source = source
        self._licence = configuration.licences[source.licence]
        self._file = Location(source.address, configuration.base)
        self._uri = self._file.uri(self._file.path)
        self._copy: _RecordCopy | None = None

    def list(self) -> Iterator[ListingEntry]:
        """Yield the records of the export as it is now; see Connector.

        Problems are ``ragged_row``, ``row_unreadable``, ``key_missing``, ``key_duplicate`` (of each
        record with a key that an earlier one has), ``date_invalid`` and ``client_missing``.
        """
        self._copy = None
        items: dict[str, Item] = {}
        refused: list[tuple[Row, str, UnlistableError]] = []
        with listing(self._source.address):
            before = self._file.state(self._file.path)
            with self._open() as table:
                columns = self._columns(table)
                for row in table.rows:
                    try:
                        key = _key(row, columns)
                        if key in items:
                            raise UnlistableError(
                                "key_duplicate", f"an earlier record has the key {key!r} too"
                            )
                        items[key] = self._item(row, key, table, columns)
                    except UnlistableError as error:
                        refused.append((row, _cell(row, columns.key), error))
            if self._file.state(self._file.path) != before:
                raise RetriableError(
                    "source_changing",
                    f"{self._source.address}: it changed while it was read. It is tried again.",
                )
        yield from items.values()
        yield from self._problems(refused, set(items))

    def fetch(self, item: Item) -> Fetched:
        """Return the record's bytes; see Connector."""
        try:
            data = self._read_record(item.fetch_uri)
            if data is None or sha256_bytes(data) != state_of(item):
                if self._copy is None:
                    with passing():
                        self._copy = _RecordCopy(self._open(), self._source.key)
                data = self._copy.get(item.source_key)
        except OSError as error:
            # The whole export is gone for the moment, which says nothing about this record.
            raise RetriableError(
                "source_unreachable",
                f"{self._source.address}: the export cannot be read: {error}. It is tried again.",
            ) from error
        if data is None:
            raise unavailable(item.source_key, "the export no longer has a record with this key")
        state = sha256_bytes(data)
        return Fetched(data, "text/csv", fingerprint(state, item, self._licence))

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

    def _item(self, row: Row, key: str, table: Table, columns: _Columns) -> Item:
        source = self._source
        date = _cell(row, columns.date)
        try:
            effective_from = effective_date(date) if date else None
        except ValueError as error:
            raise UnlistableError("date_invalid", f"column {source.date!r}: {error}") from None
        confidentiality, client_id = resolve_access(source.access, "", _cell(row, columns.client))
        title = _cell(row, columns.title) or None
        data = _record_bytes(table.header.text, row.text)
        item = Item(
            source_id=source.id,
            source_key=key,
            document_key=key,
            uri=f"{self._uri}#row={quote(key, safe='')}",
            fetch_uri=_fetch_uri(self._uri, table, row),
            fingerprint="",
            size=len(data),
            media_type="text/csv",
            title=title,
            effective_from=effective_from,
            licence_id=source.licence,
            confidentiality=confidentiality,
            client_id=client_id,
            options={
                "key": source.key,
                "text": [*source.text],
                "title": source.title,
                "delimiter": table.delimiter,
            },
        )
        mark = fingerprint(sha256_bytes(data), item, self._licence)
        return item.model_copy(update={"fingerprint": mark})

    def _problems(
        self, refused: Sequence[tuple[Row, str, UnlistableError]], taken: set[str]
    ) -> Iterator[ListingProblem]:
        """Name each refused record by its key, so that it isn't taken for gone, if it is unique."""
        for row, key, error in refused:
            name = key if key and key not in taken else f"row {row.number}"
            taken.add(name)
            yield ListingProblem(
                source_key=name,
                code=error.code,
                message=f"{self._source.address}, {row}: {error.message}. Correct the export.",
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


class _RecordCopy:
    """The records of an export as bytes in a temporary file, found by their key."""

    def __init__(self, opened: AbstractContextManager[Table], key_column: str) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as this object
        weakref.finalize(self, self._file.close)
        self._places: dict[str, tuple[int, int]] = {}
        with opened as table:
            columns = _Columns(table.column(key_column), None, None, None)
            for row in table.rows:
                try:
                    key = _key(row, columns)
                except UnlistableError:
                    continue
                if key not in self._places:
                    data = _record_bytes(table.header.text, row.text)
                    self._places[key] = (self._file.tell(), len(data))
                    self._file.write(data)

    def get(self, key: str) -> bytes | None:
        """Return the bytes of the first record with ``key``, or None."""
        if key not in self._places:
            return None
        offset, size = self._places[key]
        self._file.seek(offset)
        return self._file.read(size)


def _record_bytes(header: str, row: str) -> bytes:
    return (header + row).encode()


def _cell(row: Row, index: int | None) -> str:
    return row.cells[index].strip() if index is not None and index < len(row.cells) else ""


def _key(row: Row, columns: _Columns) -> str:
    """Return the record's key.

    Raises:
        UnlistableError: the record is broken or has none.
    """
    if row.fault:
        raise UnlistableError("ragged_row" if row.cells else "row_unreadable", row.fault)
    key = _cell(row, columns.key)
    if not key:
        raise UnlistableError("key_missing", "its key cell is empty")
    return key


def _fetch_uri(uri: str, table: Table, row: Row) -> str:
    """Return an address that says where in the file the header and the record are, in bytes."""
    header = table.header
    place = f"row={row.offset}-{row.size}&header={header.offset}-{header.size}"
    return f"{uri}#{place}&encoding={table.encoding}"

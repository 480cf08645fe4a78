"""CRM exports with one JSON object a line: each is an item."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urldefrag

from ingest.configuration import Configuration
from ingest.errors import ConfigurationError, RetriableError
from ingest.json_values import text_of, value_at
from ingest.sources.base import Fetched, UnlistableError, fingerprint, state_of
from ingest.sources.credentials import CredentialLookup, credentials_of
from ingest.sources.location import Location, passing, reading_again, steady, unavailable
from ingest.sources.records import JSON_RECORD, RecordCopy, RecordFields, RecordItems
from schemas.base import sha256_bytes
from schemas.source import Item, JsonLinesSource, ListingEntry

_LONGEST_LINE = 1 << 30
"""No more of a line is held, whatever max_item_bytes allows."""


@dataclass(frozen=True, slots=True)
class _Line:
    number: int
    offset: int
    data: bytes
    """Without the line's end."""
    whole: bool
    """False where it is longer than what is held."""
    ended: bool
    """False for a last line without a newline."""


class JsonLinesConnector:
    """Reads an export in one pass; lines are not held.

    A record's bytes are its line exactly as it stands in the file, without the newline; its state
    is their SHA-256. The address to fetch it from says where in the file it was when it was listed.
    """

    def __init__(
        self,
        source: JsonLinesSource,
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
        """Yield the records of the export as it is now; see Connector.

        Problems are ``line_unreadable``, ``key_missing``, ``key_duplicate``, ``date_invalid``,
        ``client_missing`` and ``too_large``.

        Raises:
            ConfigurationError: ``column_missing`` where no record has a field that is named.
        """
        self._copy = None
        uri = self._file.uri(self._file.path)
        items = RecordItems(self._source, self._licence, uri)
        missing = {self._source.key, *self._source.text, *self._optional()}
        count = 0
        with steady(self._file):
            for line in self._lines():
                key = ""
                try:
                    record = self._record(line)
                    count += 1
                    if missing:
                        missing -= {name for name in missing if value_at(record, name) is not None}
                    fields = self._fields(record)
                    key = fields.key
                    yield items.item(
                        fields,
                        fetch_uri=f"{uri}#line={line.offset}-{len(line.data)}",
                        size=len(line.data),
                        state=sha256_bytes(line.data),
                        media_type=JSON_RECORD,
                    )
                except UnlistableError as error:
                    yield items.problem(key, f"line {line.number}", error)
        if count and missing:
            raise ConfigurationError(
                "column_missing",
                f"{self._source.address}: none of its {count:,} records has "
                f"{', '.join(map(repr, sorted(missing)))}. Correct the source's configuration.",
            )

    def fetch(self, item: Item) -> Fetched:
        """Return the record's bytes; see Connector."""
        place = parse_qs(urldefrag(item.fetch_uri).fragment)["line"][0]
        offset, size = map(int, place.split("-"))
        data: bytes | None
        with reading_again(self._source.address):
            data = self._file.read(self._file.path, offset, offset + size)
            if sha256_bytes(data) != state_of(item):
                if self._copy is None:
                    with passing():
                        self._copy = RecordCopy(self._all())
                data = self._copy.get(item.source_key)
        if data is None:
            raise unavailable(item.source_key, "the export no longer has a record with this key")
        mark = fingerprint(sha256_bytes(data), item, self._licence)
        return Fetched(data, JSON_RECORD, mark)

    def _optional(self) -> Sequence[str]:
        source = self._source
        return [name for name in (source.title, source.date, source.client) if name]

    def _fields(self, record: dict[str, Any]) -> RecordFields:
        source = self._source

        def said(name: str | None) -> str:
            return text_of(value_at(record, name)).strip() if name else ""

        return RecordFields(
            said(source.key), said(source.title), said(source.date), said(source.client)
        )

    def _record(self, line: _Line) -> dict[str, Any]:
        if not line.whole:
            raise UnlistableError("too_large", f"the line is over {_LONGEST_LINE:,} bytes")
        try:
            record = json.loads(line.data)
        except (ValueError, RecursionError) as error:
            if not line.ended:
                raise RetriableError(
                    "export_incomplete",
                    f"{self._source.address}: it ends inside line {line.number}. If it is still "
                    "being written, it is read again later; otherwise complete the line.",
                ) from error
            raise UnlistableError("line_unreadable", f"it is no JSON ({error})") from error
        if not isinstance(record, dict):
            raise UnlistableError("line_unreadable", "it is JSON, but no object")
        return record

    def _all(self) -> Iterator[tuple[str, bytes]]:
        for line in self._lines():
            try:
                key = self._fields(self._record(line)).key
            except UnlistableError:
                continue
            if key:
                yield key, line.data

    def _lines(self) -> Iterator[_Line]:
        """Yield the lines that are not blank."""
        with self._file.open(self._file.path) as stream:
            number, offset = 0, 0
            while data := stream.readline(_LONGEST_LINE):
                number += 1
                size = len(data)
                whole = size < _LONGEST_LINE
                ended = data.endswith(b"\n")
                while not whole and not ended:
                    more = stream.readline(_LONGEST_LINE)
                    size += len(more)
                    ended = not more or more.endswith(b"\n")
                start = offset
                if number == 1 and data.startswith(codecs.BOM_UTF8):
                    start += len(codecs.BOM_UTF8)
                    data = data[len(codecs.BOM_UTF8) :]
                elif number == 1 and data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                    raise ConfigurationError(
                        "encoding_wrong",
                        f"{self._source.address}: it is in UTF-16. JSON is exchanged in UTF-8 "
                        "(RFC 8259 §8.1): export it in that.",
                    )
                offset += size
                if data.strip():
                    yield _Line(number, start, data.rstrip(b"\r\n"), whole, ended)

"""What sources of records have in common: from a record's fields to an item."""

from __future__ import annotations

import sqlite3
import tempfile
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ingest.errors import RetriableError
from ingest.sources.base import UnlistableError, fingerprint, resolve_access
from ingest.sources.dates import effective_date
from ingest.sources.listed_keys import ListedKeys
from schemas.licence import Licence
from schemas.source import Item, ListingProblem, RecordsSource

JSON_RECORD = "application/json"


@dataclass(frozen=True, slots=True)
class RecordFields:
    """What a record says of itself, as text without blanks around it; empty where it does not."""

    key: str
    title: str = ""
    date: str = ""
    client: str = ""


class RecordItems:
    """Makes the items of one listing, each with a key of its own."""

    def __init__(self, source: RecordsSource, licence: Licence, uri: str) -> None:
        """Take the source, its licence, and the address that a citation of a record begins with."""
        self._source = source
        self._licence = licence
        self._uri = uri
        self._keys = ListedKeys()
        weakref.finalize(self, self._keys.__exit__, None, None, None)

    def item(
        self,
        fields: RecordFields,
        *,
        fetch_uri: str,
        size: int,
        state: str,
        media_type: str,
        **options: Any,
    ) -> Item:
        """Return the item of a record.

        Args:
            fields: what the record says.
            fetch_uri: where its bytes are.
            size: of its bytes.
            state: changes when its bytes do.
            media_type: of its bytes.
            options: what the extractor needs beyond key, text and title.

        Raises:
            UnlistableError: key_missing, key_duplicate, date_invalid, access_invalid,
                client_missing, too_large.
        """
        source, key = self._source, fields.key
        if not key:
            raise UnlistableError("key_missing", f"its key {source.key!r} is empty")
        if not self._keys.add(key):
            raise UnlistableError("key_duplicate", f"an earlier record has the key {key!r} too")
        if size > source.max_item_bytes:
            raise UnlistableError(
                "too_large",
                f"{size:,} bytes are over the source's limit max_item_bytes of "
                f"{source.max_item_bytes:,}",
            )
        try:
            effective_from = effective_date(fields.date) if fields.date else None
        except ValueError as error:
            raise UnlistableError("date_invalid", f"{source.date!r}: {error}") from None
        confidentiality, client_id = resolve_access(source.access, "", fields.client)
        item = Item(
            source_id=source.id,
            source_key=key,
            document_key=key,
            uri=f"{self._uri}#row={quote(key, safe='')}",
            fetch_uri=fetch_uri,
            fingerprint="",
            size=size,
            media_type=media_type,
            title=fields.title or None,
            effective_from=effective_from,
            licence_id=source.licence,
            confidentiality=confidentiality,
            client_id=client_id,
            options={"key": source.key, "text": [*source.text], "title": source.title, **options},
        )
        mark = fingerprint(state, item, self._licence)
        return item.model_copy(update={"fingerprint": mark})

    def problem(
        self, key: str, place: str, error: UnlistableError, where: str = ""
    ) -> ListingProblem:
        """Return the problem of a record that was refused.

        It goes by the record's key, so that the record is not taken for gone, unless another record
        has that key already; then by its place.

        Args:
            key: of the record, as far as it is known.
            place: where in the source it is.
            error: why it was refused.
            where: the place in more words, for people.
        """
        is_its_own = error.code in _AFTER_KEY or (
            key and error.code != "key_duplicate" and self._keys.add(key)
        )
        return ListingProblem(
            source_key=key if is_its_own else place,
            code=error.code,
            message=f"{self._source.address}, {where or place}: {error.message}. "
            "Correct the export.",
        )


_AFTER_KEY = ("too_large", "date_invalid", "access_invalid", "client_missing")
"""Codes of refusals that come once the key is taken."""


class RecordCopy:
    """The records of a source as bytes in temporary files, found by their key."""

    def __init__(self, records: Iterable[tuple[str, bytes]]) -> None:
        """Copy records, each with its key; the first of a key counts.

        Raises:
            RetriableError: the disk for temporary files is full.
        """
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  # lives as long as this object
        # Without a name it is a temporary file, which goes when it is closed or the process dies.
        self._places = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, self._file.close)
        weakref.finalize(self, self._places.close)
        self._places.execute("CREATE TABLE places (key TEXT PRIMARY KEY, start INT, size INT)")
        self._places.execute("BEGIN")
        try:
            for key, data in records:
                start = self._file.tell()
                added = self._places.execute(
                    "INSERT OR IGNORE INTO places VALUES (?, ?, ?)", (key, start, len(data))
                )
                if added.rowcount == 1:
                    self._file.write(data)
        except (OSError, sqlite3.OperationalError) as error:
            raise RetriableError(
                "scratch_failed",
                f"The records could not be copied to temporary files: {error}. Free space there.",
            ) from error

    def get(self, key: str) -> bytes | None:
        """Return the bytes of the first record with ``key``, or None."""
        found = self._places.execute("SELECT start, size FROM places WHERE key = ?", (key,))
        place = found.fetchone()
        if place is None:
            return None
        self._file.seek(place[0])
        return self._file.read(place[1])

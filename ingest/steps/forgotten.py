"""Leaving out of a listing what was forgotten for good."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from more_itertools import chunked

from ingest.catalog import Catalog
from schemas.source import Item, ListingEntry

_AT_ONCE = 500


class ForgottenFilter:
    """Passes a source's listing on without what was forgotten, and counts what it left out.

    Nothing of what is left out is stored: no name and no reason, only the number.
    """

    def __init__(self, catalog: Catalog, source_id: str) -> None:
        self._catalog = catalog
        self._source_id = source_id
        self.left_out = 0
        """Entries so far that were not passed on."""

    def rest_of(self, entries: Iterable[ListingEntry]) -> Iterator[ListingEntry]:
        """Yield the entries that may be pulled in, in their order."""
        if not self._catalog.keeps_anything_out():
            yield from entries
            return
        for page in chunked(entries, _AT_ONCE):
            keys = [_document_key(entry) for entry in page]
            places = self._catalog.place(self._source_id, keys)
            doc_ids = [places[key].doc_id for key in keys]
            clients = {
                entry.client_id for entry in page if isinstance(entry, Item) and entry.client_id
            }
            forgotten = self._catalog.forgotten(doc_ids, clients)
            for entry, doc_id in zip(page, doc_ids, strict=True):
                if doc_id in forgotten.doc_ids or (
                    isinstance(entry, Item) and entry.client_id in forgotten.client_ids
                ):
                    self.left_out += 1
                else:
                    yield entry


def _document_key(entry: ListingEntry) -> str:
    # Of what could not be listed only the item's key is known, which is most often the same.
    return entry.document_key if isinstance(entry, Item) else entry.source_key

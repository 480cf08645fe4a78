"""Points of what is forgotten: in every collection behind the alias, and on the disk."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing

from more_itertools import chunked
from qdrant_client import models

from ingest.errors import RetriableError
from ingest.index import VectorIndex
from ingest.index_errors import translated
from ingest.index_lock import IndexLock
from ingest.pipeline import Pipeline

_VALUES = 200
"""In one filter."""
_PAGE = 256


class Points:
    """The points of all collections that were ever filled under this alias.

    A release with another payload schema fills a new collection, and the one before it stays.
    """

    def __init__(self, index: VectorIndex, alias: str) -> None:
        self._client, self._where = index.raw()
        ours = re.compile(rf"{re.escape(alias)}-v\d+-.+")
        with translated(self._where):
            found = self._client.get_collections().collections
        self._collections = sorted(one.name for one in found if ours.fullmatch(one.name))

    def chunks_of(self, doc_ids: Collection[str]) -> dict[str, str | None]:
        """Return the SHA-256 of the text of each point of these documents, by the point's id."""
        return {
            point_id: payload.get("text_sha256")
            for point_id, payload in self._having("doc_id", doc_ids)
        }

    def texts_of_others(self, text_sha256s: Collection[str], doc_ids: Collection[str]) -> set[str]:
        """Return which of these texts a point of another document has."""
        ours = set(doc_ids)
        return {
            str(payload["text_sha256"])
            for _, payload in self._having("text_sha256", text_sha256s)
            if payload["doc_id"] not in ours
        }

    def erase(self, doc_ids: Collection[str]) -> None:
        """Delete all points of these documents, staged and retired ones too."""
        for collection in self._collections:
            for values in chunked(sorted(doc_ids), _VALUES):
                selector = models.FilterSelector(filter=_any_of("doc_id", values))
                with translated(self._where):
                    self._client.delete(collection, selector, wait=True)

    def _having(self, field: str, values: Collection[str]) -> Iterator[tuple[str, dict[str, str]]]:
        for collection in self._collections:
            for part in chunked(sorted(values), _VALUES):
                offset = None
                while True:
                    with translated(self._where):
                        records, offset = self._client.scroll(
                            collection,
                            scroll_filter=_any_of(field, part),
                            limit=_PAGE,
                            offset=offset,
                            with_payload=["doc_id", "text_sha256"],
                        )
                    for record in records:
                        yield str(record.id), record.payload or {}
                    if offset is None:
                        break


def _any_of(field: str, values: list[str]) -> models.Filter:
    condition = models.FieldCondition(key=field, match=models.MatchAny(any=values))
    return models.Filter(must=[condition])


def compact_embedded(pipeline: Pipeline) -> None:
    """Write the files of the embedded index anew, so that they hold nothing of deleted points.

    A server does that by itself, in its own time: docs/erasure.md says how to hurry it.

    Raises:
        RetriableError: ``index_locked``.
    """
    folder = pipeline.home / "qdrant"
    if pipeline.settings.qdrant.url is not None or not folder.is_dir():
        return
    lock = IndexLock(folder)
    lock.acquire()
    try:
        for path in sorted(folder.rglob("*.sqlite")):
            with closing(sqlite3.connect(path)) as storage:
                storage.execute("VACUUM")
    except sqlite3.OperationalError as error:
        raise RetriableError(
            "index_locked", f"The embedded index in {folder} cannot be written anew: {error}."
        ) from error
    finally:
        lock.release()

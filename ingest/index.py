"""The index: the points of one collection, behind an alias."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from more_itertools import chunked
from qdrant_client import models

from attribution.filters import document_filter
from ingest.collections import Collections
from ingest.errors import FatalError
from ingest.index_errors import translated
from schemas.payload import Payload


@dataclass(frozen=True)
class SearchHit:
    """A point that a search found; ``score`` is the cosine similarity."""

    chunk_id: str
    score: float
    payload: dict[str, Any]


class VectorIndex(Collections):
    """The points of the collection that is read and written.

    Every method raises RetriableError where the server does not answer, ConfigurationError where it
    refuses the key, and FatalError where the collection does not exist or the disk fails.
    """

    # --- writing ----------------------------------------------------------------------------

    def upsert(self, points: Iterable[tuple[str, np.ndarray, Payload]]) -> int:
        """Write points, each an id, a vector and a payload, and return how many.

        A point that exists is replaced whole, its dates of publication and retirement included.

        Raises:
            FatalError: a vector has the wrong length or a value that is not finite, or an id is
                not that of its payload; nothing of that batch was sent.
        """
        written = 0
        for batch in chunked(points, self._settings.upsert_batch):
            structs = [self._point(*point) for point in batch]
            with translated(self._where):
                self._client.upsert(self.collection, points=structs, wait=True)
            written += len(structs)
        return written

    def _point(self, point_id: str, vector: np.ndarray, payload: Payload) -> models.PointStruct:
        if point_id != payload.chunk_id:
            raise FatalError(
                "point_id", f"Point {point_id} carries the payload of chunk {payload.chunk_id}."
            )
        if vector.shape != (self._dimension,):
            raise FatalError(
                "vector_dimension",
                f"The vector of chunk {point_id} has shape {vector.shape}, but the embedding model "
                f"makes {self._dimension} numbers. Was the model changed without its name?",
            )
        if not np.isfinite(vector).all():
            raise FatalError(
                "vector_not_finite",
                f"The vector of chunk {point_id} has values that are not finite, so no search "
                "could ever find it. Check the embedding model on this machine.",
            )
        return models.PointStruct(id=point_id, vector=vector.tolist(), payload=payload.to_point())

    def change(self, *operations: models.UpdateOperation) -> None:
        """Send operations in one request: the server does all of them, in this order, or none.

        Readers may see the state between two of them; see `set_fields` and `delete_points`.
        """
        if operations:
            with translated(self._where):
                self._client.batch_update_points(self.collection, list(operations), wait=True)

    def delete(self, ids: Iterable[str]) -> None:
        """Delete points; ids that do not exist are ignored."""
        for batch in chunked(ids, self._settings.upsert_batch):
            with translated(self._where):
                self._client.delete(
                    self.collection, models.PointIdsList(points=list(batch)), wait=True
                )

    # --- reading ----------------------------------------------------------------------------

    def existing(self, ids: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Return the payloads of those ``ids`` that are in the index, by id."""
        found: dict[str, dict[str, Any]] = {}
        for batch in chunked(ids, self._settings.upsert_batch):
            with translated(self._where):
                records = self._client.retrieve(self.collection, batch, with_payload=True)
            found.update((str(record.id), record.payload or {}) for record in records)
        return found

    def get(self, chunk_id: str) -> dict[str, Any] | None:
        """Return one point's payload; None where there is no such point, or no collection yet."""
        try:
            point_id = str(uuid.UUID(chunk_id))
        except ValueError:
            return None
        try:
            return self.existing([point_id]).get(point_id)
        except FatalError as error:
            if error.code != "collection_missing":
                raise
            return None

    def count(self, filter: models.Filter | None = None) -> int:
        """Return the exact number of points that ``filter`` lets through."""
        with translated(self._where):
            return self._client.count(self.collection, count_filter=filter, exact=True).count

    def scroll(
        self, filter: models.Filter | None = None, *, fields: Collection[str] | None = None
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield id and payload of every point that ``filter`` lets through, ordered by id.

        ``fields`` names those of the payload that are wanted; all of them where it is not given.
        """
        offset: Any = None
        payload: bool | list[str] = True if fields is None else sorted(fields)
        while True:
            with translated(self._where):
                records, offset = self._client.scroll(
                    self.collection,
                    scroll_filter=filter,
                    limit=self._settings.upsert_batch,
                    offset=offset,
                    with_payload=payload,
                )
            for record in records:
                yield str(record.id), record.payload or {}
            if offset is None:
                return

    def scroll_version(self, doc_id: str, version: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield id and payload of every point of a version, staged ones included."""
        return self.scroll(document_filter(doc_id, version))

    def search(
        self, vector: np.ndarray, *, filter: models.Filter | None, limit: int
    ) -> list[SearchHit]:
        """Return up to ``limit`` points nearest to ``vector``, best first.

        ``filter`` has no default, so that nobody searches unfiltered without saying so.
        """
        with translated(self._where):
            points = self._client.query_points(
                self.collection,
                query=vector.tolist(),
                query_filter=filter,
                limit=limit,
                with_payload=True,
            ).points
        return [SearchHit(str(point.id), point.score, point.payload or {}) for point in points]


def set_fields(
    fields: dict[str, Any], points: models.Filter | Sequence[str]
) -> models.UpdateOperation:
    """Return the operation that sets payload fields on the points of a filter or with these ids.

    A field that is set to None is removed.
    """
    if isinstance(points, models.Filter):
        chosen = models.SetPayload(payload=fields, filter=points)
    else:
        chosen = models.SetPayload(payload=fields, points=list(points))
    return models.SetPayloadOperation(set_payload=chosen)


def replace_payload(payload: dict[str, Any], point: str) -> models.UpdateOperation:
    """Return the operation that gives a point another payload, whole; its vector stays."""
    return models.OverwritePayloadOperation(
        overwrite_payload=models.SetPayload(payload=payload, points=[point])
    )


def delete_points(points: models.Filter | Sequence[str]) -> models.UpdateOperation:
    """Return the operation that deletes the points of a filter or with these ids."""
    if isinstance(points, models.Filter):
        return models.DeleteOperation(delete=models.FilterSelector(filter=points))
    return models.DeleteOperation(delete=models.PointIdsList(points=list(points)))

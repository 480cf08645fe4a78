"""The index: one Qdrant collection per payload schema and embedding model, behind an alias.

It is on a server, or embedded in the home folder, where one process at a time may have it open.
What Qdrant and the network raise becomes one of the pipeline's own errors in a single place.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import chain, count
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import numpy as np
from more_itertools import chunked
from qdrant_client import QdrantClient, models

from attribution.filters import document_filter
from ingest.errors import ConfigurationError, FatalError
from ingest.index_errors import index_address, translated
from ingest.index_lock import IndexLock
from ingest.settings import QdrantSettings
from schemas.base import sha256_text
from schemas.payload import PAYLOAD_SCHEMA_VERSION, Payload, payload_indexes

_STRICT = models.StrictModeConfig(
    enabled=True, unindexed_filtering_retrieve=False, unindexed_filtering_update=False
)
"""A filter on a field without an index is refused instead of scanning the whole collection."""


@dataclass(frozen=True)
class SearchHit:
    """A point that a search found; ``score`` is the cosine similarity."""

    chunk_id: str
    score: float
    payload: dict[str, Any]


class VectorIndex:
    """The collection for one embedding model, open from construction to :meth:`close`.

    Every method raises RetriableError where the server does not answer, ConfigurationError where it
    refuses the key, and FatalError where the collection does not exist or the disk fails.

    Args:
        settings: where the index is.
        home: folder of the embedded index, used where the settings name no server.
        model_name: the embedding model, part of the collection's name.
        dimension: length of the model's vectors.
        collection: the one to use; that which readers use where it is not given.
        former: the collection that ``collection`` has taken the place of: readers whose alias still
            points there are turned by `ensure`.
    """

    def __init__(
        self,
        settings: QdrantSettings,
        home: Path,
        *,
        model_name: str,
        dimension: int,
        collection: str | None = None,
        former: str | None = None,
    ) -> None:
        self._settings = settings
        self._dimension = dimension
        self._chosen, self._former = collection, former
        self.notice = timedelta(seconds=0 if settings.url is None else settings.notice_seconds)
        """How long ahead a change for readers is written; none where nobody reads meanwhile."""
        self.name = f"{settings.alias}-v{PAYLOAD_SCHEMA_VERSION}-{collection_slug(model_name)}"
        """What the collections of this payload schema and model are called; a rebuilt one has a
        number behind it."""
        self._lock: IndexLock | None = None
        if settings.url is None:
            path = home / "qdrant"
            self._where = f"the embedded index in {path}"
            self._lock = IndexLock(path)
            self._lock.acquire()
        else:
            self._where = f"Qdrant at {_checked_address(settings.url)}"
        try:
            with translated(self._where):
                self._client = self._connect(home)
        except BaseException:
            self._release()
            raise

    def _connect(self, home: Path) -> QdrantClient:
        settings = self._settings
        if settings.url is None:
            return QdrantClient(path=str(home / "qdrant"))
        return QdrantClient(
            url=settings.url,
            api_key=settings.api_key.get_secret_value() if settings.api_key else None,
            prefer_grpc=settings.prefer_grpc,
            grpc_port=settings.grpc_port,
            timeout=settings.timeout_seconds,
            # It would ask from a thread of its own and warn on stderr where it gets no answer; the
            # first real request tells that properly.
            check_compatibility=False,
        )

    def close(self) -> None:
        """Close the client and give the embedded index free for the next process."""
        try:
            self._client.close()
        finally:
            self._release()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def raw(self) -> tuple[QdrantClient, str]:
        """Return the client and what the index is called, for what spans collections."""
        return self._client, self._where

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- the collection ---------------------------------------------------------------------

    @property
    def collection(self) -> str:
        """The collection that is read and written."""
        if self._chosen is None:
            with translated(self._where):
                aliased = self.aliased()
            self._chosen = aliased if aliased and self.is_ours(aliased) else self.name
        return self._chosen

    def follow(self, collection: str, former: str | None) -> None:
        """Use another collection from now on, if it is another.

        Raises:
            ConfigurationError: it is that of another model or payload schema.
        """
        self._chosen, self._former = collection, former
        self._refuse_others(collection)

    def ensure(self) -> None:
        """Create what is missing: collection, payload indexes, strict mode, alias.

        Raises:
            ConfigurationError: the collection exists with vectors of another length or distance,
                or readers' alias points to the collection of another model or schema.
        """
        with translated(self._where):
            self._refuse_others(self.collection)
            aliased = self.aliased()
            if aliased not in (None, self.collection, self._former):
                self._refuse_others(aliased or "")
            self.prepare()
            if aliased != self.collection:
                self._point_alias(aliased)

    def prepare(self) -> None:
        """Create the collection with its indexes and strict mode; readers do not notice.

        Raises:
            ConfigurationError: it exists with vectors of another length or distance.
        """
        with translated(self._where):
            if not self._client.collection_exists(self.collection):
                self._create()
            info = self._client.get_collection(self.collection)
            self._check_vectors(info)
            # Embedded, indexes and strict mode have no effect: filters look at every point.
            if self._settings.url is not None:
                self._ensure_indexes(info)

    def drop(self, collection: str) -> None:
        """Delete a collection that readers do not use; one that does not exist is ignored.

        Raises:
            FatalError: ``collection_in_use``.
        """
        with translated(self._where):
            if self.aliased() == collection:
                raise FatalError(
                    "collection_in_use",
                    f"Readers of {self._where} use the collection {collection!r}, so it is not "
                    "deleted.",
                )
            if self._client.collection_exists(collection):
                self._client.delete_collection(collection)

    def free_name(self) -> str:
        """Return a name for a collection of this payload schema and model that none has yet."""
        with translated(self._where):
            taken = {one.name for one in self._client.get_collections().collections}
        names = chain([self.name], (f"{self.name}-r{number}" for number in count(2)))
        return next(name for name in names if name not in taken)

    def _create(self) -> None:
        vectors = models.VectorParams(size=self._dimension, distance=models.Distance.COSINE)
        try:
            self._client.create_collection(self.collection, vectors_config=vectors)
        except Exception:
            # Another process may have been faster, which is as good.
            if not self._client.collection_exists(self.collection):
                raise

    def _check_vectors(self, info: models.CollectionInfo) -> None:
        vectors = info.config.params.vectors
        if (
            not isinstance(vectors, models.VectorParams)
            or vectors.size != self._dimension
            or vectors.distance != models.Distance.COSINE
        ):
            raise ConfigurationError(
                "collection_mismatch",
                f"Collection {self.collection!r} of {self._where} holds other vectors than the "
                f"embedding model makes ({self._dimension} numbers, cosine): {vectors!r}. Set "
                "another alias (MUNIMENT_QDRANT__ALIAS), or drop that collection.",
            )

    def _ensure_indexes(self, info: models.CollectionInfo) -> None:
        for name, kind in payload_indexes().items():
            there = info.payload_schema.get(name)
            wanted = models.PayloadSchemaType(kind)
            if there is None or there.data_type != wanted:
                self._client.create_payload_index(
                    self.collection, field_name=name, field_schema=wanted, wait=True
                )
        strict = info.config.strict_mode_config
        if strict is None or not strict.enabled:
            self._client.update_collection(self.collection, strict_mode_config=_STRICT)

    def aliased(self) -> str | None:
        """Return the collection that readers' alias points to; None if there is no alias."""
        with translated(self._where):
            aliases = self._client.get_aliases().aliases
        named = {entry.alias_name: entry.collection_name for entry in aliases}
        return named.get(self._settings.alias)

    def is_ours(self, collection: str) -> bool:
        """Tell whether a collection is one of this payload schema and model."""
        return re.fullmatch(rf"{re.escape(self.name)}(-r\d+)?", collection) is not None

    def _refuse_others(self, collection: str) -> None:
        if not self.is_ours(collection):
            raise ConfigurationError(
                "alias_elsewhere",
                f"Readers of {self._where} use the alias {self._settings.alias!r}, which points to "
                f"{collection!r}. This release and embedding model fill {self.name!r}, "
                "and switching now would show readers an index that is still empty. Fill it and "
                "then switch with `muniment rebuild run`, or set the model back "
                "(MUNIMENT_EMBEDDING_MODEL).",
            )

    def _point_alias(self, aliased: str | None) -> None:
        """Let the alias point here, in one call: readers find one collection or the other."""
        alias = self._settings.alias
        steps: list[models.AliasOperations] = [
            models.CreateAliasOperation(
                create_alias=models.CreateAlias(collection_name=self.collection, alias_name=alias)
            )
        ]
        if aliased is not None:
            delete = models.DeleteAlias(alias_name=alias)
            steps.insert(0, models.DeleteAliasOperation(delete_alias=delete))
        self._client.update_collection_aliases(steps)

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


def collection_slug(model_name: str) -> str:
    """Return ``model_name`` as it stands in the collection's name.

    Where that needs other characters, a piece of the name's hash is added, so that "org/model" and
    "org-model" do not share a collection.
    """
    slug = re.sub(r"[^a-z0-9]+", "-", model_name.lower()).strip("-")[-80:]
    return slug if slug == model_name else f"{slug}-{sha256_text(model_name)[:8]}"


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


def _checked_address(url: str) -> str:
    """Return ``url`` for messages, without the credentials that it may hold."""
    parts = urlsplit(url)
    shown = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise index_address(f"Qdrant at {shown!r}", "not an http or https address with a host")
    return shown

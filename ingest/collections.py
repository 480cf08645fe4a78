"""Which collection is read and written, what it is made of, and readers' alias.

One Qdrant collection per payload schema and embedding model, and another one after each rebuild.
The index is on a server, or embedded in the home folder, where one process at a time may have it
open. What Qdrant and the network raise becomes one of the pipeline's own errors in a single place.
"""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import chain, count
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from qdrant_client import QdrantClient, models

from ingest.errors import ConfigurationError, FatalError
from ingest.index_errors import index_address, translated
from ingest.index_lock import IndexLock
from ingest.settings import QdrantSettings
from schemas.base import sha256_text
from schemas.payload import PAYLOAD_SCHEMA_VERSION, payload_indexes

_STRICT = models.StrictModeConfig(
    enabled=True, unindexed_filtering_retrieve=False, unindexed_filtering_update=False
)
"""A filter on a field without an index is refused instead of scanning the whole collection."""


class Collections:
    """The collections of one embedding model, open from construction to :meth:`close`.

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
        self.name = collection_name(settings.alias, model_name)
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


def collection_name(alias: str, model_name: str) -> str:
    """Return what collections of this payload schema and ``model_name`` are called."""
    return f"{alias}-v{PAYLOAD_SCHEMA_VERSION}-{collection_slug(model_name)}"


def collection_slug(model_name: str) -> str:
    """Return ``model_name`` as it stands in the collection's name.

    Where that needs other characters, a piece of the name's hash is added, so that "org/model" and
    "org-model" do not share a collection.
    """
    slug = re.sub(r"[^a-z0-9]+", "-", model_name.lower()).strip("-")[-80:]
    return slug if slug == model_name else f"{slug}-{sha256_text(model_name)[:8]}"


def _checked_address(url: str) -> str:
    """Return ``url`` for messages, without the credentials that it may hold."""
    parts = urlsplit(url)
    shown = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise index_address(f"Qdrant at {shown!r}", "not an http or https address with a host")
    return shown

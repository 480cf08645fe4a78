"""Embeddings by model and text, so that no text is embedded twice."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select

from ingest.catalog.models import EmbeddingRow
from ingest.catalog.transactions import Transactions, batches, insert_into
from ingest.errors import FatalError

Vector = NDArray[np.float32]

_STORED = np.dtype("<f4")


class Embeddings(Transactions):
    """The catalogue's methods on embeddings."""

    def embeddings(self, model: str, text_sha256s: Iterable[str]) -> dict[str, Vector]:
        """Return the vectors that the model made of these texts before, by the text's SHA-256.

        Raises:
            FatalError: ``catalog_damaged`` where a vector's bytes are not as many as they were.
        """
        found: dict[str, Vector] = {}
        with self._reading() as session:
            for batch in batches(dict.fromkeys(text_sha256s)):
                query = select(
                    EmbeddingRow.text_sha256, EmbeddingRow.dimension, EmbeddingRow.vector
                ).where(EmbeddingRow.model == model, EmbeddingRow.text_sha256.in_(batch))
                for digest, dimension, data in session.execute(query):
                    if len(data) != dimension * _STORED.itemsize:
                        raise FatalError(
                            "catalog_damaged",
                            f"The catalogue's vector of text {digest} by {model} has {len(data)} "
                            f"bytes, not {dimension} numbers. Restore the catalogue from a backup, "
                            "or delete the row to have the text embedded again.",
                        )
                    found[digest] = np.frombuffer(data, _STORED).astype(np.float32)
        return found

    def embedded(self, model: str, text_sha256s: Iterable[str]) -> set[str]:
        """Return which of these texts the model has a vector for."""
        found: set[str] = set()
        with self._reading() as session:
            for batch in batches(dict.fromkeys(text_sha256s)):
                query = select(EmbeddingRow.text_sha256).where(
                    EmbeddingRow.model == model, EmbeddingRow.text_sha256.in_(batch)
                )
                found |= set(session.scalars(query))
        return found

    def store_embeddings(self, model: str, vectors: Mapping[str, NDArray[np.floating]]) -> None:
        """Keep vectors by their text's SHA-256; a text that has one keeps it.

        The first one stays because the last digits differ with the batch a text was embedded in.

        Raises:
            ValueError: a vector isn't one-dimensional, or has a number that isn't finite.
        """
        rows = [_row(model, digest, vectors[digest]) for digest in sorted(vectors)]
        with self._writing() as session:
            insert = insert_into(session, EmbeddingRow).on_conflict_do_nothing(
                index_elements=["model", "text_sha256"]
            )
            for batch in batches(rows):
                session.execute(insert, batch)


def _row(model: str, digest: str, vector: NDArray[np.floating]) -> dict[str, object]:
    stored = np.ascontiguousarray(vector, dtype=_STORED)
    if vector.ndim != 1 or not vector.size or not np.isfinite(stored).all():
        raise ValueError(f"the vector of text {digest} is not a row of finite numbers")
    return {
        "model": model,
        "text_sha256": digest,
        "dimension": stored.size,
        "vector": stored.tobytes(),
    }

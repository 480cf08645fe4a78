"""index: embed what was never embedded, and load staged points that readers cannot see yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from more_itertools import chunked

from ingest.pipeline import Pipeline
from schemas.payload import MUTABLE_FIELDS, Payload
from schemas.run import BatchRef, GateStep, IndexResult

_EMBEDDED_AT_ONCE = 1024


def index(pipeline: Pipeline, ref: BatchRef) -> BatchRef:
    """Load the batch's passed versions.

    A point that is in the index already, with all that it should say, is neither embedded nor
    written again (guarantee 4); one whose terms changed keeps its published state.

    Raises:
        RetriableError: the index is locked or does not answer.
        FatalError: a vector is not finite or a chunk is longer than the model reads.
    """
    gate = pipeline.stage_result(ref, "gate", GateStep)
    new = reused = embedded = 0
    if gate.passed:
        with pipeline.index() as qdrant:
            qdrant.ensure()
            to_write: list[list[Payload]] = []
            for version in gate.passed:
                wanted = pipeline.payloads(version)
                existing = qdrant.existing([payload.chunk_id for payload in wanted])
                to_write.append(_without_those_in_place(wanted, existing))
                new += len(wanted) - len(existing)
                reused += len(existing)
            # The whole batch at once: the model sorts texts by length, so long lists cost less.
            vectors, embedded = _vectors(pipeline, [one for some in to_write for one in some])
            for number, (version, payloads) in enumerate(
                zip(gate.passed, to_write, strict=True), start=1
            ):
                qdrant.upsert(
                    (payload.chunk_id, vectors[payload.text_sha256], payload)
                    for payload in payloads
                )
                key = version.extracted.fetched.planned.item.source_key
                pipeline.advance(ref, "index", number, len(gate.passed), key)
    result = IndexResult(
        loaded=gate.passed, points_new=new, points_reused=reused, embedded=embedded
    )
    return pipeline.finish(ref, "index", result, new=new, reused=reused)


def _without_those_in_place(
    wanted: Sequence[Payload], existing: Mapping[str, dict[str, Any]]
) -> list[Payload]:
    """Return the payloads to write: points that are missing, or that say something else."""
    to_write = []
    for payload in wanted:
        point = existing.get(payload.chunk_id)
        if point is None:
            to_write.append(payload)
        elif fixed_fields(point) != fixed_fields(payload.to_point()):
            state = {name: point[name] for name in MUTABLE_FIELDS if name in point}
            to_write.append(Payload.model_validate({**payload.to_point(), **state}))
    return to_write


def fixed_fields(point: dict[str, Any]) -> dict[str, Any]:
    """Return what a point's payload must say as long as the point is the same."""
    return {name: value for name, value in point.items() if name not in MUTABLE_FIELDS}


def _vectors(pipeline: Pipeline, payloads: Sequence[Payload]) -> tuple[dict[str, np.ndarray], int]:
    """Return a vector for each text by its hash, and how many had to be embedded now."""
    model = pipeline.settings.embedding_model
    texts = {payload.text_sha256: payload.text for payload in payloads}
    vectors = dict(pipeline.catalog.embeddings(model, list(texts)))
    missing = [digest for digest in texts if digest not in vectors]
    # Stored a part at a time, so that a crash loses little of what was paid for.
    for part in chunked(missing, _EMBEDDED_AT_ONCE):
        made = pipeline.embedder.embed([texts[digest] for digest in part])
        fresh = dict(zip(part, made, strict=True))
        pipeline.catalog.store_embeddings(model, fresh)
        vectors.update(fresh)
    return vectors, len(missing)

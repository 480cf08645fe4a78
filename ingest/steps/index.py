"""index: embed what was never embedded, and load staged points that readers cannot see yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from more_itertools import chunked

from ingest.index import VectorIndex, replace_payload
from ingest.pipeline import Pipeline
from ingest.steps.stored import is_overtaken
from schemas.payload import MUTABLE_FIELDS, TIME_FIELDS, Payload
from schemas.run import BatchRef, ChunkedVersion, GateStep, IndexResult

_EMBEDDED_AT_ONCE = 1024


def index(pipeline: Pipeline, ref: BatchRef) -> BatchRef:
    """Load the batch's passed versions.

    A point that is in the index already, with all that it should say, is neither embedded nor
    written again (guarantee 4). One whose terms changed takes them and keeps its vector, and what
    the catalogue says of time is left alone.

    Raises:
        RetriableError: the index or a document is locked, or the index does not answer.
        FatalError: a vector is not finite or a chunk is longer than the model reads.
    """
    gate = pipeline.stage_result(ref, "gate", GateStep)
    new = reused = patched = embedded = 0
    collection = ""
    if gate.passed:
        with pipeline.index() as qdrant:
            qdrant.ensure()
            collection = qdrant.collection
            missing: list[Payload] = []
            ours = [one for one in gate.passed if not is_overtaken(pipeline, one.extracted)]
            for version in ours:
                wanted = pipeline.payloads(version)
                existing = qdrant.existing([payload.chunk_id for payload in wanted])
                missing += [one for one in wanted if one.chunk_id not in existing]
            # The whole batch at once: the model sorts texts by length, so long lists cost less.
            vectors, embedded = vectors_of(pipeline, missing)
            for number, version in enumerate(gate.passed, start=1):
                planned = version.extracted.fetched.planned
                with pipeline.writing(qdrant, planned.doc_id):
                    loaded = load(pipeline, qdrant, version, vectors)
                new += loaded.new
                reused += version.chunks - loaded.new
                patched += loaded.patched
                key = planned.item.source_key
                pipeline.advance(ref, "index", number, len(gate.passed), key)
    result = IndexResult(
        loaded=gate.passed,
        points_new=new,
        points_reused=reused,
        points_patched=patched,
        embedded=embedded,
        collection=collection,
    )
    return pipeline.finish(ref, "index", result, new=new, reused=reused)


class Loaded(NamedTuple):
    """How many points of a version were missing, and how many had to take other metadata."""

    new: int = 0
    patched: int = 0


def load(
    pipeline: Pipeline,
    qdrant: VectorIndex,
    version: ChunkedVersion,
    vectors: Mapping[str, np.ndarray],
) -> Loaded:
    """Write the points of a version that are missing, and what others of it should say.

    Its document has to be locked. Does nothing for a stored version that another run has brought up
    to date meanwhile.

    Args:
        pipeline: the run.
        qdrant: the index.
        version: what to load.
        vectors: of the texts that were missing, by hash; others are looked up, or embedded.
    """
    if is_overtaken(pipeline, version.extracted):
        return Loaded()
    wanted = pipeline.payloads(version)
    existing = qdrant.existing([payload.chunk_id for payload in wanted])
    missing = [payload for payload in wanted if payload.chunk_id not in existing]
    # Points that went since they were looked for, as when another run gave the version up.
    gone = [payload for payload in missing if payload.text_sha256 not in vectors]
    more, _ = vectors_of(pipeline, gone)
    known = {**vectors, **more}
    qdrant.upsert((one.chunk_id, known[one.text_sha256], one) for one in missing)
    patches = [
        replace_payload(_patched(payload, existing[one.chunk_id]), one.chunk_id)
        for one in wanted
        if one.chunk_id in existing and differs(payload := one.to_point(), existing[one.chunk_id])
    ]
    for some in chunked(patches, pipeline.settings.qdrant.upsert_batch):
        qdrant.change(*some)
    return Loaded(len(missing), len(patches))


def differs(wanted: Mapping[str, Any], point: Mapping[str, Any]) -> bool:
    """Tell whether a point says something else than it should, but for what may change on it."""
    return any(point.get(name) != wanted[name] for name in wanted.keys() - MUTABLE_FIELDS)


def _patched(wanted: dict[str, Any], point: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload that a point should have; what the catalogue decides on stays as it is."""
    return {**wanted, **{name: point[name] for name in TIME_FIELDS & point.keys()}}


def vectors_of(
    pipeline: Pipeline, payloads: Sequence[Payload]
) -> tuple[dict[str, np.ndarray], int]:
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

"""Filling a collection with the stored versions of documents, each proved when it is there.

Nothing is read anew: a version's points are made of the extraction that its present ones were made
of. They stand under the terms of now, as after a backfill, and say of time what the catalogue does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from more_itertools import chunked

from attribution.filters import document_filter
from ingest.audit import audit_version
from ingest.backfill.selection import Chosen, planned
from ingest.catalog.rebuilds import LOADED
from ingest.catalog.records import RebuildRecord, RebuiltVersion, VersionRecord
from ingest.errors import ItemError, MunimentError, RetriableError
from ingest.index import VectorIndex, delete_points
from ingest.pipeline import Pipeline
from ingest.settling import time_fields
from ingest.steps.chunk import chunk_records
from ingest.steps.extract import extracted_version
from ingest.steps.index import vectors_of
from ingest.steps.readings import Reading
from ingest.steps.stored import fetch_stored
from ingest.version import PIPELINE_VERSION
from schemas.base import sha256_text
from schemas.document import Extraction
from schemas.identity import encode_parts
from schemas.payload import PAYLOAD_SCHEMA_VERSION, Payload
from schemas.rebuild import Filled
from schemas.version import HeldInterval


def stale_documents(
    pipeline: Pipeline, rebuild: RebuildRecord, doc_ids: Sequence[str]
) -> Iterator[str]:
    """Yield the documents whose points in the new collection are missing or no longer right."""
    made_by = _made_by(pipeline)
    stamps = pipeline.catalog.version_stamps(doc_ids)
    rebuilt = pipeline.catalog.rebuilt_versions(rebuild.id, doc_ids)
    for doc_id in doc_ids:
        wanted = {n: made_by + stamp for n, stamp in stamps.get(doc_id, {}).items()}
        there = {number: one.stamp for number, one in rebuilt.get(doc_id, {}).items()}
        if wanted != there:
            yield doc_id


def fill(
    pipeline: Pipeline, index: VectorIndex, rebuild: RebuildRecord, doc_ids: Sequence[str]
) -> Filled:
    """Load what the new collection lacks of these documents; done again, it does nothing.

    Args:
        pipeline: of the rebuild.
        index: the new collection.
        rebuild: the rebuild under way.
        doc_ids: the documents.

    Raises:
        RetriableError: a document or the index is in use, or the rebuild has been ended.
    """
    filled = Filled()
    stale = list(stale_documents(pipeline, rebuild, doc_ids))
    for doc_id in stale:
        with pipeline.catalog.document_lock(doc_id):
            filled += fill_document(pipeline, index, rebuild, doc_id)
    return filled


def fill_document(
    pipeline: Pipeline, index: VectorIndex, rebuild: RebuildRecord, doc_id: str
) -> Filled:
    """Load what the new collection lacks of a document, which nobody else may change meanwhile."""
    catalog = pipeline.catalog
    made_by = _made_by(pipeline)
    # Before the records, so that what changes in between is found to have changed.
    stamps = catalog.version_stamps([doc_id]).get(doc_id, {})
    before = catalog.rebuilt_versions(rebuild.id, [doc_id]).get(doc_id, {})
    document = catalog.document(doc_id)
    if document is None:
        index.change(delete_points(document_filter(doc_id)))
        catalog.note_rebuilt(rebuild.id, doc_id, {})
        return Filled(documents=1)
    versions = {record.version: record for record in catalog.versions(doc_id)}
    loaded = [record for record in versions.values() if record.state in LOADED]
    of = Chosen(document, versions, loaded)
    histories = catalog.interval_history(doc_id)
    there: dict[int, RebuiltVersion] = {}
    filled = Filled(documents=1)
    for record in loaded:
        stamp = made_by + stamps.get(record.version, "")
        known = before.get(record.version)
        if known is not None and known.stamp == stamp:
            there[record.version] = known
            continue
        try:
            history = histories.get(record.version, ())
            uri, points, embedded = _load(pipeline, index, of, record, history)
        except RetriableError:
            raise
        except MunimentError as error:
            name = f"{document.source_id}: {record.source_key} version {record.version}"
            filled += Filled(failed=(f"{name}: {error.message}",))
            index.change(delete_points(document_filter(doc_id, record.version)))
            continue
        there[record.version] = RebuiltVersion(stamp=stamp, payloads_uri=uri, chunk_count=points)
        filled += Filled(versions=1, points=points, embedded=embedded)
    for number in before.keys() - {record.version for record in loaded}:
        index.change(delete_points(document_filter(doc_id, number)))
    catalog.note_rebuilt(rebuild.id, doc_id, there)
    return filled


def _load(
    pipeline: Pipeline,
    index: VectorIndex,
    of: Chosen,
    record: VersionRecord,
    history: Sequence[HeldInterval],
) -> tuple[str, int, int]:
    """Load a version and prove it; return its payloads' path, its points, and texts embedded."""
    item = planned(pipeline, of, record)
    if item is None:
        raise ItemError(
            "version_not_stored",
            "it was loaded by a release that did not keep how it was listed. Retry its item once, "
            "or forget the document.",
        )
    fetched = fetch_stored(pipeline, item, None)
    extraction = pipeline.artifacts.read(record.extraction_uri, Extraction)
    rule = pipeline.configuration.source(of.document.source_id).effective_date
    version = extracted_version(fetched, record, Reading.of(extraction, rule))
    chunks = chunk_records(pipeline, version)
    uri = f"chunks/{record.doc_id}/{record.version}-{pipeline.run_id}.jsonl.zst"
    pipeline.artifacts.write_lines(uri, chunks)
    staged = [chunk.payload for chunk in chunks]
    vectors, embedded = vectors_of(pipeline, staged)
    told = time_fields(record, history)
    shown = [Payload.model_validate({**one.to_point(), **told}) for one in staged]
    index.upsert((one.chunk_id, vectors[one.text_sha256], one) for one in shown)
    wanted = {one.chunk_id for one in staged}
    points = dict(index.scroll_version(record.doc_id, record.version))
    index.delete(points.keys() - wanted)
    there = {point: payload for point, payload in points.items() if point in wanted}
    findings = audit_version(there, staged, extraction, pipeline.vault)
    if findings:
        raise ItemError(
            "not_provable",
            f"{len(findings)} findings when its points were read back, first: "
            f"{findings[0].message}. Restore what is damaged, and run the rebuild again.",
        )
    return uri, len(staged), embedded


def strays(
    pipeline: Pipeline, index: VectorIndex, rebuild: RebuildRecord, at_once: int
) -> Iterator[list[str]]:
    """Yield the points that the collection has and should not, a part at a time.

    Such are those of a document that was erased while it was being filled.
    """
    for part in chunked(index.scroll(fields=["doc_id", "version"]), at_once):
        doc_ids = {payload["doc_id"] for _, payload in part}
        rebuilt = pipeline.catalog.rebuilt_versions(rebuild.id, doc_ids)
        found = [
            point
            for point, payload in part
            if payload["version"] not in rebuilt.get(payload["doc_id"], {})
        ]
        if found:
            yield found


def _made_by(pipeline: Pipeline) -> str:
    """Return a stamp of the code and settings that make points."""
    parts = encode_parts(
        PIPELINE_VERSION,
        PAYLOAD_SCHEMA_VERSION,
        pipeline.settings.embedding_model,
        pipeline.settings.chunking.model_dump_json(),
    )
    return sha256_text(parts)[:16] + " "

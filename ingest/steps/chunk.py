"""chunk: cut the versions into chunks and give each its payload."""

from __future__ import annotations

from pydantic import ValidationError

from ingest.chunking import CHUNKER_VERSION
from ingest.errors import ItemError
from ingest.fragments import SHOWN_BY_BROWSERS, PageText
from ingest.licensing import licence_of
from ingest.payloads import build_payload
from ingest.pipeline import Pipeline
from ingest.steps.refusals import refuse
from schemas.document import Extraction
from schemas.run import (
    BatchRef,
    ChunkedVersion,
    ChunkRecord,
    ChunkResult,
    ExtractedVersion,
    ExtractResult,
    Refusal,
)


def chunk(pipeline: Pipeline, ref: BatchRef) -> BatchRef:
    """Chunk every extracted version of the batch."""
    versions = pipeline.stage_result(ref, "extract", ExtractResult).extracted
    chunked: list[ChunkedVersion] = []
    refused: list[Refusal] = []
    for number, extracted in enumerate(versions, start=1):
        planned = extracted.fetched.planned
        try:
            chunked.append(_chunk(pipeline, extracted))
        except ItemError as error:
            refused.append(refuse(pipeline, planned, "chunk", error))
        pipeline.advance(ref, "chunk", number, len(versions), planned.item.source_key)
    result = ChunkResult(chunked=tuple(chunked), refused=tuple(refused))
    return pipeline.finish(ref, "chunk", result, chunks=sum(version.chunks for version in chunked))


def _chunk(pipeline: Pipeline, extracted: ExtractedVersion) -> ChunkedVersion:
    records = chunk_records(pipeline, extracted)
    path = (
        f"chunks/{extracted.fetched.planned.doc_id}/{extracted.version}-{pipeline.run_id}.jsonl.zst"
    )
    pipeline.artifacts.write_lines(path, records)
    return ChunkedVersion(extracted=extracted, payloads_uri=path, chunks=len(records))


def chunk_records(pipeline: Pipeline, extracted: ExtractedVersion) -> list[ChunkRecord]:
    """Return the chunks of a version with their payloads.

    Raises:
        ItemError: ``no_text``, or ``payload_invalid`` where its metadata cannot be loaded.
    """
    item = extracted.fetched.planned.item
    source = pipeline.configuration.source(item.source_id)
    licence = licence_of(pipeline.configuration.licences, item)
    extraction = pipeline.artifacts.read(extracted.extraction_uri, Extraction)
    chunks = pipeline.chunker.chunk(extraction)
    if not chunks:
        raise ItemError(
            "no_text",
            f"{item.source_key}: no text was found to index. If it is a scan, look at its pages; "
            "dismiss the entry if the document is meant to be empty.",
        )
    # A page inside an archive or a mail has no address that a browser could open.
    has_address = extracted.fetched.planned.container_key is None
    shown = has_address and extraction.media_type in SHOWN_BY_BROWSERS
    page = PageText(extraction) if shown else None
    try:
        return [
            ChunkRecord(
                payload=build_payload(
                    chunk,
                    extracted,
                    source=source,
                    licence=licence,
                    extractor_version=extraction.extractor_version,
                    chunker_version=CHUNKER_VERSION,
                    embedding_model=pipeline.settings.embedding_model,
                    run_id=pipeline.run_id,
                    page=page,
                ),
                tokens=chunk.tokens,
                context=chunk.context,
            )
            for chunk in chunks
        ]
    except ValidationError as error:
        reasons = "; ".join(
            f"{'.'.join(map(str, detail['loc'])) or 'payload'}: {detail['msg']}"
            for detail in error.errors()
        )
        raise ItemError(
            "payload_invalid",
            f"{item.source_key}: its metadata cannot be loaded: {reasons}. Correct the source's "
            "manifest or configuration, then retry the item.",
        ) from error

"""Evidence of the gate's refusals: which chunks failed what, and pictures of where they stand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ingest.catalog.records import QuarantineRecord
from ingest.errors import ItemError
from ingest.pipeline import Pipeline
from ingest.quality.results import GateResult
from schemas.base import Model
from schemas.document import Extraction
from schemas.run import ChunkRecord

_DRAWN = 5


class FailedChunk(Model):
    """A chunk and what it fails."""

    chunk_id: str
    codes: tuple[str, ...]
    page_first: int | None
    page_last: int | None
    char_start: int
    char_end: int
    text: str


def failed_chunks(pipeline: Pipeline, entry: QuarantineRecord) -> list[FailedChunk]:
    """Return the entry's chunks that fail a critical expectation, all of them, in text order.

    Empty for an entry that the gate did not make, or whose evidence was erased.
    """
    codes: dict[str, list[str]] = {}
    result_uri = entry.evidence.get("result")
    if result_uri is None or not pipeline.artifacts.exists(result_uri):
        return []
    for failure in pipeline.artifacts.read(result_uri, GateResult).critical:
        for chunk_id in failure.chunk_ids:
            codes.setdefault(chunk_id, []).append(failure.code)
    return [
        FailedChunk(
            chunk_id=payload.chunk_id,
            codes=tuple(codes[payload.chunk_id]),
            page_first=payload.page_first,
            page_last=payload.page_last,
            char_start=payload.char_start,
            char_end=payload.char_end,
            text=payload.text,
        )
        for payload in (record.payload for record in _records(pipeline, entry))
        if payload.chunk_id in codes
    ]


def draw_evidence(pipeline: Pipeline, entry: QuarantineRecord, folder: Path) -> list[Path]:
    """Draw the pages of the first few failing chunks, marked, into ``folder``; return the files.

    Raises:
        FatalError: the vault has lost the source bytes.
    """
    from ingest.proof import draw_passage  # PDF and image libraries take their time

    wanted = {chunk.chunk_id for chunk in failed_chunks(pipeline, entry)[:_DRAWN]}
    if not wanted:
        return []
    extraction = pipeline.artifacts.read(entry.evidence["extraction"], Extraction)
    data = pipeline.vault.get(extraction.doc_sha256)
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for record in _records(pipeline, entry):
        if record.payload.chunk_id not in wanted:
            continue
        try:
            pictures = draw_passage(data, extraction, record.payload)
        except ItemError:
            continue  # a box on a page that does not exist may be the very reason
        for picture in pictures:
            path = folder / f"{entry.id}-{record.payload.chunk_id[:8]}{picture.suffix}.png"
            path.write_bytes(picture.png)
            paths.append(path)
    return paths


def _records(pipeline: Pipeline, entry: QuarantineRecord) -> Iterator[ChunkRecord]:
    uri = entry.evidence.get("payloads")
    if uri is not None and pipeline.artifacts.exists(uri):
        yield from pipeline.artifacts.read_lines(uri, ChunkRecord)

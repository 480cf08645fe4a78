"""extract: turn bytes into versions, each in a child process that can be lost."""

from __future__ import annotations

import codecs
from contextlib import ExitStack
from email.message import Message
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from ingest.errors import ItemError
from ingest.extract import EXTRACTOR_VERSION
from ingest.extract.sandbox import ExtractJob, extract_all
from ingest.pipeline import Pipeline
from ingest.steps.refusals import refuse
from schemas.base import sha256_text
from schemas.document import Extraction
from schemas.identity import encode_parts
from schemas.run import (
    BatchRef,
    ExtractedVersion,
    ExtractResult,
    FetchedItem,
    FetchResult,
    Refusal,
)


def extract(pipeline: Pipeline, ref: BatchRef) -> BatchRef:
    """Extract every fetched item; an extraction that exists already is used as it is.

    Raises:
        FatalError: the vault lost the bytes, or the disk is full.
    """
    fetched = pipeline.stage_result(ref, "fetch", FetchResult).fetched
    placed = [(item, _extraction_path(pipeline, item)) for item in fetched]
    waiting: dict[str, FetchedItem] = {}
    for item, path in placed:
        if not pipeline.artifacts.exists(path):
            waiting.setdefault(path, item)

    errors: dict[str, ItemError] = {}
    pages_recognised = 0
    with ExitStack() as files:
        jobs = [
            ExtractJob(
                key=path,
                path=str(files.enter_context(pipeline.vault.local_file(item.doc_sha256))),
                name=_name(item),
                media_type=item.media_type,
                options=_options(item),
            )
            for path, item in waiting.items()
        ]
        outcomes = extract_all(jobs, pipeline.settings.extraction)
        for number, outcome in enumerate(outcomes, start=1):
            try:
                extraction = outcome.result()
            except ItemError as error:
                errors[outcome.key] = error
            else:
                pipeline.artifacts.write(outcome.key, extraction)
                pages_recognised += sum(page.text_source == "ocr" for page in extraction.pages)
            name = waiting[outcome.key].planned.item.source_key
            pipeline.advance(ref, "extract", number, len(jobs), name)

    extracted: list[ExtractedVersion] = []
    refused: list[Refusal] = []
    for item, path in placed:
        if path in errors:
            refused.append(refuse(pipeline, item.planned, "extract", errors[path]))
        else:
            extraction = pipeline.artifacts.read(path, Extraction)
            extracted.append(_register(pipeline, item, path, extraction))
    result = ExtractResult(
        extracted=tuple(extracted), refused=tuple(refused), pages_recognised=pages_recognised
    )
    return pipeline.finish(ref, "extract", result, extracted=len(extracted), refused=len(refused))


def _name(item: FetchedItem) -> str:
    """Return the file name that the item goes by, for its suffix and for messages."""
    path = urlsplit(item.planned.item.fetch_uri).path or item.planned.item.source_key
    return PurePosixPath(path).name or item.planned.item.source_key


def _extraction_path(pipeline: Pipeline, item: FetchedItem) -> str:
    """Return where the extraction is kept: one for the same bytes, options and extractor."""
    sha256 = item.doc_sha256
    settings = pipeline.settings.extraction
    how = sha256_text(
        encode_parts(
            EXTRACTOR_VERSION,
            _options_key(item),
            str(settings.layout),
            settings.ocr_languages,
            settings.ocr_dpi,
        )
    )
    return f"extractions/{sha256[:2]}/{sha256}-{how[:16]}.json.zst"


def _options(item: FetchedItem) -> dict[str, Any]:
    """Return the item's options, with the encoding that its server declared (RFC 9110 §8.3.1)."""
    header = Message()
    header["Content-Type"] = item.media_type or ""
    charset = header.get_content_charset()
    options = item.planned.item.options
    if charset is None or "encoding" in options:
        return options
    try:
        return {**options, "encoding": codecs.lookup(charset).name}
    except LookupError:
        return options


def _options_key(item: FetchedItem) -> str:
    options = _options(item)
    return encode_parts(*(f"{name}={options[name]!r}" for name in sorted(options)))


def _register(
    pipeline: Pipeline, fetched: FetchedItem, path: str, extraction: Extraction
) -> ExtractedVersion:
    """Give the version its number in the catalogue."""
    planned = fetched.planned
    item = planned.item
    title = item.title or extraction.title or PurePosixPath(item.source_key).stem
    pipeline.catalog.register_document(planned.doc_id, item.source_id, item.document_key, title)
    text_sha256 = extraction.text_sha256
    record = pipeline.catalog.reserve_version(
        doc_id=planned.doc_id,
        doc_sha256=fetched.doc_sha256,
        source_key=item.source_key,
        text_sha256=text_sha256,
        version_label=item.version_label,
        title=title,
        source_uri=item.uri,
        media_type=extraction.media_type,
        licence_id=item.licence_id,
        confidentiality=item.confidentiality,
        client_id=item.client_id,
        effective_from=item.effective_from or fetched.received_at,
        effective_is_receipt=item.effective_from is None,
        received_at=fetched.received_at,
        extraction_uri=path,
        run_id=pipeline.run_id,
    )
    return ExtractedVersion(
        fetched=fetched,
        version=record.version,
        extraction_uri=path,
        text_sha256=text_sha256,
        title=title,
        effective_from=record.effective_from,
        effective_is_receipt=record.effective_is_receipt,
        warnings=extraction.warnings,
    )

"""Payloads: a chunk, the version it belongs to, and the terms it stands under, as one record."""

from __future__ import annotations

from ingest.fragments import PageText, with_fragment
from ingest.version import pipeline_version
from schemas.chunk import Chunk, Locator
from schemas.identity import chunk_id
from schemas.licence import WORLD, Licence
from schemas.payload import Payload
from schemas.run import ExtractedVersion
from schemas.source import Source


def build_payload(
    chunk: Chunk,
    extracted: ExtractedVersion,
    *,
    source: Source,
    licence: Licence,
    extractor_version: str,
    chunker_version: str,
    embedding_model: str,
    run_id: str,
    page: PageText | None = None,
) -> Payload:
    """Return the payload of a staged point: complete but for when it is published.

    ``page`` is the version's text where a browser shows it, for a link to the passage.

    Raises:
        pydantic.ValidationError: a term or a date is not what the schema demands.
    """
    item = extracted.fetched.planned.item
    doc_id = extracted.fetched.planned.doc_id
    return Payload(
        text=chunk.text,
        chunk_id=chunk_id(
            doc_id,
            extracted.version,
            chunk.char_start,
            chunk.char_end,
            chunk.text_sha256,
            chunker_version,
        ),
        doc_id=doc_id,
        title=extracted.title,
        source_id=source.id,
        source_kind=source.kind,
        source_uri=item.uri,
        source_key=item.source_key,
        version=extracted.version,
        version_label=item.version_label,
        effective_from=extracted.effective_from,
        effective_basis=extracted.effective_basis,
        effective_evidence=extracted.effective_evidence,
        page_first=chunk.page_first,
        page_last=chunk.page_last,
        page_label=chunk.page_label,
        boxes=chunk.boxes,
        char_start=chunk.char_start,
        char_end=chunk.char_end,
        section=chunk.section,
        element_kinds=chunk.element_kinds,
        locator=_locator(chunk, item.uri, page),
        licence_id=licence.id,
        attribution_required=licence.attribution_required,
        attribution_text=licence.attribution_text,
        display_allowed=licence.display_allowed,
        max_quote_chars=licence.max_quote_chars,
        redistribution_allowed=licence.redistribution_allowed,
        allowed_uses=licence.allowed_uses,
        territories=licence.territories or (WORLD,),
        licence_valid_from=licence.valid_from,
        licence_valid_until=licence.valid_until,
        confidentiality=item.confidentiality,
        client_id=item.client_id,
        text_source=chunk.text_source,
        ocr_confidence=chunk.ocr_confidence,
        language=chunk.language,
        doc_sha256=chunk.doc_sha256,
        text_sha256=chunk.text_sha256,
        pipeline_version=pipeline_version(extractor_version),
        embedding_model=embedding_model,
        run_id=run_id,
    )


def _locator(chunk: Chunk, uri: str, page: PageText | None) -> Locator | None:
    """Add the link that opens a web page at the passage."""
    if page is None or chunk.locator is None or not uri.startswith(("http://", "https://")):
        return chunk.locator
    directive = page.fragment(chunk.char_start, chunk.char_end)
    url = uri if directive is None else with_fragment(uri, directive)
    return chunk.locator.model_copy(update={"url": url})

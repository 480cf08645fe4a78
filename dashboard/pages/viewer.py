"""The viewer: a page of a version with its passages drawn on it, and what is known of one.

It reads the vault, the extraction and the payloads that were loaded, and does not need the index.
"""

from __future__ import annotations

from typing import Any

from dashboard.site import Site
from dashboard.tables import Column, Table
from ingest.catalog.records import VersionRecord
from ingest.errors import ItemError
from ingest.pictures import draw_page
from ingest.proof import prove
from ingest.settling import time_fields
from schemas.base import utc_now
from schemas.document import Extraction
from schemas.payload import Payload
from schemas.run import ChunkRecord

_DPI = 110
_MEDIA_WITH_PICTURES = ("application/pdf", "image/")


def version_page(
    site: Site, doc_id: str, number: int, page: int | None = None, chunk: str | None = None
) -> dict[str, Any]:
    """Return what the page shows of a page of the version, or of one without pages, and a passage.

    Raises:
        ItemError: ``version_unknown``, ``page_unknown`` or ``chunk_unknown``.
    """
    record, payloads = _loaded(site, doc_id, number)
    extraction = site.artifacts.read(record.extraction_uri, Extraction)
    chosen = None
    if chunk is not None:
        chosen = next((one for one in payloads if one.chunk_id == chunk), None)
        if chosen is None:
            raise ItemError(
                "chunk_unknown", f"Version {number} of {record.title} has no passage {chunk}."
            )
    pages = {one.number: one for one in extraction.pages}
    if page is None:
        page = chosen.page_first if chosen else (min(pages) if pages else None)
    if page is not None and page not in pages:
        raise ItemError("page_unknown", f"{record.title} has no page {page}.")
    shown = pages.get(page) if page is not None else None
    here = [
        one
        for one in payloads
        if shown is None or any(box.page == shown.number for box in one.boxes)
    ]
    address = f"/documents/{doc_id}/versions/{number}"
    withheld = _withheld(site, record, payloads)
    allowed = withheld is None
    marks = [
        {
            "href": f"{address}?page={shown.number}&chunk={one.chunk_id}",
            "chosen": chosen is not None and one.chunk_id == chosen.chunk_id,
            "says": f"Passage {place}: characters {one.char_start} to {one.char_end}",
            "boxes": [box for box in one.boxes if box.page == shown.number],
        }
        for place, one in enumerate(here, start=1)
        if shown is not None
    ]
    table = Table(
        "passages",
        "Passages on this page" if shown else "Passages",
        (
            Column("place", "Passage", "number"),
            Column("char_start", "From character", "number"),
            Column("char_end", "To", "number"),
            Column("section", "Section"),
            Column("text", "Begins"),
        ),
        [
            {
                "place": place,
                "place_href": f"{address}?chunk={one.chunk_id}"
                + (f"&page={shown.number}" if shown else ""),
                "char_start": one.char_start,
                "char_end": one.char_end,
                "section": " › ".join(one.section) if allowed else None,
                "text": one.text[:100] if allowed else None,
            }
            for place, one in enumerate(here, start=1)
        ],
        none="No passage is on this page.",
        wide=frozenset({"section", "text"}),
    )
    return {
        "record": record,
        "address": address,
        "shown": shown,
        "last_page": max(pages) if pages else None,
        "has_picture": shown is not None and allowed and _has_picture(extraction),
        "withheld": withheld,
        "marks": marks,
        "chosen": None if chosen is None else _chosen(site, record, extraction, chosen, allowed),
        "tables": [table],
    }


def picture(site: Site, doc_id: str, number: int, page: int) -> bytes:
    """Return the picture of a page as PNG.

    Raises:
        ItemError: there is no such page, its licence does not let it be shown, or it cannot be
            drawn.
        FatalError: the vault has lost the bytes.
    """
    record, payloads = _loaded(site, doc_id, number)
    withheld = _withheld(site, record, payloads)
    if withheld is not None:
        raise ItemError("display_forbidden", withheld)
    extraction = site.artifacts.read(record.extraction_uri, Extraction)
    for one in extraction.pages:
        if one.number == page and _has_picture(extraction):
            data = site.vault.get(record.doc_sha256)
            return draw_page(data, extraction.media_type, one, (), dpi=_DPI)
    raise ItemError("page_unknown", f"{record.title} has no page {page} that can be drawn.")


def find_chunk(site: Site, chunk_id: str) -> str:
    """Return the address of a passage by its id, which only the index knows to which version it is.

    Raises:
        ItemError: ``not_found``.
        RetriableError: the index is in use by another process.
    """
    from ingest.operations import show

    point = show(site.settings, chunk_id)
    if "chunk_id" not in point:
        raise ItemError("not_found", f"No passage has the id {chunk_id!r}.")
    return f"/documents/{point['doc_id']}/versions/{point['version']}?chunk={chunk_id}"


def _loaded(site: Site, doc_id: str, number: int) -> tuple[VersionRecord, list[Payload]]:
    record = site.catalog.version(doc_id, number)
    if record is None or record.payloads_uri is None:
        raise ItemError(
            "version_unknown", f"Document {doc_id} has no version {number} that was loaded."
        )
    lines = site.artifacts.read_lines(record.payloads_uri, ChunkRecord)
    return record, [line.payload for line in lines]


def _withheld(site: Site, record: VersionRecord, payloads: list[Payload]) -> str | None:
    """Return why neither text nor pages may be shown; None if they may.

    What the points say and what the registry says now both have to allow it.
    """
    licence = site.configuration.licences.get(record.licence_id)
    if licence is None:
        return f"Its licence {record.licence_id} is not in the registry."
    now = utc_now()
    if not licence.display_allowed or not all(one.display_allowed for one in payloads):
        return f"Its licence {record.licence_id} does not allow that it is shown."
    if not licence.valid_from <= now < min(licence.valid_until, record.licence_valid_until):
        return f"Its licence {record.licence_id} does not hold at present."
    return None


def _has_picture(extraction: Extraction) -> bool:
    return extraction.media_type.startswith(_MEDIA_WITH_PICTURES)


def _chosen(
    site: Site, record: VersionRecord, extraction: Extraction, payload: Payload, allowed: bool
) -> dict[str, Any]:
    """Return what is known of a passage, with its proof as far as it needs no index."""
    history = site.catalog.interval_history(record.doc_id).get(record.version, ())
    point = {**payload.to_point(), **time_fields(record, history)}
    proof, _ = prove(point, vault=site.vault, extraction=extraction, dpi=36)
    hidden = {"text", "boxes"} if allowed else {"text", "boxes", "section", "effective_evidence"}
    fields = {name: value for name, value in point.items() if name not in hidden}
    return {
        "text": payload.text if allowed else None,
        "payload": payload,
        "fields": fields,
        "steps": proof.steps,
        "proved": proof.proved,
    }

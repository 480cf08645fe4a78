"""What ``muniment diff`` does: it finds the two versions, what is known of them, and compares."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from ingest.catalog.records import VersionRecord
from ingest.configuration import load_configuration
from ingest.diff.compare import compare
from ingest.diff.model import ComparedVersion, VersionDiff
from ingest.diff.page import write_page
from ingest.diff.pictures import draw_pages
from ingest.errors import ItemError
from ingest.licensing import licence_of
from ingest.pipeline import open_artifacts, open_catalog, open_vault
from ingest.settings import Settings
from schemas.base import utc_now
from schemas.document import Extraction
from schemas.licence import Licence
from schemas.run import StoredItem


def diff(
    settings: Settings, doc_id: str, numbers: tuple[int, int] | None, html: Path | None = None
) -> VersionDiff:
    """Compare two versions of a document; without their numbers, the last two by effective date.

    Args:
        settings: of the installation.
        doc_id: the document.
        numbers: of the versions, the former first.
        html: where to write the comparison as a page.

    Raises:
        ConfigurationError: the sources or the licences file is wrong.
        ItemError: ``document_unknown``, ``version_unknown``, or ``nothing_to_compare``.
        FatalError: the text of a version is lost.
    """
    licences = load_configuration(settings.sources_file, settings.licences_file).licences
    catalog = open_catalog(settings)
    document = catalog.document(doc_id)
    if document is None:
        raise ItemError(
            "document_unknown",
            f"There is no document {doc_id}. See what there is: muniment versions list",
        )
    records = [one for one in catalog.versions(doc_id) if one.published_at is not None]
    chosen = _chosen(records, numbers, document.title)
    artifacts = open_artifacts(settings)
    before, after = (artifacts.read(one.extraction_uri, Extraction) for one in chosen)
    now = utc_now()
    found = compare(
        before,
        after,
        doc_id=doc_id,
        title=document.title,
        versions=(
            _described(chosen[0], before, licence_now(licences, records, chosen[0]), now),
            _described(chosen[1], after, licence_now(licences, records, chosen[1]), now),
        ),
    )
    if html is not None:
        pictures = draw_pages(found, before, after, open_vault(settings))
        write_page(found, pictures, html)
    return found


def licence_now(
    licences: dict[str, Licence], records: Sequence[VersionRecord], version: VersionRecord
) -> Licence | None:
    """Return the licence that a version stands under by now; None where it has none.

    A licence that changes holds for former versions too: the terms are those that the version's
    item was last listed with.
    """
    listed = [
        one for one in records if one.source_key == version.source_key and one.item is not None
    ]
    if not listed:
        return None
    item = StoredItem.model_validate(max(listed, key=lambda one: one.version).item).item
    try:
        return licence_of(licences, item)
    except ItemError:
        return None


def _chosen(
    records: Sequence[VersionRecord], numbers: tuple[int, int] | None, title: str
) -> tuple[VersionRecord, VersionRecord]:
    by_number = {one.version: one for one in records}
    has = f"it has {', '.join(map(str, by_number)) or 'none'}"
    if numbers is None:
        held = [one for one in records if one.state == "published"]
        held.sort(key=lambda one: (one.effective_from, one.effective_until, one.version))
        if len(held) < 2:
            raise ItemError(
                "nothing_to_compare",
                f"{title} has fewer than two versions that were ever in force; {has}. Name two to "
                "compare.",
            )
        return held[-2], held[-1]
    for number in numbers:
        if number not in by_number:
            raise ItemError("version_unknown", f"{title} has no version {number}; {has}.")
    return by_number[numbers[0]], by_number[numbers[1]]


def _described(
    record: VersionRecord, extraction: Extraction, licence: Licence | None, now: datetime
) -> ComparedVersion:
    in_time = licence is not None and licence.valid_from <= now < licence.valid_until
    return ComparedVersion(
        version=record.version,
        version_label=record.version_label,
        source_key=record.source_key,
        source_uri=record.source_uri,
        media_type=extraction.media_type,
        effective_from=record.effective_from,
        effective_until=record.effective_until,
        doc_sha256=record.doc_sha256,
        text_sha256=extraction.text_sha256,
        pages=len(extraction.pages),
        licence_id=record.licence_id if licence is None else licence.id,
        attribution_text=licence.attribution_text
        if licence is not None and licence.attribution_required
        else None,
        display_allowed=licence is not None and licence.display_allowed and in_time,
        max_quote_chars=licence.max_quote_chars if licence else None,
    )

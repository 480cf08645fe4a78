"""Which stored versions a backfill looks at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ingest.catalog.rebuilds import LOADED
from ingest.catalog.records import DocumentRecord, VersionRecord
from ingest.errors import ItemError
from ingest.pipeline import Pipeline
from schemas.backfill import BackfillRequest
from schemas.base import BEGINNING, OPEN_END
from schemas.run import PlannedItem, StoredItem, StoredVersion


@dataclass(frozen=True)
class Chosen:
    """A document, all its versions by number, and those of them that are looked at."""

    document: DocumentRecord
    versions: Mapping[int, VersionRecord]
    chosen: Sequence[VersionRecord]


def choose(pipeline: Pipeline, request: BackfillRequest) -> Iterator[Chosen]:
    """Yield the documents that have versions to look at, in the order of source and key.

    Raises:
        ConfigurationError: there is no such source.
        ItemError: ``document_unknown``.
    """
    for source_id in request.sources:
        pipeline.configuration.source(source_id)
    for document in _documents(pipeline, request):
        versions = {record.version: record for record in pipeline.catalog.versions(document.doc_id)}
        chosen = [record for record in versions.values() if _is_meant(record, request)]
        if chosen:
            yield Chosen(document, versions, chosen)


def planned(pipeline: Pipeline, of: Chosen, record: VersionRecord) -> PlannedItem | None:
    """Return the version as an item to work on again; None if it isn't known how it was listed.

    It is read as its item was listed then, and stands under the terms and the access that its item
    has by now: a licence that changes holds for former versions too.
    """
    if record.item is None:
        return None
    listed = StoredItem.model_validate(record.item)
    newest = max(
        (
            one
            for one in of.versions.values()
            if one.source_key == record.source_key and one.state in LOADED and one.item is not None
        ),
        key=lambda one: one.version,
    )
    terms = StoredItem.model_validate(newest.item).item
    item = listed.item.model_copy(
        update={
            name: getattr(terms, name)
            for name in ("licence_id", "terms", "confidentiality", "client_id")
        }
    )
    return PlannedItem(
        item=item,
        doc_id=record.doc_id,
        change="changed",
        container_key=listed.container_key,
        depth=listed.depth,
        stored=StoredVersion(
            version=record.version,
            doc_sha256=record.doc_sha256,
            size=listed.size,
            received_at=record.received_at,
            run_id=record.run_id,
        ),
    )


def _documents(pipeline: Pipeline, request: BackfillRequest) -> Iterator[DocumentRecord]:
    catalog = pipeline.catalog
    ids = request.documents or catalog.document_ids()
    for doc_id in ids:
        document = catalog.document(doc_id)
        if document is None and request.documents:
            raise ItemError(
                "document_unknown",
                f"There is no document {doc_id}. See what there is: muniment versions list",
            )
        if document is not None and (not request.sources or document.source_id in request.sources):
            yield document


def _is_meant(record: VersionRecord, request: BackfillRequest) -> bool:
    first, last = request.effective_from or BEGINNING, request.effective_until or OPEN_END
    is_any = request.effective_from is None and request.effective_until is None
    return record.state in LOADED and (is_any or first <= record.effective_from < last)

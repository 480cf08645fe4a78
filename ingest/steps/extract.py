"""extract: turn bytes, and the files inside them, into versions."""

from __future__ import annotations

from pathlib import PurePosixPath

from ingest.catalog.records import VersionDraft, VersionRecord
from ingest.effective import FoundDate
from ingest.errors import ItemError
from ingest.licensing import valid_until
from ingest.pipeline import Pipeline
from ingest.steps.members import MemberTree, MemberTrees
from ingest.steps.readings import Reader, Reading, extraction_path
from ingest.steps.refusals import refuse, settle_members
from ingest.version import PIPELINE_VERSION
from schemas.run import (
    BatchRef,
    ExtractedVersion,
    ExtractResult,
    FetchedItem,
    FetchResult,
    StoredItem,
)


def extract(pipeline: Pipeline, ref: BatchRef) -> BatchRef:
    """Extract every fetched item and all that is inside it, level by level.

    What is found inside is noted in the catalogue before any of it is finished, so that a run that
    does not get to its end leaves nothing that the next one would pass over.

    Raises:
        FatalError: the vault lost the bytes, or the disk is full.
    """
    level = list(pipeline.stage_result(ref, "fetch", FetchResult).fetched)
    # What is inside a document is read with what its source lists now, not with former versions.
    listed = [item.planned for item in level if item.planned.stored is None]
    trees = MemberTrees(pipeline, listed)
    reader = Reader(pipeline, ref)
    done: list[tuple[FetchedItem, Reading | ItemError]] = []
    while level:
        inside: list[FetchedItem] = []
        for item, reading in zip(level, reader.read(level), strict=True):
            outcome = reading
            if item.planned.stored is not None:
                done.append((item, outcome))
                continue
            if isinstance(reading, Reading):
                try:
                    inside += trees.open(item, reading.attachments, reading.member_problems)
                except ItemError as error:
                    outcome = error
            if isinstance(outcome, ItemError):
                trees.close(item.planned)
            done.append((item, outcome))
        level = inside
    for tree in trees:
        if tree.is_read and (tree.found or tree.known):
            pipeline.catalog.note_members(
                ref.source_id,
                tree.root.item.source_key,
                tree.found,
                waiting=tree.waiting,
                pipeline_version=PIPELINE_VERSION,
                run_id=pipeline.run_id,
            )

    extracted: list[ExtractedVersion] = []
    opened: list[FetchedItem] = []
    refused = [
        refuse(pipeline, planned, "extract", error)
        for tree in trees
        for planned, error in tree.refused
    ]
    for item, outcome in done:
        if isinstance(outcome, ItemError):
            refused.append(refuse(pipeline, item.planned, "extract", outcome))
            settle_members(pipeline, item.planned)
        elif outcome.has_text:
            extracted.append(_register(pipeline, item, outcome))
        elif item.planned.stored is not None:
            refused.append(refuse(pipeline, item.planned, "extract", _text_lost(item)))
        elif (missing := _missing_text(item, outcome, trees.of(item.planned))) is not None:
            refused.append(refuse(pipeline, item.planned, "extract", missing))
        else:
            opened.append(item)
    gone = {key: known for tree in trees for key, known in tree.gone.items()}
    result = ExtractResult(
        extracted=tuple(extracted),
        refused=tuple(refused),
        opened=tuple(opened),
        members=sum(len(tree.waiting) for tree in trees),
        members_gone=tuple(sorted(gone)),
        retire=tuple(sorted({known.doc_id for known in gone.values() if known.version})),
        restore=tuple(sorted({doc_id for tree in trees for doc_id in tree.restore})),
        reread=reader.documents_read,
        pages_recognised=reader.pages_recognised,
    )
    counts = {"opened": len(opened), "members": result.members} if result.members else {}
    return pipeline.finish(
        ref, "extract", result, extracted=len(extracted), refused=len(refused), **counts
    )


def _missing_text(item: FetchedItem, reading: Reading, tree: MemberTree) -> ItemError | None:
    """Return why a document without a text is refused; None for an archive that was opened."""
    key = item.planned.item.source_key
    if reading.has_pages:
        return ItemError(
            "no_text",
            f"{key}: no text was found on its pages; the files inside it are read by themselves. "
            "Look at the pages: if they are scans, get better ones, then retry the item; dismiss "
            "the entry if they are meant to be empty.",
        )
    if (known := tree.before(key)) is not None and known.version is not None:
        return ItemError(
            "text_missing",
            f"{key}: it had a text, and now it is an archive without one. What was published of "
            "it stays; the files inside it are read by themselves. Give the archive another name "
            "in its source, which retires the old text.",
        )
    return None


def _text_lost(item: FetchedItem) -> ItemError:
    return ItemError(
        "text_lost",
        f"{item.planned.item.source_key}: a published version had a text, and reading its bytes "
        "again gives none. What is published of it stays. Look at how its source is read now.",
    )


def _register(pipeline: Pipeline, fetched: FetchedItem, reading: Reading) -> ExtractedVersion:
    """Give the version its number in the catalogue."""
    planned = fetched.planned
    item = planned.item
    draft = draft_version(pipeline, fetched, reading)
    if planned.stored is None:
        pipeline.catalog.register_document(
            planned.doc_id, item.source_id, item.document_key, draft.title
        )
    record = pipeline.catalog.reserve_version(
        planned.doc_id,
        draft,
        renamed_from=planned.renamed_from,
        stored=None if planned.stored is None else planned.stored.version,
    )
    return extracted_version(fetched, record, reading)


def draft_version(pipeline: Pipeline, fetched: FetchedItem, reading: Reading) -> VersionDraft:
    """Return what is known of a version once its bytes have been read."""
    item = fetched.planned.item
    said = FoundDate(item.effective_from, "source") if item.effective_from else reading.date
    return VersionDraft(
        doc_sha256=fetched.doc_sha256,
        source_key=item.source_key,
        text_sha256=reading.text_sha256,
        version_label=item.version_label,
        title=item.title or reading.title or PurePosixPath(item.source_key).stem,
        source_uri=item.uri,
        media_type=reading.media_type,
        licence_id=item.licence_id,
        licence_valid_until=valid_until(pipeline.configuration.licences, item),
        confidentiality=item.confidentiality,
        client_id=item.client_id,
        effective_from=said.effective_from or fetched.received_at,
        effective_basis=said.basis,
        effective_evidence=said.evidence,
        withdrawn=item.withdrawn,
        received_at=fetched.received_at,
        extraction_uri=extraction_path(pipeline, fetched),
        run_id=pipeline.run_id,
        item=_stored(fetched).model_dump(mode="json"),
    )


def _stored(fetched: FetchedItem) -> StoredItem:
    planned = fetched.planned
    # With the type that its server declared, so that it is read in the same way again.
    item = planned.item.model_copy(update={"media_type": fetched.media_type})
    return StoredItem(
        item=item,
        container_key=planned.container_key,
        depth=planned.depth,
        size=fetched.size,
    )


def extracted_version(
    fetched: FetchedItem, record: VersionRecord, reading: Reading
) -> ExtractedVersion:
    """Return a version that the catalogue knows, for the next steps."""
    item = fetched.planned.item
    # What is wrong with dates in the text matters only where the text is asked for one.
    dated = reading.date.warnings if item.effective_from is None else ()
    return ExtractedVersion(
        fetched=fetched,
        version=record.version,
        extraction_uri=record.extraction_uri,
        text_sha256=reading.text_sha256,
        title=record.title,
        effective_from=record.effective_from,
        effective_basis=record.effective_basis,
        effective_evidence=record.effective_evidence,
        warnings=(*item.warnings, *dated, *reading.warnings),
    )

"""What a stored version needs: found out without changing anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attribution.filters import document_filter
from ingest.backfill.selection import Chosen, planned
from ingest.catalog.intervals import IN_TIMELINE
from ingest.catalog.records import VersionRecord
from ingest.errors import ItemError
from ingest.index import VectorIndex
from ingest.pipeline import Pipeline
from ingest.settling import DATE_FIELDS, time_fields
from ingest.steps.chunk import chunk_records
from ingest.steps.extract import draft_version, extracted_version
from ingest.steps.index import differs
from ingest.steps.readings import Reading, extraction_path
from ingest.steps.stored import fetch_stored, has_bytes
from ingest.versions import Interval, VersionDate, timeline
from schemas.backfill import VersionWork, Work
from schemas.document import Extraction
from schemas.payload import Payload
from schemas.run import PlannedItem


@dataclass(frozen=True)
class Assessed:
    """What one document needs."""

    work: Sequence[VersionWork]
    items: Sequence[PlannedItem]
    """Versions that go through the steps again."""
    skipped: Sequence[str]


def assess(pipeline: Pipeline, qdrant: VectorIndex, of: Chosen) -> Assessed:
    """Find out what the chosen versions of a document need, and what follows for the others."""
    work: dict[int, VersionWork] = {}
    items: list[PlannedItem] = []
    skipped: list[str] = []
    dates = dict(of.versions)
    for record in of.chosen:
        item = planned(pipeline, of, record)
        name = f"{record.source_key} version {record.version}"
        if item is None:
            skipped.append(
                f"{name}: it was loaded by a release that did not keep how it was listed. Retry "
                "its item once, if its source still has it."
            )
            continue
        try:
            found, dates[record.version] = _version(pipeline, qdrant, of, record, item)
        except ItemError as error:
            skipped.append(f"{name}: {error.message}")
            continue
        if not found.is_none:
            work[record.version] = found
            items.append(item)
    for number, points in _moved(of, dates).items():
        record = of.versions[number]
        before = work.get(number) or _blank(of, record)
        work[number] = before.model_copy(
            update={
                "points_redated": points,
                "reasons": (*before.reasons, "its dates change"),
            }
        )
    return Assessed([work[number] for number in sorted(work)], items, skipped)


def _version(
    pipeline: Pipeline, qdrant: VectorIndex, of: Chosen, record: VersionRecord, item: PlannedItem
) -> tuple[VersionWork, VersionRecord]:
    """Return what the version needs, and what its record would be."""
    fetched = fetch_stored(pipeline, item, None)
    lost = not has_bytes(pipeline, record.doc_sha256)
    blank = _blank(of, record)
    path = extraction_path(pipeline, fetched)
    if not pipeline.artifacts.exists(path):
        reasons = [*(["the vault has lost its bytes"] if lost else []), "it is read anew"]
        update = {"refetched": int(lost), **_at_most(pipeline, record), "reasons": tuple(reasons)}
        return blank.model_copy(update=update), record
    extraction = pipeline.artifacts.read(path, Extraction)
    rule = pipeline.configuration.source(of.document.source_id).effective_date
    reading = Reading.of(extraction, rule)
    after = pipeline.catalog.preview_version(
        record.doc_id, record.version, draft_version(pipeline, fetched, reading)
    )
    chunks = chunk_records(pipeline, extracted_version(fetched, after, reading))
    wanted = {chunk.payload.chunk_id: chunk.payload for chunk in chunks}
    points = dict(qdrant.scroll(document_filter(record.doc_id, record.version)))
    found = _compare(pipeline, wanted, points)
    history = pipeline.catalog.interval_history(record.doc_id).get(record.version, ())
    fields = time_fields(record, history)
    shown = {point: state for point, state in points.items() if point in wanted}
    redated = sum(
        any(state.get(name) != fields[name] for name in DATE_FIELDS) for state in shown.values()
    )
    reasons = [
        reason
        for reason, holds in (
            ("the vault has lost its bytes", lost),
            ("its chunks change", found.points_new or found.points_deleted),
            ("its terms or metadata change", found.points_patched),
            ("the index has other dates than the catalogue", redated),
        )
        if holds
    ]
    update = {
        **dict(found),
        "refetched": int(lost),
        "points_redated": redated,
        "reasons": tuple(reasons),
    }
    return blank.model_copy(update=update), after


def _compare(
    pipeline: Pipeline, wanted: Mapping[str, Payload], points: Mapping[str, Mapping[str, Any]]
) -> Work:
    new = [payload for chunk_id, payload in wanted.items() if chunk_id not in points]
    texts = {payload.text_sha256 for payload in new}
    known = pipeline.catalog.embedded(pipeline.settings.embedding_model, texts)
    return Work(
        points_new=len(new),
        embedded=len(texts - known),
        points_patched=sum(
            differs(payload.to_point(), points[chunk_id])
            for chunk_id, payload in wanted.items()
            if chunk_id in points
        ),
        points_deleted=sum(point not in wanted for point in points),
    )


def _at_most(pipeline: Pipeline, record: VersionRecord) -> dict[str, int]:
    """Return what reading a version anew takes at most, as far as the last reading tells."""
    pages = 0
    if pipeline.artifacts.exists(record.extraction_uri):
        extraction = pipeline.artifacts.read(record.extraction_uri, Extraction)
        pages = sum(bool(page.recognitions) for page in extraction.pages)
    count = record.chunk_count
    return {
        "reread": 1,
        "pages_recognised": pages,
        "points_new": count,
        "embedded": count,
        "points_deleted": count,
    }


def _moved(of: Chosen, dates: Mapping[int, VersionRecord]) -> dict[int, int]:
    """Return the versions whose interval changes, with their number of points."""
    intervals = timeline(
        VersionDate(number, after.effective_from, after.version_label, after.source_key)
        for number, after in dates.items()
        if of.versions[number].state in IN_TIMELINE
    )
    return {
        number: of.versions[number].chunk_count
        for number, interval in intervals.items()
        if of.versions[number].state == "published"
        and interval
        != Interval(of.versions[number].effective_from, of.versions[number].effective_until)
    }


def _blank(of: Chosen, record: VersionRecord) -> VersionWork:
    return VersionWork(
        doc_id=record.doc_id,
        version=record.version,
        source_id=of.document.source_id,
        source_key=record.source_key,
        title=record.title,
    )

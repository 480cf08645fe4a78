"""Versions in time: what there is of a document, and what a person says of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from ingest.catalog import Catalog
from ingest.catalog.records import Correction, VersionRecord, VersionState, Withdrawal
from ingest.errors import ItemError
from ingest.index import VectorIndex
from ingest.pipeline import Pipeline, open_catalog
from ingest.runner import new_run_id
from ingest.settings import Settings
from ingest.settling import settle_all
from ingest.versions import held
from schemas.base import Model, UtcDatetime, utc_now
from schemas.version import DateEvidence, EffectiveBasis, HeldInterval


class DocumentSummary(Model):
    """A document and its versions in short."""

    doc_id: str
    source_id: str
    document_key: str
    title: str
    versions: int
    """Those that were published."""
    in_force: int | None
    """Number of the version that is in force now."""


class VersionReport(Model):
    """One version in time."""

    version: int
    version_label: str | None
    state: VersionState
    effective_from: UtcDatetime
    effective_until: UtcDatetime
    effective_basis: EffectiveBasis
    evidence: DateEvidence | None
    correction: Correction | None
    withdrawal: Withdrawal | None
    received_at: UtcDatetime
    published_at: UtcDatetime | None
    retired_at: UtcDatetime
    source_key: str
    doc_sha256: str
    chunk_count: int
    history: tuple[HeldInterval, ...]


class VersionsReport(Model):
    """A document's versions in time."""

    doc_id: str
    title: str
    on: UtcDatetime | None
    """The date of publication asked about; None for what is held now."""
    versions: tuple[VersionReport, ...]


def documents(settings: Settings, source_id: str | None = None) -> list[DocumentSummary]:
    """Return the documents of a source, or of all."""
    catalog = open_catalog(settings)
    now = utc_now()
    found = []
    for document in catalog.documents(source_id):
        shown = [one for one in catalog.versions(document.doc_id) if one.published_at is not None]
        current = [
            one.version
            for one in shown
            if one.state == "published" and one.effective_from <= now < one.effective_until
        ]
        found.append(
            DocumentSummary(
                doc_id=document.doc_id,
                source_id=document.source_id,
                document_key=document.document_key,
                title=document.title,
                versions=len(shown),
                in_force=current[0] if current else None,
            )
        )
    return found


def report(settings: Settings, doc_id: str, on: datetime | None = None) -> VersionsReport:
    """Return a document's versions, as is held now or as readers were told on ``on``.

    Raises:
        ItemError: ``document_unknown``.
    """
    return _report(open_catalog(settings), doc_id, on)


def correct(
    settings: Settings, doc_id: str, version: int, effective_from: datetime, reason: str
) -> VersionsReport:
    """Set a version's effective date and bring the index up to date.

    Raises:
        ItemError: ``document_unknown``, ``version_unknown`` or ``version_not_published``.
    """
    return _changed(
        settings,
        doc_id,
        version,
        lambda catalog, at: catalog.correct(doc_id, version, effective_from, reason=reason, at=at),
    )


def uncorrect(settings: Settings, doc_id: str, version: int) -> VersionsReport:
    """Take a correction back and bring the index up to date; raises as `correct` does."""
    return _changed(
        settings, doc_id, version, lambda catalog, at: catalog.uncorrect(doc_id, version, at=at)
    )


def withdraw(settings: Settings, doc_id: str, version: int, reason: str) -> VersionsReport:
    """Withdraw a version and bring the index up to date; raises as `correct` does."""
    return _changed(
        settings,
        doc_id,
        version,
        lambda catalog, at: catalog.withdraw(doc_id, version, reason=reason, at=at),
    )


def reinstate(settings: Settings, doc_id: str, version: int) -> VersionsReport:
    """Take a withdrawal back and bring the index up to date; raises as `correct` does."""
    return _changed(
        settings, doc_id, version, lambda catalog, at: catalog.reinstate(doc_id, version, at=at)
    )


def _changed(
    settings: Settings,
    doc_id: str,
    version: int,
    change: Callable[[Catalog, datetime], VersionRecord],
) -> VersionsReport:
    pipeline = Pipeline(settings, new_run_id())
    known = _report(pipeline.catalog, doc_id, None)
    if pipeline.catalog.version(doc_id, version) is None:
        numbers = ", ".join(str(one.version) for one in known.versions)
        raise ItemError(
            "version_unknown",
            f"{known.title} has no version {version}; it has {numbers or 'none'}.",
        )
    with pipeline.index() as qdrant:
        qdrant.ensure()
        change(pipeline.catalog, _instant(qdrant))
        settle_all(pipeline, qdrant, [doc_id])
    return _report(pipeline.catalog, doc_id, None)


def _instant(qdrant: VectorIndex) -> datetime:
    return utc_now() + qdrant.notice


def _report(catalog: Catalog, doc_id: str, on: datetime | None) -> VersionsReport:
    document = catalog.document(doc_id)
    if document is None:
        raise ItemError(
            "document_unknown",
            f"There is no document {doc_id}. See what there is: muniment versions list",
        )
    histories = catalog.interval_history(doc_id)
    versions = []
    for record in catalog.versions(doc_id):
        if record.published_at is None:
            continue
        history = histories.get(record.version, ())
        start, end = record.effective_from, record.effective_until
        if on is not None:
            interval = held(history, on)
            if interval is None:
                continue
            start, end = interval.effective_from, interval.effective_until
        versions.append(
            VersionReport(
                **{name: getattr(record, name) for name in _SAME},
                effective_from=start,
                effective_until=end,
                evidence=record.effective_evidence,
                history=history,
            )
        )
    versions.sort(key=lambda one: (one.effective_from, one.effective_until, one.version))
    return VersionsReport(doc_id=doc_id, title=document.title, on=on, versions=tuple(versions))


_SAME = (VersionReport.model_fields.keys() & VersionRecord.model_fields.keys()) - {
    "effective_from",
    "effective_until",
}

"""Versions: reserving a number, and reading what there is."""

from __future__ import annotations

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session

from ingest.catalog.documents import lock_document
from ingest.catalog.intervals import held_intervals
from ingest.catalog.models import VersionRow
from ingest.catalog.records import Correction, VersionDraft, VersionRecord
from ingest.catalog.transactions import Transactions, to_record
from ingest.errors import FatalError
from schemas.version import HeldInterval


class Versions(Transactions):
    """The catalogue's methods on versions."""

    def reserve_version(
        self,
        doc_id: str,
        draft: VersionDraft,
        *,
        renamed_from: str | None = None,
        stored: int | None = None,
    ) -> VersionRecord:
        """Return the version that these bytes of this item are: one that exists, or a new one.

        A staged version of the same bytes and item is what a run left that did not get to its end;
        the item's latest published version with the same bytes is the one whose metadata changed.
        Either takes the new metadata but keeps its number and date of receipt, and with the latter
        an effective date that stands on it, so that a second try gives the same dates. What is
        published takes it only when it's published again: until then it is as readers see it. A
        date that a person set stays.

        Args:
            doc_id: the document.
            draft: what is known of the version.
            renamed_from: an item that was renamed has the versions that it had under this key.
            stored: number of the published version that is worked on again from its stored bytes.

        Raises:
            FatalError: ``catalog_document_unknown``, or ``catalog_version_unknown`` where the
                stored version is not there or has other bytes.
            RetriableError: ``catalog_locked``, ``catalog_unreachable`` or ``catalog_conflict``.
        """
        return self._retrying(lambda: self._reserve(doc_id, draft, renamed_from, stored))

    def _reserve(
        self, doc_id: str, draft: VersionDraft, renamed_from: str | None, stored: int | None
    ) -> VersionRecord:
        with self._writing() as session:
            lock_document(session, doc_id)
            if stored is not None:
                row: VersionRow | None = get_version(session, doc_id, stored)
            else:
                row = _find_same(session, doc_id, draft, renamed_from)
            if row is None:
                latest = session.scalar(
                    select(func.max(VersionRow.version)).where(VersionRow.doc_id == doc_id)
                )
                row = VersionRow(
                    doc_id=doc_id,
                    version=(latest or 0) + 1,
                    published_at=None,
                    payloads_uri=None,
                    **draft.model_dump(),
                )
                session.add(row)
            elif row.state == "staged":
                take(row, _revised(row, draft))
            else:
                revised = _revised(row, draft)
                row.pending = {
                    **(row.pending or {}),
                    draft.run_id: revised.model_dump(mode="json"),
                }
                return _with(row, revised)
            session.flush()
            return to_record(VersionRecord, row)

    def preview_version(self, doc_id: str, version: int, draft: VersionDraft) -> VersionRecord:
        """Return what `reserve_version` would for a stored version; nothing is changed.

        Raises:
            FatalError: ``catalog_version_unknown``.
        """
        with self._reading() as session:
            row = get_version(session, doc_id, version)
            return _with(row, _revised(row, draft))

    def drop_pending(self, doc_id: str, run_id: str) -> None:
        """Give up a run's new metadata of the document's published versions: it was refused."""
        with self._writing() as session:
            drop_pending(session, [VersionRow.doc_id == doc_id], run_id)

    def versions(self, doc_id: str) -> list[VersionRecord]:
        """Return all versions of the document, abandoned ones too, by number."""
        query = select(VersionRow).where(VersionRow.doc_id == doc_id).order_by(VersionRow.version)
        with self._reading() as session:
            return [to_record(VersionRecord, row) for row in session.scalars(query)]

    def version(self, doc_id: str, version: int) -> VersionRecord | None:
        """Return the version; None if there is none of this number."""
        with self._reading() as session:
            row = session.get(VersionRow, (doc_id, version))
            return None if row is None else to_record(VersionRecord, row)

    def interval_history(self, doc_id: str) -> dict[int, tuple[HeldInterval, ...]]:
        """Return by version every interval that it was ever held to have, oldest first.

        Those with ``recorded_at <= t < superseded_at`` are what was held at the instant ``t``.
        """
        with self._reading() as session:
            return held_intervals(session, doc_id)


def get_version(session: Session, doc_id: str, version: int) -> VersionRow:
    """Return the version's row.

    Raises:
        FatalError: ``catalog_version_unknown``.
    """
    row = session.get(VersionRow, (doc_id, version))
    if row is None:
        raise FatalError(
            "catalog_version_unknown",
            f"The catalogue has no version {version} of document {doc_id}. It was deleted, or this "
            "is the catalogue of another installation: check MUNIMENT_CATALOG_URL.",
        )
    return row


def drop_pending(session: Session, which: list[ColumnElement[bool]], run_id: str) -> None:
    """Give up a run's new metadata of versions."""
    query = select(VersionRow).where(*which, VersionRow.pending.is_not(None))
    for row in session.scalars(query.with_for_update()):
        others = {run: draft for run, draft in (row.pending or {}).items() if run != run_id}
        row.pending = others or None


def take(row: VersionRow, draft: VersionDraft) -> None:
    """Give the row the draft's metadata; a date that a person set stays."""
    if row.correction is not None:
        said = {"instead_of": draft.effective_from, "basis": draft.effective_basis}
        correction = Correction.model_validate({**row.correction, **said})
        row.correction = correction.model_dump(mode="json")
    for name, value in _corrected(row, draft).model_dump().items():
        setattr(row, name, value)
    # Until it is published with new intervals, the row's own must not run backwards.
    row.effective_until = max(row.effective_until, row.effective_from)


def _find_same(
    session: Session, doc_id: str, draft: VersionDraft, renamed_from: str | None
) -> VersionRow | None:
    keys = [draft.source_key, *([renamed_from] if renamed_from is not None else [])]
    of_item = (
        select(VersionRow)
        .where(VersionRow.doc_id == doc_id, VersionRow.source_key.in_(keys))
        .order_by(VersionRow.version.desc())
        .limit(1)
    )
    staged = session.scalar(
        of_item.where(VersionRow.state == "staged", VersionRow.doc_sha256 == draft.doc_sha256)
    )
    if staged is not None:
        return staged
    # What was withdrawn or discarded is still what the item is.
    published = session.scalar(of_item.where(VersionRow.published_at.is_not(None)))
    if published is not None and published.doc_sha256 == draft.doc_sha256:
        return published
    return None


def _with(row: VersionRow, draft: VersionDraft) -> VersionRecord:
    """Return the row as a record with a draft's metadata."""
    record = to_record(VersionRecord, row).model_copy(update=dict(_corrected(row, draft)))
    until = max(record.effective_until, record.effective_from)
    return record.model_copy(update={"effective_until": until})


def _revised(row: VersionRow, draft: VersionDraft) -> VersionDraft:
    """Return the draft with the dates that the version keeps."""
    effective_from = draft.effective_from
    if draft.effective_basis == "receipt":
        # Where the source no longer says, what stands in is when the bytes were first received.
        effective_from = row.received_at
    return draft.model_copy(
        update={"received_at": row.received_at, "effective_from": effective_from}
    )


def _corrected(row: VersionRow, draft: VersionDraft) -> VersionDraft:
    """Return the draft with the effective date that a person set, if one did."""
    if row.correction is None:
        return draft
    set_by_hand = Correction.model_validate(row.correction).effective_from
    return draft.model_copy(update={"effective_from": set_by_hand, "effective_basis": "correction"})

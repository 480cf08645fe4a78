"""What readers are told: publishing, corrections, withdrawals, and what the index has to take.

The catalogue decides and the index follows. Each method notes with its change which versions the
index has to take it of (``unsettled_at``); whoever has brought the index up to date says so.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from ingest.catalog.documents import lock_document, set_key
from ingest.catalog.intervals import record_intervals
from ingest.catalog.items import close_entries, remove_renamed, set_indexed
from ingest.catalog.models import IntervalRow, ItemRow, RunRow, VersionRow
from ingest.catalog.records import Correction, VersionDraft, VersionRecord, Withdrawal
from ingest.catalog.transactions import Transactions, change, to_record
from ingest.catalog.versions import get_version, take
from ingest.errors import FatalError, ItemError
from schemas.base import OPEN_END
from schemas.version import EffectiveBasis


class Publishing(Transactions):
    """The catalogue's methods on what readers are told of versions."""

    def publish(
        self,
        doc_id: str,
        version: int,
        *,
        published_at: datetime,
        payloads_uri: str,
        chunk_count: int,
        run_id: str,
        source_key: str,
        fingerprint: str | None,
        pipeline_version: str,
        document_key: str | None = None,
        renamed_from: str | None = None,
    ) -> None:
        """Make the version the item's published one, with the intervals of the whole document.

        A version that was published before keeps its first date of publication, and one that was
        discarded is there again. Staged versions of the item from before are abandoned. Doing it
        again changes nothing that readers see.

        Args:
            doc_id: the document.
            version: the version's number.
            published_at: from when on readers see it.
            payloads_uri: where its chunks' payloads are.
            chunk_count: how many there are.
            run_id: the run that publishes.
            source_key: the item that the version is of.
            fingerprint: the item's state that was published; None for a stored version that was
                worked on again, which says nothing of what its source lists now.
            pipeline_version: the code that made the version's points.
            document_key: what the source calls the document now; None leaves that as it is.
            renamed_from: key under which the source listed the item before; its row goes.

        Raises:
            FatalError: ``catalog_version_unknown`` or ``catalog_version_abandoned``.
        """
        with self._writing() as session:
            document = lock_document(session, doc_id)
            row = get_version(session, doc_id, version)
            if row.state == "abandoned":
                raise FatalError(
                    "catalog_version_abandoned",
                    f"Version {version} of document {doc_id} was abandoned, so it cannot be "
                    "published. Retry its quarantine entry, or fetch the item again; it gets a new "
                    "number.",
                )
            pending = dict(row.pending or {})
            if (draft := pending.pop(run_id, None)) is not None:
                take(row, VersionDraft.model_validate(draft))
            row.pending = _of_runs_under_way(session, pending) or None
            row.state = "withdrawn" if row.withdrawn or row.withdrawal else "published"
            row.published_at = row.published_at or published_at
            row.payloads_uri, row.chunk_count = payloads_uri, chunk_count
            row.run_id = run_id
            row.unsettled_at = published_at
            if fingerprint is not None:
                row.retired_at = OPEN_END  # it comes from an item that is listed
                _abandon_earlier(session, row, published_at)
            record_intervals(session, doc_id, published_at)
            if fingerprint is not None:
                set_indexed(
                    session,
                    row,
                    source_id=document.source_id,
                    source_key=source_key,
                    fingerprint=fingerprint,
                    pipeline_version=pipeline_version,
                    run_id=run_id,
                    at=published_at,
                )
            close_entries(
                session,
                document.source_id,
                source_key,
                listed=fingerprint is not None,
                version=version,
            )
            if renamed_from is not None:
                remove_renamed(session, document.source_id, renamed_from, doc_id)
            if fingerprint is None:
                _made_by(session, row, document.source_id, pipeline_version)
            if document_key is not None:
                set_key(session, document, document_key, published_at)

    def correct(
        self, doc_id: str, version: int, effective_from: datetime, *, reason: str, at: datetime
    ) -> VersionRecord:
        """Set the effective date of a version that was published, whatever its source says.

        Raises:
            ItemError: ``version_not_published``.
            FatalError: ``catalog_version_unknown``.
        """
        with self._writing() as session:
            row = _shown(session, doc_id, version)
            before = None if row.correction is None else Correction(**row.correction)
            correction = Correction.model_validate(
                {
                    "effective_from": effective_from,
                    "reason": reason,
                    "corrected_at": at,
                    "instead_of": before.instead_of if before else row.effective_from,
                    "basis": before.basis if before else row.effective_basis,
                }
            )
            row.correction = correction.model_dump(mode="json")
            _set_date(row, effective_from, "correction")
            return _settled_by(session, row, at)

    def uncorrect(self, doc_id: str, version: int, *, at: datetime) -> VersionRecord:
        """Take a correction back; does nothing where there is none.

        Raises:
            ItemError: ``version_not_published``.
            FatalError: ``catalog_version_unknown``.
        """
        with self._writing() as session:
            row = _shown(session, doc_id, version)
            if row.correction is not None:
                before = Correction(**row.correction)
                row.correction = None
                _set_date(row, before.instead_of, before.basis)
            return _settled_by(session, row, at)

    def withdraw(self, doc_id: str, version: int, *, reason: str, at: datetime) -> VersionRecord:
        """Hold of a published version that it was never in force; readers saw it until ``at``.

        Raises:
            ItemError: ``version_not_published``.
            FatalError: ``catalog_version_unknown``.
        """
        with self._writing() as session:
            row = _shown(session, doc_id, version)
            row.withdrawal = Withdrawal(reason=reason, withdrawn_at=at).model_dump(mode="json")
            row.state = "withdrawn"
            return _settled_by(session, row, at)

    def reinstate(self, doc_id: str, version: int, *, at: datetime) -> VersionRecord:
        """Take a withdrawal back; one that the source declares stays.

        Raises:
            ItemError: ``version_not_published``.
            FatalError: ``catalog_version_unknown``.
        """
        with self._writing() as session:
            row = _shown(session, doc_id, version)
            row.withdrawal = None
            row.state = "withdrawn" if row.withdrawn else "published"
            return _settled_by(session, row, at)

    def discard(self, doc_id: str, version: int, *, at: datetime) -> VersionRecord:
        """Give up the points of a version; its interval stays, so that no other takes its place.

        Raises:
            ItemError: ``version_not_published``.
            FatalError: ``catalog_version_unknown``.
        """
        with self._writing() as session:
            row = _shown(session, doc_id, version)
            if row.state == "published":
                row.state = "discarded"
                row.unsettled_at = at
                session.flush()
            return to_record(VersionRecord, row)

    # --- bringing the index up to date ------------------------------------------------------

    def unsettled_documents(self) -> list[str]:
        """Return the documents of which the index may say something else than the catalogue."""
        query = select(VersionRow.doc_id).where(VersionRow.unsettled_at.is_not(None)).distinct()
        with self._reading() as session:
            return sorted(session.scalars(query))

    def postpone(self, doc_id: str, was: datetime, at: datetime) -> None:
        """Note that readers are told from ``at`` on what they were to be told from ``was`` on."""
        of_document = VersionRow.doc_id == doc_id
        history = IntervalRow.doc_id == doc_id
        with self._writing() as session:
            lock_document(session, doc_id)
            for statement in (
                # Others of that instant are no longer what the index has, so all are settled anew.
                update(VersionRow)
                .where(of_document, VersionRow.published_at.is_not(None))
                .values(unsettled_at=at),
                update(VersionRow)
                .where(of_document, VersionRow.published_at == was)
                .values(published_at=at),
                update(IntervalRow)
                .where(history, IntervalRow.superseded_at == was)
                .values(superseded_at=at),
                update(IntervalRow)
                .where(history, IntervalRow.recorded_at == was, IntervalRow.superseded_at >= at)
                .values(recorded_at=at),
            ):
                change(session, statement)

    def mark_settled(self, doc_id: str, at: datetime) -> None:
        """Note that the index says what the catalogue held of the document at ``at``.

        What changed after that stays to be settled.
        """
        statement = update(VersionRow).where(
            VersionRow.doc_id == doc_id, VersionRow.unsettled_at <= at
        )
        with self._writing() as session:
            change(session, statement.values(unsettled_at=None))


def _abandon_earlier(session: Session, row: VersionRow, at: datetime) -> None:
    """Abandon the staged versions that the item had before this one."""
    statement = update(VersionRow).where(
        VersionRow.doc_id == row.doc_id,
        VersionRow.source_key == row.source_key,
        VersionRow.version < row.version,
        VersionRow.state == "staged",
    )
    change(session, statement.values(state="abandoned", unsettled_at=at))


def _of_runs_under_way(session: Session, pending: dict[str, Any]) -> dict[str, Any]:
    """Return what of ``pending`` belongs to runs that may still publish it."""
    over = select(RunRow.run_id).where(
        RunRow.run_id.in_(list(pending)), RunRow.finished_at.is_not(None)
    )
    ended = set(session.scalars(over)) if pending else set()
    return {run_id: draft for run_id, draft in pending.items() if run_id not in ended}


def _made_by(session: Session, row: VersionRow, source_id: str, pipeline_version: str) -> None:
    """Note which code made the points of the item's newest version, if this is the one."""
    statement = update(ItemRow).where(
        ItemRow.source_id == source_id,
        ItemRow.source_key == row.source_key,
        ItemRow.version == row.version,
        ItemRow.state == "indexed",
    )
    change(session, statement.values(pipeline_version=pipeline_version))


def _shown(session: Session, doc_id: str, version: int) -> VersionRow:
    lock_document(session, doc_id)
    row = get_version(session, doc_id, version)
    if row.published_at is None:
        raise ItemError(
            "version_not_published",
            f"Version {version} of document {doc_id} was never published (it is {row.state}), so "
            "there is nothing to change for its readers. Name one that was published.",
        )
    return row


def _set_date(row: VersionRow, effective_from: datetime, basis: EffectiveBasis) -> None:
    row.effective_from, row.effective_basis = effective_from, basis
    row.effective_until = max(row.effective_until, effective_from)


def _settled_by(session: Session, row: VersionRow, at: datetime) -> VersionRecord:
    # How its date is known may have changed although its interval has not.
    row.unsettled_at = at
    record_intervals(session, row.doc_id, at)
    return to_record(VersionRecord, row)

"""Quarantine: what was refused, with its reason, until someone retries or dismisses it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from ingest.catalog.items import forget_fingerprint, set_refused
from ingest.catalog.models import QuarantineRow, VersionRow
from ingest.catalog.records import QuarantineLevel, QuarantineRecord
from ingest.catalog.transactions import Transactions, batches, change, to_record
from ingest.catalog.versions import drop_pending
from ingest.errors import ItemError
from schemas.base import utc_now
from schemas.run import QuarantineState, Refusal, Stage


class Quarantine(Transactions):
    """The catalogue's methods on quarantine."""

    def record_refused(
        self, refusal: Refusal, run_id: str, pipeline_version: str, level: QuarantineLevel
    ) -> None:
        """Put what was refused into quarantine, and take its staged version out of the way.

        While an entry of the same item and reason (and stored version, if one was worked on again)
        is open it is that entry which is seen again, counted once a run. With a fingerprint the
        item is not tried again in this state; without one the next run tries it anew.
        """
        self._retrying(lambda: self._refuse(refusal, run_id, pipeline_version, level))

    def _refuse(
        self, refusal: Refusal, run_id: str, pipeline_version: str, level: QuarantineLevel
    ) -> None:
        at = utc_now()
        with self._writing() as session:
            _set_entry(session, refusal, run_id, level, at)
            if refusal.fingerprint is not None:
                set_refused(
                    session, refusal, run_id=run_id, pipeline_version=pipeline_version, at=at
                )
            if refusal.doc_id is not None:
                which = [
                    VersionRow.doc_id == refusal.doc_id,
                    VersionRow.source_key == refusal.source_key,
                ]
                of_item = update(VersionRow).where(*which)
                if refusal.stored is None:
                    staged = of_item.where(VersionRow.state == "staged")
                    change(session, staged.values(state="abandoned", unsettled_at=at))
                drop_pending(session, which, run_id)

    def close_listing_problems(
        self,
        source_id: str,
        still: Collection[tuple[str, str]],
        keys: Collection[str] | None = None,
    ) -> int:
        """Close the open entries of what could not be listed and now can.

        Args:
            source_id: the source.
            still: key and code of each problem that its latest listing has.
            keys: of the items that were looked at; all of them where it is None.

        Returns:
            How many were closed.
        """
        open_ones = select(QuarantineRow).where(
            QuarantineRow.source_id == source_id,
            QuarantineRow.stage == "plan",
            QuarantineRow.state == "open",
        )
        with self._reading() as session:
            over = [
                row.id
                for row in session.scalars(open_ones)
                if (row.source_key, row.code) not in still
                and (keys is None or row.source_key in keys)
            ]
        if not over:
            return 0
        with self._writing() as session:
            for ids in batches(over):
                statement = update(QuarantineRow).where(QuarantineRow.id.in_(ids))
                change(session, statement.values(state="closed"))
        return len(over)

    def quarantine(
        self,
        state: QuarantineState | None = "open",
        source_id: str | None = None,
        *,
        code: str | None = None,
        stage: Stage | None = None,
        before: datetime | None = None,
    ) -> list[QuarantineRecord]:
        """Return entries, oldest first; of a state, or any; all of what is given has to hold.

        Args:
            state: open, dismissed or closed.
            source_id: of this source.
            code: with this reason.
            stage: refused by this step.
            before: first seen before this instant.
        """
        wanted = (
            (QuarantineRow.state, state),
            (QuarantineRow.source_id, source_id),
            (QuarantineRow.code, code),
            (QuarantineRow.stage, stage),
        )
        query = select(QuarantineRow).order_by(QuarantineRow.id)
        query = query.where(*(column == value for column, value in wanted if value is not None))
        if before is not None:
            query = query.where(QuarantineRow.first_seen < before)
        with self._reading() as session:
            return [to_record(QuarantineRecord, row) for row in session.scalars(query)]

    def open_quarantine_keys(self, source_id: str) -> set[str]:
        """Return the keys of the source's items that have an open entry."""
        query = select(QuarantineRow.source_key).where(
            QuarantineRow.source_id == source_id, QuarantineRow.state == "open"
        )
        with self._reading() as session:
            return set(session.scalars(query))

    def quarantine_entry(self, entry_id: int) -> QuarantineRecord:
        """Return the entry.

        Raises:
            ItemError: ``quarantine_unknown``.
        """
        with self._reading() as session:
            return to_record(QuarantineRecord, _entry(session, entry_id))

    def retry_quarantine(self, entry_id: int) -> QuarantineRecord:
        """Make the next run work on the entry's item again; the entry stays until that succeeds.

        A stored version is worked on again by the next backfill, without being asked.

        Raises:
            ItemError: ``quarantine_unknown``.
        """
        with self._writing() as session:
            row = _entry(session, entry_id)
            if row.version is None:  # a stored version does not depend on what is listed
                forget_fingerprint(session, row.source_id, row.source_key)
            return to_record(QuarantineRecord, row)

    def dismiss_quarantine(self, entry_id: int, reason: str) -> QuarantineRecord:
        """Take the entry off the list for ``reason``; one that is closed already stays closed.

        Raises:
            ItemError: ``quarantine_unknown``.
        """
        with self._writing() as session:
            row = _entry(session, entry_id)
            if row.state != "closed":
                row.state = "dismissed"
                row.dismiss_reason = reason
                session.flush()
            return to_record(QuarantineRecord, row)


def _set_entry(
    session: Session, refusal: Refusal, run_id: str, level: QuarantineLevel, at: datetime
) -> None:
    row = session.scalar(
        select(QuarantineRow)
        .where(
            QuarantineRow.source_id == refusal.source_id,
            QuarantineRow.source_key == refusal.source_key,
            QuarantineRow.code == refusal.code,
            QuarantineRow.version.is_not_distinct_from(refusal.stored),
            QuarantineRow.state == "open",
        )
        .with_for_update()
    )
    if row is None:
        row = QuarantineRow(
            source_id=refusal.source_id,
            source_key=refusal.source_key,
            code=refusal.code,
            doc_id=None,
            version=refusal.stored,
            dismiss_reason=None,
            first_run=run_id,
            last_run=run_id,
            first_seen=at,
            last_seen=at,
        )
        session.add(row)
    elif row.last_run != run_id:
        row.last_run = run_id
        row.last_seen = at
        row.times_seen += 1
    row.doc_id = refusal.doc_id or row.doc_id
    row.level = level
    row.stage = refusal.stage
    row.message = refusal.message
    row.evidence = dict(refusal.evidence)
    session.flush()


def _entry(session: Session, entry_id: int) -> QuarantineRow:
    row = session.get(QuarantineRow, entry_id)
    if row is None:
        raise ItemError(
            "quarantine_unknown",
            f"There is no quarantine entry {entry_id}. `muniment quarantine list` shows the "
            "numbers there are.",
        )
    return row

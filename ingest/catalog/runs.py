"""Runs and their ledgers."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import func, select

from ingest.catalog.models import RunRow
from ingest.catalog.records import RunRecord
from ingest.catalog.transactions import Transactions, insert_into
from schemas.base import utc_now
from schemas.run import Ledger


class Runs(Transactions):
    """The catalogue's methods on runs."""

    def start_run(self, run_id: str, started_at: datetime) -> datetime:
        """Make the run known and return when it started: the first time, if it was before."""
        with self._writing() as session:
            insert = insert_into(session, RunRow).values(run_id=run_id, started_at=started_at)
            session.execute(insert.on_conflict_do_nothing(index_elements=["run_id"]))
            return session.execute(
                select(RunRow.started_at).where(RunRow.run_id == run_id)
            ).scalar_one()

    def finish_run(self, run_id: str, ledger: Ledger) -> None:
        """Keep the run's ledger; a later one of the same run takes its place.

        Raises:
            ValueError: the ledger is of another run.
        """
        if ledger.run_id != run_id:
            raise ValueError(f"the ledger of run {ledger.run_id!r} is not of run {run_id!r}")
        with self._writing() as session:
            row = session.get(RunRow, run_id)
            if row is None:
                row = RunRow(run_id=run_id, started_at=ledger.started_at, finished_at=None)
                session.add(row)
            row.finished_at = ledger.finished_at or row.finished_at or utc_now()
            # round_trip leaves out computed fields, which the model refuses when it is read back.
            row.ledger = ledger.model_dump(mode="json", round_trip=True)

    def is_under_way(self, run_id: str) -> bool:
        """Tell whether the run has begun and not ended; one that was killed never ends."""
        query = select(RunRow).where(RunRow.run_id == run_id, RunRow.finished_at.is_(None))
        with self._reading() as session:
            return session.scalar(query) is not None

    def last_run(self) -> Ledger | None:
        """Return the ledger of the run that started last of those that have one."""
        query = (
            select(RunRow)
            .where(RunRow.finished_at.is_not(None))
            .order_by(RunRow.started_at.desc(), RunRow.finished_at.desc(), RunRow.run_id.desc())
            .limit(1)
        )
        with self._reading() as session:
            row = session.scalar(query)
            return None if row is None else _record(row).ledger

    def last_finished_at(self) -> datetime | None:
        """Return when a run last ended; None if none ever did."""
        with self._reading() as session:
            return session.scalar(select(func.max(RunRow.finished_at)))

    def runs(self, limit: int = 20) -> list[RunRecord]:
        """Return the runs that started last, the latest first."""
        query = select(RunRow).order_by(RunRow.started_at.desc(), RunRow.run_id.desc())
        with self._reading() as session:
            return [_record(row) for row in session.scalars(query.limit(limit))]


def _record(row: RunRow) -> RunRecord:
    # A ledger is JSON, in which tuples are lists and instants are text.
    ledger = None if row.ledger is None else Ledger.model_validate(row.ledger)
    return RunRecord(
        run_id=row.run_id,
        started_at=row.started_at,
        finished_at=row.finished_at,
        ledger=ledger,
    )

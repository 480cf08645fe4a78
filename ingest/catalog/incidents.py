"""Incidents: which there are, and which a person has been told of."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from sqlalchemy import CheckConstraint, Index, or_, select, text, update
from sqlalchemy.orm import Mapped, mapped_column

from ingest.catalog.models import Base
from ingest.catalog.transactions import Transactions, change, to_record
from ingest.catalog.types import FreeText
from schemas.incident import Finding, IncidentKind, IncidentRecord

OPEN_INCIDENT = text("closed_at IS NULL")
"""The condition of the index that keeps one open incident per kind and subject."""


class IncidentRow(Base):
    """Something that a person should know of, from when it was found until it is over."""

    __tablename__ = "incidents"
    __table_args__ = (
        CheckConstraint("end_told_at IS NULL OR closed_at IS NOT NULL", name="end"),
        Index(
            "uq_incidents_open",
            "kind",
            "subject",
            unique=True,
            sqlite_where=OPEN_INCIDENT,
            postgresql_where=OPEN_INCIDENT,
        ),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    kind: Mapped[str]
    subject: Mapped[str]
    message: Mapped[str] = mapped_column(FreeText())
    opened_at: Mapped[datetime]
    seen_at: Mapped[datetime]
    closed_at: Mapped[datetime | None]
    told_at: Mapped[datetime | None]
    end_told_at: Mapped[datetime | None]


class Incidents(Transactions):
    """The catalogue's methods on incidents."""

    def incidents(self, *, only_open: bool = True) -> list[IncidentRecord]:
        """Return the incidents, the newest first."""
        query = select(IncidentRow).order_by(IncidentRow.id.desc())
        if only_open:
            query = query.where(IncidentRow.closed_at.is_(None))
        with self._reading() as session:
            return [to_record(IncidentRecord, row) for row in session.scalars(query)]

    def note_incidents(
        self,
        found: Iterable[Finding],
        *,
        kinds: Collection[IncidentKind],
        subjects: Collection[str] | None,
        at: datetime,
    ) -> None:
        """Take what is so now: open what is new, close what is over.

        Args:
            found: all that was found.
            kinds: what was looked for.
            subjects: what was looked at; None for everything.
            at: the instant.
        """
        now_so = {(one.kind, one.subject): one for one in found}
        query = select(IncidentRow).where(
            IncidentRow.closed_at.is_(None), IncidentRow.kind.in_(kinds)
        )
        if subjects is not None:
            query = query.where(IncidentRow.subject.in_(subjects))
        with self._writing() as session:
            for row in session.scalars(query.with_for_update()):
                one = now_so.pop((row.kind, row.subject), None)  # type: ignore[arg-type]  # a text in the table
                if one is None:
                    row.closed_at = at
                else:
                    row.message, row.seen_at = one.message, at
            session.add_all(
                IncidentRow(
                    **one.model_dump(),
                    opened_at=at,
                    seen_at=at,
                    closed_at=None,
                    told_at=None,
                    end_told_at=None,
                )
                for one in now_so.values()
            )

    def untold_incidents(self) -> list[IncidentRecord]:
        """Return the incidents whose beginning or end is still to be told, the oldest first.

        Of one that was over before anybody was told, nothing is.
        """
        begun = IncidentRow.told_at.is_(None) & IncidentRow.closed_at.is_(None)
        ended = (
            IncidentRow.told_at.is_not(None)
            & IncidentRow.closed_at.is_not(None)
            & IncidentRow.end_told_at.is_(None)
        )
        query = select(IncidentRow).where(or_(begun, ended)).order_by(IncidentRow.id)
        with self._reading() as session:
            return [to_record(IncidentRecord, row) for row in session.scalars(query)]

    def note_told(self, incidents: Iterable[IncidentRecord], at: datetime) -> None:
        """Note that a person was told of what ``untold_incidents`` returned."""
        with self._writing() as session:
            for one in incidents:
                told = {"told_at": at} if one.closed_at is None else {"end_told_at": at}
                change(session, update(IncidentRow).where(IncidentRow.id == one.id).values(**told))

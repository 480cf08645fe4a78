"""Intervals: what the catalogue holds of each version's, now and formerly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from ingest.catalog.models import IntervalRow, VersionRow
from ingest.catalog.transactions import to_record
from ingest.versions import Interval, VersionDate, revised, timeline
from schemas.version import HeldInterval

IN_TIMELINE = ("published", "discarded")
"""States of versions that are held to have been in force; a discarded one still was."""


def held_intervals(session: Session, doc_id: str) -> dict[int, tuple[HeldInterval, ...]]:
    """Return by version every interval that it was ever held to have, oldest first."""
    return {version: _held(rows) for version, rows in _rows(session, doc_id).items()}


def record_intervals(session: Session, doc_id: str, at: datetime) -> None:
    """Work out the intervals of all the document's versions anew, and write what is different.

    The history takes what readers are told from ``at`` on: a version's interval up to when its
    document was retired, and nothing of a withdrawn one. Every version of which something changed
    has to be settled in the index.
    """
    session.flush()
    versions = list(
        session.scalars(
            select(VersionRow)
            .where(VersionRow.doc_id == doc_id, VersionRow.published_at.is_not(None))
            .order_by(VersionRow.version)
        )
    )
    intervals = timeline(
        VersionDate(row.version, row.effective_from, row.version_label, row.source_key)
        for row in versions
        if row.state in IN_TIMELINE
    )
    rows = _rows(session, doc_id)
    for version in versions:
        number = version.version
        interval = intervals.get(number, Interval(version.effective_from, version.effective_from))
        shown = interval.until(version.retired_at) if number in intervals else None
        before = _held(rows[number])
        now = revised(before, shown, at)
        span = (interval.effective_from, interval.effective_until)
        if now != before or span != (version.effective_from, version.effective_until):
            version.effective_from, version.effective_until = span
            version.unsettled_at = at
        if before:
            rows[number][-1].superseded_at = now[len(before) - 1].superseded_at
        for added in now[len(before) :]:
            session.add(IntervalRow(doc_id=doc_id, version=number, **added.model_dump()))
    session.flush()


def _rows(session: Session, doc_id: str) -> defaultdict[int, list[IntervalRow]]:
    query = select(IntervalRow).where(IntervalRow.doc_id == doc_id).order_by(IntervalRow.id)
    rows: defaultdict[int, list[IntervalRow]] = defaultdict(list)
    for row in session.scalars(query):
        rows[row.version].append(row)
    return rows


def _held(rows: Iterable[IntervalRow]) -> tuple[HeldInterval, ...]:
    return tuple(to_record(HeldInterval, row) for row in rows)

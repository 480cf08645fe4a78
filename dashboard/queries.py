"""What the pages ask the catalogue that nobody else asks: aggregated there, a page at a time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import and_, func, or_, select

from ingest.catalog import Catalog
from ingest.catalog.models import DocumentRow, MetricRow, QuarantineRow, RunRow, VersionRow
from ingest.catalog.records import RunRecord
from ingest.catalog.transactions import to_record
from schemas.quality import Metric
from schemas.run import Ledger

PAGE = 50
"""Rows of a page of documents or quarantine entries."""


class After(NamedTuple):
    """The last document of the page before, in the order of source and key."""

    source_id: str
    document_key: str


def documents(
    catalog: Catalog, text: str, source_id: str | None, after: After | None, now: datetime
) -> list[dict[str, Any]]:
    """Return a page of documents whose title or key has ``text`` in it, and one more."""
    shown = VersionRow.published_at.is_not(None)
    in_force = and_(
        VersionRow.state == "published",
        VersionRow.effective_from <= now,
        VersionRow.effective_until > now,
        VersionRow.retired_at > now,
    )
    query = select(DocumentRow).order_by(DocumentRow.source_id, DocumentRow.document_key)
    if text:
        query = query.where(
            or_(
                DocumentRow.title.icontains(text, autoescape=True),
                DocumentRow.document_key.icontains(text, autoescape=True),
            )
        )
    if source_id:
        query = query.where(DocumentRow.source_id == source_id)
    if after is not None:
        later = and_(
            DocumentRow.source_id == after.source_id, DocumentRow.document_key > after.document_key
        )
        query = query.where(or_(DocumentRow.source_id > after.source_id, later))
    with catalog.reading() as session:
        rows = list(session.scalars(query.limit(PAGE + 1)))
        counted = (
            select(
                VersionRow.doc_id,
                func.count().filter(shown),
                func.max(VersionRow.version).filter(in_force),
                func.max(VersionRow.licence_id),
            )
            .where(VersionRow.doc_id.in_([row.doc_id for row in rows]))
            .group_by(VersionRow.doc_id)
        )
        versions = {row[0]: row[1:] for row in session.execute(counted)}
        return [
            {
                "doc_id": row.doc_id,
                "source_id": row.source_id,
                "document_key": row.document_key,
                "title": row.title,
                "versions": versions.get(row.doc_id, (0, None, None))[0],
                "in_force": versions.get(row.doc_id, (0, None, None))[1],
                "licence_id": versions.get(row.doc_id, (0, None, None))[2],
            }
            for row in rows
        ]


def quarantine_counts(catalog: Catalog) -> list[dict[str, Any]]:
    """Return how many entries are open, by source and code, the most first."""
    query = (
        select(
            QuarantineRow.source_id,
            QuarantineRow.code,
            func.count().label("entries"),
            func.min(QuarantineRow.first_seen).label("since"),
        )
        .where(QuarantineRow.state == "open")
        .group_by(QuarantineRow.source_id, QuarantineRow.code)
        .order_by(func.count().desc(), QuarantineRow.source_id, QuarantineRow.code)
    )
    with catalog.reading() as session:
        return [dict(row) for row in session.execute(query).mappings()]


def quarantine_page(
    catalog: Catalog, state: str, source_id: str, code: str, before: int | None
) -> list[dict[str, Any]]:
    """Return a page of entries, the newest first, and one more."""
    query = select(QuarantineRow).order_by(QuarantineRow.id.desc()).limit(PAGE + 1)
    wanted = (
        (QuarantineRow.state, state),
        (QuarantineRow.source_id, source_id),
        (QuarantineRow.code, code),
    )
    query = query.where(*(column == value for column, value in wanted if value))
    if before is not None:
        query = query.where(QuarantineRow.id < before)
    names = (
        "id", "source_id", "source_key", "level", "stage", "code", "message", "state",
        "first_seen", "last_seen", "times_seen",
    )  # fmt: skip
    with catalog.reading() as session:
        return [{name: getattr(row, name) for name in names} for row in session.scalars(query)]


def metric_runs(
    catalog: Catalog, source_id: str, name: str | None, runs: int
) -> list[tuple[str, datetime, Metric]]:
    """Return what was measured of a source in its last runs, the oldest first, by name."""
    last = (
        select(RunRow.run_id, RunRow.started_at)
        .where(RunRow.finished_at.is_not(None))
        .order_by(RunRow.started_at.desc())
        .limit(runs)
        .subquery()
    )
    query = (
        select(last.c.run_id, last.c.started_at, MetricRow)
        .join(MetricRow, MetricRow.run_id == last.c.run_id)
        .where(MetricRow.source_id == source_id)
        .order_by(MetricRow.name, last.c.started_at)
    )
    if name is not None:
        query = query.where(MetricRow.name == name)
    with catalog.reading() as session:
        return [(run, at, to_record(Metric, row)) for run, at, row in session.execute(query)]


def last_runs(catalog: Catalog, limit: int) -> list[str]:
    """Return the ids of the runs that started last, the latest first."""
    query = select(RunRow.run_id).order_by(RunRow.started_at.desc(), RunRow.run_id.desc())
    with catalog.reading() as session:
        return list(session.scalars(query.limit(limit)))


def runs_of(catalog: Catalog, run_ids: Sequence[str]) -> list[RunRecord]:
    """Return the runs with these ids and their ledgers, the latest first."""
    query = select(RunRow).where(RunRow.run_id.in_(run_ids))
    with catalog.reading() as session:
        rows = list(session.scalars(query.order_by(RunRow.started_at.desc(), RunRow.run_id.desc())))
        return [
            RunRecord(
                run_id=row.run_id,
                started_at=row.started_at,
                finished_at=row.finished_at,
                ledger=None if row.ledger is None else Ledger.model_validate(row.ledger),
            )
            for row in rows
        ]


def totals(catalog: Catalog) -> dict[str, int]:
    """Return how many documents, versions and points are published."""
    query = select(
        func.count(func.distinct(VersionRow.doc_id)),
        func.count(),
        func.coalesce(func.sum(VersionRow.chunk_count), 0),
    ).where(VersionRow.state == "published")
    with catalog.reading() as session:
        documents, versions, points = session.execute(query).one()
    return {"documents": documents, "versions": versions, "points": int(points)}

"""Erasures: what was forgotten, so that it is not pulled in again, and their receipts."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import JSON, ColumnElement, func, or_, select, type_coerce, update
from sqlalchemy.orm import Session

from ingest.catalog.models import ErasureRow, RunRow
from ingest.catalog.records import ErasureKind, ErasureRecord
from ingest.catalog.transactions import Transactions, batches, change, to_record
from ingest.errors import ItemError
from schemas.base import sha256_text, utc_now


@dataclass(frozen=True)
class Forgotten:
    """Which of the documents and clients that were asked about are not to be pulled in again."""

    doc_ids: frozenset[str]
    client_ids: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.doc_ids or self.client_ids)


class Erasures(Transactions):
    """The catalogue's methods on erasure."""

    def forgotten(self, doc_ids: Iterable[str], client_ids: Iterable[str]) -> Forgotten:
        """Return which of these documents and clients were forgotten for good.

        An erasure that is still under way counts.
        """
        clients = {sha256_text(client_id): client_id for client_id in set(client_ids)}
        with self._reading() as session:
            documents = _forgotten(session, "document", set(doc_ids))
            hashes = _forgotten(session, "client", clients)
        return Forgotten(frozenset(documents), frozenset(clients[digest] for digest in hashes))

    def keeps_anything_out(self) -> bool:
        """Tell whether anything was forgotten for good."""
        query = select(ErasureRow.id).where(ErasureRow.lasting).limit(1)
        with self._reading() as session:
            return session.scalar(query) is not None

    # --- the erasures themselves ------------------------------------------------------------

    def begin_erasure(
        self,
        kind: ErasureKind,
        subject: str,
        reason: str,
        *,
        tombstones: Collection[str],
        lasting: bool,
        work: dict[str, Any],
    ) -> int:
        """Note an erasure before anything is erased, and return its number.

        Args:
            kind: what is forgotten.
            subject: the document's id, or the SHA-256 of the client's.
            reason: why.
            tombstones: ids of further documents that are not to be pulled in again.
            lasting: whether what is forgotten stays out even if its source lists it again.
            work: ids and hashes with which a killed erasure is taken to its end.
        """
        at = utc_now()

        def row(kind: ErasureKind, subject: str, receipt: dict[str, Any]) -> ErasureRow:
            return ErasureRow(
                kind=kind,
                subject=subject,
                reason=reason,
                requested_at=at,
                finished_at=None,
                lasting=lasting,
                receipt=receipt,
            )

        with self._writing() as session:
            lead = row(kind, subject, {"work": work})
            session.add(lead)
            session.flush()
            session.add_all(
                row("document", doc_id, {"part_of": lead.id}) for doc_id in sorted(tombstones)
            )
            return lead.id

    def finish_erasure(self, number: int, receipt: dict[str, Any], at: datetime) -> None:
        """Close the erasure, with its receipt in the place of what it had to do."""
        with self._writing() as session:
            session.get_one(ErasureRow, number).receipt = receipt
            session.flush()
            rows = update(ErasureRow).where(_of_request(number))
            change(session, rows.values(finished_at=at))

    def erasures(self) -> list[ErasureRecord]:
        """Return every request for erasure, the oldest first."""
        query = select(ErasureRow).order_by(ErasureRow.id)
        with self._reading() as session:
            rows = [to_record(ErasureRecord, row) for row in session.scalars(query)]
        return [row for row in rows if "part_of" not in (row.receipt or {})]

    def erasure(self, number: int) -> ErasureRecord:
        """Return one request.

        Raises:
            ItemError: ``erasure_unknown``.
        """
        with self._reading() as session:
            row = session.get(ErasureRow, number)
            if row is None or "part_of" in (row.receipt or {}):
                raise ItemError(
                    "erasure_unknown",
                    f"There is no erasure {number}. `muniment forget list` shows those there are.",
                )
            return to_record(ErasureRecord, row)

    def lift_erasure(self, number: int) -> ErasureRecord:
        """Let what an erasure keeps out be pulled in again.

        Raises:
            ItemError: ``erasure_unknown``.
        """
        self.erasure(number)
        with self._writing() as session:
            change(session, update(ErasureRow).where(_of_request(number)).values(lasting=False))
        return self.erasure(number)

    def open_runs(self) -> dict[str, datetime]:
        """Return when the runs began that have no ledger yet; none that a later run outlived."""
        with self._reading() as session:
            ended = session.scalar(
                select(func.max(RunRow.started_at)).where(RunRow.finished_at.is_not(None))
            )
            query = select(RunRow.run_id, RunRow.started_at).where(RunRow.finished_at.is_(None))
            if ended is not None:
                query = query.where(RunRow.started_at >= ended)
            return {row.run_id: row.started_at for row in session.execute(query)}


def _forgotten(session: Session, kind: ErasureKind, subjects: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for batch in batches(sorted(subjects)):
        query = select(ErasureRow.subject).where(
            ErasureRow.kind == kind, ErasureRow.lasting, ErasureRow.subject.in_(batch)
        )
        found |= set(session.scalars(query))
    return found


def _of_request(number: int) -> ColumnElement[bool]:
    """Return the condition for the request's own row and those of its further documents."""
    part_of = type_coerce(ErasureRow.receipt, JSON)["part_of"].as_integer()
    return or_(ErasureRow.id == number, part_of == number)

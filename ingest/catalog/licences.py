"""Licences: which documents stand under which, and which of them no longer under a valid one."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from sqlalchemy import ColumnElement, and_, case, exists, func, literal, select

from ingest.catalog.models import DocumentRow, ItemRow, QuarantineRow, VersionRow
from ingest.catalog.records import HeldRecord, LicensedDocument
from ingest.catalog.transactions import Transactions
from schemas.base import OPEN_END


class Licences(Transactions):
    """The catalogue's methods on licences."""

    def unlicensed_documents(
        self, now: datetime, usable: Collection[str], refusals: Collection[str]
    ) -> list[LicensedDocument]:
        """Return the published documents that are not retired and have no valid licence left.

        Args:
            now: the instant at which licences are judged.
            usable: ids of the licences of the registry under which anything may be found.
            refusals: codes in quarantine that say an item has no licence that allows it; its
                versions do not count as licensed, whatever they were published under.
        """
        refused = exists().where(
            QuarantineRow.source_id == DocumentRow.source_id,
            QuarantineRow.source_key == VersionRow.source_key,
            QuarantineRow.state == "open",
            QuarantineRow.code.in_(list(refusals)),
        )
        good = and_(_valid(now, usable), ~refused)
        codes = list(refusals)
        if not self._is_any(
            VersionRow.retired_at == OPEN_END, ~_valid(now, usable)
        ) and not self._is_any(QuarantineRow.state == "open", QuarantineRow.code.in_(codes)):
            return []  # most nights: told without looking at each document
        return self._documents(VersionRow.retired_at == OPEN_END, good, 0)

    def relicensed_documents(
        self, now: datetime, usable: Collection[str]
    ) -> list[LicensedDocument]:
        """Return the retired documents whose source lists them and whose licence is valid.

        What a source no longer lists has no item that is indexed, and is not among them.
        """
        if not self._is_any(VersionRow.retired_at != OPEN_END):
            return []
        listed = exists().where(
            ItemRow.doc_id == VersionRow.doc_id, ItemRow.state == "indexed", ItemRow.listed
        )
        return self._documents(VersionRow.retired_at != OPEN_END, _valid(now, usable), 1, listed)

    def held(self, now: datetime) -> list[HeldRecord]:
        """Return what is published and not retired, by source, licence and its end."""
        query = (
            select(
                DocumentRow.source_id,
                VersionRow.licence_id,
                VersionRow.licence_valid_until,
                func.count(func.distinct(VersionRow.doc_id)),
                func.count(),
                func.sum(VersionRow.chunk_count),
            )
            .join(DocumentRow, DocumentRow.doc_id == VersionRow.doc_id)
            .where(VersionRow.state == "published", VersionRow.retired_at > now)
            .group_by(DocumentRow.source_id, VersionRow.licence_id, VersionRow.licence_valid_until)
            .order_by(VersionRow.licence_id, DocumentRow.source_id, VersionRow.licence_valid_until)
        )
        names = ("source_id", "licence_id", "valid_until", "documents", "versions", "points")
        with self._reading() as session:
            return [
                HeldRecord.model_validate(dict(zip(names, row, strict=True)))
                for row in session.execute(query)
            ]

    def _is_any(self, *conditions: ColumnElement[bool]) -> bool:
        """Tell whether a row meets the conditions, all of one table."""
        with self._reading() as session:
            return session.scalar(select(literal(1)).where(*conditions).limit(1)) is not None

    def _documents(
        self,
        which: ColumnElement[bool],
        good: ColumnElement[bool],
        least: int,
        *more: ColumnElement[bool],
    ) -> list[LicensedDocument]:
        """Return documents with some, or none, of their versions good.

        Args:
            which: versions that are looked at.
            good: what makes one good.
            least: 1 for documents with a good version, 0 for those without any.
            more: further conditions.
        """
        count = func.sum(case((good, 1), else_=0))
        query = (
            select(VersionRow.doc_id, DocumentRow.source_id, func.max(VersionRow.licence_id))
            .join(DocumentRow, DocumentRow.doc_id == VersionRow.doc_id)
            .where(VersionRow.state == "published", which, *more)
            .group_by(VersionRow.doc_id, DocumentRow.source_id)
            .having(count > 0 if least else count == 0)
            .order_by(DocumentRow.source_id, VersionRow.doc_id)
        )
        with self._reading() as session:
            return [
                LicensedDocument(doc_id=doc_id, source_id=source_id, licence_id=licence_id)
                for doc_id, source_id, licence_id in session.execute(query)
            ]


def _valid(now: datetime, usable: Collection[str]) -> ColumnElement[bool]:
    return and_(VersionRow.licence_valid_until > now, VersionRow.licence_id.in_(list(usable)))

"""Documents: registering them, and what happens when a source no longer lists them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import count
from typing import NamedTuple

from sqlalchemy import case, delete, exists, or_, select, update
from sqlalchemy.orm import Session, aliased

from ingest.catalog.intervals import record_intervals
from ingest.catalog.models import AliasRow, DocumentRow, ItemRow, QuarantineRow, VersionRow
from ingest.catalog.records import DocumentRecord
from ingest.catalog.transactions import Transactions, batches, change, insert_into, to_record
from ingest.errors import FatalError
from schemas.base import OPEN_END, utc_now
from schemas.identity import document_id


class Placed(NamedTuple):
    """The document that a key of a source stands for."""

    doc_id: str
    is_registered: bool
    """Whether the catalogue has the document."""


class Documents(Transactions):
    """The catalogue's methods on documents."""

    def register_document(self, doc_id: str, source_id: str, document_key: str, title: str) -> None:
        """Make the document known; of one that is, take the new title."""
        with self._writing() as session:
            insert = insert_into(session, DocumentRow).values(
                doc_id=doc_id,
                source_id=source_id,
                document_key=document_key,
                title=title,
                created_at=utc_now(),
            )
            session.execute(
                insert.on_conflict_do_update(
                    index_elements=["doc_id"], set_={"title": insert.excluded.title}
                )
            )

    def document(self, doc_id: str) -> DocumentRecord | None:
        """Return the document; None if it is not known."""
        with self._reading() as session:
            row = session.get(DocumentRow, doc_id)
            return None if row is None else to_record(DocumentRecord, row)

    def documents(self, source_id: str | None = None) -> list[DocumentRecord]:
        """Return the documents of a source, or of all, in the order of source and key."""
        query = select(DocumentRow).order_by(DocumentRow.source_id, DocumentRow.document_key)
        if source_id is not None:
            query = query.where(DocumentRow.source_id == source_id)
        with self._reading() as session:
            return [to_record(DocumentRecord, row) for row in session.scalars(query)]

    def document_ids(self) -> list[str]:
        """Return the ids of all documents, in the order of source and key."""
        query = select(DocumentRow.doc_id).order_by(DocumentRow.source_id, DocumentRow.document_key)
        with self._reading() as session:
            return list(session.scalars(query))

    def place(self, source_id: str, document_keys: Iterable[str]) -> dict[str, Placed]:
        """Return the document that each of the source's keys stands for, known or not.

        The alias if there is one; else the document whose id is derived from the key, unless that
        document was renamed: then a new one begins under its former name.
        """
        found: dict[str, Placed] = {}
        with self._reading() as session:
            for batch in batches(sorted(set(document_keys))):
                aliases = select(AliasRow.document_key, AliasRow.doc_id).where(
                    AliasRow.source_id == source_id, AliasRow.document_key.in_(batch)
                )
                by_alias = {key: Placed(doc_id, True) for key, doc_id in session.execute(aliases)}
                derived = {key: document_id(source_id, key) for key in batch}
                documents = select(DocumentRow.doc_id, DocumentRow.document_key).where(
                    DocumentRow.doc_id.in_(derived.values())
                )
                called = {row.doc_id: row.document_key for row in session.execute(documents)}
                for key, doc_id in derived.items():
                    if key in by_alias:
                        found[key] = by_alias[key]
                    elif called.get(doc_id, key) == key:
                        found[key] = Placed(doc_id, doc_id in called)
                    else:
                        found[key] = _place_anew(session, source_id, key)
        return found

    def retire(self, doc_id: str, retired_at: datetime) -> int:
        """Mark the document's versions that were published as no longer listed by their source.

        Returns:
            How many were marked; 0 if all were before, and their date stays as it was.
        """
        statement = (
            update(VersionRow)
            .where(
                VersionRow.doc_id == doc_id,
                VersionRow.published_at.is_not(None),
                VersionRow.retired_at == OPEN_END,
            )
            .values(retired_at=retired_at, unsettled_at=retired_at)
        )
        with self._writing() as session:
            retired = change(session, statement)
            if retired:
                record_intervals(session, doc_id, retired_at)
            return retired

    def restore(self, doc_id: str) -> int:
        """Undo ``retire`` for a document that is listed again.

        Its items that the latest listing had are no longer gone, nor are its members of listed
        items. That waits for this call, so that a crash before it leaves the document to be found
        and restored by the next run.

        Returns:
            How many versions were restored; 0 if none was retired.
        """
        at = utc_now()
        versions = (
            update(VersionRow)
            .where(VersionRow.doc_id == doc_id, VersionRow.retired_at != OPEN_END)
            .values(retired_at=OPEN_END, unsettled_at=at)
        )
        refused = exists().where(
            QuarantineRow.source_id == ItemRow.source_id,
            QuarantineRow.source_key == ItemRow.source_key,
            QuarantineRow.state == "open",
        )
        state = case(
            (refused, "quarantined"),
            (ItemRow.version.is_not(None), "indexed"),
            (ItemRow.doc_sha256.is_not(None), "opened"),
            else_="quarantined",
        )
        container = aliased(ItemRow)
        there = or_(
            ItemRow.container_key.is_(None),
            exists().where(
                container.source_id == ItemRow.source_id,
                container.source_key == ItemRow.container_key,
                container.listed,
            ),
        )
        items = (
            update(ItemRow)
            .where(ItemRow.doc_id == doc_id, ItemRow.state == "gone", ItemRow.listed, there)
            .values(state=state)
        )
        with self._writing() as session:
            change(session, items)
            restored = change(session, versions)
            if restored:
                record_intervals(session, doc_id, at)
            return restored


def _place_anew(session: Session, source_id: str, key: str) -> Placed:
    """Return the document of a key whose former documents all go by other names now."""
    for moved in count(1):
        doc_id = document_id(source_id, key, moved)
        row = session.get(DocumentRow, doc_id)
        if row is None or row.document_key == key:
            return Placed(doc_id, row is not None)
    raise AssertionError  # count() has no end


def set_key(session: Session, document: DocumentRow, document_key: str, at: datetime) -> None:
    """Take the key that the source calls the document by now, and see that it is found by it."""
    renamed = document.document_key != document_key
    if not renamed and document.doc_id == document_id(document.source_id, document_key):
        return
    document.document_key = document_key
    session.flush()
    if renamed:
        change(session, delete(AliasRow).where(AliasRow.doc_id == document.doc_id))
    if document.doc_id != document_id(document.source_id, document_key):
        alias = insert_into(session, AliasRow).values(
            source_id=document.source_id,
            document_key=document_key,
            doc_id=document.doc_id,
            created_at=at,
        )
        session.execute(alias.on_conflict_do_nothing())


def lock_document(session: Session, doc_id: str) -> DocumentRow:
    """Return the document and keep others from changing its versions in this transaction.

    SQLite has no row locks and needs none: its writing transactions come one after another.

    Raises:
        FatalError: ``catalog_document_unknown``.
    """
    row = session.scalar(select(DocumentRow).where(DocumentRow.doc_id == doc_id).with_for_update())
    if row is None:
        raise FatalError(
            "catalog_document_unknown",
            f"The catalogue has no document {doc_id}. It was deleted, or this is the catalogue of "
            "another installation: check MUNIMENT_CATALOG_URL.",
        )
    return row

"""Traces: what the catalogue holds of documents that are to be erased, and erasing it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import ColumnElement, Select, and_, case, delete, func, select, text
from sqlalchemy.orm import Session, aliased

from ingest.catalog.models import (
    AliasRow,
    Base,
    DocumentRow,
    EmbeddingRow,
    ErasureRow,
    IntervalRow,
    ItemRow,
    QuarantineRow,
    RebuiltVersionRow,
    RunRow,
    SourceRow,
    VersionRow,
)
from ingest.catalog.transactions import Transactions, batches, change, locked
from schemas.identity import document_id, member_key

BaseT = TypeVar("BaseT", bound=Base)

_LOCK_SECONDS = 60
_EMPTY_LOG = "PRAGMA wal_checkpoint(TRUNCATE)"
"""Gives whether it was hindered, and two counts (https://sqlite.org/pragma.html)."""
_OF_DOCUMENTS: tuple[type[Base], ...] = (
    RebuiltVersionRow,
    IntervalRow,
    AliasRow,
    VersionRow,
    ItemRow,
    QuarantineRow,
    DocumentRow,
)
"""Tables with a column ``doc_id``, in an order in which their rows may be deleted."""


@dataclass(frozen=True)
class Known:
    """What the catalogue holds of some documents: names and hashes by which traces are found."""

    keys: frozenset[tuple[str, str]]
    """Source and key of their items, versions and quarantine entries, and the documents' own."""
    uris: frozenset[str]
    sha256s: frozenset[str]
    """Of the bytes of all versions and items."""
    rows: int
    """Rows of all tables."""


@dataclass(frozen=True, order=True)
class Container:
    """A listed item with files inside."""

    source_key: str
    doc_id: str


class Traces(Transactions):
    """The catalogue's methods on what is left of documents."""

    def documents_of_client(self, client_id: str) -> set[str]:
        """Return the documents that have a version confidential to, or meant for, the client."""
        with self._reading() as session:
            query = select(VersionRow.doc_id).where(VersionRow.client_id == client_id)
            found = set(session.scalars(query))
            pending = select(VersionRow.doc_id, VersionRow.pending)
            found |= {
                doc_id
                for doc_id, drafts in session.execute(
                    pending.where(VersionRow.pending.is_not(None))
                )
                if any(draft.get("client_id") == client_id for draft in (drafts or {}).values())
            }
            return found

    def inside(self, doc_ids: Collection[str]) -> set[str]:
        """Return the documents that are, or were, members of these."""
        found: set[str] = set()
        with self._reading() as session:
            for source_id, key in _item_keys(session, doc_ids):
                query = select(ItemRow.doc_id).where(
                    ItemRow.source_id == source_id, ItemRow.container_key == key
                )
                found |= set(session.scalars(query))
            for batch in batches(sorted(doc_ids)):
                documents = select(DocumentRow).where(DocumentRow.doc_id.in_(batch))
                for row in session.scalars(documents).all():
                    query = select(DocumentRow.doc_id).where(
                        DocumentRow.source_id == row.source_id,
                        DocumentRow.document_key.startswith(
                            member_key(row.document_key, ""), autoescape=True
                        ),
                    )
                    found |= set(session.scalars(query))
        return found - set(doc_ids)

    def containers_of(self, doc_ids: Collection[str]) -> dict[str, Container]:
        """Return the listed item that each of these documents lies in, of those that do."""
        found: dict[str, Container] = {}
        outer = aliased(ItemRow)
        same = and_(outer.source_id == ItemRow.source_id, outer.source_key == ItemRow.container_key)
        with self._reading() as session:
            for batch in batches(sorted(doc_ids)):
                query = (
                    select(ItemRow.doc_id, outer.source_key, outer.doc_id)
                    .join(outer, same)
                    .where(ItemRow.doc_id.in_(batch))
                )
                for doc_id, key, container in session.execute(query):
                    found[doc_id] = Container(key, container)
        return found

    def has_refused_members(self) -> bool:
        """Tell whether a file inside a document waits in quarantine, or to be worked on."""
        query = select(ItemRow.source_key).where(
            ItemRow.container_key.is_not(None), ItemRow.state.in_(("found", "quarantined"))
        )
        with self._reading() as session:
            return session.scalar(query.limit(1)) is not None

    def unknown(self, doc_ids: Collection[str]) -> set[str]:
        """Return which of these documents no row names."""
        unknown = set(doc_ids)
        with self._reading() as session:
            for batch in batches(sorted(doc_ids)):
                for table in _OF_DOCUMENTS:
                    query = select(_doc_id(table)).where(_doc_id(table).in_(batch))
                    unknown -= set(session.scalars(query.distinct()))
        return unknown

    def gone_documents(self, source_id: str) -> set[str]:
        """Return the source's documents whose every item is gone."""
        gone = case((ItemRow.state == "gone", 0), else_=1)
        query = (
            select(ItemRow.doc_id)
            .where(ItemRow.source_id == source_id)
            .group_by(ItemRow.doc_id)
            .having(func.sum(gone) == 0)
        )
        with self._reading() as session:
            return set(session.scalars(query))

    def known_of(self, doc_ids: Collection[str]) -> Known:
        """Return the names and hashes that the catalogue holds of these documents."""
        keys: set[tuple[str, str]] = set()
        uris: set[str] = set()
        sha256s: set[str] = set()
        rows = 0
        with self._reading() as session:
            for batch in batches(sorted(doc_ids)):
                sources: dict[str, str] = {}
                for document in session.scalars(_of(DocumentRow, batch)):
                    sources[document.doc_id] = document.source_id
                    keys.add((document.source_id, document.document_key))
                for alias in session.scalars(_of(AliasRow, batch)):
                    keys.add((alias.source_id, alias.document_key))
                for item in session.scalars(_of(ItemRow, batch)):
                    keys.add((item.source_id, item.source_key))
                    sha256s |= {item.doc_sha256} if item.doc_sha256 else set()
                for version in session.scalars(_of(VersionRow, batch)):
                    keys.add((sources[version.doc_id], version.source_key))
                    uris.add(version.source_uri)
                    sha256s.add(version.doc_sha256)
                for entry in session.scalars(_of(QuarantineRow, batch)):
                    keys.add((entry.source_id, entry.source_key))
                for table in _OF_DOCUMENTS:
                    count = select(func.count()).select_from(table)
                    rows += session.scalar(count.where(_doc_id(table).in_(batch))) or 0
        return Known(frozenset(keys), frozenset(uris), frozenset(sha256s), rows)

    def alias_ids(self, doc_ids: Collection[str]) -> set[str]:
        """Return the ids that these documents would have under the other keys they are known by.

        Ids of other documents are not among them: one may have had a key before it was renamed.
        """
        found: set[str] = set()
        with self._reading() as session:
            for batch in batches(sorted(doc_ids)):
                for alias in session.scalars(_of(AliasRow, batch)):
                    found.add(document_id(alias.source_id, alias.document_key))
            for batch in batches(sorted(found)):
                query = select(DocumentRow.doc_id).where(DocumentRow.doc_id.in_(batch))
                found -= set(session.scalars(query))
        return found - set(doc_ids)

    def bytes_of_others(self, sha256s: Collection[str], doc_ids: Collection[str]) -> set[str]:
        """Return which of these bytes a document that is not among ``doc_ids`` has too."""
        ours = set(doc_ids)
        found: set[str] = set()
        with self._reading() as session:
            for batch in batches(sorted(sha256s)):
                for table in (VersionRow, ItemRow):
                    query = select(table.doc_id, table.doc_sha256)
                    for doc_id, digest in session.execute(query.where(table.doc_sha256.in_(batch))):
                        if doc_id not in ours and digest is not None:
                            found.add(digest)
        return found

    def erase_embeddings(self, text_sha256s: Collection[str]) -> int:
        """Delete the vectors of these texts, by whatever model, and return how many."""
        erased = 0
        with self._writing() as session:
            for batch in batches(sorted(text_sha256s)):
                statement = delete(EmbeddingRow).where(EmbeddingRow.text_sha256.in_(batch))
                erased += change(session, statement)
        return erased

    def embedded_texts(self, text_sha256s: Collection[str]) -> set[str]:
        """Return which of these texts have a vector."""
        found: set[str] = set()
        with self._reading() as session:
            for batch in batches(sorted(text_sha256s)):
                query = select(EmbeddingRow.text_sha256)
                found |= set(session.scalars(query.where(EmbeddingRow.text_sha256.in_(batch))))
        return found

    def erase_rows(
        self,
        doc_ids: Collection[str],
        keys: Collection[tuple[str, str]],
        cleaned: Callable[[Any], Any],
    ) -> None:
        """Delete every row of these documents and items, and their names in what stays.

        Args:
            doc_ids: the documents.
            keys: source and key of each of their items.
            cleaned: returns a JSON value without the names; messages and ledgers go through it.
        """
        with self._writing() as session:
            for batch in batches(sorted(doc_ids)):
                for table in _OF_DOCUMENTS:
                    change(session, delete(table).where(_doc_id(table).in_(batch)))
            for source_id, key in sorted(keys):
                for table in (QuarantineRow, ItemRow):
                    statement = delete(table).where(
                        table.source_id == source_id, table.source_key == key
                    )
                    change(session, statement)
            for entry in session.scalars(select(QuarantineRow)):
                entry.message = cleaned({"message": entry.message})["message"]
                entry.evidence = cleaned(entry.evidence)
            for run in session.scalars(select(RunRow).where(RunRow.ledger.is_not(None))):
                run.ledger = cleaned(run.ledger)
            for source in session.scalars(select(SourceRow).where(SourceRow.error.is_not(None))):
                source.error = cleaned({"error": source.error})["error"]

    def rows_of(self, doc_ids: Collection[str]) -> int:
        """Return how many rows name one of these documents, but for those of the erasures."""
        return self.known_of(doc_ids).rows

    def compact(self) -> None:
        """Write the tables anew, so that freed pages and logs hold nothing of deleted rows.

        Raises:
            RetriableError: ``catalog_locked`` while another process keeps a table in use.
        """
        if self.engine.dialect.name == "sqlite":
            self._sqlite("VACUUM")
            self._sqlite(_EMPTY_LOG)
        else:
            self._vacuum((*_OF_DOCUMENTS, EmbeddingRow, ErasureRow, RunRow, SourceRow))

    def compact_erasures(self) -> None:
        """Write anew what held the ids of an erasure's passages until it was finished.

        Raises:
            RetriableError: ``catalog_locked`` while another process keeps the table in use.
        """
        if self.engine.dialect.name == "sqlite":
            self._sqlite(_EMPTY_LOG)
        else:
            self._vacuum((ErasureRow,))

    def _vacuum(self, tables: Iterable[type[Base]]) -> None:
        with self._explained(), self.engine.connect() as connection:
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            connection.execute(text(f"SET lock_timeout = '{_LOCK_SECONDS}s'"))
            try:
                for table in tables:
                    # The statistics hold values too, so they are made anew as well.
                    connection.execute(text(f"VACUUM (FULL, ANALYZE) {table.__table__}"))
            finally:
                connection.execute(text("RESET lock_timeout"))

    def _sqlite(self, statement: str) -> None:
        # Not through SQLAlchemy, which begins a transaction; these have to be outside of one.
        connection = self.engine.raw_connection()
        try:
            found = connection.cursor().execute(statement).fetchall()
        except sqlite3.OperationalError as error:
            raise locked(self._address, str(error)) from error
        finally:
            connection.close()
        if found and found[0][0]:
            raise locked(self._address, "its log is being read")


def _doc_id(table: type[Base]) -> ColumnElement[str]:
    column: ColumnElement[str] = table.__table__.c.doc_id
    return column


def _of(table: type[BaseT], doc_ids: Collection[str]) -> Select[BaseT]:
    return select(table).where(_doc_id(table).in_(doc_ids))


def _item_keys(session: Session, doc_ids: Collection[str]) -> set[tuple[str, str]]:
    """Return source and key of the listed items of these documents."""
    found: set[tuple[str, str]] = set()
    for batch in batches(sorted(doc_ids)):
        query = select(ItemRow.source_id, ItemRow.source_key).where(
            ItemRow.doc_id.in_(batch), ItemRow.container_key.is_(None)
        )
        found |= {(source_id, key) for source_id, key in session.execute(query)}
    return found

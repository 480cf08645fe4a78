"""Listings: what a run asks about the items of a source when it has listed it, a part at a time."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any

from sqlalchemy import ColumnElement, and_, exists, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute, aliased

from ingest.catalog.items import known_where
from ingest.catalog.models import DocumentRow, ItemRow
from ingest.catalog.records import KnownItem
from ingest.catalog.transactions import Transactions, batches
from schemas.run import Departed

_WALKED = 2_000
"""Keys that a walk over a source's items takes at a time."""


class Listings(Transactions):
    """The catalogue's methods on what a source lists, lists no more, or lists again."""

    def items_of(self, source_id: str, keys: Iterable[str]) -> dict[str, KnownItem]:
        """Return those of ``keys`` that are known, items and members, by key."""
        found: dict[str, KnownItem] = {}
        with self._reading() as session:
            for batch in batches(keys):
                found |= known_where(
                    session, ItemRow.source_id == source_id, ItemRow.source_key.in_(batch)
                )
        return found

    def settled(self, source_id: str, keys: Iterable[str]) -> dict[str, str]:
        """Return the fingerprints of those of ``keys`` about which nothing is left to do, by key.

        They are listed items that the listing before had, and that are indexed or were opened.
        """
        wanted = set(keys)
        if not wanted:
            return {}
        query = select(ItemRow.source_key, ItemRow.fingerprint).where(
            ItemRow.source_id == source_id,
            ItemRow.container_key.is_(None),
            ItemRow.listed,
            ItemRow.state.in_(("indexed", "opened")),
        )
        # Keys that are listed one after another most often lie side by side in the index as well,
        # and reading a stretch of it is much faster than looking for each.
        stretch = query.where(ItemRow.source_key.between(min(wanted), max(wanted)))
        most = 2 * len(wanted)
        with self._reading() as session:
            connection = session.connection()
            rows = connection.execute(stretch.limit(most)).all()
            if len(rows) == most:
                parts = (query.where(ItemRow.source_key.in_(part)) for part in batches(wanted))
                rows = [row for part in parts for row in connection.execute(part)]
        return {key: mark for key, mark in rows if key in wanted and mark is not None}

    def has_members(self, source_id: str) -> bool:
        """Tell whether any item of the source has files inside."""
        query = select(ItemRow.source_key).where(
            ItemRow.source_id == source_id, ItemRow.container_key.is_not(None)
        )
        with self._reading() as session:
            return session.scalar(query.limit(1)) is not None

    def unsettled_members(
        self, source_id: str, containers: Iterable[str], pipeline_version: str
    ) -> dict[str, KnownItem]:
        """Return the members of ``containers`` that not all is done about, by key.

        They are to be worked on, have left their container and are not retired yet, or are retired
        although their container has them.

        Args:
            source_id: the source.
            containers: keys of listed items.
            pipeline_version: what was refused by another one is to be worked on.
        """
        refused = and_(ItemRow.state == "quarantined", ItemRow.pipeline_version != pipeline_version)
        unsettled = or_(
            and_(ItemRow.state == "gone", ItemRow.listed),
            and_(
                ItemRow.state != "gone",
                or_(~ItemRow.listed, ItemRow.fingerprint.is_(None), refused),
            ),
        )
        found: dict[str, KnownItem] = {}
        with self._reading() as session:
            for batch in batches(containers):
                found |= known_where(
                    session,
                    ItemRow.source_id == source_id,
                    ItemRow.container_key.in_(batch),
                    unsettled,
                )
        return found

    def live_members(self, source_id: str, containers: Iterable[str]) -> dict[str, KnownItem]:
        """Return the members of ``containers`` that are not gone, by key."""
        found: dict[str, KnownItem] = {}
        with self._reading() as session:
            for batch in batches(containers):
                found |= known_where(
                    session,
                    ItemRow.source_id == source_id,
                    ItemRow.container_key.in_(batch),
                    ItemRow.state != "gone",
                )
        return found

    def count_live(self, source_id: str) -> int:
        """Return how many items of the source are not gone, with all their members."""
        query = select(func.count()).where(ItemRow.source_id == source_id, ItemRow.state != "gone")
        with self._reading() as session:
            return session.scalar(query) or 0

    def live_keys(self, source_id: str) -> Iterator[list[str]]:
        """Yield the keys of what the source had, a part at a time: listed items that are not gone.

        A container that no run got to the end of is among them if members of it were found.
        """
        listed = and_(
            ItemRow.source_id == source_id,
            ItemRow.container_key.is_(None),
            ItemRow.state != "gone",
        )
        yield from self._walk(ItemRow.source_key, listed)
        container = aliased(ItemRow)
        by_itself = exists().where(
            container.source_id == ItemRow.source_id,
            container.source_key == ItemRow.container_key,
            container.container_key.is_(None),
            container.state != "gone",
        )
        inside = and_(ItemRow.source_id == source_id, ItemRow.state != "gone", ~by_itself)
        yield from self._walk(ItemRow.container_key, inside)

    def _walk(
        self, column: InstrumentedAttribute[Any], condition: ColumnElement[bool]
    ) -> Iterator[list[str]]:
        query = select(column).where(condition, column.is_not(None)).distinct().order_by(column)
        part = query
        while True:
            with self._reading() as session:
                keys = list(session.scalars(part.limit(_WALKED)))
            if keys:
                yield keys
            if len(keys) < _WALKED:
                return
            part = query.where(column > keys[-1])

    def still_there(self, source_id: str, doc_ids: Iterable[str], gone: Container[str]) -> set[str]:
        """Return which of these documents have an item that is not gone, nor among ``gone``."""
        found: set[str] = set()
        with self._reading() as session:
            for batch in batches(sorted(doc_ids)):
                query = select(ItemRow.source_key, ItemRow.doc_id).where(
                    ItemRow.source_id == source_id,
                    ItemRow.doc_id.in_(batch),
                    ItemRow.state != "gone",
                )
                found |= {doc_id for key, doc_id in session.execute(query) if key not in gone}
        return found

    def departed(self, source_id: str, keys: Iterable[str]) -> list[Departed]:
        """Return which of these unlisted items may have been renamed.

        They are indexed, have no files inside, and are called what their document is called.
        """
        member = aliased(ItemRow)
        has_members = exists().where(
            member.source_id == ItemRow.source_id, member.container_key == ItemRow.source_key
        )
        found: list[Departed] = []
        with self._reading() as session:
            for batch in batches(keys):
                query = (
                    select(ItemRow.source_key, ItemRow.doc_id, ItemRow.doc_sha256)
                    .join(DocumentRow, DocumentRow.doc_id == ItemRow.doc_id)
                    .where(
                        ItemRow.source_id == source_id,
                        ItemRow.source_key.in_(batch),
                        ItemRow.container_key.is_(None),
                        ItemRow.state == "indexed",
                        ItemRow.doc_sha256.is_not(None),
                        DocumentRow.document_key == ItemRow.source_key,
                        ~has_members,
                    )
                )
                found += [
                    Departed(source_key=key, doc_id=doc_id, doc_sha256=str(digest))
                    for key, doc_id, digest in session.execute(query)
                ]
        return found

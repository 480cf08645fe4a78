"""Items: what is known of what a source lists, so that the next run can tell what changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, case, delete, or_, select, update
from sqlalchemy.orm import Session

from ingest.catalog.models import ItemRow, QuarantineRow, VersionRow
from ingest.catalog.records import KnownItem
from ingest.catalog.transactions import Transactions, batches, change, insert_into
from schemas.base import utc_now
from schemas.identity import member_key
from schemas.run import Refusal


class Items(Transactions):
    """The catalogue's methods on items."""

    def known_items(self, source_id: str) -> dict[str, KnownItem]:
        """Return every item of the source that was ever worked on, by its key: members too.

        Of a source of any size; what runs use takes a part of the keys at a time.
        """
        with self._reading() as session:
            return known_where(session, ItemRow.source_id == source_id)

    def known_trees(self, source_id: str, keys: Iterable[str]) -> dict[str, KnownItem]:
        """Return the listed items ``keys`` with all their members, as far as they are known."""
        found: dict[str, KnownItem] = {}
        with self._reading() as session:
            for batch in batches(keys):
                found |= known_where(
                    session,
                    ItemRow.source_id == source_id,
                    or_(
                        ItemRow.container_key.in_(batch),
                        and_(ItemRow.container_key.is_(None), ItemRow.source_key.in_(batch)),
                    ),
                )
        return found

    def listed_keys(self, source_id: str, keys: Iterable[str]) -> set[str]:
        """Return which of ``keys`` are those of items that the source lists itself."""
        found: set[str] = set()
        with self._reading() as session:
            for batch in batches(keys):
                query = select(ItemRow.source_key).where(
                    ItemRow.source_id == source_id,
                    ItemRow.source_key.in_(batch),
                    ItemRow.container_key.is_(None),
                    ItemRow.listed,
                )
                found |= set(session.scalars(query))
        return found

    def seen(self, source_id: str, keys: Iterable[str], run_id: str) -> None:
        """Note that the run's listing has these items again; keys not known are passed over.

        Needed only for what the listing before did not have, or had as a member. A gone item stays
        gone until ``restore``, ``publish`` or ``record_refused``. What is listed is no member, even
        if one had its key before.
        """
        values = {"last_seen": utc_now(), "run_id": run_id, "listed": True, "container_key": None}
        self._update_items(source_id, keys, values)

    def mark_gone(self, source_id: str, keys: Iterable[str]) -> None:
        """Note that the source no longer has these items.

        A member keeps whether its container had it, so that it comes back with its container.
        """
        listed = case((ItemRow.container_key.is_(None), False), else_=ItemRow.listed)
        self._update_items(source_id, keys, {"state": "gone", "listed": listed})

    def note_members(
        self,
        source_id: str,
        container_key: str,
        found: Mapping[str, str],
        *,
        waiting: Iterable[str],
        pipeline_version: str,
        run_id: str,
    ) -> None:
        """Note which members a listed item has, from one reading of all that could be read of it.

        Those that are being worked on lose their fingerprint until they are published, opened or
        refused, so that the next run works on them if this one does not get as far. Members that
        are known and not found stay as they are, but for being no longer listed.

        Args:
            source_id: the source.
            container_key: key of the listed item.
            found: document id of each member that is there, by its key.
            waiting: keys of the members that are being worked on.
            pipeline_version: the code that found them.
            run_id: the run that found them.
        """
        at = utc_now()
        rows = [
            {
                "source_id": source_id,
                "source_key": key,
                "container_key": container_key,
                "doc_id": found[key],
                "fingerprint": None,
                "state": "found",
                "listed": True,
                "pipeline_version": pipeline_version,
                "first_seen": at,
                "last_seen": at,
                "run_id": run_id,
            }
            for key in sorted(found)
        ]
        with self._writing() as session:
            insert = insert_into(session, ItemRow)
            new = insert.excluded
            changed = {
                "listed": True,
                "last_seen": new.last_seen,
                "container_key": new.container_key,
            }
            upsert = insert.on_conflict_do_update(
                index_elements=["source_id", "source_key"], set_=changed
            )
            for batch in batches(rows):
                session.execute(upsert, batch)
            of_container = (ItemRow.source_id == source_id, ItemRow.container_key == container_key)
            known = session.scalars(select(ItemRow.source_key).where(*of_container))
            missing: dict[str, Any] = {"listed": False}
            unfinished: dict[str, Any] = {"fingerprint": None, "run_id": run_id}
            for keys, values in ((set(known) - found.keys(), missing), (waiting, unfinished)):
                for part in batches(sorted(keys)):
                    statement = update(ItemRow).where(*of_container, ItemRow.source_key.in_(part))
                    change(session, statement.values(**values))

    def settle_members(self, source_id: str, container_key: str, item_key: str) -> None:
        """Leave the members of a document that was refused until it is read again.

        Args:
            source_id: the source.
            container_key: key of the listed item.
            item_key: key of the document that was refused: the listed item, or a member of it.
        """
        statement = update(ItemRow).where(
            ItemRow.source_id == source_id,
            ItemRow.container_key == container_key,
            ItemRow.source_key.startswith(member_key(item_key, ""), autoescape=True),
            ItemRow.fingerprint.is_(None),
        )
        with self._writing() as session:
            change(session, statement.values(fingerprint=""))

    def record_opened(
        self,
        *,
        source_id: str,
        source_key: str,
        doc_id: str,
        fingerprint: str,
        doc_sha256: str,
        pipeline_version: str,
        run_id: str,
    ) -> None:
        """Note that an archive without a text was opened in the state that ``fingerprint`` names.

        Its open quarantine entries are closed. Doing it again changes nothing.
        """
        at = utc_now()
        values = {
            "doc_id": doc_id,
            "fingerprint": fingerprint,
            "state": "opened",
            "listed": True,
            "doc_sha256": doc_sha256,
            "pipeline_version": pipeline_version,
            "last_seen": at,
            "run_id": run_id,
        }
        with self._writing() as session:
            insert = insert_into(session, ItemRow).values(
                source_id=source_id, source_key=source_key, first_seen=at, **values
            )
            session.execute(
                insert.on_conflict_do_update(
                    index_elements=["source_id", "source_key"], set_=values
                )
            )
            close_entries(session, source_id, source_key)

    def _update_items(self, source_id: str, keys: Iterable[str], values: dict[str, Any]) -> None:
        with self._writing() as session:
            # Sorted, so that two transactions lock rows in the same order and none waits for ever.
            for batch in batches(sorted(set(keys))):
                statement = update(ItemRow).where(
                    ItemRow.source_id == source_id, ItemRow.source_key.in_(batch)
                )
                change(session, statement.values(**values))


def known_where(session: Session, *conditions: ColumnElement[bool]) -> dict[str, KnownItem]:
    """Return the items and members that meet the conditions, by key."""
    names = list(KnownItem.model_fields)
    query = select(ItemRow.source_key, *(getattr(ItemRow, name) for name in names))
    return {
        key: KnownItem.model_validate(dict(zip(names, values, strict=True)))
        for key, *values in session.execute(query.where(*conditions))
    }


def set_indexed(
    session: Session,
    version: VersionRow,
    *,
    source_id: str,
    source_key: str,
    fingerprint: str,
    pipeline_version: str,
    run_id: str,
    at: datetime,
) -> None:
    """Note that the item, in the state that ``fingerprint`` names, is the published version."""
    insert = insert_into(session, ItemRow).values(
        source_id=source_id,
        source_key=source_key,
        doc_id=version.doc_id,
        fingerprint=fingerprint,
        state="indexed",
        listed=True,
        doc_sha256=version.doc_sha256,
        version=version.version,
        pipeline_version=pipeline_version,
        first_seen=at,
        last_seen=at,
        run_id=run_id,
    )
    new = insert.excluded
    later = case((ItemRow.last_seen < new.last_seen, new.last_seen), else_=ItemRow.last_seen)
    session.execute(
        insert.on_conflict_do_update(
            index_elements=["source_id", "source_key"],
            set_={
                "doc_id": new.doc_id,
                "fingerprint": new.fingerprint,
                "state": new.state,
                "listed": new.listed,
                "doc_sha256": new.doc_sha256,
                "version": new.version,
                "pipeline_version": new.pipeline_version,
                "last_seen": later,
                "run_id": new.run_id,
            },
        )
    )


def set_refused(
    session: Session, refusal: Refusal, *, run_id: str, pipeline_version: str, at: datetime
) -> None:
    """Note that the item in this state was refused by this pipeline, so that it isn't tried again.

    What is indexed of the item from before stays indexed: its document and version are kept. An
    item that is new and whose document is not known has no row, so every run tries it again.
    """
    same_item = (
        ItemRow.source_id == refusal.source_id,
        ItemRow.source_key == refusal.source_key,
    )
    values: dict[str, Any] = {
        "fingerprint": refusal.fingerprint,
        "state": "quarantined",
        "listed": True,
        "pipeline_version": pipeline_version,
        "last_seen": at,
        "run_id": run_id,
    }
    if refusal.doc_id is None:
        change(session, update(ItemRow).where(*same_item).values(**values))
        return
    insert = insert_into(session, ItemRow).values(
        source_id=refusal.source_id,
        source_key=refusal.source_key,
        doc_id=refusal.doc_id,
        first_seen=at,
        **values,
    )
    indexed = case((ItemRow.version.is_not(None), ItemRow.doc_id), else_=insert.excluded.doc_id)
    session.execute(
        insert.on_conflict_do_update(
            index_elements=["source_id", "source_key"], set_={**values, "doc_id": indexed}
        )
    )


def close_entries(
    session: Session,
    source_id: str,
    source_key: str,
    *,
    listed: bool = True,
    version: int | None = None,
) -> None:
    """Close open entries of an item: it was published or opened after all.

    Args:
        session: a session that writes.
        source_id: its source.
        source_key: its key.
        listed: whether it was worked on as its source lists it.
        version: number of the version that was published.
    """
    meant = [QuarantineRow.version == version] if version is not None else []
    if listed:
        meant.append(QuarantineRow.version.is_(None))
    change(
        session,
        update(QuarantineRow)
        .where(
            QuarantineRow.source_id == source_id,
            QuarantineRow.source_key == source_key,
            QuarantineRow.state == "open",
            or_(*meant),
        )
        .values(state="closed"),
    )


def remove_renamed(session: Session, source_id: str, source_key: str, doc_id: str) -> None:
    """Remove the row of an item that goes by another key now."""
    statement = delete(ItemRow).where(
        ItemRow.source_id == source_id, ItemRow.source_key == source_key, ItemRow.doc_id == doc_id
    )
    change(session, statement)


def forget_fingerprint(session: Session, source_id: str, source_key: str) -> None:
    """Make the next run work on the item again, whatever state it is in."""
    change(
        session,
        update(ItemRow)
        .where(ItemRow.source_id == source_id, ItemRow.source_key == source_key)
        .values(fingerprint=None),
    )

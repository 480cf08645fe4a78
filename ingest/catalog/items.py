"""Items: what is known of what a source lists, so that the next run can tell what changed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import case, select, update
from sqlalchemy.orm import Session

from ingest.catalog.models import ItemRow, VersionRow
from ingest.catalog.records import KnownItem
from ingest.catalog.transactions import Transactions, batches, change, insert_into
from schemas.base import utc_now
from schemas.run import Refusal


class Items(Transactions):
    """The catalogue's methods on items."""

    def known_items(self, source_id: str) -> dict[str, KnownItem]:
        """Return every item that the source ever listed and that was worked on, by its key."""
        query = select(
            ItemRow.source_key,
            ItemRow.doc_id,
            ItemRow.fingerprint,
            ItemRow.state,
            ItemRow.doc_sha256,
            ItemRow.version,
            ItemRow.pipeline_version,
        ).where(ItemRow.source_id == source_id)
        with self._reading() as session:
            return {
                key: KnownItem(
                    doc_id=doc_id,
                    fingerprint=fingerprint,
                    state=state,  # type: ignore[arg-type]  # one of the Literal's by a CHECK
                    doc_sha256=doc_sha256,
                    version=version,
                    pipeline_version=pipeline_version,
                )
                for (
                    key,
                    doc_id,
                    fingerprint,
                    state,
                    doc_sha256,
                    version,
                    pipeline_version,
                ) in session.execute(query)
            }

    def seen(self, source_id: str, keys: Iterable[str], run_id: str) -> None:
        """Note that the run's listing has these items; keys that aren't known are passed over.

        A gone item stays gone until ``restore``, ``publish`` or ``record_refused``.
        """
        self._update_items(
            source_id, keys, {"last_seen": utc_now(), "run_id": run_id, "listed": True}
        )

    def mark_gone(self, source_id: str, keys: Iterable[str]) -> None:
        """Note that the source no longer lists these items."""
        self._update_items(source_id, keys, {"state": "gone", "listed": False})

    def _update_items(self, source_id: str, keys: Iterable[str], values: dict[str, Any]) -> None:
        with self._writing() as session:
            # Sorted, so that two transactions lock rows in the same order and none waits for ever.
            for batch in batches(sorted(set(keys))):
                statement = update(ItemRow).where(
                    ItemRow.source_id == source_id, ItemRow.source_key.in_(batch)
                )
                change(session, statement.values(**values))


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


def forget_fingerprint(session: Session, source_id: str, source_key: str) -> None:
    """Make the next run work on the item again, whatever state it is in."""
    change(
        session,
        update(ItemRow)
        .where(ItemRow.source_id == source_id, ItemRow.source_key == source_key)
        .values(fingerprint=None),
    )

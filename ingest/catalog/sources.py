"""Sources: when each was last listed, and why it could not be."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import select

from ingest.catalog.models import SourceRow
from ingest.catalog.records import SourceRecord
from ingest.catalog.transactions import Transactions, insert_into, to_record


class Sources(Transactions):
    """The catalogue's methods on sources."""

    def source_listed(self, source_id: str, entries: int, at: datetime) -> None:
        """Note that the source was listed to its end, with so many items and problems."""
        self._note(
            source_id, {"listed_at": at, "entries": entries, "failed_at": None, "error": None}
        )

    def source_failed(self, source_id: str, error: str, at: datetime) -> None:
        """Note that the source could not be listed; when it last could be is kept."""
        self._note(source_id, {"failed_at": at, "error": error})

    def sources(self) -> dict[str, SourceRecord]:
        """Return what is known of every source that a run tried to list, by its id."""
        query = select(SourceRow).order_by(SourceRow.source_id)
        with self._reading() as session:
            return {row.source_id: to_record(SourceRecord, row) for row in session.scalars(query)}

    def _note(self, source_id: str, values: dict[str, Any]) -> None:
        with self._writing() as session:
            insert = insert_into(session, SourceRow).values(source_id=source_id, **values)
            session.execute(insert.on_conflict_do_update(index_elements=["source_id"], set_=values))

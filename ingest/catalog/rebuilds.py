"""Rebuilds: which collection is written to, and which versions one that is being filled has."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session

from ingest.catalog.models import IntervalRow, RebuildRow, RebuiltVersionRow, VersionRow
from ingest.catalog.records import RebuildRecord, RebuiltVersion
from ingest.catalog.transactions import CONFLICT, Transactions, batches, change, to_record
from ingest.errors import RetriableError
from schemas.base import sha256_text

LOADED = ("published", "withdrawn")
"""States of versions that have points."""

_NO_PART = {"pending", "unsettled_at"}
"""Of a version's row: what its points are not made of."""


class Rebuilds(Transactions):
    """The catalogue's methods on rebuilds."""

    def current_rebuild(self, alias: str) -> RebuildRecord | None:
        """Return the rebuild whose collection is written to; None if there was no rebuild yet."""
        query = (
            select(RebuildRow)
            .where(RebuildRow.alias == alias, RebuildRow.state == "switched")
            .order_by(RebuildRow.id.desc())
            .limit(1)
        )
        with self._reading() as session:
            return _record(session.scalar(query))

    def rebuild_under_way(self, alias: str) -> RebuildRecord | None:
        """Return the rebuild that fills a collection; None if there is none."""
        query = select(RebuildRow).where(RebuildRow.alias == alias, RebuildRow.state == "filling")
        with self._reading() as session:
            return _record(session.scalar(query))

    def rebuilds(self, alias: str) -> list[RebuildRecord]:
        """Return all rebuilds, the oldest first."""
        query = select(RebuildRow).where(RebuildRow.alias == alias).order_by(RebuildRow.id)
        with self._reading() as session:
            return [to_record(RebuildRecord, row) for row in session.scalars(query)]

    def begin_rebuild(
        self, *, alias: str, collection: str, former: str | None, reason: str, at: datetime
    ) -> RebuildRecord:
        """Note that a collection is filled, before it is made; or return what is under way.

        Args:
            alias: what readers call the index.
            collection: the one that is filled.
            former: the one that they read so far; None if there is none.
            reason: why.
            at: the instant.
        """
        try:
            with self._writing() as session:
                session.add(
                    RebuildRow(
                        alias=alias,
                        collection=collection,
                        former=former,
                        reason=reason,
                        started_at=at,
                        switched_at=None,
                        turned_at=None,
                        former_until=None,
                    )
                )
        except RetriableError as error:
            if error.code != CONFLICT:
                raise
        under_way = self.rebuild_under_way(alias)
        if under_way is None:
            raise RetriableError("rebuild_ended", "Another rebuild has just ended. Try again.")
        return under_way

    def version_stamps(self, doc_ids: Iterable[str]) -> dict[str, dict[int, str]]:
        """Return a stamp of each loaded version of these documents, by document and number.

        Two are the same exactly if nothing that the version's points are made of has changed, what
        readers are told of time among it.
        """
        columns = [one for one in VersionRow.__table__.columns if one.name not in _NO_PART]
        found: dict[str, dict[int, str]] = defaultdict(dict)
        with self._reading() as session:
            for batch in batches(doc_ids):
                histories = _histories(session, batch)
                query = select(*columns).where(
                    VersionRow.doc_id.in_(batch), VersionRow.state.in_(LOADED)
                )
                for row in session.execute(query):
                    told = histories[row.doc_id, row.version]
                    values = [*row, told]
                    stamp = sha256_text(json.dumps(values, default=str, sort_keys=True))
                    found[row.doc_id][row.version] = stamp
        return dict(found)

    def rebuilt_versions(
        self, rebuild_id: int, doc_ids: Iterable[str]
    ) -> dict[str, dict[int, RebuiltVersion]]:
        """Return what the collection has of these documents, by document and number."""
        found: dict[str, dict[int, RebuiltVersion]] = defaultdict(dict)
        with self._reading() as session:
            for batch in batches(doc_ids):
                query = select(RebuiltVersionRow).where(
                    RebuiltVersionRow.rebuild_id == rebuild_id, RebuiltVersionRow.doc_id.in_(batch)
                )
                for row in session.scalars(query):
                    found[row.doc_id][row.version] = to_record(RebuiltVersion, row)
        return dict(found)

    def rebuilt_counts(self, rebuild_id: int) -> tuple[int, int]:
        """Return how many versions and points the collection should have."""
        query = select(
            func.count(), func.coalesce(func.sum(RebuiltVersionRow.chunk_count), 0)
        ).where(RebuiltVersionRow.rebuild_id == rebuild_id)
        with self._reading() as session:
            versions, points = session.execute(query).one()
            return int(versions), int(points)

    def note_rebuilt(
        self, rebuild_id: int, doc_id: str, versions: Mapping[int, RebuiltVersion]
    ) -> None:
        """Note all that the collection has of a document now.

        Raises:
            RetriableError: ``rebuild_ended`` where the rebuild is no longer under way.
        """
        with self._writing() as session:
            _filling(session, rebuild_id)
            change(
                session,
                delete(RebuiltVersionRow).where(
                    RebuiltVersionRow.rebuild_id == rebuild_id, RebuiltVersionRow.doc_id == doc_id
                ),
            )
            session.add_all(
                RebuiltVersionRow(
                    rebuild_id=rebuild_id, doc_id=doc_id, version=number, **made.model_dump()
                )
                for number, made in versions.items()
            )

    def switch_rebuild(self, rebuild_id: int, *, at: datetime, former_until: datetime) -> None:
        """Make the collection the one that is written to, and its payloads those of the versions.

        Raises:
            RetriableError: ``rebuild_ended`` where the rebuild is no longer under way.
        """
        same = (
            RebuiltVersionRow.rebuild_id == rebuild_id,
            RebuiltVersionRow.doc_id == VersionRow.doc_id,
            RebuiltVersionRow.version == VersionRow.version,
        )
        with self._writing() as session:
            row = _filling(session, rebuild_id)
            statement = update(VersionRow).where(
                select(RebuiltVersionRow.rebuild_id).where(*same).exists()
            )
            change(
                session,
                statement.values(
                    payloads_uri=select(RebuiltVersionRow.payloads_uri)
                    .where(*same)
                    .scalar_subquery(),
                    chunk_count=select(RebuiltVersionRow.chunk_count)
                    .where(*same)
                    .scalar_subquery(),
                ),
            )
            row.state, row.switched_at, row.former_until = "switched", at, former_until
            session.flush()
            _forget_versions(session, rebuild_id)

    def note_turned(self, rebuild_id: int, at: datetime) -> None:
        """Note that readers' alias points to the collection."""
        of_rebuild = update(RebuildRow).where(
            RebuildRow.id == rebuild_id, RebuildRow.turned_at.is_(None)
        )
        with self._writing() as session:
            change(session, of_rebuild.values(turned_at=at))

    def abandon_rebuild(self, rebuild_id: int) -> None:
        """Give up a rebuild that is under way."""
        with self._writing() as session:
            _filling(session, rebuild_id).state = "abandoned"
            session.flush()
            _forget_versions(session, rebuild_id)

    def note_dropped(self, collection: str) -> None:
        """Note that a former collection is gone."""
        with self._writing() as session:
            statement = update(RebuildRow).where(RebuildRow.former == collection)
            change(session, statement.values(former=None))


def _histories(session: Session, doc_ids: list[str]) -> defaultdict[tuple[str, int], list[Any]]:
    histories: defaultdict[tuple[str, int], list[Any]] = defaultdict(list)
    query = (
        select(
            IntervalRow.doc_id,
            IntervalRow.version,
            IntervalRow.effective_from,
            IntervalRow.effective_until,
            IntervalRow.recorded_at,
            IntervalRow.superseded_at,
        )
        .where(IntervalRow.doc_id.in_(doc_ids))
        .order_by(IntervalRow.id)
    )
    for doc_id, version, *told in session.execute(query):
        histories[doc_id, version].append(told)
    return histories


def _filling(session: Session, rebuild_id: int) -> RebuildRow:
    row = session.get(RebuildRow, rebuild_id, with_for_update=True)
    if row is None or row.state != "filling":
        raise RetriableError(
            "rebuild_ended",
            f"Rebuild {rebuild_id} is no longer under way: another process has ended it. See: "
            "muniment rebuild list",
        )
    return row


def _forget_versions(session: Session, rebuild_id: int) -> None:
    change(session, delete(RebuiltVersionRow).where(RebuiltVersionRow.rebuild_id == rebuild_id))


def _record(row: RebuildRow | None) -> RebuildRecord | None:
    return None if row is None else to_record(RebuildRecord, row)

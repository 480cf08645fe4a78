"""Versions: reserving a number, and publishing with the intervals of the whole document."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from itertools import pairwise

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from ingest.catalog.documents import lock_document, set_key
from ingest.catalog.items import close_entries, remove_renamed, set_indexed
from ingest.catalog.models import IntervalRow, VersionRow
from ingest.catalog.records import IntervalRecord, VersionDraft, VersionRecord
from ingest.catalog.transactions import Transactions, change, to_record
from ingest.errors import FatalError, RetriableError
from ingest.versions import Interval
from schemas.base import OPEN_END
from schemas.licence import Confidentiality


class Versions(Transactions):
    """The catalogue's methods on versions."""

    def reserve_version(
        self,
        *,
        doc_id: str,
        doc_sha256: str,
        source_key: str,
        text_sha256: str,
        version_label: str | None,
        title: str,
        source_uri: str,
        media_type: str,
        licence_id: str,
        licence_valid_until: datetime = OPEN_END,
        confidentiality: Confidentiality,
        client_id: str | None,
        effective_from: datetime,
        effective_is_receipt: bool,
        received_at: datetime,
        extraction_uri: str,
        run_id: str,
        renamed_from: str | None = None,
    ) -> VersionRecord:
        """Return the version that these bytes of this item are: one that exists, or a new one.

        A staged version of the same bytes and item is what a run left that did not get to its end;
        the item's latest published version with the same bytes is the one whose metadata changed.
        Either takes the new metadata but keeps its number and date of receipt, and with the latter
        an effective date that stands on it, so that a second try gives the same dates. What is
        published takes it only when it's published again: until then it is as readers see it. An
        item that was renamed has the versions that it had as ``renamed_from``.

        Raises:
            FatalError: ``catalog_document_unknown``.
            RetriableError: ``catalog_locked``, ``catalog_unreachable`` or ``catalog_conflict``.
        """
        draft = VersionDraft(
            doc_sha256=doc_sha256,
            text_sha256=text_sha256,
            version_label=version_label,
            title=title,
            source_key=source_key,
            source_uri=source_uri,
            media_type=media_type,
            licence_id=licence_id,
            licence_valid_until=licence_valid_until,
            confidentiality=confidentiality,
            client_id=client_id,
            effective_from=effective_from,
            effective_is_receipt=effective_is_receipt,
            received_at=received_at,
            extraction_uri=extraction_uri,
            run_id=run_id,
        )
        return self._retrying(lambda: self._reserve(doc_id, draft, renamed_from))

    def _reserve(self, doc_id: str, draft: VersionDraft, renamed_from: str | None) -> VersionRecord:
        with self._writing() as session:
            lock_document(session, doc_id)
            row = _find_same(session, doc_id, draft, renamed_from)
            if row is None:
                latest = session.scalar(
                    select(func.max(VersionRow.version)).where(VersionRow.doc_id == doc_id)
                )
                row = VersionRow(
                    doc_id=doc_id,
                    version=(latest or 0) + 1,
                    published_at=None,
                    payloads_uri=None,
                    **dict(draft),
                )
                session.add(row)
            elif row.state == "staged":
                _take(row, _revised(row, draft))
            else:
                revised = _revised(row, draft)
                row.pending = revised.model_dump(mode="json")
                record = to_record(VersionRecord, row).model_copy(update=dict(revised))
                until = max(record.effective_until, record.effective_from)
                return record.model_copy(update={"effective_until": until})
            session.flush()
            return to_record(VersionRecord, row)

    def withdraw(self, doc_id: str, version: int) -> None:
        """Give up a staged version that its item has moved on from."""
        statement = update(VersionRow).where(
            VersionRow.doc_id == doc_id,
            VersionRow.version == version,
            VersionRow.state == "staged",
        )
        with self._writing() as session:
            change(session, statement.values(state="withdrawn"))

    def drop_pending(self, doc_id: str) -> None:
        """Give up new metadata of the document's published versions that was refused."""
        statement = update(VersionRow).where(
            VersionRow.doc_id == doc_id, VersionRow.state == "published"
        )
        with self._writing() as session:
            change(session, statement.values(pending=None))

    def set_chunks(self, doc_id: str, version: int, payloads_uri: str, chunk_count: int) -> None:
        """Note where the version's payloads are.

        Raises:
            FatalError: ``catalog_version_unknown``.
        """
        with self._writing() as session:
            row = _version(session, doc_id, version)
            row.payloads_uri = payloads_uri
            row.chunk_count = chunk_count

    def versions(self, doc_id: str) -> list[VersionRecord]:
        """Return all versions of the document, withdrawn ones too, by number."""
        query = select(VersionRow).where(VersionRow.doc_id == doc_id).order_by(VersionRow.version)
        with self._reading() as session:
            return [to_record(VersionRecord, row) for row in session.scalars(query)]

    def version(self, doc_id: str, version: int) -> VersionRecord | None:
        """Return the version; None if there is none of this number."""
        with self._reading() as session:
            row = session.get(VersionRow, (doc_id, version))
            return None if row is None else to_record(VersionRecord, row)

    def interval_history(self, doc_id: str) -> list[IntervalRecord]:
        """Return every interval that the document's versions were ever held to have.

        Those with ``recorded_at <= t < superseded_at`` are what was held at the instant ``t``.
        """
        query = select(IntervalRow).where(IntervalRow.doc_id == doc_id).order_by(IntervalRow.id)
        with self._reading() as session:
            return [to_record(IntervalRecord, row) for row in session.scalars(query)]

    def publish(
        self,
        doc_id: str,
        version: int,
        *,
        intervals: Mapping[int, Interval],
        published_at: datetime,
        source_key: str,
        fingerprint: str,
        pipeline_version: str,
        run_id: str,
        document_key: str | None = None,
        renamed_from: str | None = None,
    ) -> None:
        """Make the version the item's published one, with the intervals of the whole document.

        A version that was published before keeps its first date of publication. Doing it again
        changes nothing.

        Args:
            doc_id: the document.
            version: the version's number.
            intervals: of every published version of the document and of this one, by number.
            published_at: when readers can first see it.
            source_key: the item that the version is of.
            fingerprint: the item's state that was published.
            pipeline_version: the code that made the version's points.
            run_id: the run that publishes.
            document_key: what the source calls the document now; None leaves that as it is.
            renamed_from: key under which the source listed the item before; its row goes.

        Raises:
            FatalError: ``catalog_version_unknown``, ``catalog_version_withdrawn``, or
                ``catalog_intervals`` where intervals overlap or name a version that isn't
                published.
            RetriableError: ``catalog_stale_intervals`` where another version was published after
                the intervals were worked out.
        """
        with self._writing() as session:
            document = lock_document(session, doc_id)
            row = _version(session, doc_id, version)
            if row.state == "withdrawn":
                raise FatalError(
                    "catalog_version_withdrawn",
                    f"Version {version} of document {doc_id} was refused, so it cannot be "
                    "published. Retry its quarantine entry; it gets a new number.",
                )
            if row.pending is not None:
                _take(row, VersionDraft.model_validate(row.pending))
                row.pending = None
            row.state = "published"
            row.published_at = row.published_at or published_at
            row.retired_at = OPEN_END  # it comes from an item that is listed
            row.run_id = run_id
            session.flush()
            _set_intervals(session, doc_id, intervals, published_at)
            set_indexed(
                session,
                row,
                source_id=document.source_id,
                source_key=source_key,
                fingerprint=fingerprint,
                pipeline_version=pipeline_version,
                run_id=run_id,
                at=published_at,
            )
            close_entries(session, document.source_id, source_key)
            if renamed_from is not None:
                remove_renamed(session, document.source_id, renamed_from, doc_id)
            if document_key is not None:
                set_key(session, document, document_key, published_at)


def _find_same(
    session: Session, doc_id: str, draft: VersionDraft, renamed_from: str | None
) -> VersionRow | None:
    keys = [draft.source_key, *([renamed_from] if renamed_from is not None else [])]
    of_item = (
        select(VersionRow)
        .where(VersionRow.doc_id == doc_id, VersionRow.source_key.in_(keys))
        .order_by(VersionRow.version.desc())
        .limit(1)
    )
    staged = session.scalar(
        of_item.where(VersionRow.state == "staged", VersionRow.doc_sha256 == draft.doc_sha256)
    )
    if staged is not None:
        return staged
    published = session.scalar(of_item.where(VersionRow.state == "published"))
    if published is not None and published.doc_sha256 == draft.doc_sha256:
        return published
    return None


def _revised(row: VersionRow, draft: VersionDraft) -> VersionDraft:
    """Return the draft with the dates that the version keeps."""
    effective_from = draft.effective_from
    if draft.effective_is_receipt:
        # Where the source no longer says, what stands in is when the bytes were first received.
        effective_from = row.effective_from if row.effective_is_receipt else row.received_at
    return draft.model_copy(
        update={"received_at": row.received_at, "effective_from": effective_from}
    )


def _take(row: VersionRow, draft: VersionDraft) -> None:
    for name, value in draft:
        setattr(row, name, value)
    # Until it is published with new intervals, the row's own must not run backwards.
    row.effective_until = max(row.effective_until, row.effective_from)


def _version(session: Session, doc_id: str, version: int) -> VersionRow:
    row = session.get(VersionRow, (doc_id, version))
    if row is None:
        raise FatalError(
            "catalog_version_unknown",
            f"The catalogue has no version {version} of document {doc_id}. It was deleted, or this "
            "is the catalogue of another installation: check MUNIMENT_CATALOG_URL.",
        )
    return row


def _set_intervals(
    session: Session, doc_id: str, intervals: Mapping[int, Interval], at: datetime
) -> None:
    """Write the intervals, and into the history those that differ from what it holds."""
    published = {
        row.version: row
        for row in session.scalars(
            select(VersionRow).where(VersionRow.doc_id == doc_id, VersionRow.state == "published")
        )
    }
    _check_intervals(doc_id, published.keys(), intervals)
    held = {
        row.version: row
        for row in session.scalars(
            select(IntervalRow).where(
                IntervalRow.doc_id == doc_id, IntervalRow.superseded_at == OPEN_END
            )
        )
    }
    for number, interval in sorted(intervals.items(), key=lambda entry: entry[0]):
        published[number].effective_from = interval.effective_from
        published[number].effective_until = interval.effective_until
        before = held.get(number)
        recorded_at = at
        if before is not None:
            if Interval(before.effective_from, before.effective_until) == interval:
                continue
            # A clock that went back must not make a belief end before it began.
            recorded_at = max(at, before.recorded_at)
            before.superseded_at = recorded_at
        session.add(
            IntervalRow(
                doc_id=doc_id,
                version=number,
                effective_from=interval.effective_from,
                effective_until=interval.effective_until,
                recorded_at=recorded_at,
            )
        )
    session.flush()


def _check_intervals(
    doc_id: str, published: Collection[int], intervals: Mapping[int, Interval]
) -> None:
    if missing := set(published) - intervals.keys():
        raise RetriableError(
            "catalog_stale_intervals",
            f"Versions {sorted(missing)} of document {doc_id} were published in the meantime. Work "
            "out the intervals again and publish with those.",
        )
    if unknown := intervals.keys() - set(published):
        raise FatalError(
            "catalog_intervals",
            f"Document {doc_id} was given intervals for versions {sorted(unknown)}, which are not "
            "published. Nothing was changed; this is a fault of the program, please report it.",
        )
    in_force = sorted(
        (interval for interval in intervals.values() if not interval.is_empty),
        key=lambda interval: interval.effective_from,
    )
    for one, next_one in pairwise(in_force):
        if one.effective_until > next_one.effective_from:
            raise FatalError(
                "catalog_intervals",
                f"Document {doc_id} was given intervals that overlap: one ends at "
                f"{one.effective_until.isoformat()}, the next begins at "
                f"{next_one.effective_from.isoformat()}. Nothing was changed; this is a fault of "
                "the program, please report it.",
            )

"""Settling: bringing the index up to date with what the catalogue holds of a document.

The catalogue decides when which version is in force and what readers were told when; the points
follow. A change is written with the instant from which readers are told of it. On a server that
instant lies a little ahead, so that all points are written before it comes: readers turn from one
state to the next at once, although no server changes many points at once. A process that is killed
leaves the versions marked in the catalogue, and the next one settles them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from attribution.filters import document_filter
from ingest.catalog.records import VersionRecord
from ingest.index import VectorIndex, delete_points, set_fields
from ingest.pipeline import Pipeline
from ingest.versions import revised
from schemas.base import OPEN_END, UtcDatetime, utc_now
from schemas.payload import TIME_FIELDS
from schemas.run import ChunkRecord
from schemas.version import HeldInterval

_INSTANT: TypeAdapter[datetime] = TypeAdapter(UtcDatetime)
_POLL_SECONDS = 0.05

DATE_FIELDS = frozenset(
    {"effective_from", "effective_until", "effective_basis", "effective_evidence", "retired_at"}
)
"""Fields that say when a version is in force; the others of time say since when that is told."""

_Points = Mapping[str, Mapping[str, Any]]


class Settled(NamedTuple):
    """How many points took other dates, and how many were deleted."""

    redated: int = 0
    deleted: int = 0

    def __add__(self, other: object) -> Settled:
        """Return both counts added up."""
        if not isinstance(other, Settled):
            return NotImplemented
        return Settled(self.redated + other.redated, self.deleted + other.deleted)


def settle_all(pipeline: Pipeline, qdrant: VectorIndex, doc_ids: Iterable[str]) -> Settled:
    """Bring the points of documents up to date; where readers have to turn first, wait for that.

    Raises:
        RetriableError: a document is locked, or the index does not answer.
    """
    done = Settled()
    waiting = dict.fromkeys(doc_ids, utc_now())
    while waiting:
        wait_until(min(waiting.values()))
        now = utc_now()
        for doc_id, at in list(waiting.items()):
            if at <= now:
                again, settled = settle(pipeline, qdrant, doc_id)
                done += settled
                if again is None:
                    del waiting[doc_id]
                else:
                    waiting[doc_id] = again
    return done


def settle_unfinished(pipeline: Pipeline) -> list[str]:
    """Settle what a run that was stopped left, and return the documents.

    Readers whom a rebuild that was stopped did not turn are turned, too.

    Raises:
        RetriableError: a document is locked, or the index does not answer.
    """
    left = pipeline.catalog.unsettled_documents()
    rebuild = pipeline.catalog.current_rebuild(pipeline.settings.qdrant.alias)
    is_turned = rebuild is None or rebuild.turned_at is not None
    if left or not is_turned:
        with pipeline.index() as qdrant:
            qdrant.ensure()
            if rebuild is not None:
                pipeline.catalog.note_turned(rebuild.id, utc_now())
            settle_all(pipeline, qdrant, left)
    return left


def settle(pipeline: Pipeline, qdrant: VectorIndex, doc_id: str) -> tuple[datetime | None, Settled]:
    """Bring a document's points up to date.

    Returns:
        The instant from which on it has to be called again, because points that readers still see
        have to go after they have turned to others, None if all is done; and what was changed.

    Raises:
        RetriableError: the document is locked, or the index does not answer.
    """
    done = Settled()
    with pipeline.writing(qdrant, doc_id):
        while True:
            again, settled = _settle(pipeline, qdrant, doc_id)
            done += settled
            if again is None or again > utc_now():
                return again, done


def wait_until(instant: datetime) -> None:
    """Sleep until the clock has reached ``instant``."""
    while utc_now() < instant:
        time.sleep(_POLL_SECONDS)


def _settle(
    pipeline: Pipeline, qdrant: VectorIndex, doc_id: str
) -> tuple[datetime | None, Settled]:
    catalog = pipeline.catalog
    unsettled = [record for record in catalog.versions(doc_id) if record.unsettled_at is not None]
    if not unsettled:
        return None, Settled()
    at = max(record.unsettled_at for record in unsettled if record.unsettled_at is not None)
    points = {
        record.version: dict(
            qdrant.scroll(document_filter(doc_id, record.version), fields=TIME_FIELDS)
        )
        for record in unsettled
    }
    now = utc_now()
    if qdrant.notice and at <= now and not _is_told(points.values(), at):
        # Nobody could be told of it so far, so that it begins later than was planned.
        catalog.postpone(doc_id, at, now + qdrant.notice)
        return now, Settled()
    histories = catalog.interval_history(doc_id)
    turn = _Turn(pipeline, now, max(at, now + qdrant.notice), qdrant.notice)
    for record in unsettled:
        turn.take(record, histories.get(record.version, ()), points[record.version])
    qdrant.change(*turn.operations)
    if turn.again is None:
        catalog.mark_settled(doc_id, at)
    return turn.again, turn.done


def _is_told(points: Iterable[_Points], at: datetime) -> bool:
    told = _rfc3339(at)
    return any(point.get("recorded_at") == told for some in points for point in some.values())


class _Turn:
    """The operations that bring a document's versions nearer to what the catalogue says."""

    def __init__(
        self, pipeline: Pipeline, now: datetime, switch: datetime, notice: timedelta
    ) -> None:
        self._pipeline = pipeline
        self._now = now
        self._notice = notice
        self._points: _Points = {}
        self._switch = switch
        """From when on readers see other points of the same version."""
        self.operations: list[Any] = []
        self.done = Settled()
        self.again: datetime | None = None

    def take(self, record: VersionRecord, history: Sequence[HeldInterval], points: _Points) -> None:
        """Add what has to be done for one version."""
        if record.state in ("abandoned", "discarded"):
            self._delete(points)
            return
        self._points = points
        wanted = self._wanted(record)
        stale = {point: fields for point, fields in points.items() if point not in wanted}
        there = [point for point in points if point in wanted]
        fields = time_fields(record, history)
        seen = [point for point, state in stale.items() if not _is_closed(state)]
        if seen:
            fresh = [point for point in there if points[point].get("published_at") is None]
            self._turn_from(record, history, seen, fresh)
            self._set(fields, [point for point in there if point not in set(fresh)])
            return
        turning = [
            _INSTANT.validate_python(state["recorded_at"])
            for state in stale.values()
            if state.get("published_at") is not None
        ]
        # Readers who asked just before they turned still get what they asked for.
        if turning and max(turning) + self._notice > self._now:
            self._wait(max(turning) + self._notice)
            return
        self._set(fields, there)
        self._delete(stale)

    def _turn_from(
        self,
        record: VersionRecord,
        history: Sequence[HeldInterval],
        seen: Sequence[str],
        fresh: Sequence[str],
    ) -> None:
        """Let readers turn, at one instant, from a version's former points to its new ones."""
        switch = self._switch
        shown = time_fields(record, history)
        closed = time_fields(record, revised(history, None, switch))
        self._set({**closed, "effective_until": closed["effective_from"]}, seen, close=True)
        told = [one.model_copy(update={"recorded_at": switch}) for one in history[-1:]]
        self._set(
            {
                **shown,
                "published_at": _rfc3339(switch),
                "recorded_at": _rfc3339(switch),
                "interval_history": [
                    one.model_dump(mode="json") for one in told if one.superseded_at > switch
                ],
            },
            fresh,
        )
        self._wait(switch + self._notice)

    def _wanted(self, record: VersionRecord) -> set[str]:
        if record.payloads_uri is None:
            return set()
        chunks = self._pipeline.artifacts.read_lines(record.payloads_uri, ChunkRecord)
        return {chunk.payload.chunk_id for chunk in chunks}

    def _set(self, fields: dict[str, Any], points: Iterable[str], *, close: bool = False) -> None:
        other = [
            point
            for point in points
            if any(self._points[point].get(name) != value for name, value in fields.items())
        ]
        if other:
            self.operations.append(set_fields(fields, other))
        # Neither points that nobody has seen yet nor those that go are counted.
        self.done += Settled(
            redated=sum(
                self._points[point].get("published_at") is not None
                and any(self._points[point].get(name) != fields[name] for name in DATE_FIELDS)
                for point in other
                if not close
            )
        )

    def _delete(self, points: Iterable[str]) -> None:
        if ids := list(points):
            self.operations.append(delete_points(ids))
            self.done += Settled(deleted=len(ids))

    def _wait(self, at: datetime) -> None:
        self.again = at if self.again is None else max(self.again, at)


def time_fields(record: VersionRecord, history: Sequence[HeldInterval]) -> dict[str, Any]:
    """Return what a version's published points say of time, as JSON values.

    Args:
        record: the version.
        history: every interval that readers were ever told of it, oldest first.
    """
    recorded_at = record.published_at
    if history:
        last = history[-1]
        recorded_at = last.recorded_at if last.superseded_at == OPEN_END else last.superseded_at
    evidence = record.effective_evidence
    return {
        "effective_from": _rfc3339(record.effective_from),
        "effective_until": _rfc3339(record.effective_until),
        "effective_basis": record.effective_basis,
        "effective_evidence": None if evidence is None else evidence.model_dump(mode="json"),
        "recorded_at": None if recorded_at is None else _rfc3339(recorded_at),
        "interval_history": [held.model_dump(mode="json") for held in history],
        "published_at": None if record.published_at is None else _rfc3339(record.published_at),
        "retired_at": _rfc3339(record.retired_at),
    }


def _is_closed(point: Mapping[str, Any]) -> bool:
    """True if readers no longer see the point from its ``recorded_at`` on, or never saw it."""
    return point.get("published_at") is None or point["effective_from"] == point["effective_until"]


def _rfc3339(instant: datetime) -> str:
    return str(_INSTANT.dump_python(instant, mode="json"))

"""Filters over the payload: what a reader may see, at which date, under which licence.

Every field used here has a payload index, so the filters also work where the server runs in strict
mode. Comparisons with a date decide; nothing relies on a stored "current" flag. The filters for
time (`in_force`, `as_published`, `all_versions`) and for terms (`permitted`) may be combined:
``models.Filter(must=[as_published(on), permitted()])``.
"""

from __future__ import annotations

from datetime import datetime

from pydantic import TypeAdapter
from qdrant_client import models

from schemas.base import UtcDatetime, utc_now
from schemas.licence import WORLD, Territory, Use

_OPEN_TO_OUR_READERS = ["public", "internal"]
_INSTANT: TypeAdapter[datetime] = TypeAdapter(UtcDatetime)
_USE: TypeAdapter[Use] = TypeAdapter(Use)
_TERRITORY: TypeAdapter[str] = TypeAdapter(Territory)


def default_filter(
    *,
    at: datetime | None = None,
    on: datetime | None = None,
    now: datetime | None = None,
    client_id: str | None = None,
    use: Use = "retrieval",
    territory: str | None = None,
) -> models.Filter:
    """Return the filter for what a reader may see, as of the date ``at``.

    It lets a point through that is in force at ``at`` as is held now, is published, is under a
    licence that is valid now, allows the use and holds where the reader is, and is open to the
    reader. With ``on``, what readers were told on that date counts instead of what is held now.
    Everything unknown is shut out: a point without one of these fields matches nothing
    (guarantee 6).

    Args:
        at: the date asked about; ``on`` where it is not given, else ``now``.
        on: the date of publication asked about: "what did the index say on that day".
        now: the instant of reading; the clock where it is not given. Licences are judged by it
            even for a question about the past, because the use takes place now.
        client_id: the client that the reader works for. Without one, nothing that is confidential
            to a client is returned.
        use: what is done with what is found.
        territory: country in which it is used (ISO 3166-1, two letters). Without one, only what is
            licensed for the whole world is returned.

    Raises:
        ValueError: a date has no offset from UTC, or the use or the territory is none.
    """
    now = _instant(now)
    time = in_force(at, now=now) if on is None else as_published(on, at=on if at is None else at)
    terms = permitted(now=now, client_id=client_id, use=use, territory=territory)
    return models.Filter(must=[time, terms])


def in_force(at: datetime | None = None, *, now: datetime | None = None) -> models.Filter:
    """Return the filter for the versions that are in force at ``at``, as is held now.

    There is at most one of each document (guarantee 5), while the index is being written too: a
    change is written with an instant ahead from which it holds, so that readers turn from the
    version before to the new one at that instant and not between two writes.

    Args:
        at: the date asked about; ``now`` where it is not given.
        now: the instant of reading; the clock where it is not given.

    Raises:
        ValueError: a date has no offset from UTC.
    """
    now = _instant(now)
    at = now if at is None else _INSTANT.validate_python(at)
    told: list[models.Condition] = [_date("recorded_at", lte=now), *_spans(at)]
    # What is told only from an instant ahead of now: until then what was told before counts. Such
    # points are few, so that the costly condition on the list's entries is seldom looked at.
    before: list[models.Condition] = [_date("recorded_at", gt=now), _in_history(now, at)]
    return models.Filter(
        must=[
            # A staged point has no date here, and no date is in no range.
            _date("published_at", lte=now),
            _date("retired_at", gt=at),
            models.Filter(should=[models.Filter(must=told), models.Filter(must=before)]),
        ]
    )


def as_published(on: datetime, *, at: datetime | None = None) -> models.Filter:
    """Return the filter for the versions that readers were shown on the date ``on``.

    Whatever was corrected, withdrawn or retired after that counts as it did then. What was taken
    out of the index for good (erased, or past its source's retention) cannot be returned.

    Args:
        on: the date of publication asked about.
        at: only those that readers were told to be in force at that date.

    Raises:
        ValueError: a date has no offset from UTC.
    """
    on = _INSTANT.validate_python(on)
    if at is not None:
        at = _INSTANT.validate_python(at)
    return models.Filter(must=[_date("published_at", lte=on), _in_history(on, at)])


def all_versions(*, now: datetime | None = None) -> models.Filter:
    """Return the filter for every version that was ever published: superseded, not yet in force,
    retired and withdrawn ones too.

    Raises:
        ValueError: a date has no offset from UTC.
    """
    return models.Filter(must=[_date("published_at", lte=_instant(now))])


def permitted(
    *,
    now: datetime | None = None,
    client_id: str | None = None,
    use: Use = "retrieval",
    territory: str | None = None,
) -> models.Filter:
    """Return the filter for what a reader's licence and access allow, whatever its version.

    The arguments are those of `default_filter`.

    Raises:
        ValueError: a date has no offset from UTC, or the use or the territory is none.
    """
    _USE.validate_python(use)
    where = [WORLD] if territory is None else [WORLD, _TERRITORY.validate_python(territory)]
    now = _instant(now)
    return models.Filter(
        must=[
            _date("licence_valid_from", lte=now),
            _date("licence_valid_until", gt=now),
            _equals("allowed_uses", use),
            models.FieldCondition(key="territories", match=models.MatchAny(any=where)),
            _visible_to(client_id),
        ]
    )


def document_filter(doc_id: str, version: int | None = None) -> models.Filter:
    """Return the filter for all points of a document, staged and retired ones included.

    With ``version``, of that version alone. It is the pipeline's own: it asks nothing of who reads,
    so what it finds is for no reader.
    """
    conditions: list[models.Condition] = [_equals("doc_id", doc_id)]
    if version is not None:
        conditions.append(_equals("version", version))
    return models.Filter(must=conditions)


def staged_filter(doc_id: str, version: int) -> models.Filter:
    """Return the filter for the points of a version that no reader can see yet.

    It is the pipeline's own, as `document_filter` is.
    """
    staged = models.IsEmptyCondition(is_empty=models.PayloadField(key="published_at"))
    return models.Filter(must=[document_filter(doc_id, version), staged])


def _visible_to(client_id: str | None) -> models.Condition:
    conditions: list[models.Condition] = [
        models.FieldCondition(
            key="confidentiality", match=models.MatchAny(any=_OPEN_TO_OUR_READERS)
        )
    ]
    if client_id:
        conditions.append(_equals("client_id", client_id))
    return models.Filter(should=conditions)


def _in_history(on: datetime, at: datetime | None) -> models.NestedCondition:
    """Return the condition on one entry of the history: what readers were told on ``on``."""
    told: list[models.Condition] = [_date("recorded_at", lte=on), _date("superseded_at", gt=on)]
    entry = models.Filter(must=told if at is None else [*told, *_spans(at)])
    return models.NestedCondition(nested=models.Nested(key="interval_history", filter=entry))


def _spans(at: datetime) -> list[models.Condition]:
    return [_date("effective_from", lte=at), _date("effective_until", gt=at)]


def _instant(now: datetime | None) -> datetime:
    return utc_now() if now is None else _INSTANT.validate_python(now)


def _equals(key: str, value: str | int) -> models.FieldCondition:
    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def _date(
    key: str, *, lte: datetime | None = None, gt: datetime | None = None
) -> models.FieldCondition:
    return models.FieldCondition(key=key, range=models.DatetimeRange(lte=lte, gt=gt))

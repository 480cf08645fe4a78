"""Time in pure functions: which version is in force when, and what was believed of that when.

Two axes. *Effective* time says at which instants a version is in force. *Recorded* time says since
when, and until when, readers were told so. A correction changes the first and only adds to the
second, so that what the index said on one date about another can always be asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from natsort import natsort_keygen

from schemas.base import OPEN_END
from schemas.version import HeldInterval

_natural = natsort_keygen()


@dataclass(frozen=True, slots=True)
class VersionDate:
    """A version's number, the first instant at which it is in force (kept in UTC), and its rank.

    ``label`` and ``key`` are the source's own name for the version and the key of its item: they
    order versions of one date in the same way whatever order they arrived in.
    """

    number: int
    effective_from: datetime
    label: str | None = None
    key: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "effective_from", _utc(self.effective_from))


@dataclass(frozen=True, slots=True)
class Interval:
    """Half-open span of time ``[effective_from, effective_until)`` in UTC; may be empty."""

    effective_from: datetime
    effective_until: datetime

    def __post_init__(self) -> None:
        object.__setattr__(self, "effective_from", _utc(self.effective_from))
        object.__setattr__(self, "effective_until", _utc(self.effective_until))
        if self.effective_from > self.effective_until:
            raise ValueError(
                f"interval runs backwards: {self.effective_from.isoformat()} is after "
                f"{self.effective_until.isoformat()}"
            )

    @property
    def is_empty(self) -> bool:
        """True if no instant is inside: the version was never in force."""
        return self.effective_from == self.effective_until

    def __contains__(self, instant: datetime) -> bool:
        return self.effective_from <= instant < self.effective_until

    def until(self, end: datetime) -> Interval:
        """Return what of it lies before ``end``; an empty interval where nothing does."""
        return Interval(
            self.effective_from, max(self.effective_from, min(self.effective_until, end))
        )


def timeline(versions: Iterable[VersionDate]) -> dict[int, Interval]:
    """Return the interval of each version by its number, whatever order they arrived in.

    A version is in force until the next one by effective date begins; the last stays open. Of
    versions with one effective date the last counts, by label, then by key (both in natural order:
    "v10" after "v9"), then by number; the others get an empty interval. A date on or after
    ``OPEN_END`` lies beyond what an open interval can reach, so such a version is never in force.

    Raises:
        ValueError: two versions have the same number.
    """
    ranked = sorted(versions, key=_rank)
    if len({version.number for version in ranked}) != len(ranked):
        raise ValueError(f"two versions share a number: {[version.number for version in ranked]}")
    starts = [(min(version.effective_from, OPEN_END), version.number) for version in ranked]
    return {
        number: Interval(start, end)
        for (start, number), (end, _) in pairwise([*starts, (OPEN_END, 0)])
    }


def revised(
    history: Sequence[HeldInterval], interval: Interval | None, at: datetime
) -> tuple[HeldInterval, ...]:
    """Return ``history`` with ``interval`` held from ``at`` on; None if nothing is held any more.

    What was held before is closed, not changed. Nothing is added where ``interval`` is held
    already. A clock that went back makes no belief end before it began, nor begin before another
    ended.

    Args:
        history: of one version, oldest first, at most the last one open.
        interval: what is held from now on.
        at: the instant from which readers are told so.
    """
    last = history[-1] if history and history[-1].superseded_at == OPEN_END else None
    if last is not None and _span(last) == interval:
        return tuple(history)
    if last is None and interval is None:
        return tuple(history)
    done = list(history)
    if last is not None:
        at = max(at, last.recorded_at)
        done[-1] = last.model_copy(update={"superseded_at": at})
    elif history:
        at = max(at, history[-1].superseded_at)
    if interval is not None:
        done.append(
            HeldInterval(
                effective_from=interval.effective_from,
                effective_until=interval.effective_until,
                recorded_at=at,
            )
        )
    return tuple(done)


def held(history: Sequence[HeldInterval], on: datetime) -> Interval | None:
    """Return what was held of a version at the instant ``on``; None if nothing was."""
    for one in history:
        if one.recorded_at <= on < one.superseded_at:
            return _span(one)
    return None


def in_force(
    histories: Mapping[int, Sequence[HeldInterval]], at: datetime, on: datetime
) -> int | None:
    """Return the number of the version that readers were told on ``on`` to be in force at ``at``.

    None where there was none. There is never more than one (guarantee 5).
    """
    for number, history in histories.items():
        interval = held(history, on)
        if interval is not None and at in interval:
            return number
    return None


def _rank(version: VersionDate) -> tuple[object, ...]:
    label = (version.label is not None, _natural(version.label or ""))
    return (version.effective_from, label, _natural(version.key), version.number)


def _span(one: HeldInterval) -> Interval:
    return Interval(one.effective_from, one.effective_until)


def _utc(instant: datetime) -> datetime:
    if instant.tzinfo is None:
        raise ValueError(f"{instant.isoformat()} has no offset from UTC")
    return instant.astimezone(UTC)

"""Effective intervals: which version of a document is in force at which instant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from schemas.base import OPEN_END


@dataclass(frozen=True, slots=True)
class VersionDate:
    """A version's number and the first instant at which it is in force, kept in UTC."""

    number: int
    effective_from: datetime

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


def timeline(versions: Sequence[VersionDate]) -> dict[int, Interval]:
    """Return the interval of each version by its number, whatever order they arrived in.

    A version is in force until the next one by effective date begins; the last stays open. Of
    versions with one effective date the highest number is the correction that counts, and the
    others get an empty interval. A date on or after ``OPEN_END`` lies beyond what an open interval
    can reach, so such a version is never in force.

    Raises:
        ValueError: two versions have the same number.
    """
    starts = sorted((min(version.effective_from, OPEN_END), version.number) for version in versions)
    if len({number for _, number in starts}) != len(starts):
        raise ValueError(f"two versions share a number: {[version.number for version in versions]}")
    return {
        number: Interval(start, end)
        for (start, number), (end, _) in pairwise([*starts, (OPEN_END, 0)])
    }


def _utc(instant: datetime) -> datetime:
    if instant.tzinfo is None:
        raise ValueError(f"{instant.isoformat()} has no offset from UTC")
    return instant.astimezone(UTC)

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.versions import Interval, VersionDate, timeline
from schemas.base import OPEN_END


def day(number: int) -> datetime:
    return datetime(2026, 1, number, tzinfo=UTC)


# A few days only, so that dates often coincide; beyond OPEN_END now and then.
instants = st.one_of(
    st.integers(1, 8).map(day),
    st.datetimes(
        min_value=datetime(1000, 1, 1),  # noqa: DTZ001  # the strategy adds the zone
        timezones=st.sampled_from(
            [UTC, timezone(timedelta(hours=14)), timezone(-timedelta(hours=12))]
        ),
    ).filter(lambda instant: instant.year < 9999),
)
histories = st.lists(
    st.tuples(st.integers(1, 1_000), instants), min_size=1, max_size=12, unique_by=lambda v: v[0]
).map(lambda pairs: [VersionDate(number, instant) for number, instant in pairs])


def in_force(intervals: dict[int, Interval], instant: datetime) -> list[int]:
    return [number for number, interval in intervals.items() if instant in interval]


@given(histories)
def test_exactly_one_version_is_in_force_from_the_earliest_date_on(
    versions: list[VersionDate],
) -> None:
    intervals = timeline(versions)
    earliest = min(version.effective_from for version in versions)
    tick = timedelta(microseconds=1)
    starts = {version.effective_from for version in versions}
    probes = starts | {start - tick for start in starts} | {start + tick for start in starts}
    for probe in probes | {OPEN_END - tick}:
        expected = 1 if probe >= earliest else 0
        assert len(in_force(intervals, probe)) == expected


@given(histories)
def test_intervals_join_without_gap_or_overlap(versions: list[VersionDate]) -> None:
    intervals = sorted(
        (interval for interval in timeline(versions).values() if not interval.is_empty),
        key=lambda interval: interval.effective_from,
    )
    assert intervals[0].effective_from == min(version.effective_from for version in versions)
    assert intervals[-1].effective_until == OPEN_END
    for one, after in pairwise(intervals):
        assert one.effective_until == after.effective_from


@given(histories)
def test_every_version_keeps_its_own_start(versions: list[VersionDate]) -> None:
    intervals = timeline(versions)
    assert {number: interval.effective_from for number, interval in intervals.items()} == {
        version.number: version.effective_from for version in versions
    }


@given(st.data(), histories)
def test_the_order_of_arrival_does_not_matter(
    data: st.DataObject, versions: list[VersionDate]
) -> None:
    assert timeline(data.draw(st.permutations(versions))) == timeline(versions)


@given(histories)
def test_the_one_in_force_is_the_last_to_start(versions: list[VersionDate]) -> None:
    intervals = timeline(versions)
    for version in versions:
        instant = version.effective_from
        begun = [(v.effective_from, v.number) for v in versions if v.effective_from <= instant]
        assert in_force(intervals, instant) == [max(begun)[1]]


def test_the_last_stays_open() -> None:
    assert timeline([VersionDate(1, day(1)), VersionDate(2, day(5))]) == {
        1: Interval(day(1), day(5)),
        2: Interval(day(5), OPEN_END),
    }


def test_a_correction_empties_what_it_replaces() -> None:
    intervals = timeline([VersionDate(1, day(1)), VersionDate(3, day(1)), VersionDate(2, day(4))])
    assert intervals == {
        1: Interval(day(1), day(1)),
        3: Interval(day(1), day(4)),
        2: Interval(day(4), OPEN_END),
    }
    assert intervals[1].is_empty
    assert day(1) not in intervals[1]


def test_one_instant_in_two_zones_is_one_instant() -> None:
    tokyo = datetime(2026, 1, 1, 9, tzinfo=timezone(timedelta(hours=9)))
    intervals = timeline([VersionDate(1, day(1)), VersionDate(2, tokyo)])
    assert intervals[1].is_empty
    assert intervals[2] == Interval(day(1), OPEN_END)
    assert intervals[2].effective_from.tzinfo is UTC


def test_no_versions() -> None:
    assert timeline([]) == {}


def test_a_date_beyond_the_open_end_is_never_in_force() -> None:
    far = datetime(9999, 12, 31, 23, tzinfo=UTC)
    intervals = timeline([VersionDate(1, day(1)), VersionDate(2, far), VersionDate(3, OPEN_END)])
    assert intervals[1] == Interval(day(1), OPEN_END)
    assert intervals[2].is_empty
    assert intervals[3].is_empty


def test_two_versions_of_one_number() -> None:
    with pytest.raises(ValueError, match="share a number"):
        timeline([VersionDate(1, day(1)), VersionDate(1, day(2))])


def test_instants_need_a_zone_and_intervals_a_direction() -> None:
    with pytest.raises(ValueError, match="offset"):
        VersionDate(1, datetime(2026, 1, 1))  # noqa: DTZ001  # refused, as it should be
    with pytest.raises(ValueError, match="offset"):
        Interval(day(1), datetime(2026, 1, 1))  # noqa: DTZ001  # refused, as it should be
    with pytest.raises(ValueError, match="backwards"):
        Interval(day(2), day(1))

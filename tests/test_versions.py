from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest import versions
from ingest.versions import Interval, VersionDate, held, revised, timeline
from schemas.base import OPEN_END
from schemas.version import HeldInterval


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


# Few labels and keys, so that versions of one date often share one and the next has to decide.
named_histories = st.lists(
    st.tuples(
        st.integers(1, 1_000),
        st.integers(1, 3).map(day),
        st.sampled_from([None, "v1", "v2", "v9", "v10"]),
        st.sampled_from(["a9.pdf", "a10.pdf", "b.pdf"]),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda v: v[0],
).map(lambda rows: [VersionDate(*row) for row in rows])

intervals_of_days = st.lists(st.integers(1, 28).map(day), min_size=2, max_size=2, unique=True).map(
    lambda ends: Interval(min(ends), max(ends))
)

# What is told of one version from which day on; None for nothing. Days may come in any order, as
# from a clock that goes back.
tellings = st.lists(
    st.tuples(st.integers(1, 20).map(day), st.one_of(st.none(), intervals_of_days)), max_size=8
)


def told(steps: Sequence[tuple[datetime, Interval | None]]) -> tuple[HeldInterval, ...]:
    history: tuple[HeldInterval, ...] = ()
    for at, interval in steps:
        history = revised(history, interval, at)
    return history


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


# --- versions of one date ---------------------------------------------------------------------


@given(named_histories)
def test_of_one_date_the_last_by_label_then_key_then_number_counts(
    versions: list[VersionDate],
) -> None:
    labels = [None, "v1", "v2", "v9", "v10"]
    keys = ["a9.pdf", "a10.pdf", "b.pdf"]
    intervals = timeline(versions)
    for date in {version.effective_from for version in versions}:
        same = [version for version in versions if version.effective_from == date]
        last = max(same, key=lambda v: (labels.index(v.label), keys.index(v.key), v.number))
        assert in_force(intervals, date) == [last.number]
        for version in same:
            assert intervals[version.number].is_empty == (version is not last)


@given(st.data(), named_histories)
def test_the_order_in_which_items_arrive_decides_nothing(
    data: st.DataObject, versions: list[VersionDate]
) -> None:
    """Numbers count arrivals; where labels or keys differ, they have no say."""
    distinct = list({(v.effective_from, v.label, v.key): v for v in versions}.values())
    arrived = data.draw(st.permutations(distinct))
    renumbered = [
        VersionDate(number, v.effective_from, v.label, v.key)
        for number, v in enumerate(arrived, start=1)
    ]

    def by_item(dates: list[VersionDate]) -> dict[tuple[str | None, str, datetime], Interval]:
        found = timeline(dates)
        return {(v.label, v.key, v.effective_from): found[v.number] for v in dates}

    assert by_item(renumbered) == by_item(distinct)


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        pytest.param(("v9", "a"), ("v10", "a"), id="labels in natural order"),
        pytest.param(("1.9", "z"), ("1.10", "a"), id="the label before the key"),
        pytest.param((None, "z"), ("1", "a"), id="a label before none"),
        pytest.param((None, "msa-9.pdf"), (None, "msa-10.pdf"), id="keys in natural order"),
        pytest.param(("", "a"), ("1", "a"), id="an empty label before any other"),
    ],
)
@pytest.mark.parametrize("numbers", [(1, 2), (2, 1)])
def test_which_of_two_of_one_date_counts(
    earlier: tuple[str | None, str], later: tuple[str | None, str], numbers: tuple[int, int]
) -> None:
    first = VersionDate(numbers[0], day(1), *earlier)
    second = VersionDate(numbers[1], day(1), *later)
    assert in_force(timeline([first, second]), day(1)) == [second.number]
    assert in_force(timeline([second, first]), day(1)) == [second.number]


def test_the_date_comes_before_any_label() -> None:
    intervals = timeline([VersionDate(1, day(1), "v10"), VersionDate(2, day(2), "v9")])
    assert in_force(intervals, day(3)) == [2]


# --- intervals --------------------------------------------------------------------------------


@given(intervals_of_days, instants, instants)
def test_what_lies_before_an_end(interval: Interval, end: datetime, probe: datetime) -> None:
    cut = interval.until(end)
    assert (probe in cut) == (probe in interval and probe < end)
    assert cut.effective_from == interval.effective_from
    assert cut.until(end) == cut


@given(intervals_of_days)
def test_an_interval_that_ends_before_it_begins_is_empty(interval: Interval) -> None:
    assert interval.until(interval.effective_from).is_empty
    assert interval.until(interval.effective_from - timedelta(days=1)).is_empty
    assert interval.until(interval.effective_until) == interval
    assert interval.until(OPEN_END) == interval


# --- what was told when -----------------------------------------------------------------------


@given(tellings, st.integers(1, 28).map(day))
def test_what_was_told_last_before_an_instant_is_held_then(
    steps: list[tuple[datetime, Interval | None]], on: datetime
) -> None:
    steps = sorted(steps, key=lambda step: step[0])
    said = [interval for at, interval in steps if at <= on]
    assert held(told(steps), on) == (said[-1] if said else None)


@given(tellings)
def test_a_history_never_overlaps_nor_runs_backwards(
    steps: list[tuple[datetime, Interval | None]],
) -> None:
    history = told(steps)
    for one, after in pairwise(history):
        assert one.recorded_at <= one.superseded_at <= after.recorded_at
    assert all(one.superseded_at < OPEN_END for one in history[:-1])
    last = steps[-1][1] if steps else None
    assert held(history, OPEN_END - timedelta(microseconds=1)) == last


@given(tellings, st.one_of(st.none(), intervals_of_days), st.integers(1, 28).map(day))
def test_a_revision_only_adds(
    steps: list[tuple[datetime, Interval | None]], interval: Interval | None, at: datetime
) -> None:
    """Whatever is told later, what was told before an instant stays what was told before it."""
    before = told(steps)
    after = revised(before, interval, at)
    assert len(after) - len(before) in (0, 1)
    for old, new in zip(before, after, strict=False):
        assert new.model_copy(update={"superseded_at": old.superseded_at}) == old
    changes = {at, *(one.recorded_at for one in before), *(one.superseded_at for one in before)}
    since = max(changes - {OPEN_END})
    for on in (day(number) for number in range(1, 29)):
        expected = held(before, on) if on < since else interval
        assert held(after, on) == expected


@given(tellings, st.one_of(st.none(), intervals_of_days), st.integers(1, 28).map(day))
def test_to_tell_again_what_is_told_changes_nothing(
    steps: list[tuple[datetime, Interval | None]], interval: Interval | None, at: datetime
) -> None:
    once = revised(told(steps), interval, at)
    assert revised(once, interval, at) == once
    assert revised(once, interval, at + timedelta(days=3)) == once


def test_nothing_is_held_of_what_was_never_told() -> None:
    assert held((), day(1)) is None
    assert revised((), None, day(1)) == ()


def test_a_version_that_is_told_again_after_a_withdrawal() -> None:
    span = Interval(day(1), OPEN_END)
    history = told([(day(2), span), (day(4), None), (day(6), span)])
    assert [held(history, day(number)) for number in range(1, 8)] == [
        None,
        span,
        span,
        None,
        None,
        span,
        span,
    ]


def test_a_clock_that_went_back_lets_no_belief_begin_before_another_ended() -> None:
    span = Interval(day(1), OPEN_END)
    history = told([(day(2), span), (day(6), None), (day(4), span)])
    assert [(one.recorded_at, one.superseded_at) for one in history] == [
        (day(2), day(6)),
        (day(6), OPEN_END),
    ]


def test_a_clock_that_went_back_ends_no_belief_before_it_began() -> None:
    first, second = Interval(day(1), day(9)), Interval(day(1), day(5))
    history = told([(day(10), first), (day(3), second)])
    assert [(one.recorded_at, one.superseded_at) for one in history] == [
        (day(10), day(10)),
        (day(10), OPEN_END),
    ]
    assert held(history, day(10)) == second


@given(
    st.lists(
        st.tuples(st.integers(1, 20).map(day), st.lists(st.integers(1, 28).map(day), max_size=4)),
        min_size=1,
        max_size=4,
        unique_by=lambda step: step[0],
    ),
    st.integers(1, 28).map(day),
    st.integers(1, 28).map(day),
)
def test_readers_were_told_of_one_version_at_most(
    steps: list[tuple[datetime, list[datetime]]], at: datetime, on: datetime
) -> None:
    """Of all versions' histories: what was told on a date is the timeline that was held then."""
    histories: dict[int, tuple[HeldInterval, ...]] = dict.fromkeys(range(1, 5), ())
    expected = None
    for since, dates in sorted(steps, key=lambda step: step[0]):
        intervals = timeline(VersionDate(n, date) for n, date in enumerate(dates, start=1))
        for number, history in histories.items():
            histories[number] = revised(history, intervals.get(number), since)
        if since <= on:
            begun = [(date, n) for n, date in enumerate(dates, start=1) if date <= at]
            expected = max(begun)[1] if begun else None
    assert versions.in_force(histories, at, on) == expected
    there = [n for n, one in histories.items() if (span := held(one, on)) and at in span]
    assert len(there) <= 1

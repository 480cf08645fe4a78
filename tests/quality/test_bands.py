from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.quality.bands import band_of, in_words, state_of
from ingest.quality.metric_rules import MetricRule

VALUES = st.floats(min_value=-1e6, max_value=1e6, allow_nan=False)


def test_too_few_runs_give_no_band() -> None:
    rule = MetricRule(min_runs=5)
    assert band_of([1, 2, 3, 4], rule) is None
    assert state_of(1e9, None, rule) == "learning"


def test_the_band_is_the_median_and_its_deviation() -> None:
    # Median 10, absolute deviations 0 1 1 2 90: their median is 1.
    band = band_of([9, 10, 11, 12, 100], MetricRule(z=2, min_runs=5))
    assert band is not None
    assert band.low is not None
    assert band.high is not None
    assert (band.low, band.high) == pytest.approx((11 - 2 * 1.4826, 11 + 2 * 1.4826))
    assert band.runs == 5


def test_runs_that_were_all_alike_leave_room() -> None:
    rule = MetricRule(z=2, floor=1, relative_floor=0.1)
    band = band_of([50.0] * 5, rule)
    assert band is not None
    assert (band.low, band.high) == (40, 60)
    assert state_of(59, band, rule) == "ok"
    assert state_of(61, band, rule) == "warn"


@pytest.mark.parametrize(("side", "low", "high"), [("low", "warn", "ok"), ("high", "ok", "warn")])
def test_one_side_may_be_watched(side: str, low: str, high: str) -> None:
    rule = MetricRule.model_validate({"side": side, "floor": 1})
    band = band_of([50.0] * 5, rule)
    assert state_of(0, band, rule) == low
    assert state_of(100, band, rule) == high


def test_only_the_last_runs_count() -> None:
    rule = MetricRule(runs=5, floor=1)
    band = band_of([50.0] * 5 + [9000.0] * 20, rule)
    assert state_of(50, band, rule) == "ok"


def test_action_says_what_it_comes_to() -> None:
    band = band_of([50.0] * 5, MetricRule(floor=1))
    assert state_of(0, band, MetricRule(action="stop")) == "stop"
    assert state_of(0, band, MetricRule(action="none")) == "ok"


@given(st.lists(VALUES, min_size=11, max_size=11), VALUES)
def test_one_odd_run_never_decides(earlier: list[float], odd: float) -> None:
    rule = MetricRule(floor=1)
    spread = max(earlier) - min(earlier)
    band = band_of([odd, *earlier], rule)
    assert band is not None
    assert band.low is not None
    assert band.high is not None
    assert min(earlier) - 6 * max(spread, 1) <= band.low
    assert band.high <= max(earlier) + 6 * max(spread, 1)


@given(st.lists(VALUES, min_size=5, max_size=30))
def test_the_median_is_always_inside(earlier: list[float]) -> None:
    rule = MetricRule(runs=365)
    band = band_of(earlier, rule)
    middle = sorted(earlier)[len(earlier) // 2] if len(earlier) % 2 else None
    if middle is not None:
        assert state_of(middle, band, rule) == "ok"


def test_bands_in_words() -> None:
    assert in_words(1, 2.5) == "1 to 2.5"
    assert in_words(None, 2.5) == "at most 2.5"
    assert in_words(80, None) == "at least 80"

"""Bands: between which values a metric is as it was, by the median and its absolute deviation.

The robust z-score of a value x is (x - median) / (1.4826 * MAD): the factor makes the MAD a
standard deviation where values are normal (Rousseeuw and Croux 1993). One run that was odd moves
neither of the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from ingest.quality.thresholds import MetricRule
from schemas.quality import Band, MetricState

_NORMAL = 1.4826


def band_of(earlier: Sequence[float], rule: MetricRule) -> Band | None:
    """Return the band that earlier values give, or None while there are too few.

    Args:
        earlier: the metric's values in earlier runs, the latest first.
        rule: how wide the band is, to which sides, and of how many runs.
    """
    values = list(earlier[: rule.runs])
    if len(values) < rule.min_runs:
        return None
    middle = median(values)
    deviation = _NORMAL * median(abs(value - middle) for value in values)
    half = rule.z * max(deviation, rule.floor, rule.relative_floor * abs(middle))
    return Band(
        low=middle - half if rule.side != "high" else None,
        high=middle + half if rule.side != "low" else None,
        runs=len(values),
    )


def state_of(value: float, band: Band | None, rule: MetricRule) -> MetricState:
    """Say what a value is, given its band."""
    if band is None:
        return "learning"
    below = band.low is not None and value < band.low
    above = band.high is not None and value > band.high
    return rule.action if (below or above) and rule.action != "none" else "ok"


def in_words(low: float | None, high: float | None) -> str:
    """Return a band as a phrase: "2.1 to 4.5", "at least 80"."""
    if low is None:
        return f"at most {high:.4g}"
    return f"at least {low:.4g}" if high is None else f"{low:.4g} to {high:.4g}"

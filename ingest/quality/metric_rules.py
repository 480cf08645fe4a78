"""Which metrics there are, what they say, and how far each may go before it is remarkable."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from schemas.base import Model

Side = Literal["both", "low", "high"]
Action = Literal["warn", "stop", "none"]


class MetricRule(Model):
    """When a metric is outside its band, and what happens then."""

    action: Action = "warn"
    """warn: an alert in the ledger; stop: the source's batches are stopped at the gate; none: the
    value is only kept."""
    z: Annotated[float, Field(gt=0)] = 3.5
    """Half the band's width in robust standard deviations."""
    floor: Annotated[float, Field(ge=0)] = 0.0
    """The standard deviation is taken to be at least this much, so that runs that were all alike
    don't make every other one remarkable."""
    relative_floor: Annotated[float, Field(ge=0)] = 0.0
    """The same as a share of the median."""
    side: Side = "both"
    """Which side of the band is watched."""
    runs: Annotated[int, Field(ge=1, le=365)] = 20
    """Earlier runs that are looked at, those in which the metric had a value."""
    min_runs: Annotated[int, Field(ge=1)] = 5
    """With fewer there is no band."""
    min_chunks: Annotated[int, Field(ge=0)] = 50
    """Before that many chunks of a source have come to the gate, its shares and means stop
    nothing."""


class MetricKind(NamedTuple):
    """A metric, or a family of them whose names begin alike."""

    description: str
    owner: str
    rule: MetricRule


_ENGINEER = "data engineer"
_RETRIEVAL = "retrieval engineer"

METRICS: dict[str, MetricKind] = {
    "listed": MetricKind(
        "Items that the source lists.", _ENGINEER, MetricRule(floor=1, relative_floor=0.1)
    ),
    "changed": MetricKind(
        "Items that are new or changed, and files inside them, in runs that had such.",
        _ENGINEER,
        MetricRule(floor=3, relative_floor=0.5, side="high"),
    ),
    "chunks": MetricKind(
        "Chunks that came to the gate.",
        _ENGINEER,
        MetricRule(floor=10, relative_floor=0.5, side="high"),
    ),
    "chunks_per_page": MetricKind(
        "Chunks of documents with pages, by their pages.",
        _ENGINEER,
        MetricRule(floor=0.1, relative_floor=0.1),
    ),
    "ocr_confidence": MetricKind(
        "Mean confidence of recognised chunks, 0 to 100.",
        _ENGINEER,
        MetricRule(floor=1.5, side="low"),
    ),
    "language": MetricKind(
        "Share of a language among the chunks whose language is known; `language.en` is English.",
        _RETRIEVAL,
        MetricRule(action="none"),
    ),
    "language_distance": MetricKind(
        "Distance of the mix of languages from the mean of earlier runs: the share of chunks that "
        "would have to be in another language (total variation).",
        _RETRIEVAL,
        MetricRule(floor=0.05, side="high"),
    ),
    "null_rate": MetricKind(
        "Share of chunks without a value; `null_rate.client_id` is that of the field client_id.",
        _ENGINEER,
        MetricRule(floor=0.03),
    ),
    "quarantined_share": MetricKind(
        "Share of what the run worked on that ended in quarantine.",
        _ENGINEER,
        MetricRule(floor=0.03, side="high"),
    ),
    "warnings_per_chunk": MetricKind(
        "Warnings of the gate by chunks; a chunk may have several.",
        _ENGINEER,
        MetricRule(floor=0.05, side="high"),
    ),
}
"""By name; a dot and what follows it name one of a family."""

OF_PLAN = frozenset({"listed", "changed"})
"""What is known before the first batch."""


def family(name: str) -> str:
    """Return the key of ``METRICS`` that a metric belongs to."""
    return name.partition(".")[0]

"""What is measured of batches and runs, and the bands that earlier runs give."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from schemas.base import Model

MetricState = Literal["learning", "ok", "warn", "stop"]
"""learning: too few earlier runs for a band; warn and stop: outside it."""

WHOLE_RUN = ""
"""The source id of what was measured of all sources together."""


class BatchProfile(Model):
    """What a batch holds, as counts, so that those of several batches add up."""

    items: int = 0
    """Items of the plan, and files inside them."""
    refused: int = 0
    """Of those, the ones in quarantine by the end of the gate."""
    chunks: int = 0
    paged_chunks: int = 0
    pages: int = 0
    """Of the documents that have pages, each counted once."""
    recognised: int = 0
    """Chunks with a confidence of recognition."""
    confidence: float = 0.0
    """Sum of theirs."""
    languages: dict[str, int] = Field(default_factory=dict)
    """Chunks by language; those whose language is not known are left out."""
    missing: dict[str, int] = Field(default_factory=dict)
    """Chunks without a value, by the field that may be empty."""
    warnings: int = 0
    """Chunks that an expectation warns of, one for each."""


class Metric(Model):
    """A figure of a run, of one source or of all together, and the band that it should lie in."""

    source_id: str
    """Empty for all sources together."""
    name: str
    value: float
    low: float | None = None
    """None where there is no band yet, or where any low value will do."""
    high: float | None = None
    state: MetricState = "learning"


class Band(Model):
    """Between which values a metric is as it was in earlier runs."""

    low: float | None
    high: float | None
    runs: Annotated[int, Field(ge=1)]
    """Earlier runs that it was made of."""

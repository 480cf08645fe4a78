"""How fresh each source is: when it was last listed, and whether that is too long ago."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from ingest.catalog import Catalog
from schemas.run import SourceHealth
from schemas.source import Source

_HOUR = 3600


def freshness(catalog: Catalog, sources: Iterable[Source], now: datetime) -> list[SourceHealth]:
    """Return how fresh each of ``sources`` is at ``now``, in their order."""
    known = catalog.sources()
    found = []
    for source in sources:
        record = known.get(source.id)
        listed_at = record.listed_at if record else None
        age = None if listed_at is None else (now - listed_at).total_seconds() / _HOUR
        found.append(
            SourceHealth(
                source_id=source.id,
                listed_at=listed_at,
                entries=record.entries if record else None,
                age_hours=None if age is None else round(age, 2),
                stale=age is None or age > source.stale_after_hours,
                stale_after_hours=source.stale_after_hours,
                failed_at=record.failed_at if record else None,
                error=record.error if record else None,
            )
        )
    return found


def staleness_alert(health: SourceHealth) -> str:
    """Return the sentence for people about a stale source: its age, and why it was not listed."""
    if health.listed_at is None:
        what = "it has never been listed"
    else:
        what = (
            f"it was last listed {age_in_words(health)} ago, at {health.listed_at.isoformat()}, "
            f"and is stale after {health.stale_after_hours:g} hours"
        )
    why = f" The reason: {health.error}" if health.error else ""
    return f"{health.source_id}: {what}; what is indexed of it may be out of date.{why}"


def age_in_words(health: SourceHealth) -> str:
    """Return how long ago the source was listed, in days, hours or minutes; "never"."""
    if health.age_hours is None:
        return "never"
    minutes = round(health.age_hours * 60)
    days, hours = divmod(minutes // 60, 24)
    if days:
        return f"{days} d {hours} h"
    return f"{hours} h {minutes % 60} min" if hours else f"{minutes} min"

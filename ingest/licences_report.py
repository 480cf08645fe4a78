"""What is held under which terms, what ends soon, and what has no terms at all."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal

from ingest.catalog import Catalog
from ingest.catalog.records import HeldRecord
from ingest.configuration import Configuration
from ingest.licensing import REFUSALS
from schemas.base import Model, UtcDatetime
from schemas.licence import Licence

State = Literal["valid", "expiring", "expired", "not_yet", "unknown"]
"""unknown: the registry has no such licence."""


class Holding(Model):
    """What is published under a licence that ends at one instant, over all sources."""

    licence_id: str
    name: str | None
    provider: str | None
    state: State
    valid_until: UtcDatetime
    """Of the items: their own terms may end before the licence does."""
    sources: tuple[str, ...]
    documents: int
    versions: int
    points: int


class LicencesReport(Model):
    """The answer to three questions of whoever is responsible for the terms."""

    at: UtcDatetime
    days: int
    holdings: tuple[Holding, ...]
    expiring: tuple[Holding, ...]
    """Those that end within the days, and those that have ended and are still held."""
    missing: dict[str, int]
    """Items in quarantine for want of a licence that allows them, by source."""
    unused: tuple[str, ...]
    """Licences of the registry that no source names and nothing is held under."""


def licences_report(
    catalog: Catalog, configuration: Configuration, now: datetime, days: int
) -> LicencesReport:
    """Return what is held under which terms at ``now``, and what ends within ``days`` days."""
    groups: dict[tuple[str, datetime], list[HeldRecord]] = defaultdict(list)
    for record in catalog.held(now):
        groups[record.licence_id, record.valid_until].append(record)
    soon = now + timedelta(days=days)
    holdings = [
        _holding(records, configuration.licences.get(licence_id), now, soon)
        for (licence_id, _), records in groups.items()
    ]
    named = {source.licence for source in configuration.sources}
    named |= {holding.licence_id for holding in holdings}
    missing = Counter(
        entry.source_id for entry in catalog.quarantine("open") if entry.code in REFUSALS
    )
    return LicencesReport(
        at=now,
        days=days,
        holdings=tuple(holdings),
        expiring=tuple(
            sorted(
                (holding for holding in holdings if holding.state in ("expiring", "expired")),
                key=lambda holding: holding.valid_until,
            )
        ),
        missing=dict(sorted(missing.items())),
        unused=tuple(sorted(configuration.licences.keys() - named)),
    )


def _holding(
    records: Sequence[HeldRecord], licence: Licence | None, now: datetime, soon: datetime
) -> Holding:
    first = records[0]
    state: State
    if licence is None:
        state = "unknown"
    elif first.valid_until <= now:
        state = "expired"
    elif licence.valid_from > now:
        state = "not_yet"
    else:
        state = "expiring" if first.valid_until <= soon else "valid"
    return Holding(
        licence_id=first.licence_id,
        name=licence.name if licence else None,
        provider=licence.provider if licence else None,
        state=state,
        valid_until=first.valid_until,
        sources=tuple(record.source_id for record in records),
        documents=sum(record.documents for record in records),
        versions=sum(record.versions for record in records),
        points=sum(record.points for record in records),
    )

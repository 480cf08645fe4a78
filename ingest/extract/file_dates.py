"""Dates that files give of themselves. One that cannot be read is none."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

# PDF 32000-1 §7.9.4; what follows the year may be missing, and some programs leave out the D:.
_PDF = re.compile(
    r"(?:D:)?(\d{4})(\d{2})?(\d{2})?(\d{2})?(\d{2})?(\d{2})?"
    r"(?:([Z+-])(?:(\d{2})\'?(?:(\d{2})\'?)?)?)?"
)


def pdf_date(text: str | None) -> datetime | None:
    """Read a date as PDF has it; without an offset it counts as UTC (PDF 32000-1 §7.9.4)."""
    match = _PDF.fullmatch((text or "").strip())
    if match is None:
        return None
    year, month, day, hour, minute, second = (
        int(part) if part else least
        for part, least in zip(match.groups()[:6], (1, 1, 1, 0, 0, 0), strict=True)
    )
    offset = timedelta(hours=int(match[8] or 0), minutes=int(match[9] or 0))
    try:
        zone = timezone(-offset if match[7] == "-" else offset)
        return in_utc(datetime(year, month, day, hour, minute, second, tzinfo=zone))
    except (ValueError, OverflowError):
        return None


def iso_date(text: str | None) -> datetime | None:
    """Read a date as ISO 8601 has it; without an offset it counts as UTC."""
    try:
        return in_utc(datetime.fromisoformat((text or "").strip()))
    except ValueError:
        return None


def in_utc(instant: datetime) -> datetime | None:
    """Return the instant in UTC, to the second; None outside the years 1 to 9999."""
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    try:
        return instant.astimezone(UTC).replace(microsecond=0)
    except OverflowError:
        return None

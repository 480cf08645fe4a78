"""Dates as sources write them. A date without a zone is never guessed at."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from pydantic import TypeAdapter, ValidationError

from schemas.base import UtcDatetime

_INSTANT: TypeAdapter[datetime] = TypeAdapter(UtcDatetime)
_PLAIN_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")

# RFC 822 §5.1 and how feeds really write it: four-digit years, the month first, twelve-hour
# clocks, a day of the week in any language. The zone is required. email.utils is no help here: it
# reads a missing or unknown zone as UTC, and the year 0016 as 2016.
_RFC822 = re.compile(
    r"""
    (?: [^\W\d]{2,} \.? ,? [ ] )?
    (?: (?P<day>\d{1,2}) [ -] (?P<month>[a-z]{3,9}) \.? ,? [ -]
      | (?P<month_first>[a-z]{3,9}) \.? [ ] (?P<day_second>\d{1,2}) ,? [ ] )
    (?P<year> [12]\d{3} | \d{2} ) ,? [ ]
    (?P<hour>\d{1,2}) : (?P<minute>\d{2}) (?: : (?P<second>\d{2}) (?: \.\d+ )? )?
    (?: [ ]? (?P<half>[ap]) \.? m \.? )?
    [ ]? (?: (?:UTC|GMT|UT)? (?P<offset> [+-]\d{1,2} (?: :?\d{2} )? ) | (?P<zone>[a-z]{1,4}) )
    (?: [ ] \( [^()]* \) )?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

# Hours from UTC of the names in RFC 822 §5.1, and of others that mean one zone everywhere. BST, IST
# and the like mean several, and the military letters were printed with the wrong sign (RFC 2822
# §4.3), so a date with one of those is not used.
_ZONES = {
    **{"z": 0, "ut": 0, "utc": 0, "gmt": 0, "wet": 0, "west": 1, "cet": 1, "mez": 1},
    **{"cest": 2, "mesz": 2, "eet": 2, "eest": 3, "msk": 3, "jst": 9, "kst": 9},
    **{"aest": 10, "aedt": 11, "nzst": 12, "nzdt": 13},
    **{"edt": -4, "est": -5, "cdt": -5, "cst": -6, "mdt": -6, "mst": -7, "pdt": -7, "pst": -8},
}


def effective_date(text: str) -> datetime:
    """Read an RFC 3339 date-time with an offset, or a plain ``YYYY-MM-DD`` as midnight in UTC.

    Raises:
        ValueError: it is anything else, such as 31/01/2024 or a time without an offset.
    """
    plain = _PLAIN_DATE.fullmatch(text) is not None
    try:
        return _INSTANT.validate_python(f"{text}T00:00:00Z" if plain else text)
    except (ValidationError, OverflowError):
        raise ValueError(
            f"{text!r} is neither a date such as 2026-03-31 nor a date-time with an offset such "
            "as 2026-03-31T00:00:00Z"
        ) from None


def feed_date(text: str) -> datetime | None:
    """Return the instant that a feed's date names, or None where it does not name one for certain.

    Read are ISO 8601 (Atom, Dublin Core) and RFC 822 (RSS).
    """
    text = " ".join(text.split())
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return _rfc822_date(text)
    if instant.tzinfo is None:
        return None
    return _utc(instant)


def _rfc822_date(text: str) -> datetime | None:
    match = _RFC822.fullmatch(text)
    if match is None:
        return None
    month = (match["month"] or match["month_first"])[:3].lower()
    zone = _zone(match)
    hour = int(match["hour"])
    if month not in _MONTHS or zone is None:
        return None
    if match["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if match["half"].lower() == "p" else 0)
    year = int(match["year"])
    if year < 100:  # RFC 2822 §4.3
        year += 2000 if year < 50 else 1900
    try:
        return _utc(
            datetime(
                year,
                _MONTHS.index(month) + 1,
                int(match["day"] or match["day_second"]),
                hour,
                int(match["minute"]),
                int(match["second"] or 0),
                tzinfo=timezone(zone),
            )
        )
    except ValueError:
        return None


def _zone(match: re.Match[str]) -> timedelta | None:
    if match["offset"] is None:
        known = _ZONES.get(match["zone"].lower())
        return None if known is None else timedelta(hours=known)
    # "-0000" is Universal Time too: it only says nothing about the local time (RFC 5322 §3.3).
    digits = match["offset"][1:].replace(":", "")
    hours, minutes = (digits, "0") if len(digits) <= 2 else (digits[:-2], digits[-2:])
    size = timedelta(hours=int(hours), minutes=int(minutes))
    if int(minutes) > 59 or size > timedelta(hours=14):
        return None
    return -size if match["offset"][0] == "-" else size


def _utc(instant: datetime) -> datetime | None:
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        return None

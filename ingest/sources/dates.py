"""Dates as sources write them. A date without a zone is never guessed at."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, timezone

from pydantic import TypeAdapter, ValidationError

from schemas.base import UtcDatetime

_INSTANT: TypeAdapter[datetime] = TypeAdapter(UtcDatetime)
_PLAIN_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")

# RFC 822 §5.1 and how feeds really write it: four-digit years, the month first, twelve-hour
# clocks, a day of the week in any language, which is not looked at. The zone is required.
# email.utils is no help here: it reads a missing or unknown zone as UTC, and the year 0016 as 2016.
_CLOCK = r"""
    (?P<hour>\d{1,2}) : (?P<minute>\d{2}) (?: : (?P<second>\d{2}) (?: \.\d+ )? )?
    (?: [ ]? (?P<half>[ap]) \.? m \.? )?
"""
_ZONE = r"(?: (?:UTC|GMT|UT)? (?P<offset> [+-]\d{1,2} (?: :?\d{2} )? ) | (?P<zone>[a-z]{1,4}) )"
_RFC822 = re.compile(
    rf"""
    (?: [^\s\d.,]{{2,}} \.? ,? [ ] )?
    (?: (?P<day>\d{{1,2}}) [ -] (?P<month>[a-z]{{3,9}}) \.? ,? [ -]
      | (?P<month_first>[a-z]{{3,9}}) \.? [ ] (?P<day_second>\d{{1,2}}) ,? [ ] )
    (?P<year> [12]\d{{3}} | \d{{2}} ) ,? [ ]
    {_CLOCK}
    [ ]? {_ZONE}
    (?: [ ] \( [^()]* \) )?
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
# As the C library and Java write it, with the year last; and ISO 8601 with spaces, as Ruby does.
_YEAR_LAST = re.compile(
    rf"[a-z]{{3}} [ ] (?P<month_first>[a-z]{{3}}) [ ] (?P<day_second>\d{{1,2}}) [ ] {_CLOCK} [ ] "
    rf"{_ZONE} [ ] (?P<year>\d{{4}})",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_SPACED = re.compile(
    rf"(?P<year>\d{{4}}) - (?P<number>\d{{2}}) - (?P<day>\d{{2}}) [ T] {_CLOCK} [ ] {_ZONE}",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_FULL_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
# Whole words only: marraskuu is November.
_MONTHS = {
    **{name: number for number, name in enumerate(_FULL_MONTHS, start=1)},
    **{name[:3]: number for number, name in enumerate(_FULL_MONTHS, start=1)},
    "sept": 9,
}

# Hours from UTC of the names in RFC 822 §5.1, and of others that mean one zone everywhere. BST, IST
# and the like mean several, and the military letters were printed with the wrong sign (RFC 2822
# §4.3), so a date with one of those is not used.
_PLAIN_ZONES = {
    **{"z": 0, "ut": 0, "utc": 0, "gmt": 0, "wet": 0, "west": 1, "cet": 1, "mez": 1},
    **{"cest": 2, "mesz": 2, "eet": 2, "eest": 3, "msk": 3, "jst": 9, "kst": 9},
    **{"aest": 10, "aedt": 11, "nzst": 12, "nzdt": 13},
}
# Only RFC 822 says that these are American: Java writes CST for China's time too.
_RFC822_ZONES = _PLAIN_ZONES | {
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

    Read are ISO 8601 (Atom, Dublin Core, JSON Feed), RFC 822 (RSS), and what programs print in
    their place. A day without a time is none: where a day begins depends on the zone.
    """
    text = " ".join(text.split())
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return _read(text)
    if instant.tzinfo is None:
        return None
    return _utc(instant)


def _read(text: str) -> datetime | None:
    for form, zones in (
        (_RFC822, _RFC822_ZONES),
        (_YEAR_LAST, _PLAIN_ZONES),
        (_SPACED, _PLAIN_ZONES),
    ):
        if (match := form.fullmatch(text)) is not None:
            return _instant(match.groupdict(), zones)
    return None


def _instant(parts: Mapping[str, str | None], zones: Mapping[str, int]) -> datetime | None:
    """Put a date together; None where one of its parts cannot be, or tells nothing."""
    name = parts.get("month") or parts.get("month_first")
    month = _MONTHS.get(name.lower()) if name else int(parts["number"] or 0)
    zone = _zone(parts, zones)
    hour = int(parts["hour"] or 0)
    if month is None or zone is None:
        return None
    if parts["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if parts["half"].lower() == "p" else 0)
    year = int(parts["year"] or 0)
    if year < 100:  # RFC 2822 §4.3
        year += 2000 if year < 50 else 1900
    try:
        return _utc(
            datetime(
                year,
                month,
                int(parts.get("day") or parts.get("day_second") or 0),
                hour,
                int(parts["minute"] or 0),
                int(parts["second"] or 0),
                tzinfo=timezone(zone),
            )
        )
    except ValueError:
        return None


def _zone(parts: Mapping[str, str | None], zones: Mapping[str, int]) -> timedelta | None:
    offset = parts["offset"]
    if offset is None:
        known = zones.get((parts["zone"] or "").lower())
        return None if known is None else timedelta(hours=known)
    # "-0000" is Universal Time too: it only says nothing about the local time (RFC 5322 §3.3).
    digits = offset[1:].replace(":", "")
    hours, minutes = (digits, "0") if len(digits) <= 2 else (digits[:-2], digits[-2:])
    size = timedelta(hours=int(hours), minutes=int(minutes))
    if int(minutes) > 59 or size > timedelta(hours=14):
        return None
    return -size if offset[0] == "-" else size


def _utc(instant: datetime) -> datetime | None:
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        return None

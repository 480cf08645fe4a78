"""Effective dates: from the listing, the file's metadata, a passage of the text, or the receipt.

The first of these that gives a date counts. A date that can be read in two ways is not guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from zoneinfo import ZoneInfo

import regex  # type: ignore[import-untyped]  # its stubs are a package of their own

from schemas.document import Extraction, ExtractionWarning
from schemas.source import EffectiveDateRule
from schemas.version import DateEvidence, EffectiveBasis

_WORDS = r"[^\W\d_]{3,12}\.?"
_DATE = (
    r"(?P<date>"
    rf"{_WORDS}\s+\d{{1,2}}(?:st|nd|rd|th)?\s*,?\s+\d{{4}}"
    rf"|\d{{1,2}}\.?(?:st|nd|rd|th)?(?:\s+day)?(?:\s+of)?\s+{_WORDS}\s*,?\s+\d{{4}}"
    r"|\d{1,2}[./-]\d{1,2}[./-]\d{4}"
    r"|\d{4}-\d{2}-\d{2}"
    r")\b"
)
PRESETS: Mapping[str, tuple[str, ...]] = {
    "contract": (
        rf"\beffective\s+date\b(?:(?!through|until)[^.;\n]){{0,60}}?[\s:\"“”(]{_DATE}",
        rf"\b(?:is|be|becomes?|made|amended)?\s*effective\s+(?:as\s+of|on|from)?\s*(?:the\s+)?{_DATE}",
        rf"\bwith\s+effect\s+(?:as\s+of|from|on)\s+(?:the\s+)?{_DATE}",
        rf"\b(?:takes?|shall\s+take|comes?|shall\s+come)\s+(?:into\s+)?(?:effect|force)\s+"
        rf"(?:as\s+of|on|from)\s+(?:the\s+)?{_DATE}",
        rf"\b(?:made|entered\s+into|executed)(?:\s+and\s+entered\s+into)?"
        rf"(?:\s+(?:as\s+of|on))?(?:\s+(?:this|the))?\s+{_DATE}",
        rf"\bdated(?:\s+(?:as\s+of|on))?(?:\s+(?:this|the))?\s+{_DATE}",
    ),
}
"""Ready patterns by name, those that speak of the effective date itself before those that give the
date of the document."""

_NUMERIC = re.compile(r"(\d{1,2})[./-](\d{1,2})[./-](\d{4})")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b|\bday\b|\bof\b", re.IGNORECASE)
_BEFORE, _AFTER, _MOST = 60, 20, 500
"""Characters around a date that are quoted with it, to show what it is the date of."""
_SECONDS = 20.0
"""For one pattern in one text: an operator's own may take for ever on a text that it half fits."""


@dataclass(frozen=True)
class FoundDate:
    """What a file says of when it begins; ``effective_from`` is None where it says nothing."""

    effective_from: datetime | None = None
    basis: EffectiveBasis = "receipt"
    evidence: DateEvidence | None = None
    warnings: tuple[ExtractionWarning, ...] = ()


@dataclass
class _Search:
    rule: EffectiveDateRule
    warnings: list[ExtractionWarning] = field(default_factory=list)


def find_date(rule: EffectiveDateRule, extraction: Extraction) -> FoundDate:
    """Return what a file says of its effective date, as far as its source's rule trusts it.

    Args:
        rule: what the source trusts beside its own listing.
        extraction: of the file.
    """
    if rule.metadata is not None:
        date = getattr(extraction.dates, rule.metadata)
        if date is not None:
            evidence = DateEvidence(rule=f"metadata: {rule.metadata}", quote=date.isoformat())
            return FoundDate(date, "metadata", evidence)
    search = _Search(rule)
    for name, match in _matches(search, extraction):
        date = _read(match["date"], search)
        if date is not None:
            found = _evidence(name, match, extraction)
            return FoundDate(date, "text", found, tuple(search.warnings))
    return FoundDate(warnings=tuple(search.warnings))


def _matches(search: _Search, extraction: Extraction) -> Iterator[tuple[str, regex.Match[str]]]:
    rule = search.rule
    end = min(extraction.body_end, rule.search_chars)
    named = [(f"text: {pattern}", pattern) for pattern in rule.text]
    if rule.preset is not None:
        named += [(f"preset: {rule.preset}", pattern) for pattern in PRESETS[rule.preset]]
    for name, pattern in named:
        try:
            for match in _compiled(pattern).finditer(extraction.text, 0, end, timeout=_SECONDS):
                if match["date"] is not None:  # its group may be one that need not be there
                    yield name, match
        except TimeoutError:
            _warn(
                search,
                "effective_date_timeout",
                f"the pattern {pattern[:100]!r} took over {_SECONDS:.0f} seconds and was given up. "
                "Simplify it in the source's effective_date, or lower its search_chars.",
            )


@cache
def _compiled(pattern: str) -> regex.Pattern[str]:
    return regex.compile(pattern, regex.IGNORECASE)


def _read(text: str, search: _Search) -> datetime | None:
    """Read a date as midnight in the rule's time zone; None, with a warning, where it is none."""
    rule = search.rule
    said = " ".join(text.split())
    order = "DMY" if rule.day_first else "MDY"
    if (numeric := _NUMERIC.fullmatch(said)) is not None:
        first, second = int(numeric[1]), int(numeric[2])
        if rule.day_first is None and first != second and max(first, second) <= 12:
            _warn(
                search,
                "effective_date_ambiguous",
                f"{said!r} is two dates, by whether the day or the month comes first; set "
                "day_first in the source's effective_date. It was not taken.",
            )
            return None
        if rule.day_first is None:
            order = "DMY" if first > 12 else "MDY"
    day = _parsed(said, order, rule)
    try:
        if day is not None:
            return day.replace(tzinfo=ZoneInfo(rule.time_zone)).astimezone(UTC)
    except OverflowError:
        pass  # in the year 1 or 9999, but not in UTC
    _warn(search, "effective_date_unreadable", f"{said[:100]!r} is no date that can be read.")
    return None


def _parsed(said: str, order: str, rule: EffectiveDateRule) -> datetime | None:
    if _ISO.fullmatch(said):
        try:
            return datetime.fromisoformat(said)
        except ValueError:
            return None
    # Imported here, because most sources give their dates themselves, and it takes long to load.
    import dateparser  # type: ignore[import-untyped]  # it ships no types

    found: datetime | None = dateparser.parse(
        " ".join(_ORDINAL.sub(" ", said).split()),
        languages=list(rule.languages),
        settings={
            "STRICT_PARSING": True,
            "REQUIRE_PARTS": ["day", "month", "year"],
            "PARSERS": ["absolute-time"],
            "DATE_ORDER": order,
            "RETURN_AS_TIMEZONE_AWARE": False,
        },
    )
    return None if found is None else found.replace(hour=0, minute=0, second=0, microsecond=0)


def _evidence(name: str, match: regex.Match[str], extraction: Extraction) -> DateEvidence:
    """Quote the date with the words that make it the one that counts, and say where it stands."""
    first, last = match.span("date")
    start = max(match.start(), first - _BEFORE)
    end = min(max(match.end(), last), last + _AFTER, start + _MOST)
    return DateEvidence(
        rule=name[:200],
        quote=extraction.text[start:end],
        char_start=start,
        char_end=end,
        page=next((word.page for word in extraction.words if word.char_end > start), None),
    )


def _warn(search: _Search, code: str, message: str) -> None:
    warning = ExtractionWarning(code=code, message=message)
    if warning not in search.warnings:
        search.warnings.append(warning)

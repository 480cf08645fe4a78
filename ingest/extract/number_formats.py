"""Numbers and dates of a workbook as its reader sees them (ECMA-376-1 §18.8.31).

A cell holds 0.125 and a format; the sheet shows "12.5%". Dates are written as ISO 8601 has them,
whatever order the format puts day and month in: that order is often the reader's own setting, and
"03/04/2026" would be read wrong. Colours, fill characters and the conditions of a section are left
out.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache

from openpyxl.styles.numbers import is_date_format  # type: ignore[import-untyped]
from openpyxl.utils.datetime import (  # type: ignore[import-untyped]
    CALENDAR_MAC_1904,
    WINDOWS_EPOCH,
    from_excel,
)

GENERAL = "General"
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_(?P<gap>.)|\*(?P<fill>.)|\[(?P<bracket>[^\]]*)\]'
    r"|(?P<exponent>[Ee][+-]0+)|(?P<general>General)|(?P<digit>[0#?])|(?P<other>.)",
    re.DOTALL | re.IGNORECASE,
)
_ELAPSED = re.compile(r"\[(?:h+|m+|s+)\]", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"]*"|\\.|\[[^\]]*\]')
_EXACT = 10**15
"""Whole numbers below this are shown in full, as the cell's editor shows them."""
_SIGNIFICANT = 11
"""Digits that the General format shows."""
_LARGEST = Decimal("1e30")


def shown_number(value: float, code: str, *, mac_epoch: bool = False) -> str:
    """Return a number as a cell with the format ``code`` shows it; empty if the format hides it."""
    if code == GENERAL:
        return general(value)
    if _is_date(code):
        return _shown_date(value, code, mac_epoch=mac_epoch)
    sections = _sections(code)
    negative = value < 0
    if negative and len(sections) > 1:
        section, signed = sections[1], False
    elif value == 0 and len(sections) > 2:
        section, signed = sections[2], False
    else:
        section, signed = sections[0], negative
    try:
        text = _apply(section, abs(Decimal(repr(value))))
    except (InvalidOperation, OverflowError, ValueError):
        text = general(abs(value))
    return f"-{text}" if signed and text else text


def shown_text(value: str, code: str) -> str:
    """Return a text as a cell with the format ``code`` shows it."""
    sections = _sections(code)
    section = sections[3] if len(sections) > 3 else sections[0] if "@" in code else "@"
    if section in ("@", ""):
        return value
    parts: list[str] = []
    for match in _TOKEN.finditer(section):
        literal = match["quoted"] if match["quoted"] is not None else match["escaped"]
        if literal is not None:
            parts.append(literal)
        elif match["other"] is not None:
            parts.append(value if match["other"] == "@" else match["other"])
    return "".join(parts) if "@" in section else value


def shown_datetime(value: datetime | date | time | timedelta) -> str:
    """Return a date, a time or a duration as ISO 8601 writes it, a space between date and time."""
    if isinstance(value, timedelta):
        seconds = round(value.total_seconds())
        sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
        return f"{sign}{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    if isinstance(value, datetime):
        if value.microsecond >= 500_000:
            value += timedelta(seconds=1)
        return value.replace(microsecond=0).isoformat(sep=" ")
    return value.isoformat()


def general(value: float) -> str:
    """Return a number in the General format."""
    if abs(value) < _EXACT and value == int(value):
        return str(int(value))
    text = f"{value:.{_SIGNIFICANT}g}"
    return text.upper() if "e" in text else text


def _shown_date(value: float, code: str, *, mac_epoch: bool) -> str:
    try:
        if value < 0:
            return general(value)
        if _ELAPSED.search(code):
            return shown_datetime(timedelta(days=value))
        moment = from_excel(value, CALENDAR_MAC_1904 if mac_epoch else WINDOWS_EPOCH)
    except (ValueError, OverflowError):
        return general(value)
    letters = _QUOTED.sub("", code).lower()
    if isinstance(moment, time):
        # from_excel takes what is less than a day for a time; "d" and "y" say that it is not.
        clock = not any(letter in letters for letter in "dy")
        return shown_datetime(moment.replace(microsecond=0)) if clock else general(value)
    if not isinstance(moment, datetime):
        return shown_datetime(moment)
    if not any(letter in letters for letter in "dy") and "h" in letters:
        return moment.time().replace(microsecond=0).isoformat()
    has_clock = any(letter in letters for letter in "hs") or moment.time() != time()
    return shown_datetime(moment) if has_clock else moment.date().isoformat()


@lru_cache(maxsize=1024)
def _is_date(code: str) -> bool:
    return bool(is_date_format(code))


@lru_cache(maxsize=1024)
def _sections(code: str) -> list[str]:
    sections = [""]
    for match in _TOKEN.finditer(code):
        if match["other"] == ";":
            sections.append("")
        else:
            sections[-1] += match[0]
    return sections


def _apply(section: str, value: Decimal) -> str:
    """Write a value that is not negative by one section of a format."""
    if value > _LARGEST:
        return general(float(value))
    tokens = list(_TOKEN.finditer(section))
    if any(match["general"] for match in tokens):
        return "".join(
            general(float(value)) if match["general"] else _literal(match) for match in tokens
        )
    others = [match["other"] for match in tokens]
    if "/" in others and any(match["digit"] for match in tokens):
        return _fraction(tokens, value)
    value *= 100 ** others.count("%")
    whole, decimals, grouped, scale = _shape(tokens)
    if not whole and not decimals:
        return "".join(map(_literal, tokens)).strip()
    value /= 1000**scale
    if exponent := next((match["exponent"] for match in tokens if match["exponent"]), None):
        return _scientific(tokens, value, len(decimals), exponent)
    digits = f"{value.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP):f}"
    integer, _, fraction = digits.partition(".")
    optional = len(decimals) - len(decimals.rstrip("#"))
    while optional and fraction.endswith("0"):
        fraction, optional = fraction[:-1], optional - 1
    integer = integer.lstrip("0").rjust(whole.count("0"), "0")
    if grouped:
        integer = f"{int(integer or 0):,}".rjust(whole.count("0"), "0") if integer else integer
    return _place(tokens, integer, fraction, len(whole))


def _shape(tokens: list[re.Match[str]]) -> tuple[str, str, bool, int]:
    """Return the places before and behind the point, and what commas say: groups, thousands."""
    whole, decimals = "", ""
    behind_point = False
    commas = 0
    grouped = False
    for match in tokens:
        if match["digit"]:
            grouped = grouped or (commas > 0 and not behind_point and bool(whole))
            commas = 0
            if behind_point:
                decimals += match["digit"]
            else:
                whole += match["digit"]
        elif match["other"] == "." and not behind_point:
            behind_point = True
        elif match["other"] == "," and (whole or decimals):
            commas += 1
        elif match["exponent"]:
            break
    return whole, decimals, grouped, commas


def _place(tokens: list[re.Match[str]], integer: str, fraction: str, places: int) -> str:
    """Put the digits where the format has places for them, literals between."""
    parts: list[str] = []
    behind_point = False
    place = taken = 0
    simple = places >= 1 and ("," in integer or len(integer) >= places)
    for match in tokens:
        if match["digit"] and behind_point:
            parts.append(fraction[taken : taken + 1])
            taken += 1
        elif match["digit"]:
            left = places - place - 1
            end = len(integer) - left
            start = 0 if place == 0 else end - 1
            if "," in integer:
                parts.append(integer if place == 0 else "")
            elif simple or end > 0:
                parts.append(integer[max(start, 0) : max(end, 0)])
            place += 1
        elif match["other"] == "." and not behind_point:
            behind_point = True
            if fraction:
                parts.append(".")
        elif match["other"] != ",":
            parts.append(_literal(match))
    return "".join(parts).strip()


def _scientific(tokens: list[re.Match[str]], value: Decimal, decimals: int, exponent: str) -> str:
    mantissa, _, power = f"{value:.{decimals}E}".partition("E")
    width = len(exponent) - 2
    sign = "-" if power.startswith("-") else "+" if exponent[1] == "+" else ""
    written = f"{mantissa}E{sign}{power.lstrip('+-').rjust(width, '0')}"
    first = next(i for i, match in enumerate(tokens) if match["digit"])
    last = next(i for i, match in enumerate(tokens) if match["exponent"])
    before = "".join(map(_literal, tokens[:first]))
    return (before + written + "".join(map(_literal, tokens[last + 1 :]))).strip()


def _fraction(tokens: list[re.Match[str]], value: Decimal) -> str:
    code = "".join(match[0] for match in tokens)
    numerator, _, denominator = code.partition("/")
    fixed = re.match(r"\d+", denominator)
    given = int(fixed[0]) if fixed and fixed[0].strip("0") else 0
    places = sum(character in "0#?" for character in denominator)
    exact = Fraction(value)
    part = (
        Fraction(round(exact * given), given)
        if given
        else exact.limit_denominator(max(10**places - 1, 1))
    )
    whole = int(part) if len(numerator.split()) > 1 else 0
    rest = part - whole
    top, bottom = (round(rest * given), given) if given else (rest.numerator, rest.denominator)
    if not top:
        return str(whole)
    return f"{whole} {top}/{bottom}" if whole else f"{top}/{bottom}"


def _literal(match: re.Match[str]) -> str:
    """Return what a token writes that is no place for a digit."""
    for name in ("quoted", "escaped"):
        if match[name] is not None:
            return match[name]
    if match["gap"] is not None:
        return " "
    if match["bracket"] is not None:
        # [$€-407] is a currency and a locale; [Red] and [>100] write nothing.
        bracket = match["bracket"]
        return bracket[1:].partition("-")[0] if bracket.startswith("$") else ""
    return match["other"] or ""

"""Clause headings, told by their words alone.

Used where no layout model says what a heading is: scans, plain text, and pages in block order.
``section`` paths come from headings, so a contract without them would be one long section. The
rule is small on purpose: a line is a heading if it is nothing but

- a label (ARTICLE IV, Section 7, Schedule A, Exhibit 2 …) with or without a title, or
- a clause number (7., 7.2, 3.2.1, 7) …) and a title of at most ten words that is in capitals, or
  whose every word of four letters or more begins with one. A number without a dot or bracket
  ("7 TERMINATION") needs a title in capitals, or "12 Months" would be one.

A title never ends in a digit (a line of a table of contents does), in a small word or "Section" (a
sentence that goes on in the next line does), or in a comma.
"""

from __future__ import annotations

import re

_LABEL = re.compile(
    r"(?P<label>article|section|clause|part|schedule|exhibit|annex|appendix|attachment)"
    r"\s+(?P<number>\d{1,3}(?:\.\d{1,3})*|[ivxlc]{1,7}|[a-z])(?P<rest>\b.*)",
    re.IGNORECASE | re.DOTALL,
)
_NUMBER = re.compile(
    r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,4})(?P<mark>[.)]?)\s+(?P<title>\S.*)", re.DOTALL
)
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_MAX_CHARACTERS = 90
_MAX_WORDS = 10
_MAX_LEVEL = 6


def clause_level(line: str) -> int | None:
    """Return the depth, from 1, of the clause that ``line`` heads; None if it heads none."""
    line = " ".join(line.split())
    if not line or len(line) > _MAX_CHARACTERS:
        return None
    label = _LABEL.fullmatch(line)
    if label:
        title = label["rest"].strip(" .:–—-")
        # "Exhibit A." is how a sentence ends, "EXHIBIT A." is not.
        alone = not title and (line.isupper() or not line.endswith("."))
        if alone or (title and _is_title(title)):
            return _depth(label["number"])
        return None
    number = _NUMBER.fullmatch(line)
    if not number or not _is_title(number["title"]):
        return None
    depth = _depth(number["number"])
    if depth == 1 and not number["mark"] and not number["title"].isupper():
        return None
    return depth


def numbered_depth(line: str) -> int | None:
    """Return the depth that the number or label at the start of a known heading says."""
    line = " ".join(line.split())
    label = _LABEL.match(line)
    if label:
        return _depth(label["number"])
    number = _NUMBER.match(line)
    return _depth(number["number"]) if number else None


def _depth(number: str) -> int:
    # "18.0" is how some contracts write the number of a top clause.
    return min(_MAX_LEVEL, number.removesuffix(".0").count(".") + 1)


def _is_title(title: str) -> bool:
    if not title[0].isupper() or len(title.split()) > _MAX_WORDS:
        return False
    if title[-1].isdigit() or title[-1] in ",;" or "...." in title:
        return False
    last = title.split()[-1].strip(".:)")
    if last.islower() or last.lower() in ("section", "article", "exhibit", "schedule"):
        return False
    words = _LONG_WORD.findall(title)
    return bool(words) and all(word[0].isupper() for word in words)

"""Clause headings, told by their words alone.

Used where no layout model says what a heading is: scans, plain text, and pages in block order.
``section`` paths come from headings, so a contract without them would be one long section. The
rule is small on purpose: a line is a heading if it is nothing but

- a label (ARTICLE IV, Section 7, Schedule A, Exhibit 2 …) with or without a title, or
- a Roman number or a letter with a full stop, and a title in capitals, or
- a clause number (7., 7.2, 3.2.1, 7) …) and a title of at most ten words that is in capitals, or
  whose every word of four letters or more begins with one. A number without a dot or bracket
  ("7 TERMINATION") needs a title in capitals, or "12 Months" would be one.

A title holds no end of a sentence. It never ends in a digit (a line of a table of contents does),
in a small word or "Section" (a sentence that goes on in the next line does), or in a comma.

Two more rules need to know how a line stands. A line in capitals heads what is below it if it
stands alone (`is_capital_heading`). And a clause whose heading runs into its text ("7. Termination.
Either party may …") is cut behind the heading (`run_in_heading`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_LABEL = re.compile(
    r"(?P<label>article|section|clause|part|schedule|exhibit|annex|appendix|attachment)"
    r"\s+(?P<number>\d{1,3}(?:\.\d{1,3})*|[ivxlc]{1,7}|[a-z])(?P<rest>\b.*)",
    re.IGNORECASE | re.DOTALL,
)
_NUMBER = re.compile(
    r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,4})(?P<mark>[.)]?)\s+(?P<title>\S.*)", re.DOTALL
)
_LETTERED = re.compile(r"(?P<number>[IVXLC]{1,7}|[A-Z])\.\s+(?P<title>\S.*)", re.DOTALL)
_ROMAN = re.compile(r"[IVX]+|[IVXLC]{2,}")
_RUN_IN_LABELS = frozenset({"section", "article", "clause", "§"})
_RUN_IN_NUMBER = re.compile(r"(?P<number>\d{1,2}(?:\.\d{1,2}){0,4}|[IVX]{1,5})(?P<mark>[.):]?)")
_ABBREVIATION = re.compile(
    r"(?:inc|corp|co|ltd|nos?|mr|mrs|ms|dr|st|u\.s|jr|sr|l\.p|n\.a|vs|art|sec)\.", re.IGNORECASE
)
_COMPANY = re.compile(
    r"\b(?:INC|LLC|L\.L\.C|L?\.?P|LLP|CORP|CORPORATION|LTD|LIMITED|COMPANY|N\.A|PLC|GMBH|S\.A|BANK)"
    r"\b\W*$",
    re.IGNORECASE,
)
_NO_HEADING = re.compile(
    r"(?:BY|NAME|TITLE|DATE|DATED|AND|BETWEEN|PAGE|ATTEST|SIGNED)\b|[_\d$]{2}",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^\W\d_][^\s.:]*[.:](?=\s)")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_MAX_CHARACTERS = 90
_MAX_WORDS = 10
_MAX_LEVEL = 6
_SENTENCE_WORDS = 8
RUN_IN_WORDS = _MAX_WORDS + 4
"""So many words of a clause are enough to find the heading that runs into it."""


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
            return _label_depth(label)
        return None
    lettered = _LETTERED.fullmatch(line)
    if lettered and lettered["title"].isupper() and _is_title(lettered["title"]):
        return 1 if _ROMAN.fullmatch(lettered["number"]) else 2
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
        return _label_depth(label)
    number = _NUMBER.match(line)
    return _depth(number["number"]) if number else None


def is_capital_heading(line: str) -> bool:
    """Say whether a line that stands alone heads what is below it, by being in capitals.

    Names of companies and what belongs to a signature head nothing.
    """
    line = " ".join(line.split())
    if not line.isupper() or len(line) > _MAX_CHARACTERS or line[-1] in ",;-":
        return False
    if is_name(line) or "..." in line or "__" in line or line[0] in "\"“'(":
        return False
    if line[0] == "[" and line[-1] == "]":
        return False  # "[REDACTED]"
    letters = sum(map(str.isalpha, line))
    return (
        len(line.split()) <= _MAX_WORDS
        and letters >= 0.7 * len(line.replace(" ", ""))
        and bool(_LONG_WORD.search(line))
    )


def is_lettered_heading(line: str) -> bool:
    """Say whether a line that stands alone is a letter and a title: "A. Definitions"."""
    lettered = _LETTERED.fullmatch(" ".join(line.split()))
    return lettered is not None and line[-1] not in ".;" and _is_title(lettered["title"])


def is_running(words: Sequence[str]) -> bool:
    """Say whether words are a sentence or more, most of it in small letters."""
    return len(words) >= _SENTENCE_WORDS and sum(map(str.islower, words)) * 2 >= len(words)


def is_name(line: str) -> bool:
    """Say whether a line is a company's name, or belongs to a signature or an address."""
    return bool(_COMPANY.search(line) or _NO_HEADING.match(line))


def run_in_heading(words: Sequence[str]) -> tuple[int, int] | None:
    """Find the heading that a clause begins with: "7.2 Notice. Either party may …".

    A number, then a title like that of a heading, which ends in a full stop or colon, then a
    sentence.

    Args:
        words: the first `RUN_IN_WORDS` of the clause.

    Returns:
        How many words the heading has, and its depth from 1; None where the clause has none.
    """
    first = words[:RUN_IN_WORDS]
    labelled = bool(first) and first[0].casefold() in _RUN_IN_LABELS
    at = 1 if labelled else 0
    number = _RUN_IN_NUMBER.fullmatch(first[at]) if at < len(first) else None
    if not number:
        return None
    depth = _depth(number["number"])
    if depth == 1 and not number["mark"] and not labelled:
        return None
    at += 1
    for end in range(at, min(len(first) - 1, at + _MAX_WORDS)):
        if first[end][-1] not in ".:" or _ABBREVIATION.fullmatch(first[end]):
            continue
        title = " ".join(first[at : end + 1])
        following = first[end + 1].lstrip("\"'“‘([")
        if following and following[0].isupper() and _is_title(title.rstrip(".:")):
            return end + 1, depth
        return None
    return None


def _label_depth(label: re.Match[str]) -> int:
    # "Exhibit 10.2" is the second that goes with item 10, not a part of an Exhibit 10.
    part = label["label"].casefold() in ("article", "section", "clause", "part")
    return _depth(label["number"]) if part else 1


def _depth(number: str) -> int:
    # "18.0" is how some contracts write the number of a top clause.
    return min(_MAX_LEVEL, number.removesuffix(".0").count(".") + 1)


def _is_title(title: str) -> bool:
    if not title[0].isupper() or len(title.split()) > _MAX_WORDS:
        return False
    if title[-1].isdigit() or title[-1] in ",;" or "...." in title:
        return False
    if any(not _ABBREVIATION.fullmatch(word) for word in _SENTENCE.findall(title)):
        return False
    last = title.split()[-1].strip(".:)")
    if last.islower() or last.lower() in ("section", "article", "exhibit", "schedule"):
        return False
    words = _LONG_WORD.findall(title)
    return bool(words) and all(word[0].isupper() for word in words)

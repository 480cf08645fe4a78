"""What is said of many pages in the same words is said once for the document."""

from __future__ import annotations

import re
from collections.abc import Sequence

from schemas.document import ExtractionWarning

_COUNT = re.compile(r"[\d,]+")
_ONCE = frozenset(
    {
        "figure_text_dropped",
        "hidden_text",
        "ocr_layer_used",
        "text_layer_replaced",
        "words_outside_page",
    }
)
"""Codes of notes that begin with a count and say something to know, not something to look at."""


def gathered(warnings: Sequence[ExtractionWarning]) -> list[ExtractionWarning]:
    """Return the warnings with those of one kind, from several pages, made one of the document.

    Their counts are added up, and the pages are listed.
    """
    by_code: dict[str, list[ExtractionWarning]] = {}
    for warning in warnings:
        if warning.code in _ONCE and warning.page is not None and _COUNT.match(warning.message):
            by_code.setdefault(warning.code, []).append(warning)
    result: list[ExtractionWarning] = []
    for warning in warnings:
        same = by_code.get(warning.code, [])
        if warning not in same or len(same) == 1:
            result.append(warning)
        elif warning == same[0]:
            result.append(_together(same))
    return result


def _together(warnings: Sequence[ExtractionWarning]) -> ExtractionWarning:
    total = 0
    for warning in warnings:
        count = _COUNT.match(warning.message)
        total += int(count[0].replace(",", "")) if count else 0
    said = _COUNT.sub(f"{total:,}", warnings[0].message, count=1)
    pages = page_ranges(sorted({warning.page for warning in warnings if warning.page is not None}))
    return ExtractionWarning(code=warnings[0].code, message=f"{said} (Pages {pages}.)")


def page_ranges(numbers: Sequence[int]) -> str:
    """Return ascending page numbers as a reader writes them, such as "1–4, 7"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)

"""The frame that the gate judges: one row a chunk, one column for everything a chunk can show.

Columns that are payload fields are derived from :class:`schemas.payload.Payload`; the others are
the fields of :class:`Evidence`. Nothing is judged here: the frame holds what was measured, the
suite says what is right.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import pandas as pd

from ingest.quality.records import payload_problems
from schemas.base import Model, sha256_text
from schemas.document import Word
from schemas.payload import Payload

ColumnKind = Literal["text", "integer", "number", "flag", "instant", "json"]

_DTYPES: dict[ColumnKind, Any] = {
    # "object", because pandas' own text type may not hold the lone surrogates that must be found.
    "text": object,
    "json": object,
    "integer": "Int64",
    "number": "Float64",
    "flag": "boolean",
    # Nanoseconds would end in 2262, before the year 9999 of an open end.
    "instant": "datetime64[us, UTC]",
}
_KINDS: dict[type, ColumnKind] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "flag",
    datetime: "instant",
}


@dataclass(frozen=True, slots=True)
class GateInput:
    """A chunk's payload and what it is measured against.

    Rows of one version come in the order of its chunks.
    """

    payload: Payload
    tokens: int
    token_limit: int
    version_text: str
    page_sizes: Mapping[int, tuple[float, float]]
    """Width and height in points of each displayed page, by its number; empty where the format
    has no pages."""
    words_cover: bool | None = None
    """Whether each non-blank character of the chunk belongs to a word (:class:`WordCover`); None
    where that was not measured."""
    body_end: int | None = None
    """End of the body in the version's text; without it, text that no chunk holds goes unseen
    behind the version's last chunk."""
    flagged_pages: frozenset[int] = frozenset()
    """Pages whose recognition is flagged: text on them may be wrong or missing."""


class WordCover:
    """Which characters of a version's text have no word, and so no box (guarantee 2)."""

    def __init__(self, text: str, words: Iterable[Word]) -> None:
        bare: list[int] = []
        end = 0
        for word in words:
            bare += _filled(text, end, word.char_start)
            end = word.char_end
        self._bare = bare + _filled(text, end, len(text))

    def holds(self, char_start: int, char_end: int) -> bool:
        """Return whether each non-blank character from ``char_start`` to ``char_end`` has one."""
        return bisect_left(self._bare, char_start) == bisect_left(self._bare, char_end)


def _filled(text: str, start: int, end: int) -> list[int]:
    """Return the offsets of the non-blank characters in a run of ``text``."""
    return [offset for offset in range(start, end) if not text[offset].isspace()]


class Evidence(NamedTuple):
    """What a row shows beside its payload. Each field is a column."""

    contract_problems: str
    """What :func:`payload_problems` says, in one line; empty where it says nothing."""
    tokens: int
    token_limit: int
    source_slice: str
    """``version_text[char_start:char_end]``."""
    version_length: int
    """Code points of the version's text."""
    uncovered: int
    """Non-blank characters of the body between this chunk and those before it, and for the last
    chunk of a version behind it too."""
    actual_sha256: str | None
    """SHA-256 of the text that the payload holds; None where it can't be written as UTF-8."""
    has_pages: bool
    page_count: int
    words_cover: bool | None
    page_flagged: bool | None
    """Whether a box lies on a page whose recognition is flagged; None without pages."""
    box_count: int
    boxes_on_unknown_pages: int
    """Boxes on pages whose size the version doesn't give."""
    box_page_first: int | None
    box_page_last: int | None
    box_min_x: float | None
    box_min_y: float | None
    box_min_width: float | None
    box_min_height: float | None
    box_overrun_x: float | None
    """Points by which the box that reaches farthest leaves its page to the right; negative
    inside."""
    box_overrun_y: float | None
    """The same below."""


def column_kind(annotation: Any) -> ColumnKind:
    """Return what a column holds, given the annotation of its field."""
    types = _plain_types(annotation)
    return _KINDS.get(types.pop(), "json") if len(types) == 1 else "json"


def _plain_types(annotation: Any) -> set[type]:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _plain_types(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return {kind for part in get_args(annotation) for kind in _plain_types(part)}
    if origin is Literal:
        return {type(value) for value in get_args(annotation)}
    return {origin or annotation} - {NoneType}


PAYLOAD_COLUMNS: dict[str, ColumnKind] = {
    name: column_kind(info.annotation) for name, info in Payload.model_fields.items()
}
EVIDENCE_COLUMNS: dict[str, ColumnKind] = {
    name: column_kind(annotation) for name, annotation in get_type_hints(Evidence).items()
}


def build_frame(rows: Iterable[GateInput]) -> pd.DataFrame:
    """Return the frame for ``rows``, in their order, indexed from 0.

    A value that its column can't hold (a date without an offset, NaN) is left out there and
    named in ``contract_problems``.
    """
    inputs = list(rows)
    uncovered = _uncovered(inputs)
    evidence = [_evidence(row, gap) for row, gap in zip(inputs, uncovered, strict=True)]
    fields = [row.payload.__dict__ for row in inputs]
    columns: dict[str, pd.Series[Any]] = {}
    for name, kind in PAYLOAD_COLUMNS.items():
        values = [_cell(record.get(name), kind) for record in fields]
        columns[name] = pd.Series(values, dtype=_DTYPES[kind])
    for position, (name, kind) in enumerate(EVIDENCE_COLUMNS.items()):
        values = [_cell(record[position], kind) for record in evidence]
        columns[name] = pd.Series(values, dtype=_DTYPES[kind])
    return pd.DataFrame(columns)


def _cell(value: Any, kind: ColumnKind) -> Any:
    """Return ``value`` if a column of ``kind`` can hold it, or None."""
    if value is None:
        return None
    match kind:
        case "json":
            return json.dumps(value, default=_as_json, ensure_ascii=False, separators=(",", ":"))
        case "instant":
            return value if isinstance(value, datetime) and value.tzinfo is not None else None
        case "flag":
            return value if isinstance(value, bool) else None
        case "integer":
            whole = isinstance(value, int) and not isinstance(value, bool)
            return value if whole else None
        case "number":
            return value if isinstance(value, int | float) and math.isfinite(value) else None
        case "text":
            return value if isinstance(value, str) else None


def _as_json(value: object) -> Any:
    return value.model_dump(mode="json") if isinstance(value, Model) else str(value)


def _evidence(row: GateInput, uncovered: int) -> Evidence:
    payload = row.payload
    boxes = payload.boxes
    sizes = row.page_sizes
    sized = [(box, *sizes[box.page]) for box in boxes if box.page in sizes]
    pages = [box.page for box in boxes]
    return Evidence(
        contract_problems=" ".join(payload_problems(payload.__dict__)),
        tokens=row.tokens,
        token_limit=row.token_limit,
        source_slice=row.version_text[payload.char_start : payload.char_end],
        version_length=len(row.version_text),
        uncovered=uncovered,
        actual_sha256=_sha256_or_none(payload.text),
        has_pages=bool(sizes),
        page_count=max(sizes, default=0),
        words_cover=row.words_cover,
        page_flagged=not row.flagged_pages.isdisjoint(pages) if sizes else None,
        box_count=len(boxes),
        boxes_on_unknown_pages=len(boxes) - len(sized),
        box_page_first=min(pages, default=None),
        box_page_last=max(pages, default=None),
        box_min_x=min((box.x0 for box in boxes), default=None),
        box_min_y=min((box.y0 for box in boxes), default=None),
        box_min_width=min((box.x1 - box.x0 for box in boxes), default=None),
        box_min_height=min((box.y1 - box.y0 for box in boxes), default=None),
        box_overrun_x=max((box.x1 - width for box, width, _ in sized), default=None),
        box_overrun_y=max((box.y1 - height for box, _, height in sized), default=None),
    )


def _uncovered(rows: list[GateInput]) -> list[int]:
    """Count for each row the body's non-blank characters that no chunk up to it holds.

    What stands behind the last chunk of a version counts for that chunk.
    """
    counts = [0] * len(rows)
    covered: dict[tuple[str, int], int] = {}
    last: dict[tuple[str, int], int] = {}
    for position, row in enumerate(rows):
        key = (row.payload.doc_id, row.payload.version)
        end = covered.get(key, 0)
        limit = row.payload.char_start
        if row.body_end is not None:
            limit = min(limit, row.body_end)
        counts[position] = _non_blank(row.version_text, end, limit)
        covered[key] = max(end, row.payload.char_end)
        last[key] = position
    for key, position in last.items():
        row = rows[position]
        if row.body_end is not None:
            counts[position] += _non_blank(row.version_text, covered[key], row.body_end)
    return counts


def _non_blank(text: str, start: int, end: int) -> int:
    return sum(map(len, text[start : max(start, end)].split()))


def _sha256_or_none(text: str) -> str | None:
    try:
        return sha256_text(text)
    except UnicodeEncodeError:  # a lone surrogate
        return None

"""The audit: what the index returned, checked against the version and the source bytes.

It shares no code with the chunker. Everything is derived again from the extraction's words, so that
a fault there shows here instead of being repeated.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from ingest.errors import FatalError
from ingest.vault import Vault
from schemas.base import sha256_text
from schemas.chunk import PageBox
from schemas.document import Extraction, Word
from schemas.identity import chunk_id
from schemas.payload import MUTABLE_FIELDS, Payload

_POINTS = 0.01
"""How far two coordinates may differ and still be the same, in PDF points: rounding, no more."""

_NUMBER = 1e-9
"""The same for any number of a payload, which a server may store with its last bit rounded."""

_SHOWN = 20
"""Characters of a text that a message quotes."""

_Complaint = tuple[str, str]


@dataclass(frozen=True)
class AuditFinding:
    """Something about a point, or about its whole version, that cannot be proved."""

    chunk_id: str | None
    """None for a finding on the version."""
    code: str
    message: str


def audit_version(
    index_points: Mapping[str, Mapping[str, Any]],
    expected: Sequence[Payload],
    extraction: Extraction,
    vault: Vault,
) -> list[AuditFinding]:
    """Prove every point of a version and return what could not be proved (guarantee 11).

    Args:
        index_points: payload by id of every point that the index holds for the version.
        expected: what was to be loaded.
        extraction: the version's text with its evidence.
        vault: the source bytes.
    """
    wanted = {payload.chunk_id: payload for payload in expected}
    findings = list(check_source(extraction.doc_sha256, vault))
    findings += [
        AuditFinding(missing, "point_missing", "it was loaded, but the index does not have it")
        for missing in wanted.keys() - index_points.keys()
    ]
    evidence = Evidence(extraction)
    for point_id, point in index_points.items():
        if point_id in wanted:
            findings += _check_unchanged(point_id, point, wanted[point_id])
        else:
            message = "the index has it, but it does not belong to the version"
            findings.append(AuditFinding(point_id, "point_unexpected", message))
        findings += check_point(point_id, point, evidence)
    return sorted(findings, key=lambda finding: (finding.chunk_id or "", finding.code))


def check_source(doc_sha256: str, vault: Vault) -> Iterator[AuditFinding]:
    """Check that the source bytes are there and still have their hash."""
    try:
        vault.get(doc_sha256)
    except FatalError as error:
        yield AuditFinding(None, error.code, error.message)


class Evidence:
    """A version's extraction, arranged for looking up the words of a passage."""

    def __init__(self, extraction: Extraction) -> None:
        self.extraction = extraction
        self.pages = {page.number: page for page in extraction.pages}
        # Words are disjoint and in text order, so their ends increase too.
        self._ends = [word.char_end for word in extraction.words]

    def words(self, char_start: int, char_end: int) -> list[Word]:
        """Return the words that share a character with ``[char_start, char_end)``, in order."""
        first = last = bisect_right(self._ends, char_start)
        words = self.extraction.words
        while last < len(words) and words[last].char_start < char_end:
            last += 1
        return list(words[first:last])

    def boxes(self, char_start: int, char_end: int) -> list[PageBox]:
        """Return the hull of the passage's words for each line and page, in text order."""
        lines: dict[tuple[int, int], list[Word]] = {}
        for word in self.words(char_start, char_end):
            lines.setdefault((word.page, word.line), []).append(word)
        return [
            PageBox(
                page=page,
                x0=min(word.box[0] for word in words),
                y0=min(word.box[1] for word in words),
                x1=max(word.box[2] for word in words),
                y1=max(word.box[3] for word in words),
            )
            for (page, _), words in lines.items()
        ]


def check_point(
    point_id: str, point: Mapping[str, Any], evidence: Evidence
) -> Iterator[AuditFinding]:
    """Check one point against the evidence of its version; nothing but the point is believed."""
    try:
        payload = Payload.model_validate(point)
    except ValidationError as error:
        reasons = "; ".join(
            f"{'.'.join(map(str, detail['loc'])) or 'payload'}: {detail['msg']}"
            for detail in error.errors()
        )
        yield AuditFinding(point_id, "payload_invalid", reasons)
        return
    if payload.chunk_id != point_id:
        message = f"its payload is that of chunk {payload.chunk_id}"
        yield AuditFinding(point_id, "identity_differs", message)
    for check in POINT_CHECKS.values():
        for code, message in check(payload, evidence):
            yield AuditFinding(point_id, code, message)


def _check_identity(payload: Payload, evidence: Evidence) -> Iterator[_Complaint]:
    """Recompute the id from what it names (guarantee 4)."""
    made_of = chunk_id(
        payload.doc_id,
        payload.version,
        payload.char_start,
        payload.char_end,
        payload.text_sha256,
        chunker_version(payload.pipeline_version),
    )
    if made_of != payload.chunk_id:
        yield "identity_differs", f"its document, version, offsets and text make the id {made_of}"
    if payload.doc_sha256 != evidence.extraction.doc_sha256:
        yield (
            "source_differs",
            f"it names source bytes {payload.doc_sha256[:12]}…, the version is made of "
            f"{evidence.extraction.doc_sha256[:12]}…",
        )


def _check_hash(payload: Payload, evidence: Evidence) -> Iterator[_Complaint]:
    if sha256_text(payload.text) != payload.text_sha256:
        yield "text_hash", f"its text does not have the SHA-256 {payload.text_sha256}"


def _check_offsets(payload: Payload, evidence: Evidence) -> Iterator[_Complaint]:
    """Compare with the version's text at the point's offsets (guarantee 1)."""
    found = evidence.extraction.text[payload.char_start : payload.char_end]
    if found != payload.text:
        pairs = enumerate(zip(found, payload.text, strict=False))
        shorter = min(len(found), len(payload.text))
        at = next((place for place, (one, other) in pairs if one != other), shorter)
        yield (
            "text_differs",
            f"from character {payload.char_start + at} on, the version has "
            f"{found[at : at + _SHOWN]!r} and the point {payload.text[at : at + _SHOWN]!r}",
        )


def _check_words(payload: Payload, evidence: Evidence) -> Iterator[_Complaint]:
    """Find characters that no word accounts for (guarantee 2); words never overlap."""
    if not evidence.pages:
        return
    words = evidence.words(payload.char_start, payload.char_end)
    starts = [payload.char_start, *(word.char_end for word in words)]
    ends = [*(word.char_start for word in words), payload.char_end]
    between = [evidence.extraction.text[a:b].strip() for a, b in zip(starts, ends, strict=True)]
    lost = [repr(run[:_SHOWN]) for run in between if run]
    if lost:
        yield "no_word", f"no word on a page holds {', '.join(lost[:5])} ({len(lost)} such runs)"


def _check_pages(payload: Payload, evidence: Evidence) -> Iterator[_Complaint]:
    """Compare the page numbers with those of the words (guarantee 3)."""
    pages = [word.page for word in evidence.words(payload.char_start, payload.char_end)]
    first, last = (min(pages), max(pages)) if pages else (None, None)
    if (payload.page_first, payload.page_last) != (first, last):
        yield (
            "page_differs",
            f"it says pages {payload.page_first} to {payload.page_last}, its words are on "
            f"{first} to {last}",
        )
        return
    label = evidence.pages[first].label if first in evidence.pages else None
    if payload.page_label != label:
        yield "page_label", f"it says page label {payload.page_label!r}, the page has {label!r}"


def _check_boxes(payload: Payload, evidence: Evidence) -> Iterator[_Complaint]:
    """Compare the boxes with the hulls of the words by line, and with the page (guarantee 2)."""
    hulls = evidence.boxes(payload.char_start, payload.char_end)
    if len(hulls) != len(payload.boxes):
        yield "box_differs", f"it has {len(payload.boxes)} boxes, its words make {len(hulls)} lines"
    for number, (box, hull) in enumerate(zip(payload.boxes, hulls, strict=False), start=1):
        if box.page != hull.page or not _same_place(box, hull):
            yield "box_differs", f"box {number} is {_shown(box)}, its words are in {_shown(hull)}"
    for number, box in enumerate(payload.boxes, start=1):
        page = evidence.pages.get(box.page)
        if page is None:
            yield "box_outside", f"box {number} is on page {box.page}, which does not exist"
        elif not (
            -_POINTS <= box.x0 < box.x1 <= page.width + _POINTS
            and -_POINTS <= box.y0 < box.y1 <= page.height + _POINTS
        ):
            yield (
                "box_outside",
                f"box {number} is {_shown(box)}, which is empty or leaves the page of "
                f"{page.width:g} × {page.height:g} points",
            )


POINT_CHECKS: dict[str, Callable[[Payload, Evidence], Iterator[_Complaint]]] = {
    "identity": _check_identity,
    "text": _check_hash,
    "offsets": _check_offsets,
    "words": _check_words,
    "pages": _check_pages,
    "boxes": _check_boxes,
}
"""What is checked of each point, by name; every check yields a code and a message per fault."""


def _check_unchanged(
    point_id: str, point: Mapping[str, Any], expected: Payload
) -> Iterator[AuditFinding]:
    """Compare with what was written, but for what publishing and retirement may change."""
    written = expected.to_point()
    differing = [
        name
        for name in sorted(written.keys() | point.keys())
        if name not in MUTABLE_FIELDS
        and (name not in written or name not in point or not _same(point[name], written[name]))
    ]
    if differing:
        message = f"not what was loaded: {', '.join(differing)}"
        yield AuditFinding(point_id, "payload_differs", message)


def chunker_version(pipeline_version: str) -> str:
    """Return the chunker's part of a point's ``pipeline_version``; empty where it has none."""
    return pipeline_version.rpartition(".chunk.")[2] if ".chunk." in pipeline_version else ""


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) or isinstance(other, float):
        return (
            isinstance(one, int | float)
            and isinstance(other, int | float)
            and abs(one - other) <= _NUMBER
        )
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _same_place(one: PageBox, other: PageBox) -> bool:
    return all(
        abs(getattr(one, side) - getattr(other, side)) <= _POINTS
        for side in ("x0", "y0", "x1", "y1")
    )


def _shown(box: PageBox) -> str:
    return f"page {box.page} ({box.x0:.1f}, {box.y0:.1f}, {box.x1:.1f}, {box.y1:.1f})"

"""Comparing: from two extractions to what changed, with the places of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ingest.audit import Evidence
from ingest.diff.align import Pair, align, similarity
from ingest.diff.clauses import Clause, clauses_of, number_of, rejoined
from ingest.diff.model import (
    ChangeCounts,
    ClauseChange,
    ClauseSpan,
    ClauseStatus,
    ComparedVersion,
    Span,
    VersionDiff,
    WordChange,
)
from ingest.diff.words import RunKind, tokens_of, word_runs
from schemas.base import sha256_text
from schemas.document import Extraction

_LABEL = 80
"""Characters of a heading that a label shows."""


def compare(
    before: Extraction,
    after: Extraction,
    *,
    doc_id: str,
    title: str,
    versions: tuple[ComparedVersion, ComparedVersion],
) -> VersionDiff:
    """Align two versions clause by clause and find the words that changed.

    Each non-blank character of each body is in exactly one clause of the result. Texts are given
    as far as the versions' licences let them be shown.
    """
    left, right = clauses_of(before), clauses_of(after)
    left, right = rejoined(left, right, before), rejoined(right, left, after)
    shown = all(version.display_allowed for version in versions)
    limits = [one.max_quote_chars for one in versions if one.max_quote_chars is not None]
    limit = (min(limits) if limits else None) if shown else 0
    sides = _Side(before, left, limit), _Side(after, right, limit)
    changes = tuple(_change(pair, *sides) for pair in align(left, right))
    counts = Counter(change.status for change in changes)
    return VersionDiff(
        doc_id=doc_id,
        title=title,
        before=versions[0],
        after=versions[1],
        counts=ChangeCounts(
            unchanged=counts["unchanged"],
            changed=counts["changed"],
            moved=counts["moved"],
            added=counts["added"],
            removed=counts["removed"],
            renumbered=sum(change.renumbered for change in changes),
        ),
        clauses=changes,
    )


class _Side:
    """A version's clauses with the evidence for them."""

    def __init__(
        self, extraction: Extraction, clauses: Sequence[Clause], limit: int | None
    ) -> None:
        self.clauses = clauses
        self._evidence = Evidence(extraction)
        self._text = extraction.text
        self._limit = limit

    def clause(self, index: int | None) -> ClauseSpan | None:
        if index is None:
            return None
        clause = self.clauses[index]
        return ClauseSpan(
            **dict(self._span(clause.start, clause.end, self._may_quote(clause))),
            kind=clause.kind,
            number=clause.number,
            section=clause.path,
            label=label_of(clause),
            text_sha256=sha256_text(clause.key),
        )

    def runs(
        self, clause: Clause, runs: Sequence[tuple[RunKind, tuple[int, int] | None]]
    ) -> list[Span | None]:
        """Return the spans of a clause's runs.

        Of a clause that is longer than a quotation may be, only the changed words have their text,
        as many of them as a quotation may have.
        """
        whole = self._may_quote(clause)
        left = self._limit or 0
        spans: list[Span | None] = []
        for kind, run in runs:
            if run is None:
                spans.append(None)
                continue
            start, end = run
            quoted = kind != "equal" and end - start <= left
            left -= (end - start) * quoted
            spans.append(self._span(start, end, whole or quoted))
        return spans

    def _may_quote(self, clause: Clause) -> bool:
        return self._limit is None or clause.end - clause.start <= self._limit

    def _span(self, start: int, end: int, quoted: bool) -> Span:
        boxes = self._evidence.boxes(start, end)
        pages = [box.page for box in boxes]
        return Span(
            char_start=start,
            char_end=end,
            page_first=min(pages, default=None),
            page_last=max(pages, default=None),
            boxes=tuple(boxes),
            text=self._text[start:end] if quoted else None,
        )


def _change(pair: Pair, left: _Side, right: _Side) -> ClauseChange:
    before, after = left.clause(pair.before), right.clause(pair.after)
    status: ClauseStatus
    if pair.before is None or pair.after is None:
        status = "added" if pair.before is None else "removed"
        return ClauseChange(
            status=status,
            moved=False,
            renumbered=False,
            similarity=None,
            before=before,
            after=after,
        )
    one, other = left.clauses[pair.before], right.clauses[pair.after]
    same = one.key == other.key
    renumbered = not same and one.body == other.body
    if same or renumbered:
        status = "moved" if pair.moved else "unchanged" if same else "changed"
    else:
        status = "changed"
    return ClauseChange(
        status=status,
        moved=pair.moved,
        renumbered=renumbered,
        similarity=1.0 if same else round(similarity(one, other), 3),
        before=before,
        after=after,
        words=() if same else _words(one, other, left, right),
    )


def _words(one: Clause, other: Clause, left: _Side, right: _Side) -> tuple[WordChange, ...]:
    runs = word_runs(tokens_of(one.text, one.start), tokens_of(other.text, other.start))
    before = left.runs(one, [(run.kind, run.before) for run in runs])
    after = right.runs(other, [(run.kind, run.after) for run in runs])
    return tuple(
        WordChange(kind=run.kind, before=old, after=new)
        for run, old, new in zip(runs, before, after, strict=True)
    )


def label_of(clause: Clause) -> str:
    """Return what a reader calls the clause: its number and the heading that it stands under."""
    heading = _short(clause.path[-1]) if clause.path else ""
    if clause.kind in ("title", "heading") or clause.number is None:
        return _named(heading) or clause.kind.replace("_", " ")
    if not heading:
        return _sign(clause.number)
    above, rest = number_of(heading, "heading")
    if above is not None and clause.number.startswith(f"{above}."):
        # "7.2" under "7 Notices" says both.
        return f"{_sign(clause.number)} {heading[rest:].strip()}".rstrip()
    return f"{_named(heading)} › {_sign(clause.number)}"


def _named(heading: str) -> str:
    number, rest = number_of(heading, "heading")
    return heading if number is None else f"{_sign(number)} {heading[rest:].strip()}".rstrip()


def _sign(number: str) -> str:
    return f"§{number}" if number[0].isdigit() else number


def _short(text: str) -> str:
    return text if len(text) <= _LABEL else text[: _LABEL - 1].rstrip() + "…"

"""What a comparison of two versions found: frozen records, printed as JSON as they are."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from schemas.base import Model, Sha256, UtcDatetime
from schemas.chunk import PageBox
from schemas.document import ElementKind

ClauseStatus = Literal["unchanged", "changed", "moved", "added", "removed"]
"""changed: other words or another number; moved: the same words at another place."""


class Span(Model):
    """A run of a version's text, and where it is on the pages."""

    char_start: Annotated[int, Field(ge=0)]
    char_end: Annotated[int, Field(ge=1)]
    page_first: Annotated[int, Field(ge=1)] | None
    page_last: Annotated[int, Field(ge=1)] | None
    """Physical pages; None where the format has none."""
    boxes: tuple[PageBox, ...]
    """One box per line and page; empty where the format has no pages."""
    text: str | None
    """The version's characters; None where the licence does not let them be shown."""


class ClauseSpan(Span):
    """A clause of one version."""

    kind: ElementKind
    number: str | None
    """As it stands there, such as "7.2" or "(a)"; None where it has none."""
    section: tuple[str, ...]
    """Headings above and, for a heading, its own text; the highest first."""
    label: str
    """What to call it in a list: its number and its heading."""
    text_sha256: Sha256
    """Of its words and marks with one space between any two: equal for equal clauses."""


class WordChange(Model):
    """A run of words in both versions (equal), in the first alone, or in the second alone."""

    kind: Literal["equal", "delete", "insert"]
    before: Span | None
    after: Span | None


class ClauseChange(Model):
    """A clause, as it is in each of the two versions."""

    status: ClauseStatus
    moved: bool
    """Whether it stands at another place among its neighbours, whatever else changed."""
    renumbered: bool
    """Whether its number is other and all the rest is the same."""
    similarity: Annotated[float, Field(ge=0, le=1)] | None
    """Share of the words that stayed; None for what was added or removed."""
    before: ClauseSpan | None
    after: ClauseSpan | None
    words: tuple[WordChange, ...] = ()
    """What turns one into the other; empty where the words are the same, or one side is missing."""


class ComparedVersion(Model):
    """One of the two versions."""

    version: int
    version_label: str | None
    source_key: str
    source_uri: str
    media_type: str
    effective_from: UtcDatetime
    effective_until: UtcDatetime
    doc_sha256: Sha256
    text_sha256: Sha256
    pages: int
    """0 where the format has none."""
    licence_id: str
    attribution_text: str | None
    """The credit line to show with it; None where none is required."""
    display_allowed: bool
    """Whether its text and its pages may be shown to a reader now."""
    max_quote_chars: int | None
    """Longest quotation; None where there is no limit."""


class ChangeCounts(Model):
    """Clauses by status."""

    unchanged: int
    changed: int
    moved: int
    added: int
    removed: int
    renumbered: int
    """Of those changed or moved: by their number alone."""


class VersionDiff(Model):
    """Two versions of a document, aligned clause by clause."""

    doc_id: str
    title: str
    before: ComparedVersion
    after: ComparedVersion
    counts: ChangeCounts
    clauses: tuple[ClauseChange, ...]
    """All of both versions, in reading order."""

    @property
    def display_allowed(self) -> bool:
        """Whether the texts may be shown: both versions have to allow it."""
        return self.before.display_allowed and self.after.display_allowed

    @property
    def max_quote_chars(self) -> int | None:
        """The narrower of the two limits; None where neither has one."""
        limits = (self.before.max_quote_chars, self.after.max_quote_chars)
        return min((limit for limit in limits if limit is not None), default=None)

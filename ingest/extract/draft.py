"""What a reader of a format is given, and what it hands back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ingest.errors import ItemError
from ingest.settings import ExtractionSettings
from schemas.document import Element, ExtractionWarning, FileDates, MemberProblem, Page, Word


@dataclass(frozen=True)
class SourceBytes:
    """A document's bytes and what is known about them."""

    data: bytes
    name: str
    """File name, for messages."""
    media_type: str
    options: Mapping[str, Any]
    settings: ExtractionSettings


@dataclass(frozen=True, slots=True)
class Member:
    """A file inside a document: a member of an archive, an attachment."""

    name: str
    """Path inside the document, with "/" between folders; safe: relative, without ".."."""
    data: bytes
    media_type: str | None = None
    """As the document declares it."""


@dataclass
class Draft:
    """An extraction that lacks only what all formats have in common."""

    text: str
    body_end: int
    pages: list[Page] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)
    elements: list[Element] = field(default_factory=list)
    warnings: list[ExtractionWarning] = field(default_factory=list)
    title: str | None = None
    author: str | None = None
    dates: FileDates = field(default_factory=FileDates)
    members: list[Member] = field(default_factory=list)
    member_problems: list[MemberProblem] = field(default_factory=list)


class TextBuilder:
    """Builds a text from runs and keeps count of where each one stands."""

    def __init__(self) -> None:
        self.length = 0
        self._parts: list[str] = []

    def add(self, text: str) -> tuple[int, int]:
        """Append ``text`` and return where it starts and ends."""
        start = self.length
        self._parts.append(text)
        self.length += len(text)
        return start, self.length

    def separate(self, separator: str) -> None:
        """Append ``separator`` unless nothing stands before it."""
        if self.length:
            self.add(separator)

    @property
    def text(self) -> str:
        """All that was added."""
        return "".join(self._parts)


def damaged(name: str, why: object) -> ItemError:
    """Return the error for bytes that cannot be read as what they claim to be."""
    return ItemError(
        "damaged",
        f"{name}: the file is damaged and could not be repaired ({why}). "
        "Get an intact copy from its source, then retry the item.",
    )


def too_many_pages(name: str, pages: int, limit: int) -> ItemError:
    """Return the error for a document over the limit of pages."""
    return ItemError(
        "too_many_pages",
        f"{name}: {pages:,} pages are more than the limit of {limit:,}. Split the document, or "
        "raise MUNIMENT_EXTRACTION__LIMITS__PAGES, then retry the item.",
    )

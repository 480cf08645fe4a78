"""Pictures: the pages on which something changed, with the changed words marked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain

from ingest.diff.model import ClauseChange, Span, VersionDiff
from ingest.errors import FatalError, ItemError
from ingest.pictures import draw_page
from ingest.vault import Vault
from schemas.chunk import PageBox
from schemas.document import Extraction

DPI = 72
"""Of the pictures: enough to read a page, and a page of 24 of them can still be sent by mail."""

MOST = 24
"""Pictures of both versions together; what is left out is said."""


@dataclass(frozen=True, slots=True)
class PagePicture:
    """One page of one version."""

    page: int
    png: bytes
    width: int
    height: int
    """Points of the displayed page."""


@dataclass
class PagePictures:
    """The pictures of both versions, and why some are missing."""

    before: list[PagePicture] = field(default_factory=list)
    after: list[PagePicture] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def marks_of(change: ClauseChange, side: str) -> list[Span]:
    """Return what is marked of a change on a side: its changed words, or all of the clause."""
    clause: Span | None = getattr(change, side)
    if clause is None or change.status == "unchanged":
        return []
    if change.words and change.status == "changed":
        runs = (getattr(word, side) for word in change.words if word.kind != "equal")
        return [run for run in runs if run is not None]
    return [clause]


def draw_pages(
    found: VersionDiff, before: Extraction, after: Extraction, vault: Vault, *, most: int = MOST
) -> PagePictures:
    """Draw the pages that have changes, at most ``most``, the first ones of each version.

    A page that cannot be drawn is a note, not an error: the comparison does not rest on it.
    """
    pictures = PagePictures()
    if not found.display_allowed or found.max_quote_chars is not None:
        if found.before.pages or found.after.pages:
            pictures.notes.append("The licence does not allow whole pages to be shown.")
        return pictures
    marked = {side: _boxes_by_page(found, side) for side in ("before", "after")}
    share = _shares(len(marked["before"]), len(marked["after"]), most)
    for side, extraction, room in zip(marked, (before, after), share, strict=True):
        pages = sorted(marked[side])
        left_out = pages[room:]
        if left_out:
            version = getattr(found, side).version
            pictures.notes.append(
                f"Of version {version}, pages with changes that are not drawn: "
                f"{_numbers(left_out)}."
            )
        drawn = [(page, marked[side][page]) for page in pages[:room]]
        getattr(pictures, side).extend(_draw(extraction, drawn, vault, pictures.notes))
    return pictures


def _shares(before: int, after: int, most: int) -> tuple[int, int]:
    """Divide the room evenly; what one version does not need, the other has."""
    half = most // 2
    first = min(before, max(half, most - after))
    return first, most - first


def _boxes_by_page(found: VersionDiff, side: str) -> dict[int, list[PageBox]]:
    pages: dict[int, list[PageBox]] = {}
    marks = chain.from_iterable(marks_of(change, side) for change in found.clauses)
    for box in chain.from_iterable(mark.boxes for mark in marks):
        pages.setdefault(box.page, []).append(box)
    return pages


def _draw(
    extraction: Extraction,
    pages: list[tuple[int, list[PageBox]]],
    vault: Vault,
    notes: list[str],
) -> Iterator[PagePicture]:
    if not pages:
        return
    by_number = {page.number: page for page in extraction.pages}
    try:
        data = vault.get(extraction.doc_sha256)
        for number, boxes in pages:
            page = by_number[number]
            png = draw_page(data, extraction.media_type, page, boxes, dpi=DPI)
            yield PagePicture(number, png, round(page.width), round(page.height))
    except (FatalError, ItemError) as error:
        notes.append(error.message)


def _numbers(pages: list[int]) -> str:
    """Write page numbers for people: "3–5, 9"."""
    runs: list[list[int]] = []
    for page in pages:
        if runs and page == runs[-1][-1] + 1:
            runs[-1].append(page)
        else:
            runs.append([page])
    return ", ".join(f"{run[0]}–{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)

"""The comparison as one HTML page: the two versions side by side, with the changed words marked.

The page is whole in itself: no file beside it, no script, nothing from the network. Every value of
a document is escaped.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Literal

from jinja2 import Environment, PackageLoader, StrictUndefined

from ingest.diff.model import ClauseChange, ClauseSpan, Span, VersionDiff
from ingest.diff.pictures import PagePicture, PagePictures, marks_of
from ingest.diff.text import credits_of, label_line, page_of
from schemas.base import OPEN_END

Side = Literal["before", "after"]
SIDES: tuple[Side, Side] = ("before", "after")


@dataclass(frozen=True, slots=True)
class _Segment:
    """A run of a clause's text as the page shows it."""

    kind: Literal["equal", "delete", "insert", "left out"]
    text: str


@dataclass(frozen=True, slots=True)
class _Cell:
    """A clause of one version as the page shows it."""

    clause: ClauseSpan
    pages: str
    picture: str | None
    """Anchor of the picture of its first page with a mark; None where there is none."""
    segments: Sequence[_Segment]


@dataclass(frozen=True, slots=True)
class _Row:
    """A clause in both versions."""

    anchor: str
    change: ClauseChange
    label: str
    before: _Cell | None
    after: _Cell | None


@dataclass(frozen=True, slots=True)
class _Section:
    """A change, or a run of clauses that are the same in both versions."""

    is_unchanged: bool
    rows: Sequence[_Row]


def write_page(found: VersionDiff, pictures: PagePictures, out: Path) -> Path:
    """Write the comparison as one HTML file at ``out``, making its folder, and return its path.

    The file is replaced at once, so that whoever has it open never reads half of it.
    """
    drawn = {
        (side, picture.page): f"{side}-page-{picture.page}"
        for side in SIDES
        for picture in getattr(pictures, side)
    }
    sections = list(_sections(found, drawn))
    page = (
        _environment()
        .get_template("diff.html.j2")
        .render(
            found=found,
            sides=SIDES,
            open_end=OPEN_END,
            sections=sections,
            changes=[
                row for section in sections if not section.is_unchanged for row in section.rows
            ],
            pictures=pictures,
            credits=credits_of(found),
        )
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    draft = out.with_name(f".{out.name}.part")
    # A file's name may hold a lone surrogate, which UTF-8 can't write.
    draft.write_bytes(page.encode("utf-8", "backslashreplace"))
    return draft.replace(out)


def _sections(found: VersionDiff, drawn: dict[tuple[Side, int], str]) -> Iterator[_Section]:
    numbered = [
        _Row(
            anchor=f"c{number}",
            change=change,
            label=label_line(change),
            before=_cell(change, "before", drawn),
            after=_cell(change, "after", drawn),
        )
        for number, change in enumerate(found.clauses, start=1)
    ]
    for unchanged, rows in groupby(numbered, key=lambda row: row.change.status == "unchanged"):
        if unchanged:
            yield _Section(True, list(rows))
        else:
            yield from (_Section(False, [row]) for row in rows)


def _cell(change: ClauseChange, side: Side, drawn: dict[tuple[Side, int], str]) -> _Cell | None:
    clause: ClauseSpan | None = getattr(change, side)
    if clause is None:
        return None
    pages = sorted({box.page for mark in marks_of(change, side) for box in mark.boxes})
    anchors = [drawn[side, page] for page in pages if (side, page) in drawn]
    return _Cell(
        clause=clause,
        pages=page_of(clause),
        picture=anchors[0] if anchors else None,
        segments=list(_segments(change, clause, side)),
    )


def _segments(change: ClauseChange, clause: ClauseSpan, side: Side) -> Iterator[_Segment]:
    if not change.words:
        yield _Segment("equal", clause.text) if clause.text else _Segment("left out", "…")
        return
    end = clause.char_start
    for word in change.words:
        run: Span | None = getattr(word, side)
        if run is None:
            continue
        if run.char_start > end:
            yield _Segment("equal", " ")
        end = run.char_end
        yield _Segment("left out" if run.text is None else word.kind, run.text or "…")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("ingest.diff"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(date=_date, number=_number, data_uri=_data_uri)
    return environment


def _date(value: datetime) -> str:
    """Write an instant for people, in UTC; midnight as the day alone."""
    day = f"{value.day} {value:%b %Y}"
    return day if value.time() == time.min else f"{day}, {value:%H:%M} UTC"


def _number(value: int) -> str:
    """Write a count with thin spaces between the thousands (ISO 80000-1 §7.3.1)."""
    return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def _data_uri(picture: PagePicture) -> str:
    return f"data:image/png;base64,{b64encode(picture.png).decode('ascii')}"

"""Typesetting for the examples: HTML parts onto A4 pages with columns, charts and footnotes.

MuPDF's Story sets the text; this module decides which boxes it may fill.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pymupdf

PAGE = pymupdf.paper_rect("a4")
MARGIN_X, TOP, BOTTOM = 70.0, 72.0, 768.0
GUTTER, CHART_HEIGHT, LEAST_HEIGHT = 22.0, 116.0, 60.0
SANS, SANS_BOLD = pymupdf.Font("helv"), pymupdf.Font("hebo")
GREY = (0.35, 0.35, 0.35)


@dataclass
class Layout:
    """A typeset document, and on which page and where each element with an id came to stand."""

    document: pymupdf.Document
    places: dict[str, tuple[int, pymupdf.Rect]] = field(default_factory=dict)


def typeset(parts: Iterable[tuple[str, str]], css: str, notes: Sequence[str] = ()) -> Layout:
    """Set ``parts``, each a kind (cover, body, columns, chart NAME) and its HTML, on A4 pages.

    A cover and columns end their page. A chart is room to draw in, with the HTML below it.

    Footnotes stand at the foot of the page that refers to them. Room for them can push the
    reference to the next page, so pages are set again, with room that never shrinks, until
    nothing moves.
    """
    parts = list(parts)
    room: dict[int, float] = {}
    for _ in range(6):
        layout = _set_pages(parts, css, room)
        by_page: dict[int, list[int]] = {}
        for number in range(len(notes)):
            by_page.setdefault(layout.places[f"fn{number + 1}"][0], []).append(number)
        html = {
            page: "".join(f'<p class="note"><sup>{n + 1}</sup> {notes[n]}</p>' for n in numbers)
            for page, numbers in by_page.items()
        }
        width = PAGE.width - 2 * MARGIN_X
        needed = {
            page: pymupdf.Story(text, user_css=css).fit_height(width).rect.height + 10
            for page, text in html.items()
        }
        if all(height <= room.get(page, 0) for page, height in needed.items()):
            break
        room = {page: max(room.get(page, 0), needed.get(page, 0)) for page in room | needed}
    else:
        raise RuntimeError("footnotes do not settle; move one of the references")
    for page, text in html.items():
        top = BOTTOM - needed[page]
        sheet = layout.document[page]
        sheet.draw_line((MARGIN_X, top + 4), (MARGIN_X + 110, top + 4), color=GREY, width=0.5)
        sheet.insert_htmlbox((MARGIN_X, top + 8, PAGE.width - MARGIN_X, BOTTOM + 4), text, css=css)
    return layout


def _set_pages(parts: Sequence[tuple[str, str]], css: str, room: Mapping[int, float]) -> Layout:
    """Set the parts one below the other; ``room`` is kept free at the foot of its pages."""
    buffer = io.BytesIO()
    writer = pymupdf.DocumentWriter(buffer)
    places: dict[str, tuple[int, pymupdf.Rect]] = {}
    page, y, device = 0, TOP, writer.begin_page(PAGE)

    def note_place(position: Any) -> None:
        if position.id and position.open_close & 1:
            places.setdefault(position.id, (position.page, pymupdf.Rect(position.rect)))

    for kind, html in parts:
        story = pymupdf.Story(html, user_css=css)
        needed = CHART_HEIGHT + 40 if kind.startswith("chart") else LEAST_HEIGHT
        start = (page, y) if y + needed <= BOTTOM - room.get(page, 0) else (page + 1, TOP)
        for target, boxes in _plan(story, kind, *start, room):
            if target > page:
                writer.end_page()
                page, y, device = target, TOP, writer.begin_page(PAGE)
            if kind.startswith("chart") and (page, y) == start:
                chart = pymupdf.Rect(MARGIN_X, y + 4, PAGE.width - MARGIN_X, y + CHART_HEIGHT)
                places[kind] = (page, chart)
            lowest = y
            for box in boxes:
                _, filled = story.place(box)
                story.element_positions(note_place, {"page": page})
                story.draw(device)
                lowest = max(lowest, filled[3])
            y = lowest
        if kind in ("cover", "columns"):
            y = BOTTOM
    writer.end_page()
    writer.close()
    document = pymupdf.open("pdf", buffer.getvalue())
    for sheet in document:
        sheet.wrap_contents()
    return Layout(document, places)


def _plan(
    story: pymupdf.Story, kind: str, page: int, y: float, room: Mapping[int, float]
) -> list[tuple[int, list[pymupdf.Rect]]]:
    """Return the boxes, page by page, that hold all of ``story``; columns end at one height."""
    if kind.startswith("chart"):
        y += CHART_HEIGHT
    right = PAGE.width - MARGIN_X
    half = (right - MARGIN_X - GUTTER) / 2
    sides = [(MARGIN_X, right)]
    if kind == "columns":
        sides = [(MARGIN_X, MARGIN_X + half), (right - half, right)]
    plan: list[tuple[int, list[pymupdf.Rect]]] = []

    def holds(plan: Sequence[tuple[int, list[pymupdf.Rect]]]) -> bool:
        story.reset()
        for _, boxes in plan:
            for box in boxes:
                more, _ = story.place(box)
                story.draw(None)
                if not more:
                    return True
        return False

    while not plan or not holds(plan):
        top, bottom = TOP if plan else y, BOTTOM - room.get(page + len(plan), 0)
        plan.append((page + len(plan), [pymupdf.Rect(a, top, b, bottom) for a, b in sides]))
    while kind == "columns":
        last, boxes = plan[-1]
        shorter = [*plan[:-1], (last, [box - (0, 0, 0, 4) for box in boxes])]
        if not holds(shorter):
            break
        plan = shorter
    story.reset()
    return plan


def line_of_text(
    page: pymupdf.Page, at: tuple[float, float], text: str, size: float,
    align: str = "left", font: pymupdf.Font = SANS, colour: tuple[float, ...] = GREY,
) -> None:  # fmt: skip
    """Write one line with its baseline at ``at``, which is its left end, middle or right end."""
    shift = {"left": 0.0, "middle": 0.5, "right": 1.0}[align] * font.text_length(text, size)
    writer = pymupdf.TextWriter(page.rect)
    writer.append((at[0] - shift, at[1]), text, font=font, fontsize=size)
    writer.write_text(page, color=colour)


def save(document: pymupdf.Document, path: Path, title: str, author: str, date: str) -> None:
    """Write the PDF with fixed metadata and without a random file id."""
    stamp = "D:" + re.sub(r"\D", "", date)[:14] + "Z"
    document.set_metadata(
        {
            "title": title,
            "author": author,
            "producer": "make_examples.py",
            "creationDate": stamp,
            "modDate": stamp,
        }
    )
    document.subset_fonts()
    path.write_bytes(document.tobytes(garbage=4, deflate=True, no_new_id=True))

"""A small PDF with its extraction and the points of it, each right in every respect."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pymupdf
from points import payload

from ingest.vault import Vault
from schemas.base import sha256_bytes
from schemas.chunk import PageBox
from schemas.document import Extraction, Page, Word
from schemas.payload import Payload

RED = (1, 0, 0)
PASSAGE = ("The supplier delivers within", "fourteen days of the order.")
"""Printed in red, so that a test finds its ink without asking for boxes."""

Line = tuple[tuple[float, float], str, tuple[float, float, float]]


def lines_of(first: str, last: str) -> list[Line]:
    """Return a page's lines, each an origin, a text and a colour, with the passage in between."""
    black = (0, 0, 0)
    return [
        ((72, 100), first, black),
        *(((72, 130 + 16 * number), line, RED) for number, line in enumerate(PASSAGE)),
        ((72, 180), last, black),
    ]


def make_pdf(
    *pages: list[Line], rotation: int = 0, crop: tuple[float, float, float, float] | None = None
) -> bytes:
    document = pymupdf.open()
    for lines in pages:
        page = document.new_page(width=420, height=300)
        for origin, text, color in lines:
            page.insert_text(origin, text, fontsize=12, color=color)
        if crop is not None:
            page.set_cropbox(pymupdf.Rect(crop))
        page.set_rotation(rotation)
    data: bytes = document.tobytes(no_new_id=True)
    document.close()
    return data


def extraction_of(data: bytes) -> Extraction:
    """Read a PDF's words; a line a line, without furniture or elements."""
    text, words, pages, line = "", [], [], -1
    with pymupdf.open(stream=data, filetype="pdf") as document:
        for number, page in enumerate(document, start=1):
            pages.append(
                Page(
                    number=number,
                    width=page.rect.width,
                    height=page.rect.height,
                    rotation=page.rotation,
                    label=f"A-{number}",
                    text_source="digital",
                )
            )
            found = page.get_text("words")
            for _, run in groupby(found, key=lambda word: word[5:7]):
                line += 1
                for x0, y0, x1, y1, string, *_ in run:
                    box = (pymupdf.Rect(x0, y0, x1, y1) * page.rotation_matrix).normalize()
                    words.append(
                        Word(
                            char_start=len(text),
                            char_end=len(text) + len(string),
                            page=number,
                            line=line,
                            box=tuple(box),
                            confidence=None,
                            source="digital",
                        )
                    )
                    text += string + " "
                text = text[:-1] + "\n"
    return Extraction(
        media_type="application/pdf",
        extractor_version="3",
        doc_sha256=sha256_bytes(data),
        text=text,
        body_end=len(text),
        pages=tuple(pages),
        words=tuple(words),
    )


def point_at(extraction: Extraction, start: int, end: int, **changes: Any) -> Payload:
    """Return the payload of a passage, with the boxes and pages of its words."""
    words = [word for word in extraction.words if start < word.char_end and word.char_start < end]
    boxes = []
    for (page, _), run in groupby(words, key=lambda word: (word.page, word.line)):
        left, top, right, bottom = zip(*(word.box for word in run), strict=True)
        boxes.append(PageBox(page=page, x0=min(left), y0=min(top), x1=max(right), y1=max(bottom)))
    pages = [word.page for word in words]
    located = {
        "page_first": min(pages),
        "page_last": max(pages),
        "page_label": f"A-{min(pages)}",
        "boxes": tuple(boxes),
        "doc_sha256": extraction.doc_sha256,
    }
    return payload(extraction.text[start:end], char_start=start, **{**located, **changes})


@dataclass
class Case:
    """One version with everything that its proof needs."""

    data: bytes
    extraction: Extraction
    points: list[Payload]
    vault: Vault
    vault_folder: Path

    @property
    def passage(self) -> Payload:
        return self.points[1]

    def in_index(self) -> dict[str, dict[str, Any]]:
        """Return the points as an index gives them back."""
        return {point.chunk_id: point.to_point() for point in self.points}

    def stored_file(self) -> Path:
        """Return the vault's file of the source bytes."""
        (path,) = (found for found in self.vault_folder.rglob("*") if found.is_file())
        return path


def make_case(folder: Path) -> Case:
    """Return a two-page document in three points: before, the passage over the break, after."""
    data = make_pdf(
        [*lines_of("1. Definitions", "Notice is thirty days")],
        [*lines_of("and is given in writing.", "2. Miscellaneous")],
    )
    extraction = extraction_of(data)
    text = extraction.text
    first = text.index("The supplier")
    last = text.index("in writing.") + len("in writing.")
    vault_folder = folder / "vault"
    vault = Vault(str(vault_folder))
    vault.put(data)
    points = [
        point_at(extraction, 0, first - 1),
        point_at(extraction, first, last),
        point_at(extraction, last + 1, len(text.rstrip())),
    ]
    return Case(data, extraction, points, vault, vault_folder)

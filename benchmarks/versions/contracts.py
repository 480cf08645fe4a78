"""The contracts that are changed, and a long one set as a PDF."""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ingest.errors import ItemError
from ingest.extract import extract
from ingest.settings import ExtractionSettings
from ocr.mupdf import pymupdf
from schemas.document import Extraction

SETS = {
    "contracts_text": "*.txt",
    "contracts_nda_pdf": "*.pdf",
    "contracts_amendments": "*/*.txt",
    "contract_versions": "*/*.md",
}
LEAST_CHARACTERS = 12_000
"""Some four pages; of a shorter contract most is touched by any change."""
_PAGE = (595.0, 842.0)
_MARGIN = 60.0
_STYLE = "body {font-family: serif; font-size: 10pt} p {margin: 0 0 8pt 0; text-align: left}"


@dataclass(frozen=True, slots=True)
class Contract:
    """One contract as it was read."""

    set: str
    name: str
    extraction: Extraction


def read(data: bytes, name: str) -> Extraction:
    """Return the extraction of a file. The layout model is left out: it only adds minutes."""
    return extract(data, name=name, settings=ExtractionSettings(layout=False, workers=1))


def contracts(corpus: Path, per_set: int) -> Iterator[Contract]:
    """Yield the long contracts of each set that have a text layer, of each agreement one."""
    for name, pattern in SETS.items():
        taken = 0
        seen: set[Path] = set()
        for path in sorted((corpus / name).glob(pattern)):
            if taken == per_set:
                break
            if name == "contract_versions" and path.parent in seen:
                continue
            seen.add(path.parent)
            data = path.read_bytes()
            if path.suffix == ".pdf" and not _has_text(data):
                continue
            try:
                extraction = read(data, path.name)
            except ItemError:
                continue
            if extraction.body_end >= LEAST_CHARACTERS:
                taken += 1
                yield Contract(name, path.name, extraction)


def histories(corpus: Path) -> Iterator[tuple[str, list[Path]]]:
    """Yield the agreements whose versions are known, with their files in order."""
    for folder in sorted(
        path for path in (corpus / "contract_versions").iterdir() if path.is_dir()
    ):
        yield folder.name, sorted(folder.glob("*.md"))


def paragraphs(corpus: Path, pages: int) -> list[str]:
    """Return the paragraphs of filed contracts, one after the other, for so many pages."""
    made: list[str] = []
    for path in sorted((corpus / "contracts_text").glob("*.txt")):
        for run in re.split(r"\n\s*\n", path.read_text("utf-8", errors="replace")):
            if text := " ".join(run.split()):
                made.append(text)
            if sum(map(len, made)) > pages * 4_000:
                return made
    return made


def typeset(texts: list[str]) -> bytes:
    """Return a PDF of the paragraphs, with page numbers; the same bytes each time."""
    story = pymupdf.Story(
        html="".join(f"<p>{html.escape(text)}</p>" for text in texts), user_css=_STYLE
    )
    stream = io.BytesIO()
    writer = pymupdf.DocumentWriter(stream)
    page = pymupdf.Rect(0, 0, *_PAGE)
    inside = pymupdf.Rect(_MARGIN, _MARGIN, _PAGE[0] - _MARGIN, _PAGE[1] - _MARGIN)
    more = 1
    while more:
        device = writer.begin_page(page)
        more, _ = story.place(inside)
        story.draw(device)
        writer.end_page()
    writer.close()
    document: Any = pymupdf.open(stream=stream.getvalue(), filetype="pdf")
    with document:
        for number, sheet in enumerate(document, start=1):
            sheet.insert_text((_PAGE[0] / 2, _PAGE[1] - 30), str(number), fontsize=9)
        return bytes(document.tobytes(no_new_id=True, deflate=True))


def _has_text(data: bytes) -> bool:
    document: Any = pymupdf.open(stream=data, filetype="pdf")
    with document:
        return all(page.get_text().strip() for page in document)

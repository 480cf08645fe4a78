"""Sets of real files with their ground truth, page by page.

A set is a folder with a ``MANIFEST.tsv``. Thresholds are tuned on the files whose names have an
even CRC-32 and reported on the others, which are held out.
"""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

import csv
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import lxml.html  # type: ignore[import-untyped]  # ships neither stubs nor py.typed
from PIL import Image

from benchmarks.extract.metrics import Boxed
from ocr.mupdf import pymupdf

if TYPE_CHECKING:
    from schemas.document import BoxTuple

Turn = Literal[0, 90, 180, 270]


@dataclass(frozen=True, slots=True)
class TruePage:
    """One page to read, and what is on it."""

    set: str
    path: Path
    number: int
    """Of the page in its file, from 1."""
    boxes: tuple[Boxed, ...] | None = None
    """Words or lines, boxes in shares of the page's width and height, turned upright; None where
    only the text is known."""
    text: str | None = None
    """The whole text, where boxes are not known."""
    turned: Turn = 0
    """Degrees clockwise by which the displayed content stands away from upright."""
    capitals: bool = False
    """True where the truth is written in capitals, whatever is printed; case is then ignored."""

    @property
    def name(self) -> str:
        """File and page, for messages."""
        return f"{self.path.name} p. {self.number}" if self.number > 1 else self.path.name

    @property
    def held_out(self) -> bool:
        """True where nothing was tuned on the file."""
        return is_held_out(self.path.name)

    def data(self) -> bytes:
        """Return the bytes of a file that has this page alone."""
        if self.path.suffix.lower() != ".pdf":
            return self.path.read_bytes()
        with pymupdf.open(self.path) as document:
            if document.page_count == 1:
                return self.path.read_bytes()
            document.select([self.number - 1])
            return bytes(document.tobytes())


def is_held_out(file_name: str) -> bool:
    """Say whether thresholds may not be tuned on this file."""
    return zlib.crc32(file_name.encode()) % 2 == 1


def upright(box: BoxTuple, turned: Turn) -> BoxTuple:
    """Turn a box in shares of the displayed page to one of the page with its content upright.

    Args:
        box: x0, y0, x1, y1, each 0 to 1, origin top left of the displayed page.
        turned: degrees clockwise by which the displayed content stands away from upright.
    """
    x0, y0, x1, y1 = box
    match turned:
        case 90:
            return y0, 1 - x1, y1, 1 - x0
        case 180:
            return 1 - x1, 1 - y1, 1 - x0, 1 - y0
        case 270:
            return 1 - y1, x0, 1 - y0, x1
        case _:
            return box


def load_set(corpus: Path, name: str) -> list[TruePage]:
    """Return the pages of the set ``name`` that have a ground truth, in the order of their names.

    Raises:
        KeyError: there is no such set.
        FileNotFoundError: the corpus does not have it.
    """
    load = SETS[name]
    folder = name.partition(":")[0]
    rows = _manifest(corpus / folder)
    return [
        page for file, truth in sorted(rows) for page in load(name, corpus / folder, file, truth)
    ]


def digital_files(corpus: Path, name: str) -> list[Path]:
    """Return the PDFs of a set that need no ground truth, in the order of their names."""
    return sorted((corpus / name).glob("*.pdf"))


def _manifest(folder: Path) -> list[tuple[str, str]]:
    with (folder / "MANIFEST.tsv").open(encoding="utf-8", newline="") as file:
        return [
            (row["file"], row["ground_truth"].partition(",")[0])
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]


def _made(severity: int) -> Callable[[str, Path, str, str], Iterator[TruePage]]:
    """Return the loader of the scans that were made at one severity."""

    def load(name: str, folder: Path, file: str, truth: str) -> Iterator[TruePage]:
        document = json.loads((folder / truth).read_text("utf-8"))
        if document["severity"] != severity:
            return
        for page in document["pages"]:
            size = page["width_pt"], page["height_pt"]
            turned: Turn = page["content_rotation"]
            boxes = ((word["t"], word["box"]) for word in page["words"])
            yield TruePage(
                name, folder / file, page["page"], _boxed(boxes, size, turned), turned=turned
            )

    return load


def _hocr(name: str, folder: Path, file: str, truth: str) -> Iterator[TruePage]:
    tree = lxml.html.fromstring((folder / truth).read_bytes())
    (page,) = tree.xpath("//*[@class='ocr_page']")
    _, _, width, height = _bbox(page)
    words = ((word.text_content(), _bbox(word)) for word in tree.xpath("//*[@class='ocrx_word']"))
    yield TruePage(name, folder / file, 1, _boxed(words, (width, height)))


def _bbox(element: Any) -> tuple[float, ...]:
    """Return the box in an hOCR title, in pixels (hOCR 1.2 §5.4.1)."""
    properties = [part.split() for part in element.get("title").split(";")]
    return next(tuple(map(float, rest)) for key, *rest in filter(None, properties) if key == "bbox")


def _forms(name: str, folder: Path, file: str, truth: str) -> Iterator[TruePage]:
    form = json.loads((folder / truth).read_text("utf-8"))["form"]
    words = ((word["text"], word["box"]) for field in form for word in field["words"])
    yield TruePage(name, folder / file, 1, _boxed(words, _pixels(folder / file)))


def _receipts(name: str, folder: Path, file: str, truth: str) -> Iterator[TruePage]:
    lines: list[tuple[str, tuple[float, ...]]] = []
    for row in (folder / truth).read_text("utf-8").splitlines():
        # Eight coordinates of a quadrilateral, then the text, commas and all.
        *corners, text = row.split(",", 8)
        if len(corners) == 8:
            xs, ys = list(map(float, corners[::2])), list(map(float, corners[1::2]))
            lines.append((text, (min(xs), min(ys), max(xs), max(ys))))
    yield TruePage(name, folder / file, 1, _boxed(lines, _pixels(folder / file)), capitals=True)


def _texts(name: str, folder: Path, file: str, truth: str) -> Iterator[TruePage]:
    if truth != "-":
        yield TruePage(name, folder / file, 1, text=(folder / truth).read_text("utf-8"))


def _boxed(
    runs: Iterator[tuple[str, Any]] | list[tuple[str, Any]],
    size: tuple[float, float],
    turned: Turn = 0,
) -> tuple[Boxed, ...]:
    width, height = size
    return tuple(
        Boxed(text, upright((x0 / width, y0 / height, x1 / width, y1 / height), turned))
        for text, (x0, y0, x1, y1) in runs
        if text.strip() and x0 < x1 and y0 < y1
    )


def _pixels(path: Path) -> tuple[float, float]:
    with Image.open(path) as image:
        return image.size


SETS: dict[str, Callable[[str, Path, str, str], Iterator[TruePage]]] = {
    "scans_synth:1": _made(1),
    "scans_synth:2": _made(2),
    "scans_synth:3": _made(3),
    "scans_scribe": _hocr,
    "scans_funsd": _forms,
    "scans_sroie": _receipts,
    "scans_oldbooks": _texts,
    "scans_tesseract": _texts,
}
"""Sets of scans with a ground truth; made scans are one set for each severity."""
DIGITAL_SETS = ("pdf_reports", "contracts_nda_pdf", "pdf_nasty")
"""Sets of PDFs whose digital pages are their own truth."""

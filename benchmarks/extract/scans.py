"""Scans: what the pipeline and bare Tesseract read on the same pages, and at what cost.

Each page goes, one after the other in one process and one thread, through

- the whole pipeline with its first engine alone (``ingest.extract.extract``),
- bare Tesseract: ``pytesseract`` in page mode on the very image that the pipeline rendered,
- the whole pipeline with the second engine for flagged pages.
"""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from typing import TYPE_CHECKING, Literal

import pytesseract  # type: ignore[import-untyped]  # ships neither stubs nor py.typed
from PIL import Image

from benchmarks.extract.corpora import TruePage, upright
from benchmarks.extract.instruments import Observation, Spent, observed
from benchmarks.extract.metrics import Boxed, BoxScore, TextScore, score_boxes, score_text
from ingest.errors import ItemError
from ingest.extract import extract
from ingest.settings import ExtractionSettings
from ocr.components import find_components
from ocr.engines import second_engine
from ocr.ink import uncovered_ink
from ocr.mupdf import pymupdf
from ocr.transform import Transform

if TYPE_CHECKING:
    from schemas.document import BoxTuple, Extraction, Recognition

Mode = Literal["bare", "first", "second"]
"""Bare Tesseract; the pipeline with its first engine; the pipeline with both."""
FirstEngine = Literal["auto", "tesseract", "tesserocr"]

_PAGE_MODE = "--psm 3"
_WORD_LEVEL = 5


@dataclass(frozen=True, slots=True)
class PageReading:
    """One page as read in one way, against its truth."""

    set: str
    page: str
    held_out: bool
    mode: Mode
    score: BoxScore | TextScore
    """By box where the truth has boxes."""
    spent: Spent
    engines: Spent
    """Part of ``spent`` inside OCR engines."""
    calls: int
    """Of OCR engines."""
    attempts: int = 0
    """Readings that were compared, over all areas of the page; 0 for bare Tesseract."""
    retried: bool = False
    """True where the first attempt on an area was not enough."""
    flagged: bool = False
    """True where the attempt that was kept is still not enough."""
    uncovered_ink: float | None = None
    """Of the largest area's words that were kept; None where nothing was recognised."""
    refused: str | None = None
    """Code of the error with which the pipeline refused the page."""

    @property
    def boxes(self) -> BoxScore | None:
        """The score by box; None where the truth has no boxes."""
        return self.score if isinstance(self.score, BoxScore) else None


def read_pages(
    pages: Sequence[TruePage], *, first_engine: FirstEngine, jobs: int
) -> Iterator[list[PageReading]]:
    """Yield the readings of each page as it is done, ``jobs`` pages at a time."""
    read = partial(read_page, first_engine=first_engine)
    if jobs == 1:
        _warm_up(first_engine)
        yield from map(read, pages)
        return
    with ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=_warm_up, initargs=(first_engine,)
    ) as pool:
        for future in as_completed([pool.submit(read, page) for page in pages]):
            yield future.result()


def read_page(page: TruePage, *, first_engine: FirstEngine) -> list[PageReading]:
    """Read one page in every way."""
    data = page.data()
    first, seen = _pipeline(page, data, "first", _settings(first_engine, "none"))
    bare = _bare(page, seen)
    second, _ = _pipeline(page, data, "second", _settings(first_engine, "auto"))
    return [*bare, first, second]


def _settings(first_engine: FirstEngine, second: Literal["auto", "none"]) -> ExtractionSettings:
    return ExtractionSettings(
        layout=False, ocr_engine=first_engine, ocr_second_engine=second, workers=1
    )


def _warm_up(first_engine: FirstEngine) -> None:
    """Read a small scan, so that no page pays for what is loaded once for a process.

    It is tilted, and long enough for its language to be looked for.
    """
    with pymupdf.open() as document:
        typeset = document.new_page(width=300, height=200)
        for line in range(8):
            typeset.insert_text(
                (30, 40 + 16 * line), "Warm engines read what is before them.", fontsize=11
            )
        picture = typeset.get_pixmap(dpi=200, colorspace=pymupdf.csGRAY)
    image = Image.frombytes("L", (picture.width, picture.height), picture.samples)
    image = image.rotate(1.5, Image.Resampling.BICUBIC, fillcolor=255)
    if (engine := second_engine("auto", "eng")) is not None:
        engine.recognise(image, 200)
    page = io.BytesIO()
    image.save(page, "PDF", resolution=200)
    extract(page.getvalue(), name="warm-up.pdf", settings=_settings(first_engine, "auto"))


def _pipeline(
    page: TruePage, data: bytes, mode: Mode, settings: ExtractionSettings
) -> tuple[PageReading, Observation]:
    refused: str | None = None
    extraction: Extraction | None = None
    with observed() as seen:
        started = Spent.now()
        try:
            extraction = extract(data, name=page.path.name, settings=settings)
        except ItemError as error:
            refused = error.code
        spent = Spent.now() - started
    words, text, records = ([], "", ()) if extraction is None else _contents(extraction, page)
    reading = PageReading(
        set=page.set,
        page=page.name,
        held_out=page.held_out,
        mode=mode,
        score=_score(page, words, text),
        spent=spent,
        engines=seen.engines,
        calls=seen.calls,
        attempts=sum(len(record.attempts) for record in records),
        retried=any(record.reasons for record in records),
        flagged=any(record.flagged for record in records),
        uncovered_ink=_uncovered_ink(records),
        refused=refused,
    )
    return reading, seen


def _contents(
    extraction: Extraction, page: TruePage
) -> tuple[list[Boxed], str, tuple[Recognition, ...]]:
    (read,) = extraction.pages
    words = [
        Boxed(
            extraction.text[word.char_start : word.char_end],
            _share(word.box, read.width, read.height, page),
        )
        for word in extraction.words
    ]
    return words, extraction.text, read.recognitions


def _bare(page: TruePage, seen: Observation) -> list[PageReading]:
    """Read the largest image that the pipeline recognised; nothing where it recognised none."""
    if not seen.images:
        return []
    image, dpi, area = max(seen.images, key=lambda given: given[0].width * given[0].height)
    started = Spent.now()
    table: dict[str, list[str]] = pytesseract.image_to_data(
        image, config=f"{_PAGE_MODE} --dpi {round(dpi)}", output_type=pytesseract.Output.DICT
    )
    spent = Spent.now() - started
    # A scan's area is its whole page, so it ends where the page does.
    width, height = area[2], area[3]
    sx, sy = (area[2] - area[0]) / image.width, (area[3] - area[1]) / image.height
    words: list[Boxed] = []
    pixel_boxes: list[BoxTuple] = []
    for row, level in enumerate(table["level"]):
        text = table["text"][row].strip()
        if int(level) == _WORD_LEVEL and text:
            x, y, across, down = (
                float(table[side][row]) for side in ("left", "top", "width", "height")
            )
            box = (
                area[0] + x * sx,
                area[1] + y * sy,
                area[0] + (x + across) * sx,
                area[1] + (y + down) * sy,
            )
            words.append(Boxed(text, _share(box, width, height, page)))
            pixel_boxes.append((x, y, x + across, y + down))
    shown = Transform(image.width, image.height)
    return [
        PageReading(
            set=page.set,
            page=page.name,
            held_out=page.held_out,
            mode="bare",
            score=_score(page, words, " ".join(word.text for word in words)),
            spent=spent,
            engines=spent,
            calls=1,
            uncovered_ink=uncovered_ink(find_components(image), pixel_boxes, shown),
        )
    ]


def _uncovered_ink(records: Sequence[Recognition]) -> float | None:
    if not records:
        return None
    largest = max(records, key=lambda record: _area(record.box))
    return largest.attempts[largest.chosen].uncovered_ink


def _area(box: BoxTuple) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _share(box: BoxTuple, width: float, height: float, page: TruePage) -> BoxTuple:
    """Return a box in points of the displayed page as the truth has it."""
    x0, y0, x1, y1 = box
    return upright((x0 / width, y0 / height, x1 / width, y1 / height), page.turned)


def _score(page: TruePage, words: list[Boxed], text: str) -> BoxScore | TextScore:
    if page.boxes is not None:
        if page.capitals:
            words = [replace(word, text=word.text.upper()) for word in words]
        return score_boxes(page.boxes, words)
    return score_text(page.text or "", text)

"""Digital pages: what extraction costs beside MuPDF's own words, and whether its boxes are right.

The bare reading opens the file and asks each page for ``get_text("words")``. It is compared with
the whole extraction without the layout model (``layout=False``), of the same bytes in the same
process and one after the other, the best of three times each. Only files whose pages are all
digital are timed: on others OCR would be measured.
"""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

import cProfile
import pstats
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.extract.cuts import DPI, CutScore, CutWord, check_cuts
from benchmarks.extract.instruments import Spent
from ingest.errors import ItemError
from ingest.extract import extract
from ingest.settings import ExtractionSettings
from ocr.mupdf import pymupdf

if TYPE_CHECKING:
    from schemas.document import Extraction

_PLAIN = ExtractionSettings(layout=False, ocr_figures=False, ocr_second_engine="none", workers=1)
_LAID_OUT = _PLAIN.model_copy(update={"layout": True})
_INK_FLAGS = pymupdf.TEXTFLAGS_WORDS | pymupdf.TEXT_ACCURATE_BBOXES
_TIMES = 3
_LAID_OUT_PAGES = 50
"""The layout model takes a quarter of a second a page, so long files are left out."""
_MAX_PIXELS = 60_000_000
_ALL = 0.98
OWN_PACKAGES = ("ingest", "ocr", "schemas")


@dataclass(frozen=True, slots=True)
class DigitalFile:
    """What was measured on one PDF."""

    set: str
    file: str
    pages: int = 0
    characters: int = 0
    cuts: CutScore = field(default_factory=CutScore)
    cut_pages: int = 0
    """Pages whose words were cut out."""
    faults: tuple[str, ...] = ()
    """Words that did not read the same, and why."""
    bare: Spent | None = None
    """``get_text("words")``; None where the file has pages that are not digital."""
    bare_ink: Spent | None = None
    """The same with the boxes of the ink, which are what a citation needs."""
    whole: Spent | None = None
    """The whole extraction without the layout model."""
    laid_out: Spent | None = None
    """The whole extraction with it; None where that was not asked for."""
    refused: str | None = None
    """Code of the error with which the pipeline refused the file."""


@dataclass
class Profile:
    """Where extraction's time goes, as a profiler sees it."""

    profiler: cProfile.Profile = field(default_factory=cProfile.Profile)

    def shares(self, most: int) -> list[tuple[str, float]]:
        """Return this project's costliest functions, each with its share of the time.

        The time in a function is that of what it calls too; those that merely pass everything on
        are left out.
        """
        root = Path(__file__).parents[2]
        stats = pstats.Stats(self.profiler)
        total = next(
            spent
            for (file, _, name), (_, _, _, spent, _) in stats.stats.items()  # type: ignore[attr-defined]
            if name == "extract" and file.endswith("ingest/extract/__init__.py")
        )
        found = [
            (f"{Path(file).relative_to(root).with_suffix('')}.{name}".replace("/", "."), spent)
            for (file, _, name), (_, _, _, spent, _) in stats.stats.items()  # type: ignore[attr-defined]
            if Path(file).is_relative_to(root)
            and Path(file).relative_to(root).parts[0] in OWN_PACKAGES
            and not name.startswith("<")
        ]
        found.sort(key=lambda entry: -entry[1])
        shares = [(name, spent / total) for name, spent in found if spent < _ALL * total]
        return shares[:most]


def read_files(
    name: str, paths: Sequence[Path], *, layout: bool, cut_pages: int, profile: Profile
) -> Iterator[DigitalFile]:
    """Yield what was measured on each file of the set ``name``.

    Args:
        name: of the set.
        paths: its PDFs.
        layout: measure the layout model too.
        cut_pages: pages of each file whose words are cut out, from the first.
        profile: collects where the time goes.
    """
    for path in paths:
        yield _read_file(name, path, layout=layout, cut_pages=cut_pages, profile=profile)


def _read_file(
    name: str, path: Path, *, layout: bool, cut_pages: int, profile: Profile
) -> DigitalFile:
    data = path.read_bytes()
    try:
        extraction = extract(data, name=path.name, settings=_PLAIN)
    except ItemError as error:
        return DigitalFile(name, path.name, refused=error.code)
    score, count, faults = _cuts(data, path.name, extraction, cut_pages)
    digital = all(
        page.text_source == "digital" and not page.recognitions for page in extraction.pages
    )
    bare = bare_ink = whole = laid_out = None
    if digital:
        bare, bare_ink, whole = _times(data, path.name)
        if layout and len(extraction.pages) <= _LAID_OUT_PAGES:
            laid_out = _extracted(data, path.name, _LAID_OUT)
        with profile.profiler:
            extract(data, name=path.name, settings=_PLAIN)
    return DigitalFile(
        set=name,
        file=path.name,
        pages=len(extraction.pages),
        characters=len(extraction.text),
        cuts=score,
        cut_pages=count,
        faults=tuple(faults),
        bare=bare,
        bare_ink=bare_ink,
        whole=whole,
        laid_out=laid_out,
    )


def _times(data: bytes, name: str) -> tuple[Spent, Spent, Spent]:
    """Return the best of some times of each, taken in turns."""
    rounds = [
        (_words(data), _words(data, flags=_INK_FLAGS), _extracted(data, name, _PLAIN))
        for _ in range(_TIMES)
    ]
    bare, bare_ink, whole = (
        min(times, key=lambda spent: spent.cpu) for times in zip(*rounds, strict=True)
    )
    return bare, bare_ink, whole


def _words(data: bytes, **flags: int) -> Spent:
    started = Spent.now()
    with pymupdf.open(stream=data, filetype="pdf") as document:
        for page in document:
            page.get_text("words", **flags)
    return Spent.now() - started


def _extracted(data: bytes, name: str, settings: ExtractionSettings) -> Spent:
    started = Spent.now()
    extract(data, name=name, settings=settings)
    return Spent.now() - started


def _cuts(
    data: bytes, name: str, extraction: Extraction, most: int
) -> tuple[CutScore, int, list[str]]:
    """Cut out the digital words of the first pages that have any."""
    # Neither is shown on the page.
    unseen = [e for e in extraction.elements if e.kind in ("hidden", "annotation")]
    score, count, faults = CutScore(), 0, list[str]()
    with pymupdf.open(stream=data, filetype="pdf") as document:
        document.bake()
        for page in extraction.pages:
            words = [
                CutWord(extraction.text[word.char_start : word.char_end], word.box)
                for word in extraction.words
                if word.page == page.number
                and word.source == "digital"
                and not any(e.char_start <= word.char_start < e.char_end for e in unseen)
            ]
            too_large = page.width * page.height * (DPI / 72) ** 2 > _MAX_PIXELS
            if not words or too_large or count == most:
                continue
            page_score, page_faults = check_cuts(document[page.number - 1], words)
            score += page_score
            count += 1
            faults += [f"{name} p. {page.number}: {fault}" for fault in page_faults]
    return score, count, faults

"""Recognised pages: reading them side by side, and from an engine's words to blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from ingest.errors import ConfigurationError
from ingest.extract.blocks import Block, Line, PageWord, clamp, line_text
from ingest.extract.decode import clean
from ingest.extract.headings import clause_level
from ingest.extract.ocr_cache import FolderCache
from ingest.extract.ocr_slots import shared_slots
from ingest.settings import ExtractionSettings
from ocr.attempts import ENOUGH_ACCURACY, MAX_UNCOVERED_INK
from ocr.engine import EngineUnavailableError, OcrWord
from ocr.engines import first_engine, second_engine
from ocr.recognition import PageRecogniser
from ocr.scoring import expected_accuracies, mean_accuracy
from ocr.script import script_hint

if TYPE_CHECKING:
    from ocr.render import PixelMap, RenderedPage
    from schemas.document import BoxTuple, Recognition

LOW_CONFIDENCE = 60.0
"""Upright pages that could be read had a mean of 56 or more, unreadable ones 47 or less."""
_ANOTHER_SCRIPT = 0.8
"""Expected accuracy of a page below which it may be in a script that was not asked for."""
_FULL_WIDTH = 0.9
"""A line that reaches this far to its paragraph's right edge goes on in the next line."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """The words of an image, and what there is to say of them."""

    words: tuple[OcrWord, ...]
    """In reading order; boxes in pixels of the image."""
    record: Recognition
    problems: tuple[tuple[str, str], ...] = ()
    """Codes and messages of what a reader should know."""


class Recogniser:
    """Recognises rendered pages on as many threads as are set, while the caller goes on.

    Engines are looked for only when the first page needs them. Use it as a context manager: what
    was not begun is dropped at its end.
    """

    def __init__(self, settings: ExtractionSettings) -> None:
        self._settings = settings
        self._reader: PageRecogniser | None = None
        self._pool = ThreadPoolExecutor(settings.workers, thread_name_prefix="ocr")
        self._running: set[Future[Recognised]] = set()

    def __enter__(self) -> Recogniser:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def submit(self, rendered: RenderedPage, box: BoxTuple) -> Future[Recognised]:
        """Begin to read an image and return what will hold its words, boxes in pixels.

        Waits while one image more than there are threads is unread, so that a long scan is not in
        memory as a whole.

        Args:
            rendered: the image.
            box: the part of the page that it shows, in points.

        Raises:
            ConfigurationError: the engine or one of its languages is not installed.
        """
        reader = self._reader or self._start()
        while len(self._running) > self._settings.workers:
            _, self._running = wait(self._running, return_when=FIRST_COMPLETED)
        future = self._pool.submit(_read, reader, rendered, box, self._settings.ocr_languages)
        self._running.add(future)
        return future

    def _start(self) -> PageRecogniser:
        settings = self._settings
        try:
            first = first_engine(settings.ocr_engine, settings.ocr_languages)
            second = second_engine(settings.ocr_second_engine, settings.ocr_languages)
            _ = first.version  # says what is missing, before a page waits for it
        except EngineUnavailableError as error:
            raise ConfigurationError("ocr_unavailable", str(error)) from error
        cache = FolderCache(settings.ocr_cache) if settings.ocr_cache else None
        self._reader = PageRecogniser(first, second, cache)
        return self._reader


def _read(
    reader: PageRecogniser, rendered: RenderedPage, box: BoxTuple, languages: str
) -> Recognised:
    slots = shared_slots()
    turn: AbstractContextManager[None] = slots.take() if slots else nullcontext()
    with turn:
        reading = reader.read(rendered.image, rendered.dpi, box)
        problems = reading_problems(reading.record, reading.words)
        accuracy = _expected_accuracy(reading.record, reading.words)
        if problems and accuracy is not None and accuracy < _ANOTHER_SCRIPT:
            hint = script_hint(rendered.image, round(rendered.dpi), languages)
            problems = [
                (code, f"{said} {hint}" if hint and code == "low_ocr_confidence" else said)
                for code, said in problems
            ]
    return Recognised(reading.words, reading.record, tuple(problems))


def reading_problems(record: Recognition, words: Sequence[OcrWord]) -> list[tuple[str, str]]:
    """Return codes and messages of what a reader should know of how an area was recognised.

    There are some exactly where the record is flagged.

    Args:
        record: of the area.
        words: that were recognised in it.
    """
    if not record.flagged:
        return []
    chosen = record.attempts[record.chosen]
    accuracy = _expected_accuracy(record, words)
    missing = chosen.uncovered_ink > MAX_UNCOVERED_INK
    problems: list[tuple[str, str]] = []
    if accuracy is not None and (accuracy < ENOUGH_ACCURACY or not missing):
        problems.append(
            (
                "low_ocr_confidence",
                f"Only some {accuracy:.0%} of the recognised characters are probably right (mean "
                f"confidence {chosen.confidence or 0:.0f} of {chosen.engine}); the page may be "
                "handwritten, blurred or in another language.",
            )
        )
    if missing:
        problems.append(
            (
                "text_not_recognised",
                f"About {chosen.uncovered_ink:.0%} of what looks like letters lies outside the "
                "words that were recognised; text may be missing.",
            )
        )
    return problems


def _expected_accuracy(record: Recognition, words: Sequence[OcrWord]) -> float | None:
    """Return the share of characters that are probably right; None without words."""
    # Where two engines were joined, the first one read most of the words.
    engine = record.attempts[record.chosen].engine.partition(" ")[0]
    return mean_accuracy(words, expected_accuracies(engine, words)) if words else None


def mean_of_words(words: Iterable[PageWord]) -> float | None:
    """Return the mean confidence of recognised words by their length; None without any."""
    total = weight = 0.0
    for word in words:
        if word.confidence is not None:
            total += word.confidence * len(word.text)
            weight += len(word.text)
    return round(total / weight, 2) if weight else None


def recognised_blocks(
    words: Iterable[OcrWord],
    pixel_map: PixelMap,
    width: float,
    height: float,
    keep: Callable[[PageWord], bool] = lambda _: True,
) -> list[Block]:
    """Return one block a paragraph, with clause headings in blocks of their own.

    Boxes are in points of the page of ``width`` × ``height``; only words to ``keep`` are taken.
    """
    blocks: list[Block] = []
    for _, paragraph in groupby(words, key=lambda word: (word.block, word.paragraph)):
        lines: list[Line] = []
        for _, run in groupby(paragraph, key=lambda word: word.line):
            line = tuple(
                page_word
                for word in run
                if (page_word := _page_word(word, pixel_map, width, height)) is not None
                and keep(page_word)
            )
            if line:
                lines.append(line)
        blocks += _split_headings(lines)
    return blocks


def _page_word(word: OcrWord, pixel_map: PixelMap, width: float, height: float) -> PageWord | None:
    box = clamp(pixel_map.to_points(word.box), width, height)
    text = clean(word.text)
    if box is None or not text:
        return None
    return PageWord(
        text=text, box=box, confidence=word.confidence, source="ocr", box_kind=word.box_kind
    )


def _split_headings(lines: Sequence[Line]) -> list[Block]:
    """Split a paragraph at its lines that are clause headings.

    A heading set close to its clause comes as the first line of the clause's paragraph.
    """
    if not lines:
        return []
    left = min(word.box[0] for line in lines for word in line)
    right = max(word.box[2] for line in lines for word in line)
    blocks: list[Block] = []
    rest: list[Line] = []
    for line in lines:
        text = line_text(line)
        level = clause_level(text)
        reach = (max(word.box[2] for word in line) - left) / (right - left)
        # In the middle of a paragraph, "Schedule 2" is how a reference wraps.
        first = line is lines[0]
        sure = (
            text.isupper()
            or len(lines) == 1
            or (reach < _FULL_WIDTH and (first or text[0].isdigit()))
        )
        if level is not None and sure:
            if rest:
                blocks.append(Block(kind="paragraph", lines=tuple(rest)))
                rest = []
            blocks.append(Block(kind="heading", lines=(line,), level=level))
        else:
            rest.append(line)
    if rest:
        blocks.append(Block(kind="paragraph", lines=tuple(rest)))
    return blocks

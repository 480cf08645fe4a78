"""Reading scans side by side, and from an engine's words to blocks."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path

import pymupdf
import pytest
from extract.checks import FAST, codes, read, scanned_pdf, text_pdf
from PIL import Image

from ingest.errors import ConfigurationError
from ingest.extract import ocr_slots, scans
from ingest.extract.scans import Recogniser, reading_problems, recognised_blocks
from ingest.settings import ExtractionSettings
from ocr.engine import EngineUnavailableError, OcrWord
from ocr.recognition import Reading
from ocr.render import PixelMap, RenderedPage
from schemas.document import OcrAttempt, Recognition

BOX = (0.0, 0.0, 72.0, 72.0)


def record(**more: object) -> Recognition:
    attempt = OcrAttempt(
        engine="tesseract 5", how="page", words=3, confidence=90, uncovered_ink=0.0, score=1
    )
    return Recognition.model_validate(
        {
            "box": BOX,
            "image_sha256": "0" * 64,
            "dpi": 72,
            "attempts": (attempt.model_copy(update=more.pop("attempt", {})),),
            "chosen": 0,
            **more,
        }
    )


class Reader:
    """Takes a moment for each image, and notes how many were read and waited at once."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.now = self.most = self.submitted = self.done = 0

    def read(self, image: Image.Image, dpi: float, box: tuple[float, ...]) -> Reading:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        time.sleep(0.03)
        with self.lock:
            self.now -= 1
            self.done += 1
        word = OcrWord(str(image.width), (0, 0, 1, 1), 90, 1, 1, 1)
        return Reading((word,), record())


def page(width: int) -> RenderedPage:
    return RenderedPage(Image.new("L", (width, 8)), 72, PixelMap((1, 1)))


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Reader:
    made = Reader()
    monkeypatch.setattr(scans, "PageRecogniser", lambda *_: made)
    return made


def submit_all(recogniser: Recogniser, reader: Reader, count: int) -> Iterator[Future[Reading]]:
    for number in range(count):
        yield recogniser.submit(page(number + 1), BOX)
        reader.submitted += 1
        assert reader.submitted - reader.done <= 3, "no more in memory than two are read and one"


def test_pages_are_read_side_by_side_and_few_wait(reader: Reader) -> None:
    with Recogniser(ExtractionSettings(workers=2)) as recogniser:
        futures = list(submit_all(recogniser, reader, 12))
        words = [future.result().words[0].text for future in futures]
    assert words == [str(number + 1) for number in range(12)]
    assert reader.most == 2


def test_what_was_not_begun_is_dropped_with_the_document(reader: Reader) -> None:
    with Recogniser(ExtractionSettings(workers=1)) as recogniser:
        futures = [recogniser.submit(page(number + 1), BOX) for number in range(2)]
    assert reader.now == 0, "nothing goes on behind the caller's back"
    assert reader.done == 2 - sum(future.cancelled() for future in futures)
    assert futures[1].cancelled()


def test_processes_take_turns(
    reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ocr_slots, "_shared", None)
    ocr_slots.share_slots(tmp_path, 1)
    with Recogniser(ExtractionSettings(workers=4)) as recogniser:
        for future in [recogniser.submit(page(number + 1), BOX) for number in range(5)]:
            future.result()
    assert reader.most == 1


def test_an_engine_that_is_not_installed_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise EngineUnavailableError("no engine. Install it")

    monkeypatch.setattr(scans, "first_engine", missing)
    with Recogniser(FAST) as recogniser, pytest.raises(ConfigurationError) as caught:
        recogniser.submit(page(5), BOX)
    assert caught.value.code == "ocr_unavailable"


def test_the_same_document_reads_the_same_on_one_thread_and_on_several() -> None:
    with pymupdf.open(stream=scanned_pdf(text_pdf())) as document:
        for lines in (("Second page of the scan",), ("Third page of the scan",)):
            with pymupdf.open(stream=scanned_pdf(text_pdf(lines))) as more:
                document.insert_pdf(more)
        data = bytes(document.tobytes())
    one, several = (
        read(data, "scan.pdf", ExtractionSettings(layout=False, workers=workers))
        for workers in (1, 3)
    )
    assert one == several
    assert one.text.endswith("Second page of the scan\n\nThird page of the scan")


def test_of_what_cannot_be_read_the_script_is_named(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, str]] = []

    def hint(image: Image.Image, dpi: int, languages: str) -> str | None:
        asked.append((image.width, languages))
        return "It looks like Greek script." if image.width == 2 else None

    def read_badly(image: Image.Image, dpi: float, box: object) -> Reading:
        confidence = 90.0 if image.width == 1 else 30.0
        word = OcrWord("word", (0, 0, 1, 1), confidence, 1, 1, 1)
        return Reading((word,), record(attempt={"confidence": confidence}, flagged=confidence < 90))

    monkeypatch.setattr(scans, "script_hint", hint)
    monkeypatch.setattr(reader, "read", read_badly)
    with Recogniser(ExtractionSettings(workers=1, ocr_languages="eng")) as recogniser:
        found = [recogniser.submit(page(width), BOX).result() for width in (1, 2, 3)]
    assert [[code for code, _ in one.problems] for one in found] == [
        [],
        ["low_ocr_confidence"],
        ["low_ocr_confidence"],
    ]
    assert found[1].problems[0][1].endswith(" It looks like Greek script.")
    assert found[2].problems[0][1].endswith(".")
    assert asked == [(2, "eng"), (3, "eng")]


def words(*confidences: float) -> list[OcrWord]:
    return [OcrWord("word", (0, 0, 1, 1), confidence, 1, 1, 1) for confidence in confidences]


def problem_codes(found: Recognition, read: list[OcrWord]) -> list[str]:
    return [code for code, _ in reading_problems(found, read)]


def test_a_reading_has_problems_exactly_where_it_is_flagged() -> None:
    assert problem_codes(record(), words(96, 97)) == []
    mended = record(attempt={"uncovered_ink": 0.01}, reasons=("uncovered_ink", "low_confidence"))
    assert problem_codes(mended, words(96)) == []
    low = record(attempt={"confidence": 41.0}, flagged=True, reasons=("uncovered_ink",))
    assert problem_codes(low, words(41)) == ["low_ocr_confidence"]
    bare = record(attempt={"uncovered_ink": 0.23}, flagged=True, reasons=("low_confidence",))
    [(code, message)] = reading_problems(bare, words(97, 98))
    assert code == "text_not_recognised"
    assert "23%" in message
    assert problem_codes(bare, []) == ["text_not_recognised"]
    assert problem_codes(bare, words(97, 60)) == ["low_ocr_confidence", "text_not_recognised"]


def test_what_an_engine_is_sure_of_is_taken_on_its_own_scale() -> None:
    missing = {"uncovered_ink": 0.23, "confidence": 92.0}
    tesseract = record(attempt=missing, flagged=True)
    rapid = record(attempt={**missing, "engine": "rapidocr 3 + tesseract 5"}, flagged=True)
    assert problem_codes(tesseract, words(92)) == ["text_not_recognised"]
    assert problem_codes(rapid, words(92)) == ["low_ocr_confidence", "text_not_recognised"]
    barely = record(attempt={"confidence": 92.0}, flagged=True)
    assert problem_codes(barely, words(92)) == ["low_ocr_confidence"]


def test_words_become_paragraphs_with_boxes_in_points() -> None:
    words = [
        OcrWord("7.", (10, 10, 20, 20), 91, 1, 1, 1),
        OcrWord("TERMINATION", (25, 10, 90, 20), 92, 1, 1, 1),
        OcrWord("By", (10, 30, 20, 40), 93, 1, 1, 2, "line"),
        OcrWord("notice.", (25, 30, 150, 40), 94, 1, 1, 2, "line"),
        OcrWord("Outside", (900, 900, 950, 950), 95, 1, 2, 1),
        OcrWord("\x00", (10, 50, 20, 60), 95, 1, 3, 1),
    ]
    heading, paragraph = recognised_blocks(words, PixelMap((0.5, 0.5), (100, 50)), 200, 100)
    assert (heading.kind, heading.text, heading.level) == ("heading", "7. TERMINATION", 1)
    assert (paragraph.kind, paragraph.text) == ("paragraph", "By notice.")
    first = heading.lines[0][0]
    assert (first.box, first.confidence, first.source) == ((105, 55, 110, 60), 91, "ocr")
    assert {word.box_kind for word in paragraph.lines[0]} == {"line"}
    kept = recognised_blocks(
        words, PixelMap((0.5, 0.5)), 200, 100, keep=lambda word: word.text != "By"
    )
    assert [block.text for block in kept] == ["7. TERMINATION", "notice."]


def test_unreadable_scans_are_reported_with_their_page(corpus: Path) -> None:
    with pymupdf.open(corpus / "pdf_nasty/handwriting_bad_ocr.pdf") as document:
        document.select([1])
        extraction = read(bytes(document.tobytes()), "hand.pdf")
    assert "low_ocr_confidence" in codes(extraction) or "text_not_recognised" in codes(extraction)

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pymupdf
import pytest
from page_images import PROSE, Box, Drawn, draw, ink_box, tilt, turn
from PIL import Image

from ocr.attempts import Subject
from ocr.engine import EngineUnavailableError, OcrError, OcrWord, Segmentation, Threshold
from ocr.engines import first_engine, second_engine
from ocr.recognition import PageRecogniser, Reading

WHOLE = (0.0, 0.0, 612.0, 792.0)


class Scripted:
    """An engine that answers what it is told, and remembers what it was asked."""

    version = "1.0"

    def __init__(
        self,
        answer: Callable[[Image.Image, Segmentation, Threshold], list[OcrWord]],
        name: str = "tesseract",
    ) -> None:
        self.name = name
        self.asked: list[tuple[tuple[int, int], int, Segmentation, Threshold]] = []
        self._answer = answer

    def recognise(
        self,
        image: Image.Image,
        dpi: int,
        *,
        segmentation: Segmentation = "page",
        threshold: Threshold = "otsu",
    ) -> list[OcrWord]:
        self.asked.append((image.size, dpi, segmentation, threshold))
        return self._answer(image, segmentation, threshold)


def words_of(
    drawn: Drawn, confidence: float = 96.0, *, first: int = 0, last: int | None = None
) -> list[OcrWord]:
    """Return the words as an engine would."""
    return [
        OcrWord(text, box, confidence, 1, 1, line)
        for (text, box), line in list(zip(drawn.words, drawn.lines, strict=True))[first:last]
    ]


def read(engine: Scripted, drawn: Drawn, second: Scripted | None = None) -> Reading:
    return PageRecogniser(engine, second).read(drawn.image, 200, WHOLE)


def texts(reading: Reading) -> list[str]:
    return [word.text for word in reading.words]


def test_a_good_page_is_read_once() -> None:
    drawn = draw()
    engine = Scripted(lambda *_: words_of(drawn))
    second = Scripted(lambda *_: [], "rapidocr")
    reading = read(engine, drawn, second)
    assert texts(reading) == [text for text, _ in drawn.words]
    assert [word.box for word in reading.words] == [box for _, box in drawn.words]
    record = reading.record
    assert engine.asked == [(drawn.image.size, 200, "page", "otsu")]
    assert second.asked == []
    (attempt,) = record.attempts
    assert (attempt.engine, attempt.how) == ("tesseract 1.0", "page")
    assert attempt.words == len(drawn.words)
    assert attempt.confidence == pytest.approx(96)
    assert attempt.uncovered_ink == 0
    assert attempt.score > 0
    assert (record.chosen, record.reasons, record.flagged) == (0, (), False)
    assert (record.turn, record.skew, record.dpi, record.box) == (0, 0.0, 200, WHOLE)


def test_a_blank_page_is_read_once_and_not_flagged() -> None:
    engine = Scripted(lambda *_: [])
    reading = PageRecogniser(engine).read(Image.new("L", (400, 300), 255), 100, WHOLE)
    assert reading.words == ()
    assert len(engine.asked) == 1
    assert reading.record.attempts[0].confidence is None
    assert not reading.record.flagged


@pytest.mark.parametrize("size", [(1, 1), (2, 3), (5000, 1), (1, 3000), (300, 20)])
@pytest.mark.parametrize("kind", ["black", "noise"])
def test_odd_images_are_read_without_fuss(size: tuple[int, int], kind: str) -> None:
    width, height = size
    pixels = np.zeros((height, width), np.uint8)
    if kind == "noise":
        pixels = np.random.default_rng(0).integers(0, 255, (height, width), dtype=np.uint8)
    engine = Scripted(lambda *_: [OcrWord("x", (0, 0, 1, 1), 10, 1, 1, 1)])
    reading = PageRecogniser(engine).read(Image.fromarray(pixels), 300, WHOLE)
    for word in reading.words:
        x0, y0, x1, y1 = word.box
        assert 0 <= x0 < x1 <= width
        assert 0 <= y0 < y1 <= height


def test_low_confidence_is_tried_again_until_it_is_enough() -> None:
    drawn = draw()
    engine = Scripted(
        lambda _, segmentation, __: words_of(drawn, 97 if segmentation == "sparse" else 65)
    )
    record = read(engine, drawn).record
    assert record.reasons == ("low_confidence",)
    assert [asked[2] for asked in engine.asked] == ["page", "sparse"]
    assert [attempt.how for attempt in record.attempts] == ["page", "sparse text"]
    assert (record.chosen, record.flagged) == (1, False)


def test_a_page_that_stays_bad_is_flagged_with_all_tries() -> None:
    drawn = draw()
    engine = Scripted(lambda *_: words_of(drawn, 65))
    record = read(engine, drawn).record
    assert record.flagged
    assert [attempt.how for attempt in record.attempts] == [
        "page",
        "sparse text",
        "page, Sauvola",
        "page, faint ink darkened",
        "one block",
    ]
    assert record.chosen == 0


def test_text_that_was_not_found_is_a_reason_at_any_confidence() -> None:
    drawn = draw()
    half = len(drawn.words) // 2
    engine = Scripted(lambda *_: words_of(drawn, 96, last=half))
    record = read(engine, drawn).record
    assert record.reasons == ("uncovered_ink",)
    assert record.attempts[0].uncovered_ink == pytest.approx(0.5, abs=0.05)
    assert record.flagged


def test_the_second_engine_reads_what_the_first_did_not() -> None:
    drawn = draw()
    first = Scripted(lambda *_: words_of(drawn, 60))
    second = Scripted(lambda *_: words_of(drawn, 99), "rapidocr")
    record = read(first, drawn, second).record
    assert len(first.asked) == len(second.asked) == 1
    assert (record.chosen, record.flagged) == (1, False)
    assert record.attempts[1].engine == "rapidocr 1.0"
    assert record.attempts[1].score > record.attempts[0].score


def test_specks_are_left_out_and_counted() -> None:
    drawn = draw()
    dirt = [
        OcrWord("~'", (5, 5, 12, 9), 31, 9, 1, 1),
        OcrWord(".", (700, 5, 703, 8), 12, 9, 1, 2),
        OcrWord("—", (20, 900, 60, 904), 81, 9, 1, 3),
        OcrWord("7", (70, 900, 80, 920), 20, 9, 1, 3),
    ]
    reading = read(Scripted(lambda *_: words_of(drawn) + dirt), drawn)
    assert texts(reading) == [text for text, _ in drawn.words] + ["—", "7"]
    (attempt,) = reading.record.attempts
    assert attempt.how == "page, 2 specks left out"
    assert attempt.words == len(drawn.words) + 2


def test_confidences_of_engines_are_not_compared_as_they_are() -> None:
    drawn = draw()
    first = Scripted(lambda *_: words_of(drawn, 88))
    second = Scripted(lambda *_: words_of(drawn, 89), "rapidocr")
    record = read(first, drawn, second).record
    assert record.chosen == 0


def test_the_first_reading_is_kept_if_another_is_hardly_better() -> None:
    drawn = draw()
    engine = Scripted(
        lambda _, segmentation, __: words_of(drawn, 89.5 if segmentation == "sparse" else 89)
    )
    assert read(engine, drawn).record.chosen == 0


def test_words_that_only_another_reading_found_are_added_where_they_belong() -> None:
    drawn = draw()
    lost = 20
    first = Scripted(
        lambda *_: words_of(drawn, 96, last=lost) + words_of(drawn, 96, first=lost + 5)
    )
    second = Scripted(lambda *_: words_of(drawn, 99, first=lost - 2, last=lost + 6), "rapidocr")
    reading = read(first, drawn, second)
    assert texts(reading) == [text for text, _ in drawn.words]
    record = reading.record
    assert record.reasons == ("uncovered_ink",)
    assert not record.flagged
    assert [attempt.engine for attempt in record.attempts] == [
        "tesseract 1.0",
        "rapidocr 1.0",
        "tesseract 1.0 + rapidocr 1.0",
    ]
    assert record.chosen == 2
    assert record.attempts[2].words == len(drawn.words)


def test_a_line_that_only_another_reading_found_comes_after_the_line_above_it() -> None:
    drawn = draw()
    count = [len(line.split()) for line in PROSE]
    start, end = sum(count[:5]), sum(count[:6])
    first = Scripted(lambda *_: words_of(drawn, 96, last=start) + words_of(drawn, 96, first=end))
    second = Scripted(lambda *_: words_of(drawn, 99, first=start, last=end), "rapidocr")
    assert texts(read(first, drawn, second)) == [text for text, _ in drawn.words]


def test_words_of_another_reading_that_it_is_not_sure_of_are_not_added() -> None:
    drawn = draw()
    half = len(drawn.words) // 2
    first = Scripted(lambda *_: words_of(drawn, 96, last=half))
    second = Scripted(lambda *_: words_of(drawn, 70, first=half), "rapidocr")
    reading = read(first, drawn, second)
    assert len(reading.words) == half
    assert reading.record.flagged


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_the_engine_is_given_upright_and_level_pages(degrees: int) -> None:
    level = draw()
    displayed = turn(tilt(level, 3.0), degrees)
    seen: list[Image.Image] = []

    def answer(image: Image.Image, *_: object) -> list[OcrWord]:
        seen.append(image)
        # Levelling makes the image larger on all sides; what is read lies in its middle.
        dx, dy = ((a - b) / 2 for a, b in zip(image.size, level.image.size, strict=True))
        return [
            OcrWord(text, (x0 + dx, y0 + dy, x1 + dx, y1 + dy), 96, 1, 1, 1)
            for text, (x0, y0, x1, y1) in level.words
        ]

    reading = read(Scripted(answer), displayed)
    assert reading.record.turn == -degrees % 360
    assert reading.record.skew == pytest.approx(3.0, abs=0.15)
    assert len(seen) == 1
    for word, (text, box) in zip(reading.words, displayed.words, strict=True):
        assert word.text == text
        assert word.box == pytest.approx(box, abs=4)
        ink = ink_box(displayed.image, word.box)
        assert ink is not None
        assert ink[2] - ink[0] > 0.5 * (box[2] - box[0])


def test_small_letters_are_enlarged_and_the_resolution_with_them() -> None:
    drawn = draw(size=14)
    engine = Scripted(lambda *_: [])
    PageRecogniser(engine).read(drawn.image, 100, WHOLE)
    (width, _), dpi, *_ = engine.asked[0]
    assert width > 1.8 * drawn.image.width
    assert dpi == pytest.approx(100 * width / drawn.image.width, rel=0.01)


def test_huge_letters_are_reduced_and_boxes_are_those_of_the_image() -> None:
    drawn = draw(PROSE[:4], size=160)
    reading = PageRecogniser(first_engine("auto", "eng")).read(drawn.image, 1200, WHOLE)
    assert "reduced" in reading.record.attempts[0].how
    assert texts(reading) == [text for text, _ in drawn.words]
    for word, (_, box) in zip(reading.words, drawn.words, strict=True):
        assert overlap(word.box, box) > 0.5


def test_a_resolution_that_the_letters_contradict_is_not_passed_on() -> None:
    drawn = draw(size=32)
    engine = Scripted(lambda *_: words_of(drawn))
    PageRecogniser(engine).read(drawn.image, 72, WHOLE)
    assert 150 <= engine.asked[0][1] <= 400


def test_uneven_paper_is_evened_before_reading() -> None:
    drawn = draw()
    width, height = drawn.image.size
    light = 1 - 0.18 * np.linspace(0, 1, width)[None, :] * np.ones((height, 1))
    shaded = Image.fromarray((np.asarray(drawn.image) * light).astype(np.uint8))
    seen: list[Image.Image] = []

    def answer(image: Image.Image, *_: object) -> list[OcrWord]:
        seen.append(image)
        return words_of(drawn)

    reading = PageRecogniser(Scripted(answer)).read(shaded, 200, WHOLE)
    assert reading.record.attempts[0].how == "page, shading taken out"
    margin = np.asarray(seen[0])[20:80]
    assert int(margin.max()) - int(margin.min()) <= 6


def test_an_upside_down_page_that_looks_upright_is_turned_by_its_confidence() -> None:
    capitals = ("DATE 03 11 2026 TOTAL 4711", "ITEM 0815 EUR 1 024 00", "ITEM 0816 EUR 96 50")
    drawn = draw(capitals)
    displayed = turn(drawn, 180)
    subject = Subject(displayed.image, 200)
    wrong = subject.orientation.turn == 0
    upright = np.asarray(drawn.image)

    def answer(image: Image.Image, *_: object) -> list[OcrWord]:
        stands = np.array_equal(np.asarray(image), upright)
        return words_of(drawn, 95 if stands else 35)

    engine = Scripted(answer)
    record = read(engine, displayed).record
    assert wrong, "the page was to look upright"
    assert record.turn == 180
    assert [attempt.confidence for attempt in record.attempts] == [
        pytest.approx(35),
        pytest.approx(95),
    ]
    assert (record.chosen, record.reasons) == (1, ())


def test_an_engine_that_fails_leaves_the_page_to_the_other() -> None:
    drawn = draw()

    def fail(*_: object) -> list[OcrWord]:
        raise OcrError("too large")

    good = Scripted(lambda *_: words_of(drawn, 99), "rapidocr")
    assert texts(read(Scripted(fail), drawn, good)) == [text for text, _ in drawn.words]
    weak = Scripted(lambda *_: words_of(drawn, 60))
    record = read(weak, drawn, Scripted(fail, "rapidocr")).record
    assert record.flagged
    assert len(record.attempts) == 5
    with pytest.raises(OcrError):
        read(Scripted(fail), drawn)
    with pytest.raises(OcrError):
        read(Scripted(fail), drawn, Scripted(fail, "rapidocr"))


def test_an_engine_that_is_not_installed_is_said() -> None:
    def missing(*_: object) -> list[OcrWord]:
        raise EngineUnavailableError("install it")

    good = Scripted(lambda *_: [], "rapidocr")
    with pytest.raises(EngineUnavailableError):
        read(Scripted(missing), draw(), good)


class Memory:
    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        return self.kept.get(key)

    def put(self, key: str, data: bytes) -> None:
        self.kept[key] = data


def test_what_was_read_before_is_not_read_again() -> None:
    drawn, cache = draw(), Memory()
    engine = Scripted(lambda *_: words_of(drawn, 91.123456789))
    recogniser = PageRecogniser(engine, cache=cache)
    once = recogniser.read(drawn.image, 200, WHOLE)
    assert recogniser.read(drawn.image.copy(), 200, WHOLE) == once
    assert len(engine.asked) == 1
    elsewhere = recogniser.read(drawn.image, 200, (1, 2, 3, 4))
    assert elsewhere.record.box == (1, 2, 3, 4)
    assert elsewhere.words == once.words
    assert len(engine.asked) == 1


def test_all_that_decides_a_reading_is_in_its_key() -> None:
    drawn, cache = draw(PROSE[:3]), Memory()

    def engine(name: str = "tesseract", version: str = "1.0", languages: str = "eng") -> Scripted:
        scripted = Scripted(lambda *_: words_of(drawn), name)
        scripted.version = version
        scripted.languages = languages  # type: ignore[attr-defined]
        return scripted

    def kept(recogniser: PageRecogniser, image: Image.Image = drawn.image, dpi: float = 200) -> int:
        recogniser.read(image, dpi, WHOLE)
        return len(cache.kept)

    assert kept(PageRecogniser(engine(), cache=cache)) == 1
    assert kept(PageRecogniser(engine(), cache=cache)) == 1
    assert kept(PageRecogniser(engine("tesserocr"), cache=cache)) == 2
    assert kept(PageRecogniser(engine(version="1.1"), cache=cache)) == 3
    assert kept(PageRecogniser(engine(languages="eng+deu"), cache=cache)) == 4
    assert kept(PageRecogniser(engine(), engine("rapidocr"), cache=cache)) == 5
    assert kept(PageRecogniser(engine(), cache=cache), dpi=201) == 6
    flat = Image.frombytes("L", drawn.image.size[::-1], drawn.image.tobytes())
    assert kept(PageRecogniser(engine(), cache=cache), flat) == 7


def test_an_entry_that_is_no_reading_is_read_anew() -> None:
    drawn, cache = draw(PROSE[:3]), Memory()
    engine = Scripted(lambda *_: words_of(drawn))
    recogniser = PageRecogniser(engine, cache=cache)
    once = recogniser.read(drawn.image, 200, WHOLE)
    for damaged in (b"", b"{}", b"null", b'{"words": [1], "record": {}}', b"\xff"):
        cache.kept = dict.fromkeys(cache.kept, damaged)
        assert recogniser.read(drawn.image, 200, WHOLE) == once
    assert len(engine.asked) == 6


def test_readings_side_by_side_are_those_one_after_the_other() -> None:
    pages = [turn(tilt(draw(PROSE[:n]), n / 2), 90 * n) for n in range(3, 9)]

    def answer(image: Image.Image, *_: object) -> list[OcrWord]:
        return [OcrWord(str(image.size), (1, 1, 40, 20), 96, 1, 1, 1)]

    recogniser = PageRecogniser(Scripted(answer))
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda p: recogniser.read(p.image, 200, WHOLE), pages))
    assert together == [recogniser.read(page.image, 200, WHOLE) for page in pages]


# From here on with the real engines.


def test_faint_text_beside_a_black_edge_is_read() -> None:
    drawn = draw(PROSE[:6], ink=185, paper=232)
    image = drawn.image.copy()
    image.paste(0, (0, image.height - 60, image.width, image.height))
    reading = PageRecogniser(first_engine("auto", "eng")).read(image, 200, WHOLE)
    assert texts(reading) == [text for text, _ in drawn.words]


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
@pytest.mark.parametrize(
    ("lines", "negative"),
    [
        (("Schedule 2",), False),
        (("CONFIDENTIAL",), True),
        (("33 208 771", "48 306 159"), False),
        (("ITEM NO 4711 DATE 03 11 2026", "AMOUNT PAYABLE EUR 1 024 00"), True),
        (PROSE[:3], True),
    ],
)
def test_pages_of_few_words_and_white_on_black_are_read_in_all_turns(
    lines: tuple[str, ...], negative: bool, degrees: int
) -> None:
    colours = {"ink": 255, "paper": 0} if negative else {}
    drawn = turn(draw(lines, **colours), degrees)
    reading = PageRecogniser(first_engine("auto", "eng")).read(drawn.image, 200, WHOLE)
    assert "".join(texts(reading)) == "".join(lines).replace(" ", "")
    chosen = reading.record.attempts[reading.record.chosen]
    assert chosen.how.endswith("inverted") == negative
    assert chosen.uncovered_ink == 0
    found = np.array([word.box for word in reading.words])
    inked = np.array([box for _, box in drawn.words])
    assert found[:, :2].min(axis=0) == pytest.approx(inked[:, :2].min(axis=0), abs=6)
    assert found[:, 2:].max(axis=0) == pytest.approx(inked[:, 2:].max(axis=0), abs=6)


@pytest.mark.parametrize("degrees", [0, 180])
def test_dashes_of_a_table_turn_no_page(degrees: int) -> None:
    rows = ("Item - - - - - - - 12", "- - - - - - - - - - -", "Total - - - - - - 34")
    reading = PageRecogniser(first_engine("auto", "eng")).read(
        turn(draw(rows), degrees).image, 200, WHOLE
    )
    assert reading.record.turn == degrees
    assert {"Item", "Total"} <= set(texts(reading))


def test_a_slide_in_white_on_black_is_read_upright(corpus: Path) -> None:
    with Image.open(corpus / "scans_scribe/slide_01.png") as opened:
        image = opened.convert("L")
    reading = PageRecogniser(first_engine("auto", "eng")).read(image, 200, WHOLE)
    assert reading.record.turn == 0
    assert {"defendant's", "instruction", "thinking."} <= set(texts(reading))
    assert len(reading.words) > 140


@pytest.mark.parametrize(("skew", "degrees"), [(2.0, 0), (-6.0, 180), (1.0, 90)])
def test_a_tilted_page_keeps_its_words(skew: float, degrees: int) -> None:
    drawn = turn(tilt(draw(), skew), degrees)
    reading = PageRecogniser(first_engine("auto", "eng")).read(drawn.image, 200, WHOLE)
    assert texts(reading) == [text for text, _ in drawn.words]
    assert len(reading.record.attempts) == 1
    assert not reading.record.flagged
    pairs = zip(reading.words, drawn.words, strict=True)
    overlaps = [overlap(word.box, box) for word, (_, box) in pairs]
    assert min(overlaps) > 0.3
    assert np.mean(overlaps) > 0.8


def test_real_engines_read_again_what_is_faint() -> None:
    drawn = draw(size=18, ink=150, paper=200)
    generator = np.random.default_rng(5)
    noise = generator.normal(0, 22, (drawn.image.height, drawn.image.width))
    noisy = np.clip(np.asarray(drawn.image) + noise, 0, 255).astype(np.uint8)
    first, second = first_engine("auto", "eng"), second_engine("auto", "eng")
    if second is None:
        pytest.skip("RapidOCR is not installed")
    record = PageRecogniser(first, second).read(Image.fromarray(noisy), 100, WHOLE).record
    assert record.reasons
    assert len(record.attempts) >= 2
    assert record.attempts[record.chosen].score >= record.attempts[0].score


@pytest.mark.parametrize(
    ("name", "count"), [("skew.pdf", 50), ("rotated_skew.pdf", 50), ("aspect.pdf", 6)]
)
def test_skewed_scans_keep_their_words(corpus: Path, name: str, count: int) -> None:
    with pymupdf.open(corpus / "pdf_nasty" / name) as document:
        pixels = document[0].get_pixmap(dpi=200, colorspace=pymupdf.csGRAY, alpha=False)
    image = Image.frombytes("L", (pixels.width, pixels.height), pixels.samples)
    reading = PageRecogniser(first_engine("auto", "eng")).read(image, 200, WHOLE)
    record = reading.record
    chosen = record.attempts[record.chosen]
    assert len(reading.words) >= count
    assert chosen.uncovered_ink <= 0.05
    assert chosen.confidence is not None
    assert chosen.confidence > 80
    inked = [ink_box(image, word.box, dark=160) is not None for word in reading.words]
    assert np.mean(inked) > 0.98


def overlap(a: Box, b: Box) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    common = width * height
    return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common)


@pytest.mark.parametrize("dpi", [150, 300])
def test_a_word_beside_a_dotted_rule_is_all_there_is_to_read(corpus: Path, dpi: int) -> None:
    with pymupdf.open(corpus / "pdf_nasty/truetype_font_nomapping.pdf") as document:
        pixels = document[0].get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY, alpha=False)
    image = Image.frombytes("L", (pixels.width, pixels.height), pixels.samples)
    reading = PageRecogniser(first_engine("auto", "eng")).read(image, dpi, WHOLE)
    assert texts(reading) == ["Phone"]
    assert (reading.record.turn, reading.record.flagged) == (0, False)

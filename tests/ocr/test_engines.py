"""What holds for every engine."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from ocr.engine import EngineUnavailableError, OcrEngine, OcrError, OcrWord, Segmentation, Threshold
from ocr.engines import FirstChoice, SecondChoice, first_engine, second_engine

LINES = ("Either party may", "terminate by notice.")
WORDS = ["Either", "party", "may", "terminate", "by", "notice."]
SIZE = 40


def words_image(lines: tuple[str, ...] = LINES, size: tuple[int, int] = (800, 300)) -> Image.Image:
    """Return black letters of SIZE pixels on white."""
    image = Image.new("L", size, 255)
    pen = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        pen.text((60, 50 + 60 * number), line, font=ImageFont.load_default(size=SIZE), fill=0)
    return image


def true_boxes(line: str, left: int, top: int) -> list[tuple[int, int, int, int]]:
    """Return where the ink of each word of a line is."""
    font = ImageFont.load_default(size=SIZE)
    boxes = []
    for place, word in enumerate(line.split()):
        before = " ".join([*line.split()[:place], ""])
        alone = Image.new("L", (800, 300), 0)
        ImageDraw.Draw(alone).text((left + font.getlength(before), top), word, font=font, fill=255)
        box = alone.getbbox()
        assert box is not None
        boxes.append(box)
    return boxes


def tesseract() -> OcrEngine:
    return first_engine("tesseract", "eng")


def tesserocr() -> OcrEngine:
    pytest.importorskip("tesserocr")
    return first_engine("tesserocr", "eng")


def rapidocr() -> OcrEngine:
    pytest.importorskip("rapidocr")
    engine = second_engine("rapidocr", "eng")
    assert engine is not None
    return engine


ENGINES: dict[str, Callable[[], OcrEngine]] = {
    "tesseract": tesseract,
    "tesserocr": tesserocr,
    "rapidocr": rapidocr,
}


def fresh(name: str) -> OcrEngine:
    """Return an engine that was not used yet; those of ``ENGINES`` are one a process."""
    kind = type(ENGINES[name]())
    new: OcrEngine = kind() if name == "rapidocr" else kind("eng")  # type: ignore[call-arg]
    return new


@pytest.fixture(scope="module", params=sorted(ENGINES))
def engine(request: pytest.FixtureRequest) -> OcrEngine:
    return ENGINES[cast(str, request.param)]()


def texts(words: list[OcrWord]) -> list[str]:
    return [word.text for word in words]


def check_words(words: list[OcrWord], image: Image.Image) -> None:
    """Check what the protocol promises of every word."""
    for word in words:
        assert word.text
        assert not any(character.isspace() for character in word.text)
        x0, y0, x1, y1 = word.box
        assert 0 <= x0 < x1 <= image.width
        assert 0 <= y0 < y1 <= image.height
        assert all(isinstance(edge, float) for edge in word.box)
        assert 0 <= word.confidence <= 100
        assert min(word.block, word.paragraph, word.line) >= 1
    places = [(word.block, word.paragraph, word.line) for word in words]
    runs = [place for place, _ in itertools.groupby(places)]
    assert len(runs) == len(set(runs)), "words of a line stand together"


def test_words_come_in_reading_order_with_their_places(engine: OcrEngine) -> None:
    image = words_image()
    words = engine.recognise(image, 200)
    check_words(words, image)
    assert texts(words) == WORDS
    lines = [(word.block, word.paragraph, word.line) for word in words]
    assert lines == [lines[0]] * 3 + [lines[3]] * 3
    assert lines[0] != lines[3]
    assert min(word.confidence for word in words) > 80
    assert {word.box_kind for word in words} == {"word"}


def test_boxes_fit_the_ink_of_their_words(engine: OcrEngine) -> None:
    words = engine.recognise(words_image(), 200)
    expected = [
        box for number, line in enumerate(LINES) for box in true_boxes(line, 60, 50 + 60 * number)
    ]
    for word, box in zip(words, expected, strict=True):
        assert word.box == pytest.approx(box, abs=3), word.text


def test_it_says_what_it_is(engine: OcrEngine, request: pytest.FixtureRequest) -> None:
    assert engine.name in ENGINES
    assert engine.name in request.node.name
    assert engine.version[0].isdigit()


@pytest.mark.parametrize("size", [(200, 100), (1, 1), (2, 40), (40, 2), (3000, 3)])
@pytest.mark.parametrize("shade", [255, 0, 128])
def test_nothing_is_read_where_nothing_is(
    engine: OcrEngine, size: tuple[int, int], shade: int
) -> None:
    assert engine.recognise(Image.new("L", size, shade), 100) == []


@pytest.mark.parametrize("segmentation", ["page", "sparse", "block"])
@pytest.mark.parametrize("threshold", ["otsu", "sauvola"])
def test_every_way_to_look_is_taken(
    engine: OcrEngine, segmentation: Segmentation, threshold: Threshold
) -> None:
    words = engine.recognise(words_image(), 200, segmentation=segmentation, threshold=threshold)
    assert sorted(texts(words)) == sorted(WORDS)


@pytest.mark.parametrize("dpi", [50, 72, 1200, 2400])
def test_an_odd_resolution_is_no_error(engine: OcrEngine, dpi: int) -> None:
    image = words_image()
    check_words(engine.recognise(image, dpi), image)


def test_grey_and_colour_are_read_alike(engine: OcrEngine) -> None:
    image = words_image()
    grey, colour = engine.recognise(image, 200), engine.recognise(image.convert("RGB"), 200)
    assert texts(grey) == texts(colour) == WORDS
    for a, b in zip(grey, colour, strict=True):
        assert a.box == pytest.approx(b.box, abs=1)


def test_colours_are_not_mixed_up(engine: OcrEngine) -> None:
    image = Image.new("RGB", (800, 300), (255, 255, 210))
    image.paste((140, 0, 0), mask=words_image().point(lambda value: 255 - value))
    assert texts(engine.recognise(image, 200)) == WORDS


def test_a_wide_image_is_read(engine: OcrEngine) -> None:
    image = words_image(("Either party may terminate by notice.",), (4000, 150))
    image.paste(words_image(("signature",), (400, 150)), (3500, 0))
    assert texts(engine.recognise(image, 200)) == [*WORDS, "signature"]


def test_an_image_that_is_too_large_is_an_error_of_that_image(engine: OcrEngine) -> None:
    with pytest.raises(OcrError) as caught:
        engine.recognise(Image.new("L", (40_000, 60), 255), 200)
    assert not isinstance(caught.value, EngineUnavailableError)


def test_columns_are_read_one_after_the_other(engine: OcrEngine) -> None:
    names = ("alpha", "bravo", "delta", "golf", "hotel", "kilo")
    left = [f"{name} the supplier shall" for name in names]
    right = [f"{name} and the client pays" for name in reversed(names)]
    image = Image.new("L", (1250, 480), 255)
    pen = ImageDraw.Draw(image)
    for number in range(6):
        for x, line in ((50, left[number]), (680, right[number])):
            pen.text((x, 40 + 60 * number), line, font=ImageFont.load_default(size=SIZE), fill=0)
    assert texts(engine.recognise(image, 200)) == " ".join(left + right).split()


def test_threads_get_what_one_alone_gets(engine: OcrEngine) -> None:
    images = [words_image((f"clause {number}", *LINES)) for number in range(3)]
    alone = [engine.recognise(image, 200) for image in images]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(lambda image: engine.recognise(image, 200), images * 2))
    assert together == alone * 2
    assert texts(alone[1])[:2] == ["clause", "1"]


def test_a_page_does_not_depend_on_the_one_before(engine: OcrEngine) -> None:
    first = engine.recognise(words_image(), 200)
    engine.recognise(words_image(("Aldermoor xqzzt", "Aldermoor xqzzt")), 200)
    with pytest.raises(OcrError):
        engine.recognise(Image.new("L", (40_000, 60), 255), 200)
    assert engine.recognise(words_image(), 200) == first


def test_it_needs_no_network(engine: OcrEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("an engine opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert texts(fresh(engine.name).recognise(words_image(), 200)) == WORDS


def test_it_prints_nothing(engine: OcrEngine, capfd: pytest.CaptureFixture[str]) -> None:
    new = fresh(engine.name)
    new.recognise(words_image(), 200)
    new.recognise(Image.new("L", (50, 50), 255), 10)
    assert capfd.readouterr() == ("", "")


def _fail(said: str) -> Callable[..., Any]:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError(said)

    return fail


def _failing(name: str, said: str, monkeypatch: pytest.MonkeyPatch) -> OcrEngine:
    """Return an engine whose library fails with these words."""
    engine = fresh(name)
    if name == "tesseract":
        import pytesseract

        def fail(*_: Any, **__: Any) -> None:
            raise pytesseract.TesseractError(1, said)

        monkeypatch.setattr(pytesseract, "image_to_data", fail)
    elif name == "tesserocr":

        class Broken:
            def __getattr__(self, _: str) -> Callable[..., Any]:
                return lambda *_: True

            Recognize = staticmethod(_fail(said))

        monkeypatch.setattr(engine, "_open", Broken)
    else:
        networks = (_fail(said), _fail(said))
        monkeypatch.setattr(engine, "_networks", networks)
    return engine


@pytest.mark.parametrize("name", sorted(ENGINES))
def test_lack_of_memory_is_told_from_a_bad_image(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for said in ("std::bad_alloc", "bad allocation"):
        if (name == "rapidocr") == (said == "bad allocation"):
            with pytest.raises(MemoryError):
                _failing(name, said, monkeypatch).recognise(words_image(), 200)
    with pytest.raises(OcrError, match="odd pixels"):
        _failing(name, "odd pixels", monkeypatch).recognise(words_image(), 200)


@pytest.mark.parametrize("choice", ["tesseract", "tesserocr"])
@pytest.mark.parametrize(
    ("languages", "package"),
    [("eng+xyz", "tesseract-ocr-xyz"), ("chi_qqx_vert", "tesseract-ocr-chi-qqx-vert")],
)
def test_a_missing_language_names_its_package(
    choice: FirstChoice, languages: str, package: str
) -> None:
    engine = first_engine(choice, languages)
    with pytest.raises(EngineUnavailableError) as caught:
        engine.recognise(words_image(), 200)
    assert f"apt-get install {package}" in str(caught.value)
    with pytest.raises(EngineUnavailableError):
        _ = engine.version


def test_a_tesseract_that_failed_is_not_used_again() -> None:
    pytest.importorskip("tesserocr")
    from ocr.tesserocr_engine import TesserocrEngine

    engine = TesserocrEngine("eng")
    with pytest.raises(ValueError, match="mine"), engine._tesseract() as failed:
        raise ValueError("mine")
    with engine._tesseract() as first, engine._tesseract() as second:
        assert len({id(failed), id(first), id(second)}) == 3, "two that read at once have their own"
    with engine._tesseract() as again:
        assert again in (first, second)


# --- choosing ----------------------------------------------------------------------------------


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ocr.engines.find_spec", lambda _: None)


def test_a_process_has_one_engine_of_a_kind() -> None:
    for choose in ENGINES.values():
        assert choose() is choose()
    assert first_engine("tesseract", "eng") is not first_engine("tesseract", "eng+deu")


def test_auto_takes_what_is_installed() -> None:
    pytest.importorskip("tesserocr")
    pytest.importorskip("rapidocr")
    second = second_engine("auto", "eng+deu+chi_sim")
    assert first_engine("auto", "eng").name == "tesserocr"
    assert second is not None
    assert second.name == "rapidocr"


@pytest.mark.usefixtures("nothing_installed")
def test_without_the_extra_auto_reads_with_the_program_alone() -> None:
    assert first_engine("auto", "eng").name == "tesseract"
    assert second_engine("auto", "eng") is None


@pytest.mark.usefixtures("nothing_installed")
def test_what_is_chosen_must_be_installed() -> None:
    with pytest.raises(EngineUnavailableError, match=r"pip install 'muniment\[ocr\]'"):
        first_engine("tesserocr", "eng")
    with pytest.raises(EngineUnavailableError, match=r"pip install 'muniment\[ocr\]'"):
        second_engine("rapidocr", "eng")


@pytest.mark.parametrize("choice", ["tesseract", "none"])
def test_a_choice_is_kept(choice: str) -> None:
    if choice == "none":
        assert second_engine("none", "eng") is None
    else:
        assert first_engine("tesseract", "eng").name == "tesseract"


@pytest.mark.parametrize("languages", ["ara", "eng+heb", "rus", "hin+eng", "ell", "kor", "vie"])
def test_no_second_engine_for_letters_that_it_does_not_know(languages: str) -> None:
    choice: SecondChoice = "rapidocr"
    assert second_engine("auto", languages) is None
    pytest.importorskip("rapidocr")
    with pytest.raises(EngineUnavailableError, match=r"MUNIMENT_EXTRACTION__OCR_SECOND_ENGINE"):
        second_engine(choice, languages)


def test_images_are_left_as_they_are(engine: OcrEngine) -> None:
    image = words_image()
    before = np.asarray(image).copy()
    engine.recognise(image, 200)
    assert np.array_equal(np.asarray(image), before)

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pymupdf
import pytest
from PIL import Image, ImageDraw, ImageFont

from ocr.engine import EngineUnavailableError
from ocr.rapid import RapidEngine

pytest.importorskip("rapidocr")
FONT = ImageFont.load_default(size=40)


@pytest.fixture(scope="module")
def engine() -> RapidEngine:
    return RapidEngine()


def page(text: str, size: tuple[int, int] = (800, 200)) -> Image.Image:
    image = Image.new("L", size, 255)
    ImageDraw.Draw(image).text((60, 60), text, font=FONT, fill=0)
    return image


def ink(image: Image.Image) -> tuple[int, int, int, int]:
    box = image.point(lambda value: 255 * (value < 128)).getbbox()
    assert box is not None
    return box


def hull(boxes: list[tuple[float, float, float, float]]) -> tuple[float, ...]:
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)


@pytest.mark.parametrize("turn", [90, 270])
def test_a_line_that_is_written_up_or_down_is_read(turn: int, engine: RapidEngine) -> None:
    image = page("confidential statement", (600, 170)).rotate(turn, expand=True)
    words = engine.recognise(image, 200)
    assert [word.text for word in words] == ["confidential", "statement"]
    assert hull([word.box for word in words]) == pytest.approx(ink(image), abs=3)


@pytest.mark.parametrize("digit", ["1", "I", "7"])
def test_a_narrow_letter_is_not_taken_for_a_turned_line(digit: str, engine: RapidEngine) -> None:
    (word,) = engine.recognise(page(f"{digit}"), 200)
    # A stroke alone is told from another one by its neighbours only.
    assert word.text == digit or {word.text, digit} <= set("1Il|")


@pytest.mark.parametrize("angle", [-4, 4])
def test_boxes_of_a_tilted_line_are_hulls_of_its_words(angle: int, engine: RapidEngine) -> None:
    image = page("source never moves across").rotate(angle, Image.Resampling.BICUBIC, fillcolor=255)
    words = engine.recognise(image, 200)
    assert [word.text for word in words] == ["source", "never", "moves", "across"]
    assert hull([word.box for word in words]) == pytest.approx(ink(image), abs=4)
    tops = [word.box[1] for word in words]
    assert tops == sorted(tops, reverse=angle > 0)


def test_chinese_without_spaces_is_one_word(engine: RapidEngine) -> None:
    with pymupdf.open() as document:
        sheet = document.new_page(width=500, height=120)
        sheet.insert_htmlbox((20, 20, 480, 100), "<p>本协议由供应商与客户于签署之日订立 GitHub</p>")
        pixels = sheet.get_pixmap(dpi=200, colorspace=pymupdf.csGRAY)
    image = Image.frombytes("L", (pixels.width, pixels.height), pixels.samples)
    words = engine.recognise(image, 200)
    assert [word.text for word in words] == ["本协议由供应商与客户于签署之日订立", "GitHub"]
    assert hull([word.box for word in words]) == pytest.approx(ink(image), abs=4)


def test_a_line_whose_letters_have_no_places_is_shared_by_length(
    engine: RapidEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    quad = np.array([[100, 50], [300, 50], [300, 90], [100, 90]], np.float32)

    def find(_: Any) -> Any:
        return SimpleNamespace(boxes=[quad])

    def read(_: Any) -> Any:
        seen = SimpleNamespace(word_cols=[[1]], confs=[0.9], line_txt_len=0.0)
        return SimpleNamespace(txts=("ab c",), scores=(0.8,), word_results=(seen,))

    monkeypatch.setattr(engine, "_networks", (find, read))
    first, second = engine.recognise(Image.new("L", (400, 100), 255), 200)
    assert (first.text, first.box_kind, first.confidence) == ("ab", "line", 80)
    assert first.box == pytest.approx((100, 50, 200, 90), abs=0.5)
    assert second.box == pytest.approx((250, 50, 300, 90), abs=0.5)
    assert (first.block, first.line) == (second.block, second.line)


def test_a_line_that_is_hardly_read_is_left_out(
    engine: RapidEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    quad = np.array([[100, 50], [300, 50], [300, 90], [100, 90]], np.float32)
    seen = SimpleNamespace(word_cols=[[1]], confs=[0.4], line_txt_len=5.0)
    result = SimpleNamespace(txts=("x",), scores=(0.4,), word_results=(seen,))
    networks = (lambda _: SimpleNamespace(boxes=[quad]), lambda _: result)
    monkeypatch.setattr(engine, "_networks", networks)
    assert engine.recognise(Image.new("L", (400, 100), 255), 200) == []


def test_a_package_without_its_networks_is_said(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = SimpleNamespace(origin=str(tmp_path / "rapidocr" / "__init__.py"))
    monkeypatch.setattr("ocr.rapid.find_spec", lambda _: empty)
    with pytest.raises(EngineUnavailableError, match="no networks"):
        RapidEngine().recognise(Image.new("L", (50, 50), 255), 200)
    monkeypatch.setattr("ocr.rapid.find_spec", lambda _: None)
    with pytest.raises(EngineUnavailableError, match=r"pip install 'muniment\[ocr\]'"):
        RapidEngine().recognise(Image.new("L", (50, 50), 255), 200)

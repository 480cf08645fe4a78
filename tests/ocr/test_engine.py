from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

import ocr
from ocr.engine import EngineUnavailableError, OcrEngine, OcrError, OcrWord, mean_confidence
from ocr.tesseract import TesseractEngine


def words_image(dpi: int = 200) -> Image.Image:
    image = Image.new("L", (800, 300), 255)
    pen = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=40)
    pen.text((60, 50), "Either party may", font=font, fill=0)
    pen.text((60, 110), "terminate by notice.", font=font, fill=0)
    return image


def word(text: str, confidence: float) -> OcrWord:
    return OcrWord(text, (0, 0, 1, 1), confidence, 1, 1, 1)


def test_words_come_in_reading_order_with_their_places() -> None:
    engine: OcrEngine = TesseractEngine("eng")
    assert engine.name == "tesseract"
    assert engine.version[0].isdigit()
    words = engine.recognise(words_image(), 200)
    assert [w.text for w in words] == ["Either", "party", "may", "terminate", "by", "notice."]
    assert [w.line for w in words] == [words[0].line] * 3 + [words[3].line] * 3
    assert words[0].line != words[3].line or words[0].paragraph != words[3].paragraph
    for found in words:
        x0, y0, x1, y1 = found.box
        assert 0 <= x0 < x1 <= 800
        assert 0 <= y0 < y1 <= 300
        assert 0 <= found.confidence <= 100
    assert words[0].box[0] == pytest.approx(62, abs=6)


def test_a_blank_image_has_no_words() -> None:
    assert TesseractEngine().recognise(Image.new("L", (200, 100), 255), 100) == []


@pytest.mark.parametrize(
    ("languages", "package"),
    [("eng+xyz", "tesseract-ocr-xyz"), ("chi_sim_vert", "tesseract-ocr-chi-sim-vert")],
)
def test_a_missing_language_names_its_package(languages: str, package: str) -> None:
    with pytest.raises(EngineUnavailableError) as caught:
        TesseractEngine(languages).recognise(words_image(), 200)
    assert f"apt-get install {package}" in str(caught.value)


def test_a_missing_tesseract_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    import pytesseract

    monkeypatch.setattr(pytesseract.pytesseract, "tesseract_cmd", "/no/such/tesseract")
    with pytest.raises(EngineUnavailableError) as caught:
        TesseractEngine("eng").recognise(words_image(), 200)
    assert "apt-get install tesseract-ocr tesseract-ocr-eng" in str(caught.value)


@pytest.mark.parametrize(("said", "expected"), [("std::bad_alloc", MemoryError), ("?", OcrError)])
def test_failures_of_the_engine(
    said: str, expected: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    import pytesseract

    def fail(*_: Any, **__: Any) -> None:
        raise pytesseract.TesseractError(1, said)

    monkeypatch.setattr(pytesseract, "image_to_data", fail)
    with pytest.raises(expected):
        TesseractEngine("eng").recognise(words_image(), 200)


def test_mean_confidence_counts_letters() -> None:
    assert mean_confidence([]) is None
    assert mean_confidence([word("a", 10), word("long", 90)]) == pytest.approx(74)


def test_ocr_depends_on_schemas_alone() -> None:
    for path in Path(ocr.__path__[0]).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            for name in names:
                assert name.split(".")[0] not in ("ingest", "dags", "attribution"), path.name


def test_extraction_imports_no_heavy_library_before_it_needs_one() -> None:
    code = (
        "import sys, ingest.extract, ingest.extract.sandbox;"
        "print(sorted({'pymupdf', 'PIL', 'onnxruntime', 'unstructured', 'numpy', 'langdetect',"
        " 'pytesseract'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

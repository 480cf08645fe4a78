from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

import ocr
from ocr.engine import EngineUnavailableError, OcrError, OcrWord, mean_confidence
from ocr.tesseract import TesseractEngine
from ocr.tesseract_data import data_folder, languages_in, words_of_table
from ocr.tesserocr_engine import TesserocrEngine


def word(text: str, confidence: float) -> OcrWord:
    return OcrWord(text, (0, 0, 1, 1), confidence, 1, 1, 1)


TABLE = (
    "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"
    "4\t1\t2\t3\t4\t0\t10\t20\t90\t30\t-1\t\n"
    "5\t1\t2\t3\t4\t1\t10\t20\t30\t15\t96.5\tsay\n"
    '5\t1\t2\t3\t4\t2\t50\t20\t30\t15\t101\t"no\tor yes\n'
    "5\t1\t2\t3\t4\t3\t90\t20\t30\t15\t0\t \n"
)


def test_words_of_a_table() -> None:
    """Quotation marks and even tabs are text; rows of other levels and blank words are no words."""
    assert words_of_table(TABLE) == [
        OcrWord("say", (10, 20, 40, 35), 96.5, 2, 3, 4),
        OcrWord('"nooryes', (50, 20, 80, 35), 100, 2, 3, 4),
    ]
    assert words_of_table("") == []


def test_a_missing_tesseract_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    import pytesseract

    monkeypatch.setattr(pytesseract.pytesseract, "tesseract_cmd", "/no/such/tesseract")
    with pytest.raises(EngineUnavailableError) as caught:
        TesseractEngine("eng").recognise(Image.new("L", (100, 100), 255), 200)
    assert "apt-get install tesseract-ocr tesseract-ocr-eng" in str(caught.value)


def test_a_tesseract_process_uses_one_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pytesseract

    script = tmp_path / "tesseract"
    script.write_text(
        "#!/bin/sh\n"
        'case "$1" in\n'
        "  --version) echo tesseract 5.3.0;;\n"
        "  --list-langs) echo 'List of available languages (1):'; echo eng;;\n"
        f"  *) echo $OMP_THREAD_LIMIT >> {tmp_path}/threads; exit 1;;\n"
        "esac\n"
    )
    script.chmod(0o755)
    monkeypatch.setattr(pytesseract.pytesseract, "tesseract_cmd", str(script))
    monkeypatch.delenv("OMP_THREAD_LIMIT")
    engine = TesseractEngine("eng")
    with pytest.raises(OcrError):
        engine.recognise(Image.new("L", (100, 100), 255), 200)
    assert (tmp_path / "threads").read_text().split() == ["1"]


def test_data_is_where_tesseract_has_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = data_folder()
    assert folder is not None
    assert {"eng", "osd"} <= languages_in(folder)
    (tmp_path / "script").mkdir()
    for name in ("deu.traineddata", "script/Arabic.traineddata", "notes.txt"):
        (tmp_path / name).write_bytes(b"")
    monkeypatch.setenv("TESSDATA_PREFIX", str(tmp_path))
    assert data_folder() == tmp_path
    assert languages_in(tmp_path) == {"deu", "script/Arabic"}


def test_without_tesseract_its_data_may_still_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TESSDATA_PREFIX", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    (tmp_path / "5" / "tessdata").mkdir(parents=True)
    known = str(tmp_path / "*" / "tessdata")
    monkeypatch.setattr("ocr.tesseract_data._KNOWN_FOLDERS", (known,))
    assert data_folder() == tmp_path / "5" / "tessdata"
    monkeypatch.setattr("ocr.tesseract_data._KNOWN_FOLDERS", ())
    assert data_folder() is None
    with pytest.raises(
        EngineUnavailableError, match="apt-get install tesseract-ocr tesseract-ocr-deu"
    ):
        _ = TesserocrEngine("deu").version


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

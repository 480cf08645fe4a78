from __future__ import annotations

from pathlib import Path
from typing import Any

import pymupdf
import pytest
from PIL import Image

from ocr.script import Script, detect_script, languages_for, script_hint

SENTENCES = {
    "Arabic": "تُبرم هذه الاتفاقية بين المورد والعميل في يوم التوقيع عليها. "
    "يجوز لأي من الطرفين إنهاؤها بإشعار كتابي قبل تسعين يوما.",
    "Cyrillic": "Настоящий договор заключён между Поставщиком и Заказчиком в день его подписания.",
    "Greek": "Η παρούσα σύμβαση συνάπτεται μεταξύ του προμηθευτή και του πελάτη κατά την ημέρα.",
    "Han": "本协议由供应商与客户于签署之日订立。任何一方均可提前九十天以书面形式通知对方终止。"
    "付款应在收到发票后三十天内完成。因不可抗力造成的延误，双方均不承担责任。",
    "Latin": "Either party may terminate this Agreement by giving ninety days written notice. "
    "Payment falls due thirty days after receipt of each invoice; queries regarding fees must be "
    "raised within that period. Zoning, job titles and exhibits are listed below.",
}
DATA = {
    "Arabic": "ara",
    "Cyrillic": "rus",
    "Greek": "ell",
    "Han": "chi_sim",
    "Latin": "eng",
}


def page_in(script: str) -> Image.Image:
    """Return a page at 200 dpi that says the same sentence over and over."""
    with pymupdf.open() as document:
        page = document.new_page()
        text = f'<p style="font-size:12px">{(SENTENCES[script] + " ") * 12}</p>'
        page.insert_htmlbox((60, 60, 540, 780), text)
        pixels = page.get_pixmap(dpi=200, colorspace=pymupdf.csGRAY)
    return Image.frombytes("L", (pixels.width, pixels.height), pixels.samples)


@pytest.mark.parametrize("script", sorted(SENTENCES))
def test_scripts_are_told_apart(script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    image = page_in(script)
    found = detect_script(image, 200)
    assert found is not None
    assert DATA[script] in languages_for(found)
    monkeypatch.setattr("ocr.script.detect_script", lambda *_: found)
    assert script_hint(image, 200, f"tha+{DATA[script]}") is None, "it was read as that"
    hint = script_hint(image, 200, "tha")
    assert hint is not None
    assert DATA[script] in hint


def test_the_hint_names_script_languages_and_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ocr.script.detect_script", lambda *_: Script("Arabic", 20.0))
    assert script_hint(Image.new("L", (9, 9)), 200, "eng+deu") == (
        "The page looks like Arabic script, but was read as eng+deu. Set ocr_languages for its "
        "source, for example to ara or fas or urd."
    )


@pytest.mark.parametrize("image", [Image.new("L", (400, 300), 255), Image.new("L", (1, 1), 0)])
def test_a_page_without_letters_gets_none(image: Image.Image) -> None:
    assert detect_script(image, 200) is None


def test_where_the_detector_is_missing_there_is_no_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    import pytesseract

    monkeypatch.setattr(pytesseract.pytesseract, "tesseract_cmd", "/no/such/tesseract")
    assert script_hint(page_in("Arabic"), 200, "eng") is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("Greek", 9.85, 180, 7.1), ("Greek", 9.85, 180, 7.1)),
        (("Cyrillic", 3.3, 0, 8.0), ("Cyrillic", 16.0, 0, 8.0)),
        (("Arabic", 3.0, 180, 6.5), ("Arabic", 3.2, 180, 2.6)),
        (("Arabic", 3.0, 0, 6.5), ("Hebrew", 3.2, 0, 6.5)),
    ],
)
def test_what_the_detector_says_of_poor_latin_pages_is_not_believed(
    first: tuple[Any, ...], second: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    import pytesseract

    keys = ("script", "script_conf", "orientation", "orientation_conf")
    answers = iter([dict(zip(keys, first, strict=True)), dict(zip(keys, second, strict=True))])
    monkeypatch.setattr(pytesseract, "image_to_osd", lambda *_, **__: next(answers))
    assert detect_script(Image.new("L", (100, 100), 255), 200) is None


def test_a_script_without_languages_names_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ocr.script.detect_script", lambda *_: Script("Runic", 9.0))
    assert script_hint(Image.new("L", (9, 9)), 200, "eng") == (
        "The page looks like Runic script, but was read as eng. Set ocr_languages for its source."
    )


@pytest.mark.parametrize(
    ("name", "dpi", "suggestion"),
    [("hebrew.png", 200, "heb"), ("devatest-rotated-270.png", 300, "hin")],
)
def test_pages_in_other_scripts_get_a_hint(
    name: str, dpi: int, suggestion: str, corpus: Path
) -> None:
    with Image.open(corpus / "scans_tesseract" / name) as image:
        hint = script_hint(image.convert("L"), dpi, "eng")
    assert hint is not None
    assert suggestion in hint


@pytest.mark.parametrize(
    ("name", "dpi"),
    [
        ("scans_tesseract/phototest-rotated-R.png", 150),
        ("scans_tesseract/phototest-rotated-180.png", 150),
        ("scans_funsd/82562350.png", 100),
        ("scans_funsd/92039708_9710.png", 100),
        ("scans_scribe/table_05.png", 250),
        ("scans_sroie/279.jpg", 150),
        ("scans_sroie/054.jpg", 150),
    ],
)
def test_latin_pages_get_none(name: str, dpi: int, corpus: Path) -> None:
    """The detector by itself takes most of these for Cyrillic, Greek or Arabic."""
    with Image.open(corpus / name) as image:
        assert script_hint(image.convert("L"), dpi, "eng") is None

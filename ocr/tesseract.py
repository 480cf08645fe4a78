"""Tesseract, through its command line: the default engine, best on clean printed prose."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING

import pytesseract  # type: ignore[import-untyped]  # ships neither stubs nor py.typed

from ocr.engine import EngineUnavailableError, OcrError, OcrWord, Segmentation, Threshold

if TYPE_CHECKING:
    from PIL.Image import Image

_PAGE_SEGMENTATION: dict[Segmentation, int] = {"page": 3, "sparse": 11, "block": 6}
_THRESHOLDING: dict[Threshold, int] = {"otsu": 0, "sauvola": 2}
_WORD_LEVEL = 5
"""Tesseract's TSV has pages, blocks, paragraphs, lines and words at levels 1 to 5."""


class TesseractEngine:
    """Reads pages with the Tesseract that is on the PATH."""

    name = "tesseract"

    def __init__(self, languages: str = "eng") -> None:
        """Take Tesseract's language codes joined by "+"; nothing is started yet."""
        self.languages = languages
        # More than one thread makes Tesseract two to four times slower, not faster.
        os.environ.setdefault("OMP_THREAD_LIMIT", "1")

    @cached_property
    def version(self) -> str:
        """Version of the installed Tesseract.

        Raises:
            EngineUnavailableError: Tesseract or a language is not installed.
        """
        try:
            version = str(pytesseract.get_tesseract_version())
            installed = set(pytesseract.get_languages())
        except pytesseract.TesseractNotFoundError as error:
            packages = " ".join(["tesseract-ocr", *map(_package, self.languages.split("+"))])
            raise EngineUnavailableError(
                "Tesseract is not installed, so scans cannot be read. "
                f"Install it: sudo apt-get install {packages}"
            ) from error
        # Asked for "eng+deu" where only English is installed, Tesseract reads on with English
        # alone and exits with 0, so the languages are checked here.
        missing = [code for code in self.languages.split("+") if code not in installed]
        if missing:
            raise EngineUnavailableError(
                f"Tesseract has no data for {', '.join(missing)} (installed: "
                f"{', '.join(sorted(installed - {'osd'})) or 'none'}). "
                f"Install it: sudo apt-get install {' '.join(map(_package, missing))}; "
                "or change MUNIMENT_EXTRACTION__OCR_LANGUAGES."
            )
        return version

    def recognise(
        self,
        image: Image,
        dpi: int,
        *,
        segmentation: Segmentation = "page",
        threshold: Threshold = "otsu",
    ) -> list[OcrWord]:
        """Return the words of ``image``; see `OcrEngine.recognise`."""
        _ = self.version
        try:
            table: dict[str, list[str]] = pytesseract.image_to_data(
                image,
                lang=self.languages,
                config=f"--psm {_PAGE_SEGMENTATION[segmentation]} --dpi {dpi} "
                f"-c thresholding_method={_THRESHOLDING[threshold]}",
                output_type=pytesseract.Output.DICT,
            )
        except pytesseract.TesseractError as error:
            if "bad_alloc" in str(error):
                raise MemoryError("Tesseract ran out of memory") from error
            raise OcrError(f"Tesseract failed: {error}") from error
        return _words(table)


def _words(table: dict[str, list[str]]) -> list[OcrWord]:
    words: list[OcrWord] = []
    for row in range(len(table["text"])):
        if int(table["level"][row]) != _WORD_LEVEL:
            continue
        text = "".join(table["text"][row].split())
        if not text:
            continue
        left, top, width, height = (
            float(table[name][row]) for name in ("left", "top", "width", "height")
        )
        words.append(
            OcrWord(
                text=text,
                box=(left, top, left + width, top + height),
                confidence=min(100.0, max(0.0, float(table["conf"][row]))),
                block=int(table["block_num"][row]),
                paragraph=int(table["par_num"][row]),
                line=int(table["line_num"][row]),
            )
        )
    return words


def _package(code: str) -> str:
    return f"tesseract-ocr-{code.replace('_', '-').lower()}"

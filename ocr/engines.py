"""Choosing the engines that read scans, from what is set and what is installed.

A process has one engine of a kind and language, for all documents: loading one takes as long as
reading a small page.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from ocr.engine import EngineUnavailableError

if TYPE_CHECKING:
    from ocr.engine import OcrEngine

FirstChoice = Literal["auto", "tesseract", "tesserocr"]
SecondChoice = Literal["auto", "rapidocr", "none"]

_CODES = """
afr aze bos cat ces chi_sim chi_sim_vert chi_tra chi_tra_vert cym dan deu eng est eus fil fin fra
gle glg hrv hun ind isl ita jpn jpn_vert kmr lat lav lit ltz mlt mri msa nld nor oci pol por que ron
slk slv spa sqi srp_latn swa swe tur uzb
"""
RAPID_LANGUAGES = frozenset(_CODES.split())
"""Tesseract's codes of the languages whose letters RapidOCR's own models know."""


def first_engine(choice: FirstChoice, languages: str) -> OcrEngine:
    """Return the engine that reads every page; nothing is loaded yet.

    Args:
        choice: "tesseract" (the program), "tesserocr" (the library), or "auto": the library where
            it is installed, else the program.
        languages: Tesseract's codes joined by "+".

    Raises:
        EngineUnavailableError: what was chosen is not installed.
    """
    if choice == "auto":
        choice = "tesserocr" if find_spec("tesserocr") else "tesseract"
    if choice == "tesserocr":
        if not find_spec("tesserocr"):
            raise _not_installed("tesserocr", "MUNIMENT_EXTRACTION__OCR_ENGINE=tesseract")
        return _tesserocr(languages)
    return _tesseract(languages)


def second_engine(choice: SecondChoice, languages: str) -> OcrEngine | None:
    """Return the engine that reads again what the first did not read well; None without one.

    Args:
        choice: "rapidocr", "none", or "auto": RapidOCR where it is installed and knows the letters
            of all languages.
        languages: Tesseract's codes joined by "+".

    Raises:
        EngineUnavailableError: what was chosen is not installed, or does not know the letters.
    """
    if choice == "none":
        return None
    installed = find_spec("rapidocr") is not None
    unknown = [code for code in languages.split("+") if code not in RAPID_LANGUAGES]
    if choice == "auto" and (unknown or not installed):
        return None
    if not installed:
        raise _not_installed("rapidocr", "MUNIMENT_EXTRACTION__OCR_SECOND_ENGINE=none")
    if unknown:
        raise EngineUnavailableError(
            f"RapidOCR cannot read {', '.join(unknown)}: its models know Latin, Chinese and "
            "Japanese letters. Set MUNIMENT_EXTRACTION__OCR_SECOND_ENGINE to auto or none."
        )
    return _rapid()


@cache
def _tesseract(languages: str) -> OcrEngine:
    from ocr.tesseract import TesseractEngine

    return TesseractEngine(languages)


# Each holds the data of its languages: tens of megabytes, more for each that reads at once.
@lru_cache(maxsize=4)
def _tesserocr(languages: str) -> OcrEngine:
    from ocr.tesserocr_engine import TesserocrEngine

    return TesserocrEngine(languages)


@cache
def _rapid() -> OcrEngine:
    from ocr.rapid import RapidEngine

    return RapidEngine()


def _not_installed(package: str, otherwise: str) -> EngineUnavailableError:
    return EngineUnavailableError(
        f"{package} is not installed. Install it: pip install 'muniment[ocr]'; or set {otherwise}."
    )

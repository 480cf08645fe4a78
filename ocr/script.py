"""The script of a page that cannot be read, so that its warning can name languages to try.

Tesseract's detector of scripts (osd.traineddata) is sure of Arabic, Hebrew, Devanagari and Thai,
and takes poor Latin pages for Cyrillic or Greek, more often so where they are upside down. So it is
asked at two sizes, must say the same, and be the surer the more the script resembles Latin.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ocr.tesseract_data import limit_threads

if TYPE_CHECKING:
    from PIL.Image import Image

_DPI = (300, 200)
"""It wants letters of about 30 pixels; small ones are mostly enlarged before it sees them."""
_MAX_PIXELS = 9_000_000
_SECONDS = 60
_LANGUAGES = {
    "Arabic": "ara fas urd pus snd uig kur",
    "Armenian": "hye",
    "Bengali": "ben asm",
    "Canadian_Aboriginal": "iku",
    "Cherokee": "chr",
    "Cyrillic": "rus ukr bul srp bel mkd kaz kir mon tat tgk aze_cyrl uzb_cyrl",
    "Devanagari": "hin mar nep san",
    "Ethiopic": "amh tir",
    "Georgian": "kat kat_old",
    "Greek": "ell grc",
    "Gujarati": "guj",
    "Gurmukhi": "pan",
    "Han": "chi_sim chi_tra chi_sim_vert chi_tra_vert",
    "Hebrew": "heb yid",
    "Japanese": "jpn jpn_vert",
    "Kannada": "kan",
    "Khmer": "khm",
    "Korean": "kor kor_vert",
    "Lao": "lao",
    "Latin": "eng deu fra spa",
    "Malayalam": "mal",
    "Myanmar": "mya",
    "Oriya": "ori",
    "Sinhala": "sin",
    "Syriac": "syr",
    "Tamil": "tam",
    "Telugu": "tel",
    "Thaana": "div",
    "Thai": "tha",
    "Tibetan": "bod",
}
"""Tesseract's codes of the languages that are written in a script, the likeliest first."""
_EAST_ASIAN = frozenset({"Han", "Japanese", "Korean"})
"""They share characters, so the detector is never sure which of them it sees."""
_ALIKE = frozenset({"Latin", "Cyrillic", "Greek"})
"""They share letters, and more of them upside down."""
_SUGGESTED = 3


@dataclass(frozen=True, slots=True)
class Script:
    """The script of a page."""

    name: str
    """As Tesseract calls it, such as "Latin", "Arabic" or "Han"."""
    confidence: float
    """Tesseract's own measure, from 0 and without an upper end; not that of words."""


@dataclass(frozen=True, slots=True)
class _Sight:
    script: str
    confidence: float
    upright: bool
    turn_confidence: float

    @property
    def sure(self) -> bool:
        """Say whether it is better than what poor Latin pages were taken for."""
        if self.script in _ALIKE:
            return self.upright and self.confidence >= (1.5 if self.script == "Latin" else 4)
        if self.script in _EAST_ASIAN:
            return self.turn_confidence >= 3
        return self.confidence >= 1.5 and self.turn_confidence >= 5


def detect_script(image: Image, dpi: int) -> Script | None:
    """Return the script of a page that stands upright or is turned; None if that is not clear.

    It takes about a second, and another one where the script is not Latin.

    Args:
        image: 8-bit grey.
        dpi: its resolution.
    """
    limit_threads()
    first = _look(image, dpi, _DPI[0])
    if first is None or not first.sure:
        return None
    if first.script == "Latin":
        return Script(first.script, first.confidence)
    second = _look(image, dpi, _DPI[1])
    if second is None or not second.sure:
        return None
    same = first.script == second.script or {first.script, second.script} <= _EAST_ASIAN
    return Script(first.script, min(first.confidence, second.confidence)) if same else None


def languages_for(script: Script) -> tuple[str, ...]:
    """Return Tesseract's codes of languages to try for this script, the likeliest first."""
    codes = _LANGUAGES.get(script.name, "").split()
    if script.name in _EAST_ASIAN:
        # It may as well be another one of them.
        others = sorted(_EAST_ASIAN - {script.name})
        codes = [codes[0], *(_LANGUAGES[other].split()[0] for other in others), *codes[1:]]
    return tuple(codes)


def script_hint(image: Image, dpi: int, languages: str) -> str | None:
    """Say that a page is in a script that its languages are not written in; None if it may be.

    Args:
        image: 8-bit grey.
        dpi: its resolution.
        languages: Tesseract's codes that it was read with, joined by "+".
    """
    script = detect_script(image, dpi)
    if script is None:
        return None
    read_as = {_script_of(code) for code in languages.split("+")}
    if script.name in read_as or (script.name in _EAST_ASIAN and read_as & _EAST_ASIAN):
        return None
    suggested = " or ".join(languages_for(script)[:_SUGGESTED])
    try_ = f", for example to {suggested}" if suggested else ""
    return (
        f"The page looks like {script.name.replace('_', ' ')} script, but was read as {languages}. "
        f"Set ocr_languages for its source{try_}."
    )


def _look(image: Image, dpi: int, wanted_dpi: int) -> _Sight | None:
    # It imports pandas, which few documents need.
    import pytesseract  # type: ignore[import-untyped]  # ships neither stubs nor py.typed

    scale = min(wanted_dpi / dpi, math.sqrt(_MAX_PIXELS / (image.width * image.height)))
    size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
    try:
        found = pytesseract.image_to_osd(
            image.resize(size),
            config=f"--psm 0 --dpi {wanted_dpi}",
            output_type=pytesseract.Output.DICT,
            timeout=_SECONDS,
        )
    except (pytesseract.TesseractError, pytesseract.TesseractNotFoundError, RuntimeError):
        # Too few letters, no data for it, or too slow: without a hint the page is as it was.
        return None
    return _Sight(
        script=found["script"],
        confidence=found["script_conf"],
        upright=found["orientation"] == 0,
        turn_confidence=found["orientation_conf"],
    )


def _script_of(code: str) -> str:
    return next((script for script, codes in _LANGUAGES.items() if code in codes.split()), "Latin")

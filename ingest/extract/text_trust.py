"""Whether a text layer says what its page shows, told from the text alone.

Text layers go wrong in four ways: glyphs without Unicode values, numbers of glyphs taken for
characters, bytes decoded with the wrong encoding, and bad OCR. Each leaves its own traces. Numbers,
program code, formulas, and scripts without spaces must not be taken for any of them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache, lru_cache

import numpy as np

from ingest.extract.text_line import TextLine

_UNREADABLE = re.compile("[\0-\x1f\x7f-\x9f\ue000-\uf8ff\ufffd]")
_SAMPLE = 100
"""Words that are looked at, taken evenly from the page."""
_LONG = 60
_REMEMBERED = 8192
"""Words whose form is remembered: a document says most of its words again and again."""
_FEW = 20
"""Words with letters below which their shape tells nothing."""

_LETTER = r"[^\W\d_]"
_RUN = re.compile(f"{_LETTER}{{3,}}")
_ALPHABETIC = re.compile("[A-Za-z\u00c0-\u024f\u0370-\u052f]")
"""Latin, Greek, Cyrillic."""
_WELL_FORMED = re.compile(
    rf"""["'“”‘’«»(\[{{<*•/–—-]*(?:{_LETTER}\.)*{_LETTER}+\d*(?:['’./&@_:–—-]+[^\W_]+)*"""
    rf"""["'“”‘’»)\]}}>.,;:!?*/–—…-]*\d*"""
)
_FORMED, _MISFORMED = 0.5, 0.25
"""Shares of well-formed words at and above which text is fine, and at and below which it is not.

Manuals with program code have .6 and more, a page that was mostly not understood .22."""
_CODE = re.compile(r"\w[(\[]|[\]}{;=]|->|::|^[!&|+*/<>=:-]{1,3}$")
_CODE_SHARE = 0.3
"""Share of words with the signs of program code in a text that is nothing else."""
_MOJIBAKE = re.compile("[ÃÂÐÑâ][\u0080-\u00bf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]")
_MOJIBAKE_SHARE = 0.1
"""Mojibake a word, of text in a European language that was decoded as Latin-1."""

_VOWELS = re.compile("[aeiouyàáâäãåæèéêëìíîïòóôöõøœùúûüýаеёиоуыэюяіїєαεηιουω]")
_USUAL_VOWELS = (0.28, 0.52)
_TRIGRAMS = 100
_LIKELY, _UNLIKELY = -3.9, -4.4
"""Mean logarithms of how frequent a text's trigrams are in its likeliest language.

Pages in 49 languages have −2.8 to −3.8; letters in disorder less than −4.4."""
_FLOOR = 1e-5


def is_unreadable(character: str) -> bool:
    """Say whether ``character`` is none: a control, private use, or U+FFFD."""
    return _UNREADABLE.match(character) is not None


def unreadable_count(text: str) -> int:
    """Return how many characters of ``text`` are none."""
    if text.isprintable() and "\ufffd" not in text:
        return 0
    return len(_UNREADABLE.findall(text))


def suspicion(lines: Sequence[TextLine]) -> float:
    """Return how likely it is, 0 to 1, that the text is not what the page says.

    Half and more is reason to look at the pixels; text that can be read stays below a third.
    """
    words = [word.text for line in lines for word in line.words]
    if not words:
        return 0.0
    sample = words[:: max(1, len(words) // _SAMPLE)]
    text = "".join(sample)
    doubts = (
        unreadable_count(text) / len(text),
        sum([len(word) for word in sample if not word.isalpha() and _is_glyph_codes(word)])
        / len(text),
        min(1.0, len(_MOJIBAKE.findall(text)) / (_MOJIBAKE_SHARE * len(sample))),
        _misformed(sample),
        _no_language(sample),
    )
    trust = 1.0
    for doubt in doubts:
        trust *= 1 - doubt
    return 1 - trust


def _is_glyph_codes(word: str) -> bool:
    """Say whether a word is a jumble of signs, as the numbers of glyphs are: ``"7+%-``."""
    if len(word) < 4 or any(map(str.isalpha, word)):
        return False
    signs = [sign for sign in word if unicodedata.category(sign)[0] in "PS"]
    return len(set(signs)) >= 3 and len(signs) >= 0.6 * len(word)


def _misformed(words: Sequence[str]) -> float:
    """Return how many words are no words, from 0 for few to 1 for most."""
    formed = misformed_letters = known = 0
    for word, is_formed in zip(words, map(_is_formed, words), strict=True):
        if is_formed is None:
            continue
        known += 1
        if is_formed:
            formed += len(word)
        else:
            misformed_letters += len(word)
    if known < _FEW:
        return 0.0
    misformed = _ramp(formed / (formed + misformed_letters), _FORMED, _MISFORMED)
    if misformed and len([1 for word in words if _CODE.search(word)]) >= _CODE_SHARE * len(words):
        return 0.0
    return misformed


@lru_cache(maxsize=_REMEMBERED)
def _is_formed(word: str) -> bool | None:
    """Say whether a word is well formed; None where it has no letter of an alphabet."""
    if word.isascii() and word.isalpha() and word.islower():
        return True
    if not _ALPHABETIC.search(word):
        return None
    return _WELL_FORMED.fullmatch(word[:_LONG]) is not None and _cased(word)


def _cased(word: str) -> bool:
    letters = "".join(filter(str.isalpha, word))
    return letters.islower() or letters.isupper() or letters[1:].islower() or len(letters) > 12


def _no_language(words: Sequence[str]) -> float:
    """Return how unlike all languages with alphabets the words are, 0 to 1."""
    text = " ".join(words).lower()
    runs: list[str] = _RUN.findall(text)
    if not text.isascii():
        runs = [run for run in runs if _ALPHABETIC.match(run)]
    letters = "".join(runs)
    if len(letters) < _TRIGRAMS:
        return 0.0
    low, high = _USUAL_VOWELS
    if low <= len(_VOWELS.findall(letters)) / len(letters) <= high:
        # Letters in disorder seldom have as many vowels as a language.
        return 0.0
    known, languages = _frequencies()
    none = [0.0] * languages
    rows = [
        known.get(f" {run} "[start : start + 3], none) for run in runs for start in range(len(run))
    ]
    means = np.log10(np.maximum(np.array(rows), _FLOOR)).mean(axis=0)
    return _ramp(float(means.max()), _LIKELY, _UNLIKELY)


@cache
def _frequencies() -> tuple[dict[str, list[float]], int]:
    """Return langdetect's frequencies of trigrams, each in all its languages, and their number."""
    from langdetect import detector_factory  # type: ignore[import-untyped]  # no stubs, no py.typed

    detector_factory.init_factory()
    factory = detector_factory._factory
    return factory.word_lang_prob_map, len(factory.langlist)


def _ramp(value: float, fine: float, bad: float) -> float:
    return min(1.0, max(0.0, (fine - value) / (fine - bad)))

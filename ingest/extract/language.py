"""Which language a text is in."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

_SAMPLE = 2_000
_DIGIT = re.compile(r"\d")
_LONGEST = 3
"""Letters of langdetect's longest n-grams."""
_MIN_LETTERS = 40
"""Below this, langdetect takes English headings for Danish or Romanian."""


def detect_language(text: str) -> str | None:
    """Return the ISO 639-1 code of the language of ``text``; None where it is too short to tell."""
    # Keys and hashes in an export are letters of no language.
    sample = " ".join([word for word in text[:_SAMPLE].split() if not _DIGIT.search(word)])
    if sum(map(str.isalpha, sample)) < _MIN_LETTERS:
        return None
    # It ships neither stubs nor py.typed.
    from langdetect import LangDetectException  # type: ignore[import-untyped]

    detector = _detector_type()()
    detector.append(sample)
    try:
        code: str = detector.detect()
    except LangDetectException:
        return None
    return code.partition("-")[0]


@cache
def _normal(character: str) -> str:
    from langdetect.utils.ngram import NGram  # type: ignore[import-untyped]

    normal: str = NGram.normalize(character)
    return normal


@cache
def _detector_type() -> Any:
    """Return langdetect's detector, made to give the same results in a third of the time.

    It multiplies and divides the probabilities of 55 languages some thousand times a text, one by
    one; that takes as long as reading ten pages.
    """
    import numpy as np
    from langdetect import detector_factory
    from langdetect.detector import Detector  # type: ignore[import-untyped]

    detector_factory.init_factory()
    factory = detector_factory._factory

    class Fast(Detector):  # type: ignore[misc]  # its base is untyped
        def __init__(self) -> None:
            super().__init__(factory)
            # It draws random samples; without a seed the same text comes out differently.
            self.seed = 0

        def _extract_ngrams(self) -> list[str]:
            found: list[str] = []
            known = self.word_lang_prob_map
            grams, in_capitals = " ", False
            for character in map(_normal, self.text):
                last = grams[-1]
                if last == " ":
                    grams, in_capitals = " ", False
                    if character == " ":
                        continue
                grams = grams[-2:] + character
                in_capitals = character.isupper() and (in_capitals or last.isupper())
                if in_capitals:
                    continue
                if character != " " and character in known:
                    found.append(character)
                if grams[-2:] in known:
                    found.append(grams[-2:])
                if len(grams) == _LONGEST and grams in known:
                    found.append(grams)
            return found

        def _init_probability(self) -> Floats:
            return np.full(len(self.langlist), 1.0 / len(self.langlist))

        def _update_lang_prob(self, prob: Floats, word: str, alpha: float) -> bool:
            prob *= probabilities(word) + alpha / self.BASE_FREQ
            return True

        def _normalize_prob(self, prob: Floats) -> float:
            prob /= prob.sum()
            return float(prob.max())

    @cache
    def probabilities(word: str) -> Floats:
        return np.array(factory.word_lang_prob_map[word])

    return Fast

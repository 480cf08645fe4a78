"""Which language a text is in."""

from __future__ import annotations

import re

_SAMPLE = 2_000
_DIGIT = re.compile(r"\d")
_MIN_LETTERS = 40
"""Below this, langdetect takes English headings for Danish or Romanian."""


def detect_language(text: str) -> str | None:
    """Return the ISO 639-1 code of the language of ``text``; None where it is too short to tell."""
    # Keys and hashes in an export are letters of no language.
    sample = " ".join(word for word in text[:_SAMPLE].split() if not _DIGIT.search(word))
    if sum(character.isalpha() for character in sample) < _MIN_LETTERS:
        return None
    from langdetect import (  # type: ignore[import-untyped]  # ships neither stubs nor py.typed
        DetectorFactory,
        LangDetectException,
        detect,
    )

    # langdetect draws random samples; without a seed the same text comes out differently.
    DetectorFactory.seed = 0
    try:
        code: str = detect(sample)
    except LangDetectException:
        return None
    return code.partition("-")[0]

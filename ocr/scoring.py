"""How good a reading is, on one scale for all engines.

Each engine's confidence has a scale of its own: of Tesseract's words with 90 some 95% of the
characters were right, of RapidOCR's 80%. So confidence is first turned into the share of right
characters that was measured for it (on scans of forms, receipts, filings and contracts, one half of
them; the other half came out the same within a few hundredths).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ocr.engine import OcrWord

_MEASURED: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "rapidocr": ((40, 60, 80, 90, 98, 100), (0.10, 0.40, 0.75, 0.85, 0.98, 0.99)),
}
_TESSERACT = ((0, 50, 80, 90, 96, 100), (0.35, 0.75, 0.92, 0.955, 0.985, 1.0))
"""Confidence and share of right characters."""
_COST = 3.0
"""Right characters that one wrong character costs. Fewer, and noise that sparse segmentation finds
in pictures counts for more than the text it spoils."""


def expected_accuracies(engine: str, words: Sequence[OcrWord]) -> NDArray[np.float64]:
    """Return the share of each word's characters that are probably right, shape (n,).

    Args:
        engine: name of the engine that read the words.
        words: with the confidence that it gave them.
    """
    confidences = np.array([word.confidence for word in words], dtype=np.float64)
    accuracies: NDArray[np.float64] = np.interp(confidences, *_MEASURED.get(engine, _TESSERACT))
    return accuracies


def mean_accuracy(words: Sequence[OcrWord], accuracies: NDArray[np.float64]) -> float:
    """Return the share of all characters that are probably right; 0 without words."""
    return float(_lengths(words) @ accuracies) / length(words) if words else 0.0


def score(words: Sequence[OcrWord], accuracies: NDArray[np.float64]) -> float:
    """Return the characters that are probably right, less what the wrong ones cost."""
    return float(_lengths(words) @ (1 - _COST * (1 - accuracies)))


def length(words: Sequence[OcrWord]) -> int:
    """Return the number of characters."""
    return sum(len(word.text) for word in words)


def _lengths(words: Sequence[OcrWord]) -> NDArray[np.float64]:
    return np.array([len(word.text) for word in words], dtype=np.float64)

"""What an OCR engine is, and what it returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from PIL.Image import Image

PixelBox = tuple[float, float, float, float]
"""x0, y0, x1, y1 in pixels of the image, origin top left."""
Segmentation = Literal["page", "sparse", "block"]
"""What the engine looks for: columns and paragraphs, scattered words of a form, or one block."""
Threshold = Literal["otsu", "sauvola"]
"""How grey becomes ink or paper: by one value for the page, or by each pixel's neighbourhood."""


class OcrError(Exception):
    """The engine could not read this image; another image may well be read."""


class EngineUnavailableError(OcrError):
    """The engine, or a language of it, is not installed; no image can be read.

    The message says how to install it.
    """


@dataclass(frozen=True, slots=True)
class OcrWord:
    """A recognised word. Words come in the engine's reading order."""

    text: str
    """Never blank, and without white space inside."""
    box: PixelBox
    confidence: float
    """0 to 100."""
    block: int
    paragraph: int
    """Number of the paragraph in its block."""
    line: int
    """Number of the line in its paragraph."""
    box_kind: Literal["word", "line"] = "word"
    """line: the engine gave a box for the line alone, and this is the word's share by length."""


class OcrEngine(Protocol):
    """Reads the words of one upright page image."""

    @property
    def name(self) -> str:
        """Name of the engine, such as "tesseract"."""

    @property
    def version(self) -> str:
        """Version of the engine that is installed."""

    def recognise(
        self,
        image: Image,
        dpi: int,
        *,
        segmentation: Segmentation = "page",
        threshold: Threshold = "otsu",
    ) -> list[OcrWord]:
        """Return the words of ``image`` in reading order.

        Args:
            image: the page as displayed, 8 bits a pixel, grey or RGB.
            dpi: its resolution; engines scale what they expect of letters by it.
            segmentation: what to look for; engines that look for lines alone don't need it.
            threshold: how to tell ink from paper; engines that read grey don't need it.

        Raises:
            OcrError: the engine failed on this image.
            EngineUnavailableError: the engine or a language is not installed.
        """


def mean_confidence(words: list[OcrWord]) -> float | None:
    """Return the mean confidence of ``words`` by their length; None without words."""
    characters = sum(len(word.text) for word in words)
    if not characters:
        return None
    return sum(word.confidence * len(word.text) for word in words) / characters

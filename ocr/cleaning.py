"""The paper's shading: how uneven it is, and taking it out of an image before it is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import cv2
import numpy as np
from PIL import Image

from ocr.components import reduced

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SIZE = 3.0
"""Height of letters in pixels of the reduced image that shading is measured in."""
_LETTERS = 5
"""Side of the neighbourhood, in these pixels, whose lightest value is paper."""
_SMOOTHING = 11
_WHITE = 245
_GRAIN = 15
"""How much darker than its paper ink is at least."""
_SHADED = (0.05, 0.30)
"""Difference between light and dark regions, as a share of the light: up to the first the paper is
even, beyond the second there are pictures, or light letters on dark ground."""


@dataclass(frozen=True, slots=True)
class Shading:
    """The grey of the paper all over an image."""

    paper: NDArray[np.uint8]
    """Reduced in size."""
    unevenness: float
    """Difference between light and dark regions, as a share of the light."""

    @property
    def uneven(self) -> bool:
        """True for paper under uneven light or toner, which is better taken out."""
        return _SHADED[0] <= self.unevenness <= _SHADED[1]

    def taken_out(self, image: Image.Image) -> Image.Image:
        """Return the image that the shading was measured in, with all its paper of one grey.

        Tesseract tells ink from paper by one grey for the whole page, so that under uneven light
        whole regions are lost, at no loss of its confidence in the rest.
        """
        grey = np.asarray(image)
        size = grey.shape[1], grey.shape[0]
        paper = cv2.resize(self.paper, size, interpolation=cv2.INTER_LINEAR)
        return Image.fromarray(cv2.divide(grey, paper, scale=_WHITE))

    def darkened(self, image: Image.Image) -> Image.Image:
        """Return the image with its shading taken out and most strokes black.

        Under faint ink beside something black, such as a torn edge, one grey for the whole page
        parts only the black from the rest.
        """
        lack = _WHITE - np.asarray(self.taken_out(image)).astype(np.float32)
        size = image.width, image.height
        paper = cv2.resize(self.paper, size, interpolation=cv2.INTER_NEAREST)
        # Where there is no paper, nothing can be read.
        lack[paper < np.median(self.paper) / 2] = 0
        strokes = lack[lack > _GRAIN]
        if not strokes.size:
            return image
        black = float(np.percentile(strokes, 60))
        return Image.fromarray(np.clip(_WHITE * (1 - lack / black), 0, 255).astype(np.uint8))


def measure_shading(image: Image.Image, letter_height: float) -> Shading:
    """Find the paper's grey in an 8-bit grey image.

    Args:
        image: as displayed.
        letter_height: in pixels; 0 where there are no letters.
    """
    factor = round(min(10.0, max(2.0, letter_height / _SIZE)))
    smaller = reduced(np.asarray(image), factor)
    lightest = cv2.dilate(smaller, np.ones((_LETTERS, _LETTERS), np.uint8))
    paper = np.maximum(cv2.medianBlur(lightest, _SMOOTHING), 1).astype(np.uint8)
    dark, light = np.percentile(paper, (5, 90))
    return Shading(paper, float((light - dark) / light))

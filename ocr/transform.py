"""Turning, scaling and levelling an image for reading, and mapping boxes back to it.

Boxes are in pixel edges: the pixel in column 0 reaches from x = 0 to x = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import cv2
import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ocr.engine import PixelBox

Turn = Literal[0, 90, 180, 270]
"""Degrees clockwise."""

_TURNS: dict[Turn, Image.Transpose] = {
    90: Image.Transpose.ROTATE_270,
    180: Image.Transpose.ROTATE_180,
    270: Image.Transpose.ROTATE_90,
}
"""Pillow counts anticlockwise."""


@dataclass(frozen=True)
class Transform:
    """From an image as displayed to the image that is read: turned, then scaled, then levelled."""

    width: int
    height: int
    """Of the displayed image, in pixels."""
    turn: Turn = 0
    scale: float = 1.0
    skew: float = 0.0
    """Degrees by which lines run downhill to the right once turned; what `apply` takes out."""

    @property
    def is_identity(self) -> bool:
        """True where the image is read as it is."""
        return self.turn == 0 and self.scale == 1 and self.skew == 0

    def apply(self, image: Image.Image) -> Image.Image:
        """Return the image to read, 8-bit grey; corners that turning uncovers get paper's grey."""
        if self.turn:
            image = image.transpose(_TURNS[self.turn])
        size = self._scaled
        if size != image.size:
            shrinks = size[0] < image.width
            method = cv2.INTER_AREA if shrinks else cv2.INTER_CUBIC
            image = Image.fromarray(cv2.resize(np.asarray(image), size, interpolation=method))
        if not self.skew:
            return image
        grey = np.asarray(image)
        # OpenCV's coordinates are those of the pixels' centres.
        centre = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1]])
        matrix = np.linalg.inv(centre) @ self._levelling @ centre
        levelled = cv2.warpAffine(
            grey, matrix[:2], self.size, flags=cv2.INTER_CUBIC, borderValue=paper(grey)
        )
        return Image.fromarray(levelled)

    @cached_property
    def size(self) -> tuple[int, int]:
        """Width and height of the image to read."""
        width, height = self._scaled
        if not self.skew:
            return width, height
        c, s = self._cosine_sine
        return (
            math.ceil(width * c + height * abs(s) - 1e-6),
            math.ceil(width * abs(s) + height * c - 1e-6),
        )

    def to_displayed(self, box: PixelBox) -> PixelBox:
        """Map a box from the image that was read to the displayed one, inside of it.

        A levelled word is a slanted rectangle on the displayed image; its hull is returned.
        """
        if self.is_identity:
            return box
        x0, y0, x1, y1 = box
        corners = self._inverse @ np.array([[x0, x1, x1, x0], [y0, y0, y1, y1], [1, 1, 1, 1]])
        left, top = (float(v) for v in corners[:2].min(axis=1))
        right, bottom = (float(v) for v in corners[:2].max(axis=1))
        left, right = _inside(left, right, self.width)
        top, bottom = _inside(top, bottom, self.height)
        return left, top, right, bottom

    def unscaled(self, box: PixelBox) -> PixelBox:
        """Map a box from the image that was read to what it would have been without scaling."""
        if self.scale == 1:
            return box
        width, height = self.width, self.height
        if self.turn in (90, 270):
            width, height = height, width
        across, down = width / self._scaled[0], height / self._scaled[1]
        return box[0] * across, box[1] * down, box[2] * across, box[3] * down

    def to_read(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Map points, shape (n, 2), from the displayed image to the one that is read."""
        mapped: NDArray[np.float64] = points @ self._matrix[:2, :2].T + self._matrix[:2, 2]
        return mapped

    @cached_property
    def _scaled(self) -> tuple[int, int]:
        width, height = self.width, self.height
        if self.turn in (90, 270):
            width, height = height, width
        return max(1, round(width * self.scale)), max(1, round(height * self.scale))

    @cached_property
    def _cosine_sine(self) -> tuple[float, float]:
        return math.cos(math.radians(self.skew)), math.sin(math.radians(self.skew))

    @cached_property
    def _levelling(self) -> NDArray[np.float64]:
        """From the scaled image to the read one: turned by −skew, moved to hold all corners."""
        if not self.skew:
            return np.eye(3)
        width, height = self._scaled
        c, s = self._cosine_sine
        return np.array([[c, s, height * max(0.0, -s)], [-s, c, width * max(0.0, s)], [0, 0, 1]])

    @cached_property
    def _matrix(self) -> NDArray[np.float64]:
        w, h = float(self.width), float(self.height)
        turned = {
            0: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
            90: [[0, -1, h], [1, 0, 0], [0, 0, 1]],
            180: [[-1, 0, w], [0, -1, h], [0, 0, 1]],
            270: [[0, 1, 0], [-1, 0, w], [0, 0, 1]],
        }[self.turn]
        across, down = (h, w) if self.turn in (90, 270) else (w, h)
        # The size is whole pixels, so both axes have a scale of their own.
        scaled = np.diag([self._scaled[0] / across, self._scaled[1] / down, 1.0])
        matrix: NDArray[np.float64] = self._levelling @ scaled @ np.array(turned, float)
        return matrix

    @cached_property
    def _inverse(self) -> NDArray[np.float64]:
        inverse: NDArray[np.float64] = np.linalg.inv(self._matrix).astype(np.float64)
        return inverse


def paper(grey: NDArray[np.uint8]) -> int:
    """Return the grey that most of a page's paper has."""
    return int(np.percentile(grey[::7, ::7], 80))


def _inside(low: float, high: float, limit: int) -> tuple[float, float]:
    """Cut an interval to an image of ``limit`` pixels; what lies outside becomes its edge's."""
    low, high = max(0.0, low), min(float(limit), high)
    if high - low < min(1, limit):
        low = min(max(0.0, low), limit - 1.0)
        high = low + 1.0
    return low, high

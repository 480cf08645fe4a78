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
    from collections.abc import Sequence

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

    def to_displayed(self, boxes: Sequence[PixelBox]) -> list[PixelBox]:
        """Map boxes from the image that was read to the displayed one, inside of it.

        A levelled word is a slanted rectangle on the displayed image; its hull is returned.
        """
        if self.is_identity or not boxes:
            return list(boxes)
        edges = np.array(boxes, dtype=np.float64)
        corners = edges[:, [[0, 1], [2, 1], [2, 3], [0, 3]]]
        mapped = corners @ self._inverse[:2, :2].T + self._inverse[:2, 2]
        limits = np.array([self.width, self.height], dtype=np.float64)
        low = np.maximum(mapped.min(axis=1), 0.0)
        high = np.minimum(mapped.max(axis=1), limits)
        # What lies outside becomes its edge's.
        outside = high - low < np.minimum(1.0, limits)
        low = np.where(outside, np.minimum(low, limits - 1.0), low)
        high = np.where(outside, low + 1.0, high)
        return [(x0, y0, x1, y1) for x0, y0, x1, y1 in np.hstack([low, high]).tolist()]

    def unscaled(self, boxes: Sequence[PixelBox]) -> list[PixelBox]:
        """Map boxes from the image that was read to what they would have been without scaling."""
        if self.scale == 1:
            return list(boxes)
        width, height = self.width, self.height
        if self.turn in (90, 270):
            width, height = height, width
        across, down = width / self._scaled[0], height / self._scaled[1]
        return [(x0 * across, y0 * down, x1 * across, y1 * down) for x0, y0, x1, y1 in boxes]

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

"""The connected components of an image that look like letters.

What finds the skew, the turn and the text that nobody recognised needs no more than these boxes, so
they are looked for once for each image.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import cv2
import numpy as np
from scipy.spatial import cKDTree  # type: ignore[import-untyped]  # ships no stubs

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL.Image import Image

    FloatArray = NDArray[np.float64]

_WORKING_PIXELS = 3_000_000
"""About what larger images are reduced to first: A4 at 185 dpi, where letters are large enough."""
_WINDOW = 31
"""Side of the neighbourhood, in pixels, whose mean is taken for the paper's grey."""
_MIN_CONTRAST = 10
_GRAIN = 2.5
_STROKE_SHARE = 0.5
"""How much darker than its neighbourhood ink is, as a share of what most strokes are."""
_MIN_HEIGHT = 4
_MIN_AREA = 6
_NEIGHBOURS = 8
_LONGEST = 15.0
"""Letters of a word may be joined; longer components are rules and frames."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The nearest components of each one, shape (n, k) each."""

    index: NDArray[np.intp]
    gap_x: FloatArray
    gap_y: FloatArray
    """Free pixels between the two boxes; below 0 where they overlap in this direction."""


@dataclass(frozen=True)
class Components:
    """Letters and joined letters of an image."""

    boxes: FloatArray
    """Shape (n, 4): x0, y0, x1, y1 in pixels of the image."""
    height: float
    """Longer side in pixels that is typical of them, between that of "x" and of "X"; 0 without
    any."""

    def __len__(self) -> int:
        return len(self.boxes)

    @cached_property
    def centres(self) -> FloatArray:
        """Middle of each box, shape (n, 2)."""
        return (self.boxes[:, :2] + self.boxes[:, 2:]) / 2

    @cached_property
    def neighbours(self) -> Neighbours:
        """The nearest components of each one by their centres."""
        boxes, count = self.boxes, min(_NEIGHBOURS, max(0, len(self) - 1))
        # A point is not always its own first neighbour where others are in the same place.
        found = np.asarray(cKDTree(self.centres).query(self.centres, k=count + 1)[1])
        index = found.reshape(len(self), count + 1)[:, 1:]
        near = boxes[index]
        low = np.maximum(boxes[:, None, :2], near[..., :2])
        high = np.minimum(boxes[:, None, 2:], near[..., 2:])
        gaps = low - high
        return Neighbours(index, gaps[..., 0], gaps[..., 1])


def find_components(image: Image) -> Components:
    """Return the components of ``image`` (8-bit grey) that may be letters.

    Specks, rules, frames, and most of pictures are left out by size and shape, relative to the
    height that is typical of the image.
    """
    grey = np.asarray(image)
    factor = max(1, round(math.sqrt(grey.size / _WORKING_PIXELS)))
    grey = reduced(grey, factor)
    count, _, stats, _ = cv2.connectedComponentsWithStats(_ink(grey), connectivity=8)
    boxes = stats[1:count]
    longer, shorter = boxes[:, 2:4].max(axis=1), boxes[:, 2:4].min(axis=1)
    candidate = (
        (longer >= _MIN_HEIGHT)
        & (boxes[:, 4] >= _MIN_AREA)
        & (longer <= _LONGEST * shorter)
        & (longer < max(grey.shape) / 4)
    )
    if not candidate.any():
        return Components(np.empty((0, 4)), 0.0)
    typical = float(np.median(longer[candidate]))
    letter = (longer >= 0.5 * typical) & (shorter <= 5 * typical) & (longer <= _LONGEST * typical)
    x, y, width, height = boxes[candidate & letter, :4].astype(np.float64).T
    corners = np.column_stack([x, y, x + width, y + height])
    return Components(corners * factor, typical * factor)


def reduced(grey: NDArray[np.uint8], factor: int) -> NDArray[np.uint8]:
    """Return an image of one pixel for each square of ``factor`` pixels, its mean.

    What is left over at the right and the bottom is not in it.
    """
    if factor == 1 or min(grey.shape) < factor:
        return grey
    height, width = (side // factor for side in grey.shape)
    # OpenCV is five times faster where the factor is a whole number to the last digit.
    whole = grey[: height * factor, : width * factor]
    smaller = cv2.resize(whole, (width, height), interpolation=cv2.INTER_AREA)
    return smaller.astype(np.uint8, copy=False)


def _ink(grey: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return 255 where a pixel is darker than the paper around it, else 0."""
    smooth = cv2.GaussianBlur(grey, (3, 3), 0)
    darker = cv2.subtract(cv2.blur(smooth, (_WINDOW, _WINDOW)), smooth)
    sample = darker[::3, ::3]
    grain = max(_MIN_CONTRAST, float(np.percentile(sample, 80)) * _GRAIN)
    strokes = sample[sample > grain]
    level = max(grain, _STROKE_SHARE * float(np.percentile(strokes, 75))) if strokes.size else grain
    ink = cv2.threshold(darker, level, 255, cv2.THRESH_BINARY)[1]
    return ink.astype(np.uint8, copy=False)

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

from ocr.polarity import light_on_dark

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
_SOLID = 0.8
"""Share of its box that a dot or a dash fills."""
_THIN, _SHORT = 3, 8
"""Sides in pixels of dots so small that the pixels' grid makes them unlike."""
_MIN_SMALL_DOTS = 12
_MIN_DOTS = 8
_PITCH = 1.5
"""Pixels by which a dot of a dotted line may lie off the middle between its neighbours."""


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
    negative: bool = False
    """True where most of them are lighter than their ground."""

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
        index = _nearest(self.centres, count + 1)[:, 1:]
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
    light = light_on_dark(grey)
    count, _, stats, _ = cv2.connectedComponentsWithStats(_ink(grey, light), connectivity=8)
    boxes = stats[1:count]
    longer, shorter = boxes[:, 2:4].max(axis=1), boxes[:, 2:4].min(axis=1)
    candidate = (
        (longer >= _MIN_HEIGHT)
        & (boxes[:, 4] >= _MIN_AREA)
        & (longer <= _LONGEST * shorter)
        & (longer < max(grey.shape) / 4)
    )
    # Of a rule's dots some are too small for letters.
    marks = longer >= _THIN
    candidate[marks] &= ~_dotted(boxes[marks])
    if not candidate.any():
        return Components(np.empty((0, 4)), 0.0)
    typical = float(np.median(longer[candidate]))
    letter = (longer >= 0.5 * typical) & (shorter <= 5 * typical) & (longer <= _LONGEST * typical)
    x, y, width, height = boxes[candidate & letter, :4].T
    negative = light is not None and light[y + height // 2, x + width // 2].mean() > 0.5
    corners = np.column_stack([x, y, x + width, y + height]).astype(np.float64)
    return Components(corners * factor, typical * factor, bool(negative))


def _dotted(boxes: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return which boxes (n, 5: x, y, width, height, area) are dots or dashes of a broken rule.

    They are solid, alike, and each is midway between its neighbours; or very small, and many of
    them lie at the same height or one above the other.
    """
    dotted = np.zeros(len(boxes), dtype=bool)
    small = np.flatnonzero(
        (boxes[:, 2:4].min(axis=1) <= _THIN) & (boxes[:, 2:4].max(axis=1) <= _SHORT)
    )
    for place in ((1, 3), (0, 2)):
        _, group, size = np.unique(
            boxes[small][:, place], axis=0, return_inverse=True, return_counts=True
        )
        dotted[small] |= size[group.reshape(-1)] >= _MIN_SMALL_DOTS
    sides = boxes[:, 2:4].astype(np.float64)
    solid = np.flatnonzero(boxes[:, 4] >= _SOLID * sides.prod(axis=1))
    if len(solid) < _MIN_DOTS:
        return dotted
    sides = sides[solid]
    centres = boxes[solid, :2] + sides / 2
    near = _nearest(centres, 3)[:, 1:]
    off = np.abs(centres[near].sum(axis=1) - 2 * centres).max(axis=1)
    unlike = np.abs(sides[near] - sides[:, None]).max(axis=(1, 2))
    between = (off <= _PITCH) & (unlike <= 1)
    if between.sum() >= _MIN_DOTS - 2:
        dotted[solid[between]] = True
        dotted[solid[near[between]]] = True
    return dotted


def _nearest(points: FloatArray, count: int) -> NDArray[np.intp]:
    """Return the indices of the points nearest to each one, itself first, shape (n, count)."""
    # Digital documents need no SciPy, and it takes a quarter of a second to load.
    from scipy.spatial import cKDTree  # type: ignore[import-untyped]  # ships no stubs

    found = np.asarray(cKDTree(points).query(points, k=count)[1])
    return found.reshape(len(points), count)


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


def _ink(grey: NDArray[np.uint8], light: NDArray[np.bool_] | None) -> NDArray[np.uint8]:
    """Return 255 where a pixel is darker than the paper around it, else 0.

    Where ``light`` says so, it is where the pixel is lighter.
    """
    smooth = cv2.GaussianBlur(grey, (3, 3), 0)
    around = cv2.blur(smooth, (_WINDOW, _WINDOW))
    contrast = cv2.subtract(around, smooth)
    if light is not None:
        contrast = np.where(light, cv2.subtract(smooth, around), contrast)
    sample = contrast[::3, ::3]
    grain = max(_MIN_CONTRAST, float(np.percentile(sample, 80)) * _GRAIN)
    strokes = sample[sample > grain]
    level = max(grain, _STROKE_SHARE * float(np.percentile(strokes, 75))) if strokes.size else grain
    ink = cv2.threshold(contrast, level, 255, cv2.THRESH_BINARY)[1]
    return ink.astype(np.uint8, copy=False)

"""Where an image has light letters on dark ground: whole pages, and blocks of a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CELL = 8
"""Side in pixels of the cells whose ground is looked at."""
_AROUND = 5
"""Side in cells of the neighbourhood whose median is the ground: strokes are the smaller part."""
_DARK = 110
_MIN_SIDE = 3
"""Cells that a block is long and wide at least; what is smaller is a stroke of a large letter."""
_CONTRAST = 60
"""Difference from its ground that makes a cell one with a stroke in it."""


def light_on_dark(grey: NDArray[np.uint8]) -> NDArray[np.bool_] | None:
    """Return where letters are lighter than their ground, in the shape of ``grey``; None: nowhere.

    A dark block counts if more of it is crossed by something lighter than by something darker, so
    that faint black letters on dark paper stay what they are.
    """
    height, width = (side // _CELL for side in grey.shape)
    if not height or not width:
        return None
    whole = grey[: height * _CELL, : width * _CELL]
    cells = cv2.resize(whole, (width, height), interpolation=cv2.INTER_AREA)
    ground = cv2.medianBlur(cells, _AROUND)
    dark = (ground < _DARK).astype(np.uint8)
    if not dark.any():
        return None
    count, labels, stats, _ = cv2.connectedComponentsWithStats(dark, connectivity=4)
    blocks = stats[:, 2:4].min(axis=1) >= _MIN_SIDE
    blocks[0] = False
    if not blocks.any():
        return None
    # Row by row first: NumPy is slow along the short axes of a block of pixels.
    rows = whole.reshape(height, _CELL, width * _CELL)
    lightest, darkest = (
        strip.reshape(height, width, _CELL) for strip in (rows.max(axis=1), rows.min(axis=1))
    )
    lighter = lightest.max(axis=2).astype(np.int16) - ground > _CONTRAST
    darker = ground - darkest.min(axis=2).astype(np.int16) > _CONTRAST
    # At a block's edge everything differs from something.
    inner = cv2.erode(dark, np.ones((3, 3), np.uint8), borderValue=1) > 0
    lights, darks = (
        np.bincount(labels[inner & marked], minlength=count) for marked in (lighter, darker)
    )
    chosen = (lights > darks) & blocks
    if not chosen.any():
        return None
    of_cells = chosen[labels].astype(np.uint8)
    size = grey.shape[1], grey.shape[0]
    found: NDArray[np.bool_] = cv2.resize(of_cells, size, interpolation=cv2.INTER_NEAREST) > 0
    return found

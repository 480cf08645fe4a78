"""Uncovered ink: what looks like text and lies in no word.

An engine's confidence says how sure it is of the words it found; of lines that it never looked at
it says nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ocr.components import Components
    from ocr.engine import PixelBox
    from ocr.transform import Transform

_MIN_HEIGHT = 0.5
"""Of a letter, as a share of the typical one: dashes of a rule and full stops are lower."""
_REACH = 1.5
"""Letters of a line are this many heights apart at most; specks and punch holes stand alone."""
_ALIKE = 2.5
"""Neighbours whose heights differ by more than this factor are no letters of one line."""
_SHARED = 0.3
"""Share of the lower one's height that two letters of a line have in common."""
_MARGIN = 0.25
"""By how many heights a letter's middle may lie outside its word's box."""
_CELL = 0.25
"""Side of the cells that boxes are drawn in, in heights."""


def uncovered_ink(
    components: Components,
    boxes: Sequence[PixelBox],
    transform: Transform,
    *,
    either_way: bool = False,
) -> float:
    """Return the share of the text-like components that lie outside all ``boxes``, 0 to 1.

    Args:
        components: of the image as displayed.
        boxes: of the words, in pixels of the image that was read.
        transform: from the displayed image to the one that was read.
        either_way: whether lines may also run across those of the turned image.
    """
    level = transform.turn in (0, 180)
    like = text_like(components, level=level)
    if either_way:
        like |= text_like(components, level=not level)
    centres = components.centres[like]
    if not len(centres):
        return 0.0
    if not boxes:
        return 1.0
    height = components.height * transform.scale
    cell = max(1.0, _CELL * height)
    width, depth = (int(side / cell) + 2 for side in transform.size)
    covered = np.zeros((depth, width), dtype=bool)
    margin = _MARGIN * height
    edges = np.array(boxes) + np.array([-margin, -margin, margin, margin])
    # A cell is covered if its middle is.
    for x0, y0, x1, y1 in np.maximum(0, np.round(edges / cell)).astype(int):
        covered[y0:y1, x0:x1] = True
    column, row = (transform.to_read(centres) / cell).astype(int).T
    inside = covered[np.clip(row, 0, depth - 1), np.clip(column, 0, width - 1)]
    return float(1 - inside.mean())


def text_like(components: Components, *, level: bool) -> NDArray[np.bool_]:
    """Return which components stand in a line with one of their own kind, shape (n,).

    Args:
        components: of the image as displayed.
        level: whether lines run across the image, or else along its height.
    """
    if len(components) < 2:
        return np.zeros(len(components), dtype=bool)
    near = components.neighbours
    sides = components.boxes[:, 2:] - components.boxes[:, :2]
    height = sides[:, 1] if level else sides[:, 0]
    gap, overlap = (near.gap_x, -near.gap_y) if level else (near.gap_y, -near.gap_x)
    tall = height >= _MIN_HEIGHT * components.height
    own, other = height[:, None], height[near.index]
    lower, higher = np.minimum(own, other), np.maximum(own, other)
    beside = (
        tall[near.index]
        & (overlap > _SHARED * lower)
        & (np.abs(gap) < _REACH * components.height)
        & (higher < _ALIKE * lower)
    )
    like: NDArray[np.bool_] = tall & beside.any(axis=1)
    return like

"""Which way up an image stands, and how far its lines are from level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ocr.skew import MIN_SKEW, LineFit, fit_lines

if TYPE_CHECKING:
    from ocr.components import Components
    from ocr.transform import Turn

_SURE_AXIS = 0.15
"""Share of letters whose nearest neighbour lies across the lines: under .45 on all upright pages
that were measured, and under .15 on nearly all."""
_DOWN = 0.8
"""Letters stand on a sharper line than they end at; on upright forms in capitals and figures, whose
both edges are sharp, the ratio was .8 and more."""
_SURE_UP = 1.2
_FEW = 50
"""Letters below which their places are too little evidence to turn an image by."""
_MIN_SKEW_OF_FEW = 1.0


@dataclass(frozen=True, slots=True)
class Orientation:
    """What has to be done to an image so that its lines are upright and level."""

    turn: Turn
    skew: float
    """Degrees by which the lines run downhill to the right once turned; 0 where that is too little
    to matter, or where there are no lines."""
    alternatives: tuple[Turn, ...]
    """Other turns that the letters' places don't rule out, the likeliest first."""
    unsure: bool = False
    """True where there are too few letters to tell even whether lines run across or down."""


def find_orientation(components: Components) -> Orientation:
    """Tell the turn and the skew of an image from where its letters are.

    Along a line letters are nearer to one another than across lines, which tells upright and
    upside-down pages from those on their side. Letters share a baseline, while their tops are at
    two heights, which tells up from down (as in Bloomberg, Kopec and Dasari, SPIE 2422, 1995).
    """
    x0, y0, x1, y1 = components.boxes.T
    across = _neighbours_across(components)
    level = across < 0.5
    if level:
        along = (x0 + x1) / 2
        up, down = (fit_lines(along, edge, components.height) for edge in (y1, y0))
    else:
        along = (y0 + y1) / 2
        # On a page turned clockwise the letters stand on a line to their left.
        up, down = (fit_lines(along, edge, components.height) for edge in (x0, x1))
    ratio = up.sharpness / down.sharpness if up.found or down.found else 1.0
    upwards = ratio >= _DOWN if level else ratio >= 1
    skew = _skew(up if upwards else down, level=level)
    turns: tuple[Turn, Turn] = (0, 180) if level else (270, 90)
    sideways: tuple[Turn, ...] = (270, 90) if level else (0, 180)
    if not upwards:
        turns = turns[1], turns[0]
    if not (up.found or down.found) or len(components) < _FEW:
        likeliest: tuple[Turn, ...] = (180, 270, 90) if level else (*turns, 180)
        if abs(skew) < _MIN_SKEW_OF_FEW:
            skew = 0.0
        return Orientation(0, skew, likeliest, unsure=True)
    alternatives: tuple[Turn, ...] = ()
    # In some scripts it is the tops that stand in line, so only upright is ever sure.
    if turns[0] != 0 or ratio < _SURE_UP:
        alternatives = (turns[1],)
    if _SURE_AXIS < across < 1 - _SURE_AXIS:
        alternatives += sideways
    return Orientation(turns[0], skew, alternatives)


def _skew(fit: LineFit, *, level: bool) -> float:
    if not fit.found or abs(fit.angle) < MIN_SKEW:
        return 0.0
    return fit.angle if level else -fit.angle


def _neighbours_across(components: Components) -> float:
    """Return the share of letters whose nearest neighbour is above or below, not beside them."""
    if len(components) < 2:
        return 0.0
    near = components.neighbours
    beside = np.where(near.gap_y < 0, np.maximum(near.gap_x, 0), np.inf).min(axis=1)
    above = np.where(near.gap_x < 0, np.maximum(near.gap_y, 0), np.inf).min(axis=1)
    counted = (np.minimum(beside, above) < 2 * components.height) & (beside != above)
    if not counted.any():
        return 0.0
    return float((above < beside)[counted].mean())

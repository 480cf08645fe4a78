"""How lines of letters lie: their angle, and how sharply they stand on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    FloatArray = NDArray[np.float64]

MIN_SKEW = 0.3
"""Degrees below which levelling costs more sharpness than it gains: Tesseract reads these."""
_LARGEST = 15.0
_COARSE, _FINE = 0.25, 0.05
_COARSE_BIN, _FINE_BIN = 0.3, 0.15
"""Height of a profile's bins as shares of a letter's."""
_MIN_LETTERS = 12
_MIN_CONTRAST = 1.8
"""Lines of forms reached 2.1 and more at their angle; points without lines stay below 1.6."""


@dataclass(frozen=True, slots=True)
class LineFit:
    """The angle at which points fall into lines."""

    angle: float
    """Degrees by which the lines run downhill."""
    sharpness: float
    """How many points share a narrow bin of the profile, on the mean."""
    contrast: float
    """The profile's energy at the angle as a multiple of what other angles have."""

    @property
    def found(self) -> bool:
        """True where the points do lie in lines."""
        return self.contrast >= _MIN_CONTRAST


NO_LINES = LineFit(0.0, 0.0, 0.0)


def fit_lines(along: FloatArray, across: FloatArray, height: float) -> LineFit:
    """Find the angle at which the points' projection profile has most energy.

    Text seen along its lines falls into few bins, seen at any other angle into all (Postl, ICPR
    1986).

    Args:
        along: coordinates of the points in the direction of the lines, shape (n,).
        across: coordinates across them, growing downwards; for letters their lower edges, which
            stand on the baseline.
        height: of a letter, in the same unit.
    """
    if len(along) < _MIN_LETTERS or height <= 0:
        return NO_LINES
    coarse = np.arange(-_LARGEST, _LARGEST + _COARSE / 2, _COARSE)
    energies = _energies(along, across, coarse, max(2.0, _COARSE_BIN * height))
    best = int(energies.argmax())
    contrast = float(energies[best] / np.median(energies))
    fine = coarse[best] + np.arange(-1.6 * _COARSE, 1.6 * _COARSE + _FINE / 2, _FINE)
    energies = _energies(along, across, fine, max(1.0, _FINE_BIN * height))
    best = int(energies.argmax())
    angle = float(fine[best])
    if 0 < best < len(fine) - 1:
        left, middle, right = energies[best - 1 : best + 2]
        curvature = left - 2 * middle + right
        if curvature < 0:
            angle += _FINE / 2 * float((left - right) / curvature)
    return LineFit(angle, float(energies[best]) / len(along), contrast)


def _energies(
    along: FloatArray, across: FloatArray, angles: FloatArray, bin_height: float
) -> FloatArray:
    """Return the sum of squares of the profile at each angle."""
    energies = np.empty(len(angles))
    for index, angle in enumerate(angles):
        level = (across - along * math.tan(math.radians(float(angle)))) / bin_height
        level -= level.min()
        lower = level.astype(np.int64)
        # Each point is shared between two bins, so that the profile changes smoothly.
        upper_share = level - lower
        size = int(lower.max()) + 2
        profile = np.bincount(lower, 1 - upper_share, size) + np.bincount(
            lower + 1, upper_share, size
        )
        energies[index] = float(profile @ profile)
    return energies

"""Scans that tests make, with the exact place of every word.

A text is set at known places, rendered clean, and then bent, tilted, turned and spoiled. One map
moves the pixels and the words' ink, so the truth is exact: the box around the pixels that a word's
ink came to lie on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

import cv2
import numpy as np
import numpy.typing as npt
import pymupdf

from schemas.document import BoxTuple

Grey = npt.NDArray[np.uint8]
Points = npt.NDArray[np.float64]
Turn = Literal[0, 90, 180, 270]

PROSE = """Framework Agreement for Maintenance
1. Services
The contractor inspects each lift of the buildings named in Annex 2 every six weeks, replaces worn
parts at its own expense, and answers a call about a trapped passenger within 45 minutes by day and
by night. A written report with photographs reaches the owner no later than the fifth working day.
2. Price and payment
For all of this the owner pays a yearly fee of EUR 18,460.50, due in four equal parts on the first
day of January, April, July and October. Whoever pays late owes interest at 7% above the base rate,
unless the delay was caused by events that neither side could have foreseen (flood, fire, strike).
3. Term
The agreement begins on 1 March 2021 and runs for three years. It renews itself by a year each time
if neither of the parties gives notice by registered letter ninety days before it would have ended.
"""
_SIZE = (504.0, 396.0)
"""Points; whole pixels at every resolution that is used."""
_MARGIN, _FIRST, _LEADING, _LETTERS = 50.0, 60.0, 17.0, 9.5
_CLEAN_DPI = 300
_CLEAN_SCALE = _CLEAN_DPI / 72
_BEND_LENGTH = 650.0
"""Points from one crest of the bent paper to the next."""


@dataclass(frozen=True)
class Look:
    """What copying and scanning do to a page."""

    dpi: int
    blur: float
    """Standard deviation in clean pixels."""
    noise: float
    """Standard deviation of the grain in grey levels."""
    quality: int
    """Of the JPEG, 1 to 95."""
    ink: int
    """Grey of the letters."""
    paper: int
    specks: int
    shade: int
    """Grey levels by which one side is darker than the other."""
    bend: float
    """Points by which lines are bent up and down."""


LOOKS = {
    1: Look(dpi=300, blur=0.7, noise=3, quality=80, ink=20, paper=250, specks=0, shade=0, bend=0),
    2: Look(dpi=200, blur=1.1, noise=8, quality=50, ink=55, paper=240, specks=60, shade=15, bend=0),
    3: Look(
        dpi=150, blur=1.4, noise=11, quality=35, ink=85, paper=225, specks=150, shade=35, bend=2
    ),
}
"""By severity."""


@dataclass(frozen=True)
class TrueWord:
    """A word and the box of its ink, in points of the displayed page."""

    text: str
    box: BoxTuple


@dataclass(frozen=True)
class Scan:
    """An image-only PDF of one page, and what is on it."""

    data: bytes
    width: float
    height: float
    """Points, as displayed."""
    words: tuple[TrueWord, ...]
    turn: Turn
    """Degrees clockwise by which the displayed content stands away from upright."""


def make_scan(
    text: str = PROSE,
    *,
    look: Look = LOOKS[1],
    tilt: float = 0.0,
    turn: Turn = 0,
    rotation: Turn = 0,
    seed: int = 1,
) -> Scan:
    """Make a scan of ``text``, whose lines are set as they are.

    Args:
        text: lines; those of up to 60 characters are headings, set in bold.
        look: how bad it is.
        tilt: degrees by which lines run downhill to the right.
        turn: degrees clockwise by which the page lay turned in the scanner.
        rotation: /Rotate of the PDF's page; what is displayed stays the same.
        seed: of grain and specks.
    """
    clean, inks = _typeset(text)
    backward = _backward(tilt, look.bend, clean.shape)
    picture = _move(clean, backward)
    picture = _spoil(picture, look, np.random.default_rng(seed))
    picture = np.rot90(picture, k=-turn // 90)
    width, height = _SIZE if turn in (0, 180) else _SIZE[::-1]
    words = tuple(
        TrueWord(word, _turned(_box(_forward(ink, backward)), turn)) for word, ink in inks
    )
    return Scan(_pdf(picture, (width, height), look, rotation), width, height, words, turn)


def without_dirt(look: Look) -> Look:
    """Return ``look`` with its geometry alone, so that what is dark is ink."""
    return replace(look, noise=0, specks=0, shade=0, quality=95, ink=0, paper=255)


@lru_cache(maxsize=4)
def _typeset(text: str) -> tuple[Grey, list[tuple[str, Points]]]:
    """Return the clean page, and each word with the clean pixels of its ink, shape (n, 2)."""
    width, height = _SIZE
    plain, bold = pymupdf.Font("tiro"), pymupdf.Font("tibo")
    cells: list[tuple[str, float, float, float]] = []
    with pymupdf.open() as document:
        page: Any = document.new_page(width=width, height=height)
        writer = pymupdf.TextWriter(page.rect)
        for number, line in enumerate(text.splitlines()):
            font = plain if len(line) > 60 else bold
            x, y = _MARGIN, _FIRST + _LEADING * number
            space = font.text_length(" ", _LETTERS)
            for word in line.split():
                writer.append((x, y), word, font=font, fontsize=_LETTERS)
                end = x + font.text_length(word, _LETTERS)
                # A letter may reach into the space beside its word, but not over half of it.
                cells.append((word, x - space / 2, end + space / 2, y))
                x = end + space
        writer.write_text(page)
        pixels = page.get_pixmap(dpi=_CLEAN_DPI, colorspace=pymupdf.csGRAY)
    clean = np.frombuffer(pixels.samples, dtype=np.uint8).reshape(pixels.height, pixels.width)
    inks: list[tuple[str, Points]] = []
    for word, left, right, baseline in cells:
        top, bottom = baseline - 0.75 * _LEADING, baseline + 0.25 * _LEADING
        x0, x1, y0, y1 = (round(side * _CLEAN_SCALE) for side in (left, right, top, bottom))
        rows, columns = np.nonzero(clean[y0:y1, x0:x1] < 128)
        inks.append((word, np.column_stack([columns + x0 + 0.5, rows + y0 + 0.5])))
    return clean, inks


def _backward(tilt: float, bend: float, shape: tuple[int, ...]) -> Callable[[Points], Points]:
    """Return the map from pixels of the moved page, shape (n, 2), to those of the clean one."""
    angle = np.radians(tilt)
    turn_back = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    centre = np.array([shape[1] / 2, shape[0] / 2])
    height, length = bend * _CLEAN_SCALE, _BEND_LENGTH * _CLEAN_SCALE

    def backward(points: Points) -> Points:
        level = (points - centre) @ turn_back.T + centre
        level[:, 1] += height * np.sin(2 * np.pi * level[:, 0] / length)
        return level

    return backward


def _forward(points: Points, backward: Callable[[Points], Points]) -> Points:
    """Return where ``points`` of the clean page went, by fixed-point iteration."""
    moved = points.copy()
    for _ in range(10):
        moved += points - backward(moved)
    return moved


def _move(clean: Grey, backward: Callable[[Points], Points]) -> Grey:
    height, width = clean.shape
    columns, rows = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    # OpenCV counts from the middle of the first pixel.
    origin = backward(np.column_stack([columns.ravel(), rows.ravel()])) - 0.5
    maps = origin.astype(np.float32).reshape(height, width, 2)
    moved = cv2.remap(clean, maps, None, interpolation=cv2.INTER_LINEAR, borderValue=255)
    return moved.astype(np.uint8)


def _spoil(picture: Grey, look: Look, numbers: np.random.Generator) -> Grey:
    blurred = cv2.GaussianBlur(picture, (0, 0), look.blur)
    height, width = (round(side * look.dpi / 72) for side in _SIZE[::-1])
    small = cv2.resize(blurred, (width, height), interpolation=cv2.INTER_AREA).astype(np.float64)
    grey = look.ink + small * (look.paper - look.ink) / 255
    for x, y in numbers.integers(0, (width, height), size=(look.specks, 2)):
        cv2.circle(grey, (int(x), int(y)), int(numbers.integers(0, 2)), float(look.ink), -1)
    grey -= look.shade * np.linspace(0, 1, width)[None, :]
    grey += numbers.normal(0, look.noise, grey.shape) if look.noise else 0
    return np.clip(grey, 0, 255).astype(np.uint8)


def _box(points: Points) -> BoxTuple:
    """Return the box around pixels whose middles are ``points``, in points of the page."""
    x0, y0 = (points.min(axis=0) - 0.5) / _CLEAN_SCALE
    x1, y1 = (points.max(axis=0) + 0.5) / _CLEAN_SCALE
    return float(x0), float(y0), float(x1), float(y1)


def _turned(box: BoxTuple, turn: Turn) -> BoxTuple:
    width, height = _SIZE
    x0, y0, x1, y1 = box
    match turn:
        case 90:
            return height - y1, x0, height - y0, x1
        case 180:
            return width - x1, height - y1, width - x0, height - y0
        case 270:
            return y0, width - x1, y1, width - x0
        case _:
            return box


def _pdf(picture: Grey, size: tuple[float, float], look: Look, rotation: Turn) -> bytes:
    """Make an image-only PDF whose page, displayed with ``rotation``, shows ``picture``."""
    stored = np.ascontiguousarray(np.rot90(picture, k=rotation // 90))
    width, height = size if rotation in (0, 180) else size[::-1]
    done, jpeg = cv2.imencode(".jpg", stored, [cv2.IMWRITE_JPEG_QUALITY, look.quality])
    assert done
    with pymupdf.open() as document:
        page: Any = document.new_page(width=width, height=height)
        page.insert_image(page.rect, stream=jpeg.tobytes())
        page.set_rotation(rotation)
        return bytes(document.tobytes())

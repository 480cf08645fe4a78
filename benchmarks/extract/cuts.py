"""Whether words cut from a digital page at their box read the same.

A word passes where all three hold:

- **letters**: the characters whose ink has its middle in the box, as MuPDF's text layer tells them,
  are those of the word, whatever their order. Others may be among them only where the box of
  another word overlaps, as those of an upper and a lower index do. Compatibility forms are expanded
  on both sides (a ligature is its letters), control characters are left out, and a glyph drawn
  twice at one place counts once.
- **ink**: the box holds ink of text. That is every pixel that changes when the page is rendered
  again with its text taken away, so it doesn't matter what the letters stand on.
- **whole**: of the ink that is connected to ink in the box, at most 2% of what the box holds lies
  outside by more than a pixel (a quarter of a point) and in no other word's box. A word that is cut
  off fails; letters that touch the line above do not.

Words without ink of their own that lie on a picture are counted apart: they come from the text
layer that someone else's OCR laid over a scan, and what they show are the picture's pixels.
"""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
import numpy.typing as npt

from ocr.mupdf import pymupdf

if TYPE_CHECKING:
    from schemas.document import BoxTuple

_Flags = npt.NDArray[np.uint8]
_mupdf: Any = pymupdf
"""Constants that PyMuPDF takes over from MuPDF when it is imported are not in its annotations."""
DPI = 288
"""Four pixels a point."""
_SCALE = DPI / 72
_INK = 32
"""Least change, of 255, of a pixel that counts as ink; fainter ones are smoothing at an edge."""
_CUT_OFF = 0.02
_MIRRORED = str.maketrans(")]}>»", "([{<«")
"""In text that runs to the left a bracket is written as its mirror image (Unicode, UAX #9 §3.3)."""
_LONE = re.compile("[\ud800-\udfff]")
"""Lone surrogates, which MuPDF gives for characters that it cannot tell."""
_SAME_PLACE = 0.1
"""Glyphs nearer than this share of their size are one, drawn again to look bold."""


@dataclass(frozen=True, slots=True)
class CutScore:
    """Counts of words; they add up."""

    words: int = 0
    """Without those on pictures."""
    passed: int = 0
    other_letters: int = 0
    no_ink: int = 0
    cut_off: int = 0
    on_pictures: int = 0
    """Words of a text layer over a scan, which are not checked."""

    def __add__(self, other: CutScore) -> CutScore:
        return CutScore(
            *(getattr(self, field.name) + getattr(other, field.name) for field in fields(self))
        )

    @property
    def share(self) -> float:
        """Share of the words that passed."""
        return self.passed / self.words if self.words else 1.0


@dataclass(frozen=True, slots=True)
class CutWord:
    """A word to cut out: its text and its box in points of the displayed page."""

    text: str
    box: BoxTuple


def check_cuts(page: pymupdf.Page, words: Sequence[CutWord]) -> tuple[CutScore, list[str]]:
    """Check ``words``, which are all that the page shows, and say what is wrong with which.

    The page's text is taken away, so the page must not be used afterwards.
    """
    letters, pictures = _letters(page), _pictures(page)
    ink = _text_ink(page)
    owner = _owners(words, ink.shape)
    labels: npt.NDArray[np.int32] = cv2.connectedComponents(ink, connectivity=8, ltype=cv2.CV_32S)[
        1
    ].astype(np.int32)
    score, faults = CutScore(), []
    for number, word in enumerate(words, start=1):
        found = letters.inside(word.box)
        same = _same_letters(word, found, letters, words)
        inked, whole = _ink_of(word.box, number, ink, labels, owner)
        if not inked and any(_covers(picture, word.box) for picture in pictures):
            score += CutScore(on_pictures=1)
            continue
        passed = same and inked and whole
        score += CutScore(1, passed, not same, not inked, not whole)
        if not passed:
            why = [
                "" if same else f"letters {''.join(sorted(found.elements()))!r}",
                "" if inked else "no ink",
                "" if whole else "cut off",
            ]
            faults.append(f"{word.text!r} at {word.box}: {', '.join(filter(None, why))}")
    return score, faults


def _pictures(page: pymupdf.Page) -> list[BoxTuple]:
    """Return the boxes of the page's pictures in points of the displayed page."""
    boxes: list[BoxTuple] = []
    for info in page.get_image_info():
        x0, y0, x1, y1 = info["bbox"]
        (xa, ya), (xb, yb) = _displayed(page, x0, y0), _displayed(page, x1, y1)
        boxes.append((min(xa, xb), min(ya, yb), max(xa, xb), max(ya, yb)))
    return boxes


def _covers(picture: BoxTuple, box: BoxTuple) -> bool:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return picture[0] <= x <= picture[2] and picture[1] <= y <= picture[3]


def _same_letters(
    word: CutWord, found: Counter[str], letters: _Letters, words: Sequence[CutWord]
) -> bool:
    own = Counter(_expanded(word.text))
    if found == own:
        return True
    if own - found:
        return False
    others = [both for other in words if other is not word and (both := _common(word, other))]
    return not (found - own) - sum((letters.inside(box) for box in others), Counter[str]())


def _common(word: CutWord, other: CutWord) -> BoxTuple | None:
    a, b = word.box, other.box
    box = max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])
    return box if box[0] < box[2] and box[1] < box[3] else None


class _Letters:
    """The page's characters with the middle of their ink in points of the displayed page."""

    def __init__(self, characters: list[tuple[str, float, float]]) -> None:
        self._characters = [character for character, _, _ in characters]
        self._places = np.array([place for _, *place in characters], dtype=float).reshape(-1, 2)

    def inside(self, box: BoxTuple) -> Counter[str]:
        x, y = self._places[:, 0], self._places[:, 1]
        hits = (x >= box[0]) & (x <= box[2]) & (y >= box[1]) & (y <= box[3])
        return Counter(
            letter for i in np.flatnonzero(hits) for letter in _expanded(self._characters[i])
        )


def _letters(page: pymupdf.Page) -> _Letters:
    flags = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_ACCURATE_BBOXES
    found: list[tuple[str, float, float]] = []
    last: dict[str, tuple[float, float]] = {}
    for block in page.get_text("rawdict", flags=flags)["blocks"]:
        for line in block.get("lines", ()):
            for span in line["spans"]:
                for glyph in span["chars"]:
                    character = glyph["c"]
                    if not _expanded(character):
                        continue
                    x0, y0, x1, y1 = glyph["bbox"]
                    place = _displayed(page, (x0 + x1) / 2, (y0 + y1) / 2)
                    before = last.get(character)
                    near = _SAME_PLACE * span["size"]
                    last[character] = place
                    if (
                        before
                        and max(abs(a - b) for a, b in zip(before, place, strict=True)) < near
                    ):
                        continue
                    found.append((character, *place))
    return _Letters(found)


def _displayed(page: pymupdf.Page, x: float, y: float) -> tuple[float, float]:
    """Turn a point by /Rotate, which MuPDF's text layer leaves out."""
    width, height = page.rect.width, page.rect.height
    turned: dict[int, tuple[float, float]] = {
        90: (width - y, x),
        180: (width - x, height - y),
        270: (y, height - x),
    }
    return turned.get(page.rotation, (x, y))


def _expanded(text: str) -> str:
    composed = _LONE.sub("\ufffd", unicodedata.normalize("NFKC", text)).translate(_MIRRORED)
    return "".join(
        c for c in composed if not c.isspace() and unicodedata.category(c) not in ("Cc", "Cf")
    )


def _text_ink(page: Any) -> _Flags:
    """Return which pixels change when the page's text is taken away: 1 or 0, rows by columns."""
    with_text = _pixels(page)
    page.add_redact_annot(page.rect * page.derotation_matrix, fill=False)
    page.apply_redactions(
        images=_mupdf.PDF_REDACT_IMAGE_NONE,
        graphics=_mupdf.PDF_REDACT_LINE_ART_NONE,
        text=_mupdf.PDF_REDACT_TEXT_REMOVE,
    )
    difference = cv2.absdiff(with_text, _pixels(page)).max(axis=2)
    ink: _Flags = (difference >= _INK).astype(np.uint8)
    return ink


def _pixels(page: pymupdf.Page) -> npt.NDArray[np.uint8]:
    pixels = page.get_pixmap(
        matrix=pymupdf.Matrix(_SCALE, _SCALE), colorspace=pymupdf.csRGB, alpha=False
    )
    samples = np.frombuffer(pixels.samples, dtype=np.uint8)
    return samples.reshape(pixels.height, pixels.width, 3)


def _owners(words: Sequence[CutWord], shape: tuple[int, ...]) -> npt.NDArray[np.int32]:
    """Return the number of a word, from 1, whose box holds the pixel; 0 outside all."""
    owner = np.zeros(shape, dtype=np.int32)
    for number, word in enumerate(words, start=1):
        owner[_window(word.box, shape, grow=1)] = number
    return owner


def _window(
    box: BoxTuple, shape: tuple[int, ...], *, grow: int, by: float = 0.0
) -> tuple[slice, slice]:
    height, width = shape[:2]
    x0, y0, x1, y1 = box
    return (
        slice(
            max(0, int((y0 - by) * _SCALE) - grow), min(height, int((y1 + by) * _SCALE) + 1 + grow)
        ),
        slice(
            max(0, int((x0 - by) * _SCALE) - grow), min(width, int((x1 + by) * _SCALE) + 1 + grow)
        ),
    )


def _ink_of(
    box: BoxTuple,
    number: int,
    ink: _Flags,
    labels: npt.NDArray[np.int32],
    owner: npt.NDArray[np.int32],
) -> tuple[bool, bool]:
    """Return whether the box holds ink, and whether it holds all of it."""
    inside = labels[_window(box, ink.shape, grow=0)]
    held = int(np.count_nonzero(inside))
    if not held:
        return False, True
    mine = np.unique(inside[inside > 0])
    # A letter reaches no farther than a few times its word's height.
    around = _window(box, ink.shape, grow=0, by=2 * max(6.0, min(box[2] - box[0], box[3] - box[1])))
    outside = np.isin(labels[around], mine) & (owner[around] == 0)
    return True, int(np.count_nonzero(outside)) <= max(2.0, _CUT_OFF * held)

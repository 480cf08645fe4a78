"""How far a reading is from the truth: characters, words and boxes.

The character error rate is matched by box, with spaces and order ignored:

1. A recognised word and a true box are linked where they share at least half of the lower one's
   height and a quarter of the narrower one's width. A recognised word that would be linked with
   boxes on several lines keeps those on the line that it fits best.
2. What is linked, directly or through others, is one group. So a word that spans two true boxes,
   two words in one true box, and boxes that are shifted along their line all end in one group with
   their neighbours on the line.
3. In each group the true and the recognised text are joined without white space, from left to right
   or row by row (whichever fits better, because order is not what is measured), and their edit
   distance (Levenshtein) is counted.
4. A group without a recognised word counts all its characters as deletions, one without a true box
   as insertions.

The rate is the sum of all distances over the number of true characters, and can be over 1. True
boxes can be of words or of lines: nothing above depends on it.

Characters are compared in Unicode's composed form (NFC) without soft hyphens, and otherwise as they
are: a straight quotation mark for a curly one is an error.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import LCSseq, Levenshtein

if TYPE_CHECKING:
    from schemas.document import BoxTuple

_Flags = npt.NDArray[np.bool_]
_Numbers = npt.NDArray[np.float64]
_SHARED_HEIGHT, _SHARED_WIDTH = 0.5, 0.25
_SOFT_HYPHEN = "\u00ad"


@dataclass(frozen=True, slots=True)
class Boxed:
    """A run of text with its box: a word that was recognised, a true word, or a true line."""

    text: str
    box: BoxTuple
    """x0, y0, x1, y1 in any unit, origin top left, of the page turned upright."""


@dataclass(frozen=True, slots=True)
class BoxScore:
    """Counts of one page or of many; they add up."""

    characters: int = 0
    """Of the truth, without white space."""
    distance: int = 0
    """Characters inserted, deleted or taken for others."""
    inserted: int = 0
    """Part of ``distance``: recognised characters that lie on no true box."""
    missing: int = 0
    """Part of ``distance``: characters of true boxes on which nothing was recognised."""
    words: int = 0
    """Of the truth."""
    word_distance: int = 0
    """Words inserted, deleted or taken for others; a word read as two is two errors."""
    right: int = 0
    """True words that were read without any error."""
    overlap: float = 0.0
    """Sum of the IoU of the true boxes on which something was recognised."""
    overlaps: int = 0
    """Number of those boxes."""

    def __add__(self, other: BoxScore) -> BoxScore:
        return BoxScore(
            *(getattr(self, field.name) + getattr(other, field.name) for field in fields(self))
        )

    @property
    def character_error_rate(self) -> float:
        """Wrong characters for each true one; 0 for a page that is rightly empty."""
        return _rate(self.distance, self.characters)

    @property
    def word_error_rate(self) -> float:
        """Wrong words for each true one."""
        return _rate(self.word_distance, self.words)

    @property
    def missing_share(self) -> float:
        """Share of the true characters on whose boxes nothing was recognised."""
        return self.missing / self.characters if self.characters else 0.0

    @property
    def right_share(self) -> float:
        """Share of the true words that were read without any error."""
        return self.right / self.words if self.words else 1.0

    @property
    def iou(self) -> float | None:
        """Mean intersection over union of the boxes; None where nothing was recognised."""
        return self.overlap / self.overlaps if self.overlaps else None


@dataclass(frozen=True, slots=True)
class TextScore:
    """Counts for a page whose truth has no boxes; they add up."""

    characters: int = 0
    """Of the truth, with each run of white space as one space."""
    distance: int = 0
    """Edit distance to what was read, in its order."""
    words: int = 0
    bag_distance: int = 0
    """Words missing or too many, whichever is more, wherever they stand."""

    def __add__(self, other: TextScore) -> TextScore:
        return TextScore(
            *(getattr(self, field.name) + getattr(other, field.name) for field in fields(self))
        )

    @property
    def character_error_rate(self) -> float:
        """Wrong characters for each true one, in order."""
        return _rate(self.distance, self.characters)

    @property
    def bag_error_rate(self) -> float:
        """Wrong words for each true one, in any order."""
        return _rate(self.bag_distance, self.words)


def score_boxes(truth: Sequence[Boxed], recognised: Sequence[Boxed]) -> BoxScore:
    """Compare a page's recognised words with its true words or lines; see the module.

    A true box's IoU is that with the one recognised word of its group that overlaps it most. Where
    the truth is a line, which holds several words, it is that with the box around those of its
    words that the line covers by half or more.

    Args:
        truth: words, or lines whose words are separated by white space.
        recognised: words, boxes in the same unit as those of ``truth``.
    """
    truth = [run for run in truth if plain(run.text)]
    recognised = [run for run in recognised if plain(run.text)]
    score = BoxScore()
    for true_group, read_group in _groups(truth, recognised):
        score += _score_group(
            [truth[index] for index in true_group], [recognised[index] for index in read_group]
        )
    return score


def score_text(truth: str, recognised: str) -> TextScore:
    """Compare a page's text with a truth that has no boxes."""
    true_words, read_words = _composed(truth).split(), _composed(recognised).split()
    true_text, read_text = " ".join(true_words), " ".join(read_words)
    missing, extra = Counter(true_words), Counter(read_words)
    missing.subtract(read_words)
    extra.subtract(true_words)
    return TextScore(
        characters=len(true_text),
        distance=Levenshtein.distance(true_text, read_text),
        words=len(true_words),
        bag_distance=max(
            sum(count for count in missing.values() if count > 0),
            sum(count for count in extra.values() if count > 0),
        ),
    )


def plain(text: str) -> str:
    """Return the characters of ``text`` that are compared: composed, without white space."""
    return "".join(_composed(text).split())


def iou(a: BoxTuple, b: BoxTuple) -> float:
    """Return the intersection over union of two boxes."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    common = width * height
    return common / (_area(a) + _area(b) - common)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text.replace(_SOFT_HYPHEN, ""))


def _rate(distance: int, total: int) -> float:
    return distance / total if total else float(distance > 0)


def _area(box: BoxTuple) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _groups(
    truth: Sequence[Boxed], recognised: Sequence[Boxed]
) -> Iterable[tuple[list[int], list[int]]]:
    """Yield the indices of what is linked, true and recognised; each index comes once."""
    links = _links(truth, recognised)
    by_read: list[list[int]] = [np.flatnonzero(row).tolist() for row in links]
    by_true: list[list[int]] = [np.flatnonzero(column).tolist() for column in links.T]
    seen: set[int] = set()
    for start in range(len(truth)):
        if start in seen:
            continue
        true_group, read_group, waiting = {start}, set[int](), [start]
        while waiting:
            for read in by_true[waiting.pop()]:
                if read not in read_group:
                    read_group.add(read)
                    new = set(by_read[read]) - true_group
                    true_group |= new
                    waiting += new
        seen |= true_group
        yield sorted(true_group), sorted(read_group)
    yield from (([], [read]) for read, linked in enumerate(by_read) if not linked)


def _links(truth: Sequence[Boxed], recognised: Sequence[Boxed]) -> _Flags:
    """Return which recognised words (rows) are linked with which true boxes (columns)."""
    if not truth or not recognised:
        return np.zeros((len(recognised), len(truth)), dtype=bool)
    read = np.array([run.box for run in recognised], dtype=float)[:, None, :]
    true = np.array([run.box for run in truth], dtype=float)[None, :, :]
    sides = np.minimum(read[..., 2:], true[..., 2:]) - np.maximum(read[..., :2], true[..., :2])
    sides = np.maximum(sides, 0.0)
    read_sides, true_sides = read[..., 2:] - read[..., :2], true[..., 2:] - true[..., :2]
    smaller = np.minimum(read_sides, true_sides)
    links: _Flags = (sides[..., 0] > 0) & (sides[..., 1] > 0)
    links &= sides[..., 0] >= _SHARED_WIDTH * smaller[..., 0]
    links &= sides[..., 1] >= _SHARED_HEIGHT * smaller[..., 1]
    for row in np.flatnonzero(links.sum(axis=1) > 1):
        links[row] &= _on_one_line(links[row], sides[row], float(read_sides[row, 0, 1]), true[0])
    return links


def _on_one_line(linked: _Flags, shared: _Numbers, height: float, true: _Numbers) -> _Flags:
    """Return which of the true boxes stand on the line that a word of ``height`` fits best.

    These are the ones that share half of the word's height, and small ones, such as dashes, whose
    middle lies beside one of them. A box over many lines fits none, and keeps the one it covers
    most.
    """
    fitting: _Flags = linked & (shared[:, 1] >= _SHARED_HEIGHT * height)
    if not fitting.any():
        only = np.zeros_like(linked)
        only[int(np.argmax(np.where(linked, shared[:, 0] * shared[:, 1], -1.0)))] = True
        return only
    middles = (true[:, 1] + true[:, 3]) / 2
    top, bottom = true[fitting, 1].min(), true[fitting, 3].max()
    small = (true[:, 3] - true[:, 1]) < _SHARED_HEIGHT * height
    beside: _Flags = linked & small & (middles >= top) & (middles <= bottom)
    return fitting | beside


def _score_group(truth: list[Boxed], read: list[Boxed]) -> BoxScore:
    orders = [
        (_words(order(truth)), [plain(run.text) for run in order(read)])
        for order in (_left_to_right, _row_by_row)
    ]
    true_words, read_words = orders[0]
    characters = sum(map(len, true_words))
    if not read:
        return BoxScore(
            characters=characters,
            distance=characters,
            missing=characters,
            words=len(true_words),
            word_distance=len(true_words),
        )
    if not truth:
        inserted = sum(map(len, read_words))
        return BoxScore(distance=inserted, inserted=inserted, word_distance=len(read_words))
    overlaps = [_overlap(run, read) for run in truth]
    return BoxScore(
        characters=characters,
        distance=min(Levenshtein.distance("".join(t), "".join(r)) for t, r in orders),
        words=len(true_words),
        word_distance=min(Levenshtein.distance(t, r) for t, r in orders),
        right=max(LCSseq.similarity(t, r) for t, r in orders),
        overlap=sum(overlaps),
        overlaps=len(overlaps),
    )


def _words(truth: list[Boxed]) -> list[str]:
    return [plain(word) for run in truth for word in run.text.split() if plain(word)]


def _left_to_right(runs: list[Boxed]) -> list[Boxed]:
    return sorted(runs, key=lambda run: run.box[0] + run.box[2])


def _row_by_row(runs: list[Boxed]) -> list[Boxed]:
    """Return ``runs`` from left to right in each row; a row ends where a middle lies below it."""
    rows: list[list[Boxed]] = []
    for run in sorted(runs, key=lambda run: run.box[1] + run.box[3]):
        if rows and (run.box[1] + run.box[3]) / 2 <= rows[-1][0].box[3]:
            rows[-1].append(run)
        else:
            rows.append([run])
    return [run for row in rows for run in _left_to_right(row)]


def _overlap(true: Boxed, read: list[Boxed]) -> float:
    if len(true.text.split()) == 1:
        return max(iou(true.box, run.box) for run in read)
    inside = [run.box for run in read if _covered(run.box, true.box) >= 0.5]
    if not inside:
        return 0.0
    x0, y0, x1, y1 = zip(*inside, strict=True)
    return iou(true.box, (min(x0), min(y0), max(x1), max(y1)))


def _covered(box: BoxTuple, by: BoxTuple) -> float:
    """Return the share of ``box`` that lies in ``by``."""
    width = min(box[2], by[2]) - max(box[0], by[0])
    height = min(box[3], by[3]) - max(box[1], by[1])
    return max(0.0, width) * max(0.0, height) / _area(box)

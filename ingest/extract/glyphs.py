"""Words from single glyphs, for pages on which whole words would come out wrong.

- Letters drawn twice with a small offset, as cheap boldness or shadow, are one letter; its box is
  the hull of both.
- A soft hyphen inside a line is nothing, or a hyphen if it has ink.
- Lines with Arabic or Hebrew are put from the order in which they stand on the page into the order
  in which they are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ingest.extract.bidi import reading_order, reads_leftward
from ingest.extract.text_line import hull
from schemas.document import BoxTuple

HYPHENS = "-\u2010\u00ad"
"""What may stand at a line's end where a word is broken: hyphen-minus, hyphen, soft hyphen."""
_SOFT_HYPHEN = "\u00ad"
_SHIFT = 0.25
"""Largest offset of a doubled glyph, as a share of the font's size."""
_OVERLAP = 0.35
"""Least share of the narrower of two glyphs that lies on the other if they are one."""
_GAP = 0.08
"""Least gap between words that MuPDF inferred, as a share of the font's size."""
_LONGEST_LIGATURE = 3
"""Letters of a ligature beside its first."""
_SURROGATE = re.compile("[\ud800-\udfff]")
_NARROW = 0.01
"""Widths and distances up to this share of the font's size are none."""


@dataclass(slots=True)
class Glyph:
    """A character with its place."""

    text: str
    box: BoxTuple
    inferred: bool
    """True for a blank that is not in the file; MuPDF saw a gap."""
    size: float

    @property
    def blank(self) -> bool:
        """True for white space of any kind."""
        return self.text.isspace()


@dataclass(frozen=True, slots=True)
class GlyphWord:
    """A word with the box of its ink, not yet cut to the page."""

    text: str
    box: BoxTuple
    bare_box: BoxTuple | None = None
    """Without the hyphen at the line's end."""


def glyph_lines(
    blocks: Sequence[dict[str, Any]],
) -> Iterator[tuple[int, dict[str, Any], list[GlyphWord]]]:
    """Yield block number, line and words for each line of MuPDF's "rawdict" blocks."""
    doubles = _Doubles()
    lines = [
        (block["number"], line, *doubles.removed(_glyphs(line), _axis(line["dir"])[0]))
        for block in blocks
        for line in block["lines"]
    ]
    for number, line, glyphs, were_doubled in lines:
        axis, sign = _axis(line["dir"])
        leftward = any(map(reads_leftward, {glyph.text for glyph in glyphs}))
        if leftward and not _is_replaced(glyphs, axis):
            glyphs = _as_read(glyphs, axis, sign)
        if leftward or were_doubled:
            glyphs = _blanks_by_gaps(glyphs, axis)
        yield number, line, list(_words(glyphs))


def _glyphs(line: dict[str, Any]) -> list[Glyph]:
    # PyMuPDF gives the bytes of what is no character as lone surrogates.
    return [
        Glyph(_SURROGATE.sub("\ufffd", char["c"]), char["bbox"], char["synthetic"], span["size"])
        for span in line["spans"]
        for char in span["chars"]
    ]


def _is_replaced(glyphs: list[Glyph], axis: int) -> bool:
    """Say whether a phrase replaces a few glyphs (PDF 32000-1 §14.9.4); it is in order already."""
    return any(
        not placed and len(list(run)) > _LONGEST_LIGATURE
        for placed, run in groupby(
            (glyph for glyph in glyphs if not glyph.blank), lambda glyph: _has_width(glyph, axis)
        )
    )


class _Doubles:
    """Finds glyphs that were drawn before at about the same place."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, int, int], list[Glyph]] = {}

    def removed(self, glyphs: list[Glyph], axis: int) -> tuple[list[Glyph], bool]:
        """Return the glyphs without those that repeat one, and whether there were any.

        The one that is repeated gets the hull of both.
        """
        kept: list[Glyph] = []
        twin: Glyph | None = None
        for glyph in glyphs:
            if glyph.blank:
                kept.append(glyph)
                continue
            # What has no width of its own goes with the letter before it.
            if _has_width(glyph, axis):
                twin = self._twin(glyph, axis)
            if twin is None:
                kept.append(glyph)
            else:
                twin.box = hull((twin.box, glyph.box))
        return kept, len(kept) < len(glyphs)

    def _twin(self, glyph: Glyph, axis: int) -> Glyph | None:
        reach = max(_SHIFT * glyph.size, 0.1)
        column, row = int(glyph.box[0] // reach), int(glyph.box[1] // reach)
        for x in (column - 1, column, column + 1):
            for y in (row - 1, row, row + 1):
                for other in self._cells.get((glyph.text, x, y), ()):
                    if _same_place(other, glyph, axis):
                        return other
        self._cells.setdefault((glyph.text, column, row), []).append(glyph)
        return None


def _same_place(a: Glyph, b: Glyph, axis: int) -> bool:
    """Say whether two glyphs lie on each other along the line, and about as high."""
    reach = _SHIFT * max(a.size, b.size)
    overlap = min(a.box[axis + 2], b.box[axis + 2]) - max(a.box[axis], b.box[axis])
    narrower = min(a.box[axis + 2] - a.box[axis], b.box[axis + 2] - b.box[axis])
    return (
        0.8 * a.size <= b.size <= 1.25 * a.size
        and abs(a.box[0] - b.box[0]) <= reach
        and abs(a.box[1] - b.box[1]) <= reach
        and overlap >= _OVERLAP * narrower
    )


def _axis(direction: tuple[float, float]) -> tuple[int, float]:
    """Return along which axis a line runs, and towards which of its ends."""
    across, down = direction
    return (0, across) if abs(across) >= abs(down) else (1, down)


def _blanks_by_gaps(glyphs: list[Glyph], axis: int) -> list[Glyph]:
    """Return the glyphs with a blank wherever there is a gap, and none that MuPDF only inferred.

    Inferred blanks are wrong between a letter and its double, and where runs change direction.
    """
    result: list[Glyph] = []
    before: Glyph | None = None
    for glyph in glyphs:
        if glyph.blank and glyph.inferred:
            continue
        if not glyph.blank and _has_width(glyph, axis):
            if before is not None and not before.blank:
                (low, high), (start, end) = (
                    (one.box[axis], one.box[axis + 2]) for one in (before, glyph)
                )
                if max(start - high, low - end) > _GAP * max(glyph.size, before.size):
                    result.append(Glyph(" ", glyph.box, True, glyph.size))
            before = glyph
        elif glyph.blank:
            before = glyph
        result.append(glyph)
    return result


def _has_width(glyph: Glyph, axis: int) -> bool:
    """False for marks and for a ligature's further letters, which have no place of their own."""
    return glyph.box[axis + 2] - glyph.box[axis] > _NARROW * glyph.size


def _as_read(glyphs: list[Glyph], axis: int, sign: float) -> list[Glyph]:
    """Put a line's glyphs into the order of reading."""
    clusters = _clusters(glyphs, axis)
    clusters.sort(key=lambda cluster: sign * (cluster[0].box[axis] + cluster[0].box[axis + 2]))
    texts = ["".join(glyph.text for glyph in cluster) for cluster in clusters]
    leftward = reads_leftward("".join(texts))
    result: list[Glyph] = []
    for index, text in reading_order(texts, leftward=leftward):
        cluster = clusters[index]
        if text == texts[index]:
            result.extend(cluster)
        else:
            first = cluster[0]
            result.append(Glyph(text, first.box, first.inferred, first.size))
    return result


def _clusters(glyphs: list[Glyph], axis: int) -> list[list[Glyph]]:
    """Group each glyph with what has no width of its own: marks, a ligature's further letters.

    MuPDF gives a ligature's box to its first letter and puts the others at its far end; where it
    has turned a run around, they stand before it.
    """
    clusters: list[list[Glyph]] = []
    waiting: list[Glyph] = []
    for glyph, after in zip(glyphs, [*glyphs[1:], None], strict=True):
        start, end = glyph.box[axis], glyph.box[axis + 2]
        slack = _NARROW * glyph.size
        if end - start > slack or glyph.blank:
            clusters.append([glyph])
            while waiting and not glyph.blank:
                clusters[-1].append(waiting.pop())
            continue
        base = clusters[-1][0].box if clusters else None
        turned = after is not None and abs(after.box[axis + 2] - start) <= slack
        on_base = base is not None and base[axis] - slack <= start <= base[axis + 2] + slack
        if on_base and not (turned and base is not None and abs(base[axis + 2] - start) > slack):
            clusters[-1].append(glyph)
        else:
            waiting.append(glyph)
    return clusters + [[glyph] for glyph in waiting]


def _words(glyphs: list[Glyph]) -> Iterator[GlyphWord]:
    runs = [list(run) for blank, run in groupby(glyphs, key=lambda glyph: glyph.blank) if not blank]
    for number, run in enumerate(runs):
        last = number == len(runs) - 1
        run = list(_hyphens(run, line_end=last))
        if run:
            yield _word(run, line_end=last)


def _hyphens(run: list[Glyph], *, line_end: bool) -> Iterator[Glyph]:
    """Yield the glyphs with soft hyphens inside a line left out, or made hyphens if seen."""
    for index, glyph in enumerate(run):
        if glyph.text != _SOFT_HYPHEN or (line_end and index == len(run) - 1):
            yield glyph
        elif glyph.box[2] > glyph.box[0] and glyph.box[3] > glyph.box[1]:
            yield Glyph("-", glyph.box, glyph.inferred, glyph.size)


def _word(run: list[Glyph], *, line_end: bool) -> GlyphWord:
    text = "".join(glyph.text for glyph in run)
    bare = None
    if line_end and len(text) > 1 and text[-1] in HYPHENS and text[-2].isalpha():
        bare = hull(glyph.box for glyph in run[:-1])
    return GlyphWord(text, hull(glyph.box for glyph in run), bare)

"""Pages whose text runs up, down or upside down, as a wide table on an upright page does.

Such a page is read in the frame of its text: turned until its lines run to the right. The frame is
for order and roles alone; every word keeps its box on the page as displayed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from ingest.extract.blocks import Block, PageWord
from ingest.extract.text_line import TextLine
from schemas.document import BoxTuple

Turn = Literal[0, 90, 180, 270]
"""Degrees clockwise from left-to-right in which text runs on the displayed page."""
_MOST = 0.6
"""Share of the page's text that must run in one direction."""
_TURNS: tuple[Turn, ...] = (0, 90, 180, 270)
_NEAR = 20


def main_turn(angles: Iterable[tuple[float, int]]) -> Turn:
    """Return in which direction most text runs; 0 where none is most of it.

    Args:
        angles: of lines, in degrees clockwise on the displayed page, each with its characters.
    """
    shares: Counter[Turn | None] = Counter()
    for angle, characters in angles:
        turn = next(
            (turn for turn in _TURNS if abs((angle - turn + 180) % 360 - 180) <= _NEAR), None
        )
        shares[turn] += characters
    if not shares:
        return 0
    turn, most = shares.most_common(1)[0]
    return turn if turn is not None and most >= _MOST * shares.total() else 0


def to_frame(box: BoxTuple, turn: Turn) -> BoxTuple:
    """Return a box of the displayed page in the frame of text that runs in ``turn``.

    The frame's origin is a corner of the page, so that coordinates may be negative.
    """
    x0, y0, x1, y1 = box
    match turn:
        case 90:
            return y0, -x1, y1, -x0
        case 180:
            return -x1, -y1, -x0, -y0
        case 270:
            return -y1, x0, -y0, x1
        case _:
            return box


class Frame:
    """Lines in the frame of their text, and the way back."""

    def __init__(self, lines: Sequence[TextLine], turn: Turn) -> None:
        """Turn the lines; those that run in ``turn`` are then horizontal."""
        self._originals: dict[int, PageWord] = {}
        self._kept: list[PageWord] = []
        self.lines = [
            replace(
                line,
                words=tuple(map(self._turned, line.words, [turn] * len(line.words))),
                horizontal=main_turn([(line.angle - turn, 1)]) == 0,
            )
            for line in lines
        ]

    def restored(self, block: Block) -> Block:
        """Return a block of turned words as one of the words that were given."""
        lines = tuple(tuple(self._originals[id(word)] for word in line) for line in block.lines)
        return replace(block, lines=lines)

    def _turned(self, word: PageWord, turn: Turn) -> PageWord:
        turned = word._replace(box=to_frame(word.box, turn))
        self._originals[id(turned)] = word
        self._kept.append(turned)  # or another could get its id
        return turned

"""Pages whose words come from a text layer in part and from pixels in part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median

from ingest.extract.blocks import Block
from ingest.extract.layout import blocks_in_order
from ingest.extract.lines import bounds, line_box
from ingest.extract.text_layer import TextLine
from schemas.document import BoxTuple

_SAME_LINE = 0.6
"""Share of the lower line's height that two parts of one line have in common."""
_REACH = 12.0
"""Gap between a form's label and the value typed beside it, in heights of the line."""
_SLACK = 1.0


def scan_with_digital_words(recognised: Sequence[Block], lines: Sequence[TextLine]) -> list[Block]:
    """Return the blocks of a scan that digital words stand on.

    What was typed into a scanned form joins the line it stands on; a running head, a page number or
    a stamp is a block of its own. Letters' heights are all that is known of a scan's sizes, and
    they vary from line to line, so all lines count as one size.
    """
    scanned = [
        TextLine(
            words=words,
            block=number,
            size=0.0,
            horizontal=_is_level(line_box(words), len(words)),
        )
        for number, block in enumerate(recognised)
        for words in block.lines
    ]
    if not lines:
        return list(recognised)
    heights = [box[3] - box[1] for box in (line_box(line.words) for line in scanned)]
    size = median(heights) if heights else 0.0
    alone: list[TextLine] = []
    for line in lines:
        if not _join(scanned, line):
            alone.append(replace(line, block=line.block + len(recognised), size=size))
    return blocks_in_order([*(replace(line, size=size) for line in scanned), *alone], None)


def _join(scanned: list[TextLine], line: TextLine) -> bool:
    """Put the words of ``line`` on the nearest scanned line at its height, if there is one."""
    if not line.horizontal:
        return False
    box = line_box(line.words)
    near = [
        (_gap(line_box(other.words), box), index)
        for index, other in enumerate(scanned)
        if other.horizontal and _on_one_line(line_box(other.words), box)
    ]
    if not near:
        return False
    _, index = min(near)
    words = (*scanned[index].words, *line.words)
    ordered = tuple(sorted(words, key=lambda word: word.box[0]))
    scanned[index] = replace(scanned[index], words=ordered)
    return True


def _on_one_line(a: BoxTuple, b: BoxTuple) -> bool:
    lower, higher = sorted((a[3] - a[1], b[3] - b[1]))
    common = min(a[3], b[3]) - max(a[1], b[1])
    return common >= _SAME_LINE * lower and _gap(a, b) <= _REACH * higher


def _gap(a: BoxTuple, b: BoxTuple) -> float:
    return max(a[0], b[0]) - min(a[2], b[2])


def placed(blocks: Iterable[Block], others: Iterable[Block]) -> list[Block]:
    """Return ``blocks`` with ``others`` put in by position, each after what stands above it."""
    result = list(blocks)
    for other in others:
        result.insert(_position(block_box(other), [block_box(block) for block in result]), other)
    return result


def block_box(block: Block) -> BoxTuple:
    """Return the box of all words of ``block``."""
    return bounds(line_box(line) for line in block.lines)


def _position(box: BoxTuple, others: Sequence[BoxTuple]) -> int:
    beside = [
        index for index, other in enumerate(others) if other[0] < box[2] and box[0] < other[2]
    ]
    middle = (box[1] + box[3]) / 2
    above = [
        index for index in beside if (others[index][1] + others[index][3]) / 2 <= middle + _SLACK
    ]
    if above:
        return above[-1] + 1
    if beside:
        return beside[0]
    higher = [index for index, other in enumerate(others) if other[3] <= box[1] + _SLACK]
    return higher[-1] + 1 if higher else 0


def _is_level(box: BoxTuple, words: int) -> bool:
    return box[2] - box[0] >= box[3] - box[1] or words == 1

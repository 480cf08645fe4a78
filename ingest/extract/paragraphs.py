"""Paragraphs of a digital page that no layout model has seen, in reading order.

MuPDF's blocks follow the order in which the file draws, which need not be the order of reading, and
they break where the file's own text objects do. So lines are put in order by their place (see
`columns`), and a paragraph ends where a reader sees an end: at a wider gap, another size or
weight, a list mark, an indent, or a short last line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from ingest.extract.blocks import Block, line_text
from ingest.extract.columns import reading_order
from ingest.extract.lines import Row, bounds, has_columns, line_box, reads_rightward, rows_of
from ingest.extract.text_line import TextLine
from schemas.document import BoxTuple

LIST_MARK = re.compile(
    r"(?:[•‣◦▪▫■□●○➢➤✓\uf0b7\uf0a7–—-]|o(?=\s)"
    r"|\(?(?:\d{1,3}|[a-zA-Z]{1,2}|[ivxlcIVXLC]{1,6})\)|(?:\d{1,3}|[a-zA-Z]|[ivxlcIVXLC]{1,6})\.)"
    r"(?=\s|$)"
)
"""A bullet, or a number or letter with a bracket or a full stop."""
_ENDED = re.compile(r"[.:;!?][\"'”’)\]]*$")
_EDGE = 0.1
"""Runs whose edges differ by less than this share of their width are one column."""
_GAP = 1.3
"""A step from line to line that is this many times the usual one ends a paragraph."""
_OTHER_SIZE = 0.1
_SHORT = 0.85
"""A line that reaches less far than this share of its column's width is short."""
_INDENT = 0.8
"""Smallest indent of a first line, in heights of a line."""


def paragraphs(lines: Sequence[TextLine]) -> list[Block]:
    """Return the paragraphs of a page, all of them with the kind "paragraph"."""
    across = [line for line in lines if line.horizontal]
    boxes = [line_box(line.words) for line in across]
    rightward = sum(reads_rightward(line.words) for line in across) * 2 >= len(across)
    runs = reading_order(
        boxes,
        lambda index: sum([word.text[0].isalpha() for word in across[index].words]),
        rightward=rightward,
    )
    blocks: list[Block] = []
    for run in _whole_columns(runs, boxes):
        parts, part_boxes = [across[index] for index in run], [boxes[index] for index in run]
        rows = rows_of(parts, part_boxes)
        if has_columns(rows):
            # They could not be told apart by place, so the file's order is the best there is.
            blocks += _by_block([across[index] for index in sorted(run)])
        else:
            blocks += [_block(group) for group in _groups(rows)]
    blocks += _by_block([line for line in lines if not line.horizontal])
    return blocks


def _whole_columns(runs: list[list[int]], boxes: list[BoxTuple]) -> list[list[int]]:
    """Join runs that are one column, cut only because some of its lines are wide apart inside."""
    whole: list[list[int]] = []
    before: BoxTuple | None = None
    for run in runs:
        box = bounds([boxes[index] for index in run])
        if before is not None:
            near = _EDGE * max(before[2] - before[0], box[2] - box[0])
            alike = abs(before[0] - box[0]) <= near and abs(before[2] - box[2]) <= near
            if alike and box[1] >= before[3] - _EDGE * (box[3] - box[1]):
                whole[-1] += run
                before = bounds((before, box))
                continue
        whole.append(list(run))
        before = box
    return whole


def _by_block(lines: list[TextLine]) -> list[Block]:
    """Return MuPDF's own blocks."""
    blocks: dict[int, list[TextLine]] = {}
    for line in lines:
        blocks.setdefault(line.block, []).append(line)
    return [
        Block(
            kind="paragraph",
            lines=tuple(part.words for part in parts),
            size=max(part.size for part in parts),
            bold=all(part.bold for part in parts),
        )
        for parts in blocks.values()
    ]


def _block(rows: list[Row]) -> Block:
    return Block(
        kind="paragraph",
        lines=tuple(row.words for row in rows),
        size=max(row.size for row in rows),
        bold=all(row.bold for row in rows),
    )


def _groups(rows: list[Row]) -> list[list[Row]]:
    """Group the rows of a column into paragraphs."""
    if len(rows) == 1:
        return [rows]
    left = min(row.box[0] for row in rows)
    right = max(row.box[2] for row in rows)
    pitch = _pitch(rows)
    groups: list[list[Row]] = [[rows[0]]]
    for before, row in pairwise(rows):
        if _ends(groups[-1], before, row, (left, right), pitch):
            groups.append([row])
        else:
            groups[-1].append(row)
    return groups


def _pitch(rows: list[Row]) -> float:
    steps = [_step(before, row) for before, row in pairwise(rows)]
    height = median(row.box[3] - row.box[1] for row in rows)
    near = [step for step in steps if step < 2.2 * height]
    return median(near) if near else 1.5 * height


def _step(before: Row, row: Row) -> float:
    """Return the distance of two lines' feet and heads, whichever is the smaller.

    Boxes are of the ink, so a line without any descender ends higher than its neighbours.
    """
    return min(row.box[3] - before.box[3], row.box[1] - before.box[1])


def _ends(
    group: list[Row], before: Row, row: Row, edges: tuple[float, float], pitch: float
) -> bool:
    """Say whether a paragraph ends between two rows of a column."""
    sizes = before.size, row.size
    if abs(sizes[0] - sizes[1]) > _OTHER_SIZE * max(sizes):
        return True
    # Lines of another size than the column's usual one have another step.
    usual = max(pitch, 1.15 * row.size)
    if _step(before, row) > _GAP * usual:
        return True
    if before.bold != row.bold:
        return True
    left, right = edges
    first, last = line_text(row.parts[0].words[:3]), before.parts[-1].words[-1].text
    ended = bool(_ENDED.search(last))
    short = before.box[2] < left + _SHORT * (right - left)
    marked = LIST_MARK.match(first)
    if marked and (not _is_number(first) or ended or short or _ends_item(before)):
        return True
    indent = _INDENT * (row.box[3] - row.box[1])
    if row.box[0] > _left(group, before) + indent and (ended or short):
        return len(group) > 1 or not LIST_MARK.match(line_text(group[0].words[:1]))
    return ended and short and not first[0].islower()


def _is_number(mark: str) -> bool:
    """Say whether a list mark is a number or letter, which running text may begin a line with."""
    return any(map(str.isalnum, mark.split()[0])) and mark.split()[0] != "o"


def _ends_item(row: Row) -> bool:
    """Say whether a line ends like an item of a list: "; and"."""
    words = row.words
    return len(words) > 1 and words[-1].text in ("and", "or") and words[-2].text[-1] in ";,"


def _left(group: list[Row], before: Row) -> float:
    return before.box[0] if len(group) > 1 else group[0].box[0]

"""Lines as a reader sees them: what stands side by side at one height, from top to bottom."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ingest.extract.blocks import Line, PageWord
from ingest.extract.text_line import TextLine
from schemas.document import BoxTuple

_SLACK = 1.0


@dataclass(slots=True)
class Row:
    """Lines of the text layer that stand side by side."""

    parts: list[TextLine]
    boxes: list[BoxTuple]
    """Of the parts."""
    box: BoxTuple
    size: float
    """Font size of the largest part in points."""
    bold: bool
    """True if every part is bold."""

    @property
    def words(self) -> Line:
        """The words in reading order."""
        if len(self.parts) == 1:
            return self.parts[0].words
        rightward = sum(reads_rightward(part.words) for part in self.parts) * 2 >= len(self.parts)
        order = sorted(
            range(len(self.parts)), key=lambda index: self.boxes[index][0], reverse=not rightward
        )
        return tuple(word for index in order for word in self.parts[index].words)


def visual_lines(parts: Sequence[TextLine]) -> list[Line]:
    """Join what stands side by side on one line, and order the lines from top to bottom.

    MuPDF breaks a line at wide gaps, as between a number and its clause. Where blocks stand side
    by side, which the layout model should have told apart, MuPDF's own order is kept: ordering by
    height would mix columns line by line. So it is for text that does not run across the page.
    """
    if len(parts) == 1:
        return [parts[0].words]
    if not all(part.horizontal for part in parts):
        return [part.words for part in parts]
    boxes = [line_box(part.words) for part in parts]
    rows = rows_of(parts, boxes)
    if has_columns(rows):
        return [part.words for part in parts]
    return [row.words for row in rows]


def rows_of(parts: Sequence[TextLine], boxes: Sequence[BoxTuple]) -> list[Row]:
    """Return the parts as rows from top to bottom."""
    rows: list[Row] = []
    for index in sorted(range(len(parts)), key=lambda index: boxes[index][1] + boxes[index][3]):
        part, box = parts[index], boxes[index]
        if rows and box[1] < rows[-1].box[3] and _same_line(rows[-1], box):
            row = rows[-1]
            row.parts.append(part)
            row.boxes.append(box)
            x0, y0, x1, y1 = row.box
            row.box = min(x0, box[0]), min(y0, box[1]), max(x1, box[2]), max(y1, box[3])
            row.size = max(row.size, part.size)
            row.bold = row.bold and part.bold
        else:
            rows.append(Row([part], [box], box, part.size, part.bold))
    return rows


def _same_line(row: Row, box: BoxTuple) -> bool:
    overlap = min(row.box[3], box[3]) - max(row.box[1], box[1])
    if overlap < 0.5 * min(row.box[3] - row.box[1], box[3] - box[1]):
        return False
    left, right = box[0] + _SLACK, box[2]
    if row.box[2] <= left:
        return True  # right of all of them, as nearly always
    return all(other[2] <= left or right <= other[0] + _SLACK for other in row.boxes)


def reads_rightward(words: Line) -> bool:
    """False where the words, which are in reading order, run to the left: Arabic, Hebrew."""
    return len(words) < 2 or words[0].box[0] <= words[-1].box[0]


def has_columns(rows: Sequence[Row]) -> bool:
    """Say whether blocks of several lines stand side by side."""
    if sum(len(row.parts) > 1 for row in rows) < 2:
        return False
    blocks: dict[int, list[BoxTuple]] = {}
    for row in rows:
        for part, box in zip(row.parts, row.boxes, strict=True):
            blocks.setdefault(part.block, []).append(box)
    tall = [bounds(run) for run in blocks.values() if len(run) > 1 and _stacked(run) >= 2]
    return any(
        (a[2] <= b[0] or b[2] <= a[0])
        and min(a[3], b[3]) - max(a[1], b[1]) > 0.5 * min(a[3] - a[1], b[3] - b[1])
        for index, a in enumerate(tall)
        for b in tall[index + 1 :]
    )


def _stacked(boxes: list[BoxTuple]) -> int:
    """Count the lines of a block that stand below one another."""
    count, bottom = 0, float("-inf")
    for box in sorted(boxes, key=lambda box: box[1] + box[3]):
        if (box[1] + box[3]) / 2 > bottom:
            count, bottom = count + 1, box[3]
    return count


def line_box(words: Sequence[PageWord]) -> BoxTuple:
    """Return the box around the words."""
    if len(words) == 1:
        return words[0].box
    return bounds([word.box for word in words])


def bounds(boxes: Iterable[BoxTuple]) -> BoxTuple:
    """Return the box around the boxes."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)

"""Passages: blocks of the body in reading order, those that one page or column cut in two joined.

A paragraph goes on behind a break if it does not end in a full stop (or another mark that ends a
sentence or a clause) and what follows begins like the middle of a sentence: with a small letter,
after a comma or a word such as "the", or anyhow after a full last line and in the same size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ingest.extract.blocks import Block, Line, PageContent, RowSpan, line_text
from ingest.extract.headings import clause_level
from ingest.extract.joins import Join, Joiner, word_set
from ingest.extract.paragraphs import LIST_MARK
from schemas.document import BEHIND_BODY, ElementKind

_BETWEEN: frozenset[ElementKind] = frozenset({"footnote", "caption", "table"})
"""What can stand between the parts of a paragraph."""
_MOST_BETWEEN = 8
_ENDED = re.compile(r"[.:;!?。！？][\"'”’»)\]]*$")
_GOES_ON = word_set(
    "a an and any as at between by for from if in its of on or our such that the their this to "
    "under upon which with your shall will may not be is are"
)
_FULL = 0.9
"""A line that reaches this share of its paragraph's width is full."""
_SAME_SIZE = 0.1


@dataclass(slots=True)
class Passage:
    """A run of lines with one role; its lines may stand on several pages."""

    kind: ElementKind
    level: int | None
    lines: list[tuple[int, Line]]
    """Number of the page and its line."""
    rows: tuple[RowSpan, ...] = ()
    blocks: list[Block] = field(default_factory=list)

    @classmethod
    def of(cls, block: Block, page: int) -> Passage:
        """Return the passage that is one block."""
        return cls(
            block.kind, block.level, [(page, line) for line in block.lines], block.rows, [block]
        )

    def take(self, other: Passage) -> None:
        """Append what goes on in ``other``."""
        self.lines += other.lines
        self.blocks += other.blocks


def passages_of(contents: list[PageContent], joiner: Joiner) -> Iterator[Passage]:
    """Yield the passages of the body; what stood between the parts of one follows it."""
    passages = [
        Passage.of(block, content.page.number)
        for content in contents
        for block in content.blocks
        if block.kind not in BEHIND_BODY
    ]
    taken: set[int] = set()
    for index, passage in enumerate(passages):
        if index in taken:
            continue
        at = index
        while passage.kind in ("paragraph", "list_item"):
            following = _following(passages, at, taken)
            if following is None or not _goes_on(
                passage, passages[following], joiner, beside=following == at + 1
            ):
                break
            passage.take(passages[following])
            taken.add(following)
            at = following
        yield passage


def _following(passages: list[Passage], at: int, taken: set[int]) -> int | None:
    """Return the next passage that could go on with the one at ``at``."""
    for index in range(at + 1, min(len(passages), at + 2 + _MOST_BETWEEN)):
        if index in taken or passages[index].kind in _BETWEEN:
            continue
        return index if passages[index].kind == "paragraph" else None
    return None


def _goes_on(passage: Passage, other: Passage, joiner: Joiner, *, beside: bool) -> bool:
    page, last_line = passage.lines[-1]
    other_page, first_line = other.lines[0]
    if page == other_page and beside and first_line[0].box[1] >= last_line[-1].box[1]:
        # Below one another in one column: the paragraph's end was seen there.
        return False
    if not page <= other_page <= page + 2:
        return False
    sizes = passage.blocks[-1].size, other.blocks[0].size
    if all(sizes) and abs(sizes[0] - sizes[1]) > _SAME_SIZE * max(sizes):
        return False
    last, first = last_line[-1].text, first_line[0].text
    if joiner.join(last, first) is not Join.NONE:
        return True
    text = line_text(first_line)
    if _ENDED.search(last) or LIST_MARK.match(text) or clause_level(text) is not None:
        return False
    if first[0].islower() or last[-1] == "," or last.casefold() in _GOES_ON:
        return True
    return not text.isupper() and _is_full(passage)


def _is_full(passage: Passage) -> bool:
    """Say whether the last line of a passage reaches as far as its other lines."""
    lines = passage.blocks[-1].lines
    if len(lines) < 2:
        return False
    left = min(line[0].box[0] for line in lines)
    right = max(line[-1].box[2] for line in lines)
    return lines[-1][-1].box[2] - left >= _FULL * (right - left)


def mark_repeated_headers(contents: list[PageContent]) -> None:
    """Mark the header of a table that goes on on the next page and repeats its first rows there.

    The rows stay in the text: they are on the page.
    """
    before: tuple[int, int] | None = None
    for number, content in enumerate(contents):
        body = [
            index
            for index, block in enumerate(content.blocks)
            if block.kind not in BEHIND_BODY and block.kind != "footnote"
        ]
        if not body:
            continue
        first = content.blocks[body[0]]
        if before is not None and first.kind == "table":
            earlier = contents[before[0]].blocks[before[1]]
            same = _same_rows(earlier, first)
            if same:
                contents[before[0]].blocks[before[1]] = _with_header(earlier, same)
                content.blocks[body[0]] = _with_header(first, same)
        last = content.blocks[body[-1]]
        before = (number, body[-1]) if last.kind == "table" else None


def _same_rows(one: Block, other: Block) -> int:
    """Return how many header rows both tables begin with; 0 if they begin differently.

    Without a known header, the first row alone counts.
    """
    if not one.rows or not other.rows:
        return 0
    heads = sum(row.header for row in one.rows) or 1
    if min(len(one.rows), len(other.rows)) <= heads:
        return 0
    return heads if _head_text(one, heads) == _head_text(other, heads) else 0


def _head_text(block: Block, heads: int) -> list[str]:
    count = sum(row.lines for row in block.rows[:heads])
    return [line_text(line) for line in block.lines[:count]]


def _with_header(block: Block, heads: int) -> Block:
    rows = tuple(
        replace(row, header=row.header or index < heads) for index, row in enumerate(block.rows)
    )
    return replace(block, rows=rows)

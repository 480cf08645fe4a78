"""Roles on pages that no layout model has seen, told by size, weight, place and words.

Sizes and weights are known where the page is digital; a recognised page has words and places alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, pairwise, takewhile

from ingest.extract.blocks import Block, PageContent, line_text
from ingest.extract.headings import (
    clause_level,
    is_capital_heading,
    is_lettered_heading,
    is_name,
    is_running,
    numbered_depth,
)
from ingest.extract.paragraphs import LIST_MARK
from schemas.document import BEHIND_BODY, ElementKind

_CAPTION = re.compile(
    r"(?:figure|fig\.|table|chart|exhibit|abbildung|abb\.|tabelle)\s+[\dIVX]+(?:[.-]\d+)*"
    r"(?P<mark>[.:–—]?)(?P<rest>\s.*|$)",
    re.IGNORECASE | re.DOTALL,
)
_CAPTION_LINES = 6
_NOTE_MARK = re.compile(r"(?:\d{1,3}|[*†‡§¶]+|\(\d{1,2}\)|[a-z])[.)]?(?:\s|(?=[A-Z]))")
_CONTENTS_LINE = re.compile(r"(?:\.\s?){4,}\s*[\divx]+$|\s\d{1,3}$")
_SMALL = 0.92
"""Small print, as a share of the body's size."""
_LARGE = 1.15
_TITLE = 1.2
_HEADING_WORDS = 15
_HEADING_LINES = 3
_TITLE_LINES = 4
_ABOVE_TEXT: frozenset[ElementKind] = BEHIND_BODY | {"heading"}
_LOOK_BELOW = 3
_UPPER = 0.5
"""A title stands in this share of the first page; a footnote does not."""


def set_roles(contents: list[PageContent]) -> None:
    """Give roles to the blocks that are paragraphs so far, on pages without a layout model.

    The title is looked for on every first page: the model sees most of them as headings.
    """
    written = [content for content in contents if content.blocks]
    if not written:
        return
    body, bold = _body(written)
    pages = [content for content in written if not content.laid_out]
    for content in pages:
        notes = set(_footnotes(content, body))
        content.blocks = [
            replace(block, kind="footnote")
            if index in notes
            else _role(block, content.blocks, index, body, bold=bold)
            for index, block in enumerate(content.blocks)
        ]
    _set_title(written, body)


def _body(pages: list[PageContent]) -> tuple[float, bool]:
    """Return the size that most of the text has, and whether most of it is bold."""
    sizes: Counter[float] = Counter()
    weights: Counter[bool] = Counter()
    for content in pages:
        for block in content.blocks:
            words = sum(map(len, block.lines))
            sizes[round(block.size * 2) / 2] += words
            weights[block.bold] += words
    return sizes.most_common(1)[0][0], weights.most_common(1)[0][0]


def _below(blocks: list[Block], index: int) -> list[Block]:
    """Return the next blocks of the body, three at most."""
    body = (block for block in blocks[index + 1 :] if block.kind not in BEHIND_BODY)
    return list(islice(body, _LOOK_BELOW))


def _role(block: Block, blocks: list[Block], index: int, body: float, *, bold: bool) -> Block:
    if block.kind != "paragraph" or block.rows:
        return block
    first = line_text(block.lines[0])
    caption = _CAPTION.match(first)
    if caption and len(block.lines) <= _CAPTION_LINES and _is_caption(caption):
        return replace(block, kind="caption")
    short = len(block.lines) <= _HEADING_LINES
    if short and _is_heading(block, _below(blocks, index), body, bold=bold):
        level = clause_level(block.text) if block.size == 0 else clause_level(first)
        return replace(block, kind="heading", level=level)
    if LIST_MARK.match(first) and (first[0] not in "-–—" or len(block.lines[0]) > 1):
        return replace(block, kind="list_item")
    return block


def _is_caption(caption: re.Match[str]) -> bool:
    """ "Figure 2: Sales" is one, "Figure 2 shows that …" is not."""
    rest = caption["rest"].split()
    if caption["mark"] or not rest:
        return bool(caption["mark"])
    return rest[0][0].isupper()


def _is_heading(block: Block, below: list[Block], body: float, *, bold: bool) -> bool:
    if sum(map(len, block.lines)) > _HEADING_WORDS:
        return False
    text = block.text.replace("\n", " ")
    if sum(map(str.isalpha, text)) < 0.5 * len(text.replace(" ", "")):
        return False
    if _CONTENTS_LINE.search(text) or text[-1] in ",;" or text[0].islower():
        return False
    if not _is_running_text(block):
        return False
    if body and block.size >= _LARGE * body:
        return True
    if not below or below[0].kind not in ("paragraph", "list_item", "heading"):
        return False
    if 0 < block.size < _SMALL * body:
        return False
    if clause_level(text) is not None:
        return bool(body) and block.bold and not bold
    # In a table, a form or a signature, capitals and bold print are everywhere.
    if is_name(text) or not any(map(_is_running, below)):
        return False
    if body and block.bold and not bold:
        return text[-1] != "."
    lettered = len(block.lines) == 1 and is_lettered_heading(text) and _is_running(below[0])
    return lettered or is_capital_heading(text)


def _is_running_text(block: Block) -> bool:
    """Say whether no gap in a line is one between the cells of a table."""
    for line in block.lines:
        for before, word in pairwise(line):
            height = max(before.box[3] - before.box[1], word.box[3] - word.box[1])
            if word.box[0] - before.box[2] > 3 * height:
                # A number may stand far from its title.
                return before is line[0]
    return True


def _is_running(block: Block) -> bool:
    return is_running([word.text for line in block.lines for word in line])


def _footnotes(content: PageContent, body: float) -> Iterator[int]:
    """Yield the indexes of small print at the foot of a column that begins with a mark."""
    if not body:
        return
    blocks = content.blocks
    for index, block in enumerate(blocks):
        if block.kind != "paragraph" or not 0 < block.size <= _SMALL * body:
            continue
        top = block.lines[0][0].box[1]
        if top < _UPPER * content.page.height:
            continue
        if not _NOTE_MARK.match(line_text(block.lines[0])):
            continue
        last = index
        for later in range(index + 1, len(blocks)):
            following = blocks[later]
            if following.kind in BEHIND_BODY:
                continue
            if following.lines[0][0].box[1] < top:
                break  # the next column
            if following.size > _SMALL * body:
                last = -1
                break
            last = later
        if last >= 0:
            yield from (
                number for number in range(index, last + 1) if blocks[number].kind == "paragraph"
            )


def _set_title(pages: list[PageContent], body: float) -> None:
    """Make the first page's title of the largest heading above its text.

    It must be larger than the text and as large as any heading, or in capitals.
    """
    first = pages[0]
    if any(block.kind == "title" for block in first.blocks):
        return
    above = takewhile(
        lambda pair: pair[1].kind in _ABOVE_TEXT or not _is_running(pair[1]),
        enumerate(first.blocks),
    )
    headings = [
        (index, block)
        for index, block in above
        if block.kind == "heading"
        and numbered_depth(block.text) is None
        and len(block.lines) <= _TITLE_LINES
        and block.lines[0][0].box[1] < _UPPER * first.page.height
    ]
    if not headings:
        return
    index, title = max(headings, key=lambda pair: (pair[1].size, pair[1].text.isupper()))
    largest = max(
        block.size for content in pages for block in content.blocks if block.kind == "heading"
    )
    large = bool(body) and title.size >= _TITLE * body and title.size >= largest
    if large or (title.text.isupper() and len(title.text.split()) > 1):
        first.blocks[index] = replace(title, kind="title", level=None)

"""Which blocks of a page are its main text.

trafilatura judges; its own text has neither the page's characters nor its structure, so a block of
the DOM is main text if its words are in what trafilatura returns. What lies between main blocks and
reads like prose belongs to them. Where that leaves out much prose, the page is no article (a
contract, a list of prices), and all of it but the navigation is kept: text is not lost to a guess.
So is all of a page that links to hardly anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ingest.extract.html_blocks import HtmlBlock, name_of
from ingest.extract.package import Node

_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"[.!?;:…。！？](?:[\"'”’)\]]|\s|$)")
_SHINGLE = 4
_SHARE = 0.7
"""A block is main text if this share of its runs of four words is."""
_PROSE = 80
_MAX_BETWEEN = 2
_FEW_WORDS = 3
_MAX_LINKED = 0.3
_MOSTLY_LINKED = 0.8
_TEASER_REACH = 4
_TEASER_TITLE = 20
_SHORT = 400
"""Of so few characters nothing can be told."""
_BARE = 0.02
"""A page with fewer links has nothing around its text but a menu."""
_LEFT_OUT = 0.35
"""A page loses more of its prose than this to no menu."""
_BOILERPLATE_TAGS = frozenset({"nav", "aside", "footer", "form"})
_BOILERPLATE_ROLES = frozenset(
    {"navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog"}
)
_BOILERPLATE_NAMES = re.compile(
    r"(?:^|[\W_])(?:nav(?:bar|igation)?|menu|breadcrumbs?|cookies?|consent|gdpr|share|sharing|social"
    r"|related|recommended|newsletter|subscribe|subscription|promo|advert(?:isement)?|ads?|sponsor"
    r"|comments?|disqus|sidebar|footer|signup|login|teasers?|most-?(?:read|popular)|trending"
    r"|read-?(?:more|next)|popup|modal|paywall|outbrain|taboola|tags?)(?:$|[\W_])",
    re.IGNORECASE,
)
_MENU_NAMES = re.compile(
    r"(?:^|[\W_])(?:nav(?:bar|igation)?|breadcrumbs?|cookies?|consent|gdpr)(?:$|[\W_])",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class MainText:
    """The blocks to keep, and what became of the others."""

    blocks: list[HtmlBlock]
    left_out: int
    """Characters in the blocks that were not kept."""
    whole_page: bool
    """True where the page was kept but for its menus."""


def main_text(blocks: list[HtmlBlock], judged: str) -> MainText:
    """Choose the main blocks; ``judged`` is the main text as trafilatura sees it."""
    menus = [_is_menu(block.node) for block in blocks]
    boilerplate = [_is_boilerplate(block.node) for block in blocks]
    main = _judged(blocks, judged)
    _fill(blocks, main, boilerplate)
    kept = sum(len(b.text) for b, chosen in zip(blocks, main, strict=True) if chosen)
    lost = sum(
        len(b.text)
        for i, (b, chosen, aside) in enumerate(zip(blocks, main, boilerplate, strict=True))
        if not chosen and not aside and _is_prose(b) and not _is_teaser(blocks, i)
    )
    linked = sum(b.linked for b, menu in zip(blocks, menus, strict=True) if not menu)
    total = sum(len(b.text) for b, menu in zip(blocks, menus, strict=True) if not menu)
    bare = linked < _BARE * total
    whole = lost > _LEFT_OUT * (kept + lost) or kept < _SHORT or bare
    if whole:
        main = [not menu for menu in menus]
        if not any(main):
            main = [True] * len(blocks)
    left_out = sum(len(b.text) for b, chosen in zip(blocks, main, strict=True) if not chosen)
    return MainText([b for b, chosen in zip(blocks, main, strict=True) if chosen], left_out, whole)


def _judged(blocks: list[HtmlBlock], judged: str) -> list[bool]:
    words = _words(judged)
    shingles = set(_shingles(words))
    lines = {" ".join(_words(line)) for line in judged.splitlines()}
    main: list[bool] = []
    for block in blocks:
        own = _words(block.text)
        runs = _shingles(own)
        if len(own) < _SHINGLE:
            main.append(bool(own) and " ".join(own) in lines)
        else:
            main.append(sum(run in shingles for run in runs) >= _SHARE * len(runs))
    # A short line can stand in the menu as well as in the text: it counts near other main text.
    sure = [index for index, block in enumerate(blocks) if main[index] and len(block.text) > _PROSE]
    if sure:
        before = _reach(main, range(sure[0] - 1, -1, -1))
        after = _reach(main, range(sure[-1] + 1, len(blocks)))
        for index in (*range(before), *range(after + 1, len(blocks))):
            main[index] = main[index] and len(blocks[index].text) > _PROSE
    return main


def _reach(main: list[bool], indexes: range) -> int:
    """Return how far main text goes on, with only few other blocks between."""
    last, between = indexes.start - indexes.step, 0
    for index in indexes:
        between = 0 if main[index] else between + 1
        if between > _MAX_BETWEEN:
            break
        last = index if main[index] else last
    return last


def _fill(blocks: list[HtmlBlock], main: list[bool], boilerplate: list[bool]) -> None:
    """Keep what lies between main blocks and reads like them, and the headings above."""
    chosen = [index for index, is_main in enumerate(main) if is_main]
    if not chosen:
        return
    for index in range(chosen[0], chosen[-1]):
        block = blocks[index]
        if not main[index] and not boilerplate[index]:
            main[index] = _is_prose(block) or _is_short_text(block)
    for index in range(len(blocks) - 2, -1, -1):
        below = main[index + 1]
        block = blocks[index]
        if block.kind == "heading" and below and not boilerplate[index] and not _is_link(block):
            main[index] = True
    # The headline often stands apart from the text, with the author and the date between.
    first = next(index for index, is_main in enumerate(main) if is_main)
    for index in range(first - 1, -1, -1):
        if blocks[index].level == 1 and not _is_menu(blocks[index].node):
            main[index] = True
            break


def _is_prose(block: HtmlBlock) -> bool:
    if block.kind == "table":
        return block.linked <= _MAX_LINKED * len(block.text)
    return (
        len(block.text) >= _PROSE
        and block.linked <= _MAX_LINKED * len(block.text)
        and bool(_SENTENCE_END.search(block.text))
    )


def _is_link(block: HtmlBlock) -> bool:
    return block.linked >= _MOSTLY_LINKED * len(block.text)


def _is_teaser(blocks: list[HtmlBlock], index: int) -> bool:
    """Tell whether a block stands below the link to what it is the beginning of."""
    for block in reversed(blocks[max(index - _TEASER_REACH, 0) : index]):
        if len(block.text) >= _TEASER_TITLE and _is_link(block):
            return True
        if _is_prose(block):
            return False
    return False


def _is_short_text(block: HtmlBlock) -> bool:
    """Tell whether a block is text, if it stands in the middle of text."""
    sentence = block.kind in ("list_item", "caption") or _SENTENCE_END.search(block.text)
    return bool(sentence) and not block.linked and len(_words(block.text)) >= _FEW_WORDS


def _is_menu(node: Node) -> bool:
    return any(
        name_of(above) == "nav"
        or above.get("role") == "navigation"
        or _MENU_NAMES.search(_names(above))
        for above in _lineage(node)
    )


def _is_boilerplate(node: Node) -> bool:
    return any(
        name_of(above) in _BOILERPLATE_TAGS
        or above.get("role") in _BOILERPLATE_ROLES
        or _BOILERPLATE_NAMES.search(_names(above))
        for above in _lineage(node)
    )


def _lineage(node: Node) -> list[Node]:
    """Return an element and those around it, but for the page itself."""
    found: list[Node] = []
    while node is not None and name_of(node) not in ("body", "html", "main", "article"):
        found.append(node)
        node = node.getparent()
    return found


def _names(node: Node) -> str:
    return f"{node.get('id') or ''} {node.get('class') or ''}"


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _shingles(words: list[str]) -> list[tuple[str, ...]]:
    return [tuple(words[at : at + _SHINGLE]) for at in range(len(words) - _SHINGLE + 1)]

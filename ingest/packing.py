"""Packing: where the chunks of a version start and end.

The tokens of the body are located once. Cuts are then chosen by position alone, so that the work is
linear in the text, and the chunks are counted afresh afterwards: a tokenizer may see other tokens
in a part than in the whole.

A text whose hash is known is not embedded again, so a changed clause should move few cuts but its
own. Filling each chunk to the brim would move all cuts behind it. Instead, of the places where a
chunk may end, the text behind them says which is taken (content-defined chunking): two packings
that begin differently soon take the same place, and are the same from there on.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice

import numpy as np

from ingest.blocks import Block
from ingest.boundaries import cluster_at, cut_inside, rank_at, sentence_ends
from ingest.errors import ItemError
from ingest.tokens import TokenCounter

Span = tuple[int, int]
"""Start and end of a chunk, without white space at the ends."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What a chunk may hold. Tokens are counted without the special ones."""

    tokens: int
    least: int
    """A chunk with fewer tokens is joined with its neighbour where that fits."""
    chars: int
    overlap: int
    """Tokens that a chunk may repeat of the one before it; not part of ``tokens``."""
    slack: float = 0.0
    """Share by which a chunk may end early, so that cuts outlast a change; 0 fills each chunk."""


@dataclass(slots=True)
class _Group:
    """Blocks that share chunks: a section, or several where one is too small."""

    first: int
    stop: int
    top: int
    unit: str | None
    tokens: int


class Packer:
    """Cuts the body of one version into the spans of its chunks."""

    def __init__(self, text: str, blocks: list[Block], counter: TokenCounter, budget: Budget):
        self._text = text
        self._blocks = blocks
        self._counter = counter
        self._budget = budget
        self._starts = [block.start for block in blocks]
        self._ends = [block.end for block in blocks]
        located = counter.starts([text[block.start : block.end] for block in blocks])
        shifted = [at + start for at, start in zip(located, self._starts, strict=True)]
        # A normaliser may report a token before its neighbour; the bisection needs them in order.
        self._tokens = np.maximum.accumulate(np.concatenate([np.zeros(0, np.int64), *shifted]))
        self._leads = _leads(blocks)
        # Sentences are looked for only in the blocks that must be cut.
        self._inner_ends = cache(self._find_inner_ends)
        self._rank = cache(partial(rank_at, text))

    def spans(self) -> list[tuple[Span, int]]:
        """Return the span of each chunk and its tokens counted afresh, special ones included."""
        groups = self._groups()
        packed = [self._pack(group, exact=False) for group in groups]
        counts = iter(self._count([span for spans in packed for span in spans]))
        counted = [[(span, next(counts)) for span in spans] for spans in packed]
        fits = self._budget.tokens + self._counter.special
        done: list[tuple[Span, int]] = []
        for group, spans in zip(groups, counted, strict=True):
            if any(tokens > fits for _, tokens in spans):
                exact = self._pack(group, exact=True)
                spans = list(zip(exact, self._count(exact), strict=True))
            done += self._overlapped(spans) if self._budget.overlap else spans
        return done

    # --- sections ----------------------------------------------------------------------------

    def _groups(self) -> list[_Group]:
        """Return the sections, each that is too small joined with a neighbour.

        The neighbour after it in the same top section comes first, then the one before it there,
        and only then the one after it in the next top section. Records, sheets and parts are
        never joined.
        """
        groups: list[_Group] = []
        runs = self._runs()
        goal = 0
        for index, run in enumerate(runs):
            if groups and self._is_small(groups[-1]) and groups[-1].top != run.top:
                _join_back(groups, same_top=True)
            last = groups[-1] if groups else None
            if last and (self._is_small(last) or index <= goal) and _may_join(last, run):
                _extend(last, run)
                if index > goal and not self._is_small(last):
                    goal = self._last_joined(runs, index, last)
            else:
                groups.append(run)
        if groups and self._is_small(groups[-1]):
            _join_back(groups, same_top=False)
        return groups

    def _last_joined(self, runs: list[_Group], index: int, group: _Group) -> int:
        """Return the last section to join, where the one at ``index`` made a group large enough.

        In a row of small sections a few more may join, up to the one behind which the text prefers
        to begin anew, so that pairs are not all formed anew where one section comes or goes.
        """
        if not self._budget.slack or index + 1 == len(runs):
            return index
        places = [index]
        tokens = group.tokens
        for at in range(index + 1, len(runs) - 1):
            tokens += runs[at].tokens
            # A top section's sections stay together, where it has several.
            parts = runs[at - 1].top != runs[at].top == runs[at + 1].top
            if (
                parts
                or not self._is_small(runs[at - 1])
                or not self._is_small(runs[at])
                or not _may_join(group, runs[at])
                or tokens > min(3 * self._budget.least, self._budget.tokens)
            ):
                break
            places.append(at)
        return min(places, key=lambda at: self._rank(self._starts[runs[at + 1].first]))

    def _is_small(self, group: _Group) -> bool:
        return group.tokens < self._budget.least

    def _runs(self) -> list[_Group]:
        """Return the sections: headings with what is below them, the records of a
        table, sheets and parts."""
        runs: list[_Group] = []
        headed = False
        for index, block in enumerate(self._blocks):
            tokens = self._tokens_between(block.start, block.end)
            last = runs[-1] if runs else None
            if (
                last is None
                or (block.is_heading and not headed)
                or (block.unit is not None and last.unit is not None and block.unit != last.unit)
            ):
                runs.append(_Group(index, index + 1, block.top, block.unit, tokens))
            else:
                _extend(last, _Group(index, index + 1, block.top, block.unit, tokens))
                # Of several headings in a row the last one names the section.
                last.top = block.top if headed else last.top
            headed = block.is_heading
        return runs

    # --- cuts --------------------------------------------------------------------------------

    def _pack(self, group: _Group, *, exact: bool) -> list[Span]:
        """Cut a group into spans; ``exact`` counts each candidate, where positions misled."""
        start, stop = self._starts[group.first], self._ends[group.stop - 1]
        spans: list[Span] = []
        while start < stop:
            cut = self._next_cut(start, stop, exact=exact)
            spans.append((start, cut))
            start = self._skip_blank(cut)
        return spans

    def _next_cut(self, start: int, stop: int, *, exact: bool) -> int:
        limit = self._limit(start, self._budget.tokens)
        if limit < stop:
            left = self._tokens_between(start, stop) - self._budget.tokens
            if left < self._budget.least:
                # The rest would be too small: leave it more, if that costs no sentence.
                early = self._budget.tokens + left - self._budget.least
                cut = self._clean_cut(start, self._limit(start, early)) if early > 0 else None
                if cut and self._is_better(start, cut):
                    limit = cut
            limit = self._preferred_cut(start, stop, limit) or limit
        while True:
            if limit >= stop:
                cut = stop
            else:
                cut = self._clean_cut(start, limit) or cut_inside(self._text, start, limit)
            cut = self._skip_blank_back(start, cut)
            if not exact:
                return cut
            tokens = self._count([(start, cut)])[0] - self._counter.special
            if tokens <= self._budget.tokens:
                return cut
            if cut - start == 1:
                raise ItemError(
                    "character_over_budget",
                    f"The character {self._text[start]!r} at {start} is {tokens} tokens, and a "
                    f"chunk may have {self._budget.tokens}. Raise MUNIMENT_CHUNKING__MAX_TOKENS.",
                )
            share = (cut - start) * self._budget.tokens // tokens
            limit = start + max(1, min(share, cut - start - 1))

    def _preferred_cut(self, start: int, stop: int, limit: int) -> int | None:
        """Return the clean cut up to ``limit`` that the text behind it prefers; None without any.

        The last one wins where the text is the same behind several. A group of two chunks at most
        is not cut into three for it.
        """
        # Of what fits, which may be less than the tokens where the characters are limited.
        full = self._tokens_between(start, limit)
        least = max(full * (1 - self._budget.slack), self._budget.least)
        left = self._tokens_between(start, stop) - self._budget.tokens
        if left <= self._budget.tokens:
            least = max(least, left)
        return min(
            self._clean_cuts(start, limit, least),
            key=lambda cut: self._rank(self._skip_blank(cut)),
            default=None,
        )

    def _clean_cuts(self, start: int, limit: int, least: float) -> Iterator[int]:
        """Yield the last clean cut up to ``limit``, and those before it that are as good.

        They leave a chunk of ``least`` tokens or more.
        """
        cut = self._clean_cut(start, limit)
        last = cut
        while cut is not None:
            end = self._skip_blank_back(start, cut)
            if cut != last and self._tokens_between(start, end) < least:
                return
            if cut == last or not self._breaks(end):
                yield cut
            cut = self._clean_cut(start, end - 1) if end - 1 > start else None

    def _breaks(self, end: int) -> bool:
        """True if a chunk's end breaks a block that fits, or parts a heading from its text."""
        block = self._blocks[bisect_right(self._ends, end - 1)]
        if block.start < end < block.end:
            return self._fits(block)
        after = bisect_right(self._ends, end)
        return after < len(self._blocks) and self._leads[after] < end

    def _is_better(self, start: int, cut: int) -> bool:
        """True if an early cut leaves a chunk that is not small and breaks no block that fits."""
        block = self._blocks[bisect_right(self._ends, cut - 1)]
        breaks = block.start < cut < block.end and self._fits(block)
        return not breaks and self._tokens_between(start, cut) >= self._budget.least

    def _clean_cut(self, start: int, limit: int) -> int | None:
        """Return the last place up to ``limit`` that breaks no sentence; None if there is none.

        A block that fits a chunk is kept whole, and headings stay with what is below them.
        """
        index = bisect_right(self._ends, limit)
        block = self._blocks[index]
        lead = self._leads[index]
        if block.start >= limit:
            return lead if lead > start else limit
        whole = self._fits(block)
        if whole and lead > start:
            return lead
        ends = self._inner_ends(index)
        last = bisect_right(ends, limit) - 1
        if last >= 0 and ends[last] > start:
            # The header row of a table is not left alone, if the table can start the next chunk.
            heads = len(block.headers)
            alone = 0 < heads < len(block.rows) and ends[last] <= block.rows[heads].char_start
            return lead if alone and lead > start else ends[last]
        if lead > start:
            # A sentence over the budget is cut in any case: then not after a chunk that is small.
            sentence = ends[last + 1] if last + 1 < len(ends) else block.end
            small = self._tokens_between(start, lead) < self._budget.least
            if not small or self._tokens_between(block.start, sentence) <= self._budget.tokens:
                return lead
        return block.start if block.start > start and (whole or block.is_heading) else None

    def _fits(self, block: Block) -> bool:
        return (
            block.end - block.start <= self._budget.chars
            and self._tokens_between(block.start, block.end) <= self._budget.tokens
        )

    def _find_inner_ends(self, index: int) -> list[int]:
        """Return where a block may be cut: between the rows of a table, else after sentences."""
        block = self._blocks[index]
        if block.rows:
            ends = (cluster_at(self._text, row.char_start)[1] for row in block.rows)
            return [end for end in ends if end > block.start]
        return sentence_ends(self._text, block.start, block.end)

    # --- overlap -----------------------------------------------------------------------------

    def _overlapped(self, spans: list[tuple[Span, int]]) -> list[tuple[Span, int]]:
        """Let each chunk of a group start earlier, by at most the overlap that is set."""
        done = spans[:1]
        for span, tokens in spans[1:]:
            before = done[-1][0]
            done.append((span, tokens))
            for start in self._earlier_starts(before, span):
                repeated, total = self._count([(start, before[1]), (start, span[1])])
                extra = repeated - self._counter.special
                room = self._budget.tokens + self._budget.overlap + self._counter.special
                if extra <= self._budget.overlap and total <= room:
                    done[-1] = ((start, span[1]), total)
                    break
        return done

    def _earlier_starts(self, before: Span, span: Span) -> list[int]:
        """Return the starts of words before ``span`` that the overlap allows, the best first.

        The best is the start of the longest run of whole sentences that makes at least half of the
        overlap, then that of the longest run of words. Headings and tables are not repeated.
        """
        index = bisect_right(self._starts, span[0]) - 1
        if self._blocks[index].is_heading or self._blocks[index].rows or not len(self._tokens):
            return []
        reach = int(np.searchsorted(self._tokens, span[0])) - self._budget.overlap
        first = max(int(self._tokens[max(reach, 0)]), before[0] + 1, span[1] - self._budget.chars)
        sentences: set[int] = set()
        while index >= 0 and self._ends[index] > first:
            block = self._blocks[index]
            if block.is_heading or block.rows:
                first = block.end
                break
            ends = self._inner_ends(index)
            part = ends[bisect_left(ends, first) : bisect_left(ends, before[1])]
            sentences.update([block.start, *map(self._skip_blank, part)])
            index -= 1
        words = [
            at
            for at in range(first, before[1])
            if self._text[at - 1].isspace()
            and not self._text[at].isspace()
            and cluster_at(self._text, at)[0] == at
        ]
        half = self._budget.overlap / 2
        best = (
            at for at in words if at in sentences and self._tokens_between(at, before[1]) >= half
        )
        return [*islice(best, 1), *words]

    # --- positions ---------------------------------------------------------------------------

    def _limit(self, start: int, tokens: int) -> int:
        """Return the furthest end of a chunk with at most ``tokens`` from ``start``."""
        after = int(np.searchsorted(self._tokens, start)) + tokens
        furthest = min(start + self._budget.chars, self._ends[-1])
        if after >= len(self._tokens):
            return furthest
        # Several tokens can start at one character, which must go on in any case.
        return max(start + 1, min(furthest, int(self._tokens[after])))

    def _tokens_between(self, start: int, end: int) -> int:
        first, last = np.searchsorted(self._tokens, (start, end))
        return int(last - first)

    def _count(self, spans: list[Span]) -> list[int]:
        return self._counter.count([self._text[start:end] for start, end in spans])

    def _skip_blank(self, position: int) -> int:
        while position < len(self._text) and self._text[position].isspace():
            position += 1
        return position

    def _skip_blank_back(self, start: int, end: int) -> int:
        return start + len(self._text[start:end].rstrip())


def _leads(blocks: list[Block]) -> list[int]:
    """Return for each block where a chunk that begins with it must start: at its headings."""
    leads: list[int] = []
    for index, block in enumerate(blocks):
        below = index > 0 and blocks[index - 1].is_heading
        leads.append(leads[-1] if below else block.start)
    return leads


def _may_join(one: _Group, other: _Group) -> bool:
    return one.unit is None or other.unit is None or one.unit == other.unit


def _extend(group: _Group, by: _Group) -> None:
    group.stop = by.stop
    group.unit = group.unit if group.unit is not None else by.unit
    group.tokens += by.tokens


def _join_back(groups: list[_Group], *, same_top: bool) -> None:
    """Join the last group with the one before it, if that is allowed."""
    if len(groups) < 2 or not _may_join(groups[-2], groups[-1]):
        return
    if groups[-2].top == groups[-1].top or not same_top:
        _extend(groups[-2], groups.pop())

"""Words of the contract, made by the hundred thousand."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import accumulate, chain, repeat
from operator import add
from typing import Any

from pydantic import BaseModel

from ingest.extract.blocks import Line, PageWord
from schemas.document import Word

_FIELDS = set(Word.model_fields)
_SET_VALUES: Callable[[Word, dict[str, Any]], None] = BaseModel.__dict__["__dict__"].__set__
_SETTERS: tuple[tuple[Callable[[Word, Any], None], Any], ...] = tuple(
    (BaseModel.__dict__[slot].__set__, value)
    for slot, value in (
        ("__pydantic_fields_set__", _FIELDS),
        ("__pydantic_extra__", None),
        ("__pydantic_private__", None),
    )
)
_SOURCES = {"digital", "ocr"}
_BOX_KINDS = {"word", "line"}


@dataclass(slots=True)
class WordList:
    """Words of one text in order, with what follows each; kept as columns until all are known."""

    words: list[PageWord] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    """As they stand in the text: without the hyphen where it broke a word."""
    after: list[str] = field(default_factory=list)
    """What separates each word from the next."""
    lines: list[tuple[int, int, int]] = field(default_factory=list)
    """Number of each line's words, its page and its own number."""
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def add(self, line: Line, page: int, number: int) -> None:
        """Append the words of a line, with its number and its page's; a newline follows."""
        count = len(line)
        self.words += line
        self.texts += [word.text for word in line]
        self.after += [" "] * count
        self.after[-1] = "\n"
        self.lines.append((count, page, number))

    def go_on(self, *, broken: bool) -> None:
        """Join the next word to the last one, whose hyphen goes if it ``broken`` the word."""
        self.after[-1] = ""
        if broken:
            self.texts[-1] = self.texts[-1][:-1]
            last = self.words[-1]
            self.words[-1] = last._replace(box=last.bare_box or last.box)

    def place(self) -> str:
        """Find where each word starts and ends, and return the text."""
        if not self.words:
            return ""
        self.after[-1] = ""
        lengths = list(map(len, self.texts))
        steps = map(add, lengths, map(len, self.after))
        self.starts = list(accumulate(steps, initial=0))
        self.starts.pop()
        self.ends = list(map(add, self.starts, lengths))
        return "".join(chain.from_iterable(zip(self.texts, self.after, strict=True)))

    def build(self) -> list[Word]:
        """Return the words of the contract, checked together and not one by one.

        Pydantic takes 4 µs to check a word, as long as MuPDF takes to read one. Here the same
        conditions are looked at for all words at once, and the objects are then filled as
        ``model_construct`` fills them.

        Raises:
            ValueError: a value is outside what `Word` allows.
        """
        if not self.words:
            return []
        _, boxes, confidences, sources, box_kinds, _ = zip(*self.words, strict=True)
        counts, pages_of_lines, numbers = zip(*self.lines, strict=True)
        pages = chain.from_iterable(map(repeat, pages_of_lines, counts))
        lines = chain.from_iterable(map(repeat, numbers, counts))
        if (
            min(self.starts) < 0
            or min(self.ends) < 1
            or min(pages_of_lines) < 1
            or min(numbers) < 0
            or not math.isfinite(sum(chain.from_iterable(boxes)))
            or set(map(len, boxes)) != {4}
            or not all(value is None or 0 <= value <= 100 for value in set(confidences))
            or not set(sources) <= _SOURCES
            or not set(box_kinds) <= _BOX_KINDS
        ):
            raise ValueError("a word has an offset, page, box, confidence or source out of range")
        rows = [
            {
                "char_start": start,
                "char_end": end,
                "page": page,
                "line": line,
                "box": box,
                "confidence": confidence,
                "source": source,
                "box_kind": box_kind,
            }
            for start, end, page, line, box, confidence, source, box_kind in zip(
                self.starts,
                self.ends,
                pages,
                lines,
                boxes,
                confidences,
                sources,
                box_kinds,
                strict=True,
            )
        ]
        made: list[Word] = list(map(object.__new__, repeat(Word, len(rows))))
        deque(map(_SET_VALUES, made, rows), maxlen=0)
        for setter, value in _SETTERS:
            deque(map(setter, made, repeat(value)), maxlen=0)
        return made

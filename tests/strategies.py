"""Hypothesis strategies: texts with all that breaks offsets, and versions with random evidence."""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

from ingest.settings import EMBEDDED_MODEL, ChunkingSettings
from ingest.tokens import TokenCounter
from schemas.document import Element, Extraction, Page, TableRow, Word

FRAGMENTS = [
    "The lessee shall pay the rent. ",
    "chunk ",
    "chunk",
    "Mr. Smith of Acme Inc. agrees; ",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466",  # a family, joined
    "\U0001f44d\U0001f3fd",  # a thumb with a skin tone
    "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7",  # two flags of two letters each
    "e\u0301u\u0308 ",
    "a\u0301\u0323\u0302",
    " \u0301",  # a mark whose base is a space
    "\u4f60\u597d\u3002\u4e16\u754c\uff01",
    "\u05e9\u05dc\u05d5\u05dd \u0639\u0644\u064a\u0643\u0645 ",
    "\ufb01nal \ufb03 ",
    "\u0e01\u0e33\u0e25\u0e31\u0e07",  # Thai, without spaces
    "\u0915\u094d\u0937\u093f ",  # a conjunct
    "\r\n",
    "\n\n",
    "\n",
    "\u00a0",
    "\u00bd \u00bd ",
    "\u200b",
    "\ufeff",
    "\x1c",
    " ",
    "   \t",
    "x" * 130,
    "verylongword" * 20,
    "1,234,567.89 0.5% ",
    "19980315001234567890",
    ". ",
    "....",
    "[SEP] ",
]

_KINDS = st.sampled_from(
    ["title", "heading", "heading", "paragraph", "paragraph", "list_item", "caption", "footnote"]
)


@cache
def counter() -> TokenCounter:
    """Return the embedded model's token counter, loaded once."""
    return TokenCounter(EMBEDDED_MODEL)


def texts() -> st.SearchStrategy[str]:
    """Return texts without lone surrogates, which no extractor may produce."""
    loose = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
    fragment = st.one_of(st.sampled_from(FRAGMENTS), st.sampled_from(FRAGMENTS), loose)
    short = st.lists(fragment, max_size=6)
    return st.one_of(short, st.lists(fragment, min_size=15, max_size=40)).map("".join)


@st.composite
def chunking_settings(draw: st.DrawFn, overlap: bool = True) -> ChunkingSettings:
    """Return sizes that are small against the texts, so that each example has many cuts."""
    max_tokens = draw(st.integers(8, 48))
    return ChunkingSettings(
        max_tokens=max_tokens,
        min_tokens=draw(st.integers(0, max_tokens)),
        overlap_tokens=draw(st.integers(0, (max_tokens - 2) // 2)) if overlap else 0,
        max_chars=draw(st.integers(16, 400)),
    )


@st.composite
def extractions(draw: st.DrawFn, paged: bool | None = None) -> Extraction:
    """Return a version with random elements and, if it is paged, a box for each word."""
    text = draw(texts())
    body_end = draw(st.one_of(st.just(len(text)), st.integers(len(text) // 2, len(text))))
    paged = draw(st.booleans()) if paged is None else paged
    pages, words = _paged(draw, text) if paged else ((), ())
    return Extraction(
        media_type="application/pdf" if paged else "text/plain",
        extractor_version="1",
        doc_sha256="0" * 64,
        text=text,
        body_end=body_end,
        pages=pages,
        words=words,
        elements=_elements(draw, text, body_end, records=not paged and draw(st.booleans())),
        language="en",
    )


def _elements(draw: st.DrawFn, text: str, body_end: int, records: bool) -> tuple[Element, ...]:
    if not text:
        return ()
    cuts = draw(st.lists(st.integers(0, len(text)), max_size=12))
    numbered = draw(st.booleans())
    made: list[Element] = []
    row = 1
    for start, end in pairwise(sorted({*cuts, 0, body_end, len(text)})):
        if start >= body_end:
            made.append(Element(kind="footer", char_start=start, char_end=end))
            continue
        choice = draw(st.sampled_from(["gap", "table", "field", "plain", "plain"]))
        extra: dict[str, Any] = {"paragraph": len(made) + 1} if numbered else {}
        if choice == "gap":
            continue
        if choice == "field" and records:
            row += draw(st.integers(0, 1))
            extra |= {"kind": "field", "row": str(row), "field": f"column {len(made)}"}
        elif choice == "table":
            extra |= {"kind": "table", "rows": _rows(draw, start, end)}
        else:
            extra |= {"kind": draw(_KINDS), "level": draw(st.sampled_from([None, 1, 2, 3]))}
        made.append(Element(char_start=start, char_end=end, **extra))
    return tuple(made)


def _rows(draw: st.DrawFn, start: int, end: int) -> tuple[TableRow, ...]:
    cuts = draw(st.lists(st.integers(start, end), max_size=6))
    ends = pairwise(sorted({*cuts, start, end}))
    return tuple(
        TableRow(char_start=first, char_end=last, header=number == 0)
        for number, (first, last) in enumerate(ends)
    )


def _paged(draw: st.DrawFn, text: str) -> tuple[tuple[Page, ...], tuple[Word, ...]]:
    """Lay the words out in lines, the lines on pages; some words in two halves."""
    words: list[Word] = []
    page, line, column = draw(st.integers(1, 2)), 0, 0
    for run in non_blank_runs(text):
        middle = draw(st.integers(run[0], run[1])) if draw(st.booleans()) else run[0]
        for start, end in pairwise(sorted({run[0], middle, run[1]})):
            if column and draw(st.integers(0, 5)) == 0:
                line, column = line + 1, 0
                page += draw(st.sampled_from([0, 0, 0, 1, 2]))
            recognised = draw(st.booleans())
            x0, y0 = 20.0 + column % 50 * 10, 10.0 + line % 70 * 10
            words.append(
                Word(
                    char_start=start,
                    char_end=end,
                    page=page,
                    line=line,
                    box=(x0, y0, x0 + 9.5, y0 + draw(st.floats(1, 9))),
                    confidence=draw(st.floats(0, 100)) if recognised else None,
                    source="ocr" if recognised else "digital",
                )
            )
            column += 1
    pages = [
        Page(
            number=number,
            width=612,
            height=792,
            rotation=0,
            label=f"p-{number}",
            text_source="digital" if any(word.page == number for word in words) else "none",
        )
        for number in range(1, page + 2)
    ]
    return tuple(pages), tuple(words)


def non_blank_runs(text: str) -> list[tuple[int, int]]:
    """Return the runs of characters for which ``str.isspace`` is false."""
    # re's \s and str.isspace agree on all characters but for the separators U+001C to U+001F,
    # which both take for white space in a str.
    return [match.span() for match in re.finditer(r"\S+", text)]

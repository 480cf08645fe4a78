"""The command: changes clauses of long contracts, and counts the chunks that are new by their text.

python -m benchmarks.versions
python -m benchmarks.versions --changes 50 --contracts 100

A chunk whose text was embedded before costs no call of the model. The least possible is the number
of chunks that hold a changed character. Beside it, the same contracts are cut by filling each chunk
to the brim, to compare with.
"""

from __future__ import annotations

import argparse
import os
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice, pairwise
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt

from benchmarks.extract.machine import describe
from benchmarks.versions.changes import Run, difference, new_texts, touched
from benchmarks.versions.contracts import contracts, histories, paragraphs, read, typeset
from benchmarks.versions.edits import KINDS, clauses, edited, plain
from ingest.blocks import blocks_of
from ingest.chunking import Chunker
from ingest.packing import Budget, Packer
from ingest.settings import EMBEDDED_MODEL, ChunkingSettings
from ingest.tokens import TokenCounter
from schemas.document import Element, Extraction

_CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus"
_TOLD = ("date", "commit", "processor", "system")
_LONG = "set as a PDF"

Cutter = Callable[[Extraction], list[Run]]


@dataclass(frozen=True)
class Cutters:
    """Two ways to cut a version into spans."""

    ours: Cutter
    filled: Cutter


@dataclass
class Row:
    """What was counted of one contract; the lists have an entry a change."""

    set: str
    name: str
    characters: int
    chunks: int
    filled_chunks: int
    """How many there would be if each were filled to the brim."""
    new: list[int] = field(default_factory=list)
    least: list[int] = field(default_factory=list)
    filled: list[int] = field(default_factory=list)
    """New ones over the least possible, if each chunk were filled to the brim."""

    @property
    def over(self) -> list[int]:
        """New chunks over the least possible."""
        return [new - least for new, least in zip(self.new, self.least, strict=True)]

    @classmethod
    def begun(cls, cut: Cutters, set_name: str, name: str, extraction: Extraction) -> Self:
        """Return the row of a contract before its first change."""
        chunks = len(cut.ours(extraction)), len(cut.filled(extraction))
        return cls(set_name, name, extraction.body_end, *chunks)

    def count(self, cut: Cutters, old: Extraction, new: Extraction, changes: Sequence[Run]) -> None:
        """Count the chunks of a changed version."""
        ours, filled = (_counted(one, old, new, changes) for one in (cut.ours, cut.filled))
        self.new.append(ours[0])
        self.least.append(ours[1])
        self.filled.append(filled[0] - filled[1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    parser = argparse.ArgumentParser("bench-versions", description=__doc__.splitlines()[0])
    corpus = Path(os.environ.get("MUNIMENT_CORPUS", _CORPUS))
    parser.add_argument("--corpus", type=Path, default=corpus, metavar="FOLDER")
    parser.add_argument("--contracts", type=int, default=8, metavar="N", help="of each set")
    parser.add_argument("--changes", type=int, default=10, metavar="N", help="of each contract")
    parser.add_argument("--pages", type=int, default=60, metavar="N", help="of the one set as PDF")
    options = parser.parse_args(arguments)
    cut = cutters()
    rows = [
        *(
            changed(cut, contract.set, contract.name, contract.extraction, options.changes)
            for contract in contracts(options.corpus, options.contracts)
        ),
        changed_pdf(cut, paragraphs(options.corpus, options.pages), options.changes),
    ]
    print("\n".join(f"- {name}: {text}" for name, text in describe().items() if name in _TOLD))
    print("\n## One clause changed\n\n" + "\n".join(contract_table(rows)))
    print("\n## Real versions\n\n" + "\n".join(version_table(cut, options.corpus)))
    return 0


def cutters() -> Cutters:
    """Return the chunker of an installation as it comes, and one that fills each chunk."""
    counter = TokenCounter(EMBEDDED_MODEL)
    chunker = Chunker(counter, ChunkingSettings())
    brim = replace(chunker.budget, slack=0)
    return Cutters(
        ours=lambda extraction: [
            (chunk.char_start, chunk.char_end) for chunk in chunker.chunk(extraction)
        ],
        filled=lambda extraction: _packed(extraction, counter, brim),
    )


def _packed(extraction: Extraction, counter: TokenCounter, budget: Budget) -> list[Run]:
    packer = Packer(extraction.text, blocks_of(extraction), counter, budget)
    return [span for span, _ in packer.spans()]


def changed(cut: Cutters, set_name: str, name: str, read_as: Extraction, changes: int) -> Row:
    """Change clauses of one contract, one at a time, all kinds of change in turn."""
    extraction = plain(read_as)
    row = Row.begun(cut, set_name, name, extraction)
    numbers = random.Random(name)  # noqa: S311  # no secret
    choices = clauses(extraction)
    for kind in _in_turn(changes):
        made = edited(extraction, numbers.choice(choices), kind, numbers)
        row.count(cut, extraction, made.extraction, [(made.start, made.end)])
    return row


def changed_pdf(cut: Cutters, texts: list[str], changes: int) -> Row:
    """Change clauses of a long contract, and set and read it anew for each change."""
    old = read(typeset(texts), "contract.pdf")
    row = Row.begun(cut, _LONG, f"{len(old.pages)} pages", old)
    numbers = random.Random(len(texts))  # noqa: S311  # no secret
    choices = [index for index, text in enumerate(texts) if len(text.split()) >= 20]
    for kind in _in_turn(changes):
        at = numbers.choice(choices)
        rewritten = [*texts[:at], *_rewritten(texts[at], kind, numbers), *texts[at + 1 :]]
        new = read(typeset(rewritten), "contract.pdf")
        found = difference(old.text[: old.body_end], new.text[: new.body_end])
        row.count(cut, old, new, found.runs)
    return row


def _rewritten(clause: str, kind: str, numbers: random.Random) -> list[str]:
    """Return the paragraphs that a clause becomes."""
    alone = Extraction(
        media_type="text/plain",
        extractor_version="0",
        doc_sha256="0" * 64,
        text=clause,
        body_end=len(clause),
        elements=(Element(kind="paragraph", char_start=0, char_end=len(clause)),),
    )
    made = edited(alone, 0, kind, numbers).extraction
    return [made.text[one.char_start : one.char_end] for one in made.elements]


def _in_turn(changes: int) -> Iterator[str]:
    return islice(cycle(KINDS), changes)


def _counted(
    cut: Cutter, old: Extraction, new: Extraction, changes: Sequence[Run]
) -> tuple[int, int]:
    """Return how many chunks of ``new`` have a new text, and how many hold a change."""
    before = (old.text[start:end] for start, end in cut(old))
    spans = cut(new)
    after = (new.text[start:end] for start, end in spans)
    return new_texts(before, after), touched(spans, changes)


def contract_table(rows: Sequence[Row]) -> list[str]:
    """Return the table of changed clauses: a line a contract, a set, and one for all."""
    lines = [
        "| contract | characters | chunks | × filled | new: mean | p95 | max | least: mean "
        "| over it: mean | p95 | max | none over | filled, over it: mean | p95 | max |",
        "| --- |" + " ---: |" * 14,
    ]
    lines += [_line(f"{row.set}: {row.name[:36]}", [row]) for row in rows]
    for name in dict.fromkeys(row.set for row in rows):
        lines.append(_line(f"**{name}**", [row for row in rows if row.set == name]))
    return [*lines, _line("**all**", rows)]


def _line(name: str, rows: Sequence[Row]) -> str:
    new, least, over, filled = (
        np.concatenate([getattr(row, what) for row in rows])
        for what in ("new", "least", "over", "filled")
    )
    chunks = sum(row.chunks for row in rows)
    cells = [
        name,
        f"{sum(row.characters for row in rows):,}",
        f"{chunks:,}",
        f"{chunks / sum(row.filled_chunks for row in rows):.2f}",
        *_spread(new),
        f"{least.mean():.2f}",
        *_spread(over),
        f"{np.mean(over <= 0):.0%}",
        *_spread(filled),
    ]
    return f"| {' | '.join(cells)} |"


def _spread(counts: npt.NDArray[np.int64]) -> list[str]:
    p95 = np.percentile(counts, 95, method="inverted_cdf")
    return [f"{counts.mean():.2f}", f"{p95:.0f}", f"{counts.max()}"]


def version_table(cut: Cutters, corpus: Path) -> list[str]:
    """Return the table of versions that followed each other: a line an agreement."""
    lines = [
        "| agreement | pairs | characters changed: mean | max | chunks new: mean | p95 | max "
        "| least: mean | filled, new: mean |",
        "| --- |" + " ---: |" * 8,
    ]
    for name, files in histories(corpus):
        versions = [read(file.read_bytes(), file.name) for file in files]
        shares = np.array([_shares(cut, old, new) for old, new in pairwise(versions)])
        characters, new, least, filled = shares.T
        cells = [
            name,
            f"{len(shares)}",
            f"{characters.mean():.1%}",
            f"{characters.max():.1%}",
            f"{new.mean():.1%}",
            f"{np.percentile(new, 95, method='inverted_cdf'):.1%}",
            f"{new.max():.1%}",
            f"{least.mean():.1%}",
            f"{filled.mean():.1%}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _shares(cut: Cutters, old: Extraction, new: Extraction) -> tuple[float, float, float, float]:
    """Return the shares of changed characters, and of chunks: new, touched, new if filled."""
    found = difference(old.text[: old.body_end], new.text[: new.body_end])
    made, least = _counted(cut.ours, old, new, found.runs)
    filled, _ = _counted(cut.filled, old, new, found.runs)
    chunks = len(cut.ours(new))
    return (
        (found.added + found.removed) / (old.body_end + new.body_end),
        made / chunks,
        least / chunks,
        filled / len(cut.filled(new)),
    )

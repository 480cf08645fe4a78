"""Measures the gate: the frame and the expectations, in batches of any size, and in a real run.

Seconds are of the processor, so that what else the machine does weighs little.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TypeVar

import pandas as pd
import pyarrow as pa  # type: ignore[import-untyped]  # it ships no types
import pyarrow.compute as pc  # type: ignore[import-untyped]  # it ships no types
import yaml
from more_itertools import chunked

from benchmarks.gate.rows import NOW, rows
from ingest.pipeline import Pipeline
from ingest.progress import ProgressEvent
from ingest.quality.frame import build_frame
from ingest.quality.gate import check
from ingest.runner import new_run_id, run_all
from ingest.settings import Settings

T = TypeVar("T")

_BATCHES = (100, 1_000, 10_000)
_SENTENCE = "Clause {}.{}: the supplier gives notice of {} days before this part of it ends. "
_SENTENCES_A_DOCUMENT = 300


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what was measured; return the exit status."""
    parser = argparse.ArgumentParser(prog="benchmarks.gate", description=__doc__)
    parser.add_argument("--chunks", type=int, default=100_000, help="rows of the frame")
    parser.add_argument("--documents", type=int, default=40, help="of the real run")
    given = parser.parse_args(arguments)
    inputs = list(rows(given.chunks))
    frame, building = timed(lambda: build_frame(inputs))
    result, checking = timed(lambda: check(frame, Settings().gate, NOW))
    if result.failures:
        sys.stderr.write(f"rows that should be right fail: {result.failures}\n")
        return 1
    _, passing = timed(lambda: one_pass(frame))
    print(f"{len(frame):,} chunks, {len(result.checks)} expectations, seconds of processor time")
    print(f"  frame                      {building:8.2f}")
    print(f"  expectations, one batch    {checking:8.2f}")
    print(f"  one pass over the columns  {passing:8.2f}")
    for size in _BATCHES:
        if size < len(frame):
            seconds = in_batches(frame, size)
            print(f"  expectations, batches of {size:6,}: {seconds:8.2f} for all")
    with tempfile.TemporaryDirectory() as folder:
        stages, chunks = real_run(Path(folder), given.documents)
    total = sum(stages.values())
    print(f"A run over {given.documents} documents of plain text, {chunks} chunks")
    for stage, seconds in stages.items():
        print(f"  {stage:26} {seconds:8.2f}  {seconds / total:6.1%}")
    return 0


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """Return what ``work`` returns, and the processor time that it took in seconds."""
    start = time.process_time()
    done = work()
    return done, time.process_time() - start


def one_pass(frame: pd.DataFrame) -> int:
    """Look at every value once with Arrow, a lower bound; return how many are missing or blank."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    found = sum(column.null_count for column in table.columns)
    for column in table.columns:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            found += pc.sum(pc.match_substring_regex(column, r"^\s*$")).as_py() or 0
        elif pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            found += len(pc.min_max(column))
    return int(found)


def in_batches(frame: pd.DataFrame, size: int, most: int = 5) -> float:
    """Return what checking all rows in batches of ``size`` costs, from ``most`` of them."""
    settings = Settings().gate
    starts = range(0, len(frame), size)
    parts = [frame.iloc[start : start + size] for start in starts[:most]]
    _, seconds = timed(lambda: [check(part, settings, NOW) for part in parts])
    return seconds / len(parts) * len(starts)


class StageClock:
    """Adds up how long each stage takes, in seconds of processor time of this process.

    Reading documents happens in other processes, whose time is not in it.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._begun = 0.0

    def emit(self, event: ProgressEvent) -> None:
        """Take note of the beginning or the end of a stage."""
        now = time.process_time()
        if event.state == "started":
            self._begun = now
        elif event.state in ("finished", "failed"):
            self.seconds[event.stage] += now - self._begun


def real_run(folder: Path, documents: int) -> tuple[dict[str, float], int]:
    """Run the pipeline on generated documents; return seconds by stage, and how many chunks."""
    for number in range(documents):
        sentences = (_SENTENCE.format(number, i, i + 7) for i in range(_SENTENCES_A_DOCUMENT))
        path = folder / "in" / f"{number:05}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n\n".join("".join(some) for some in chunked(sentences, 5)))
    source = {"id": "texts", "kind": "report", "connector": "files", "licence": "own"}
    licence = {"id": "own", "name": "Own", "attribution_required": False}
    for name, content in (
        ("sources", [{**source, "address": str(folder / "in")}]),
        ("licences", [licence]),
    ):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump({name: content}))
    settings = Settings(
        home=folder / "home",
        sources_file=folder / "sources.yaml",
        licences_file=folder / "licences.yaml",
    )
    clock = StageClock()
    with redirect_stdout(sys.stderr):
        ledger = run_all(Pipeline(settings, new_run_id(), clock), ["texts"])
    if not ledger.balanced:
        raise SystemExit(f"the run did not end well: {ledger.lines[0].error}")
    return dict(clock.seconds), ledger.lines[0].chunks

"""The command: measures, prints the table, and writes it where it is wanted.

python -m benchmarks.nightly
python -m benchmarks.nightly --write docs/sources.md
"""

from __future__ import annotations

import argparse
import gc
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.extract.machine import describe
from benchmarks.nightly.counting import counted
from benchmarks.nightly.installation import SOURCE, make, pipeline_of
from ingest.runner import run_all
from ingest.settings import Settings
from schemas.run import Ledger

BEGIN, END = "<!-- bench-nightly: begin -->", "<!-- bench-nightly: end -->"
GOAL = 1.2
"""Most that a night may take, as a multiple of the listing alone."""
_TOLD = ("date", "commit", "processor", "load at the start", "system")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status: 1 where nothing should have been done."""
    parser = argparse.ArgumentParser("bench-nightly", description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=10_000, metavar="N")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="the best counts")
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="put the table between the markers in FILE"
    )
    options = parser.parse_args(arguments)
    told = {name: text for name, text in describe().items() if name in _TOLD}
    with TemporaryDirectory(prefix="muniment-nightly-") as folder:
        settings = make(Path(folder), options.files)
        listing, night, counts = measure(settings, options.rounds)
    lines = markdown(options.files, listing, night, counts)
    text = "\n".join([*(f"- {name}: {value}" for name, value in told.items()), "", *lines])
    print(text)
    if options.write:
        options.write.write_text(replaced(options.write.read_text("utf-8"), text), "utf-8")
    return int(any(counts[name] for name in ("fetches", "parses", "vault writes", "index opened")))


def measure(settings: Settings, rounds: int) -> tuple[float, float, Counter[str]]:
    """Return seconds of the listing alone and of a whole night, the best of each, and counts.

    The two take turns, so that what else the machine does meets both.
    """
    listings: list[float] = []
    nights: list[float] = []
    warm_up = pipeline_of(settings)
    with counted(warm_up, SOURCE) as counts:
        _checked(run_all(warm_up, [SOURCE]))
    # What was loaded is not looked through again, which would fall on one of the two by chance.
    gc.collect()
    gc.freeze()
    for _ in range(rounds):
        pipeline = pipeline_of(settings)
        connector = pipeline.connector(SOURCE)
        listings.append(_seconds(lambda c=connector: sum(1 for _ in c.list())))  # type: ignore[misc]
        pipeline = pipeline_of(settings)
        nights.append(_seconds(lambda p=pipeline: _checked(run_all(p, [SOURCE]))))  # type: ignore[misc]
    return min(listings), min(nights), counts


def _checked(ledger: Ledger) -> Ledger:
    (line,) = ledger.lines
    if not ledger.balanced or line.unchanged != line.listed:
        raise AssertionError(f"the night was not quiet: {line}")
    return ledger


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def markdown(files: int, listing: float, night: float, counts: Counter[str]) -> list[str]:
    """Return the table's lines."""
    tables = {name: count for name, count in sorted(counts.items()) if name.startswith("rows of")}
    rows = {
        f"the listing of {files:,} files alone": f"{listing:.2f} s",
        "a whole night with nothing changed": f"{night:.2f} s",
        f"ratio (goal: at most {GOAL})": f"{night / listing:.2f}",
        "downloads": f"{counts['fetches']}",
        "documents parsed": f"{counts['parses']}",
        "writes to the vault": f"{counts['vault writes']}",
        "writes to the index (it is not even opened)": f"{counts['index opened']}",
        "files of the run's own accounts": f"{counts['run files']}",
        "catalogue rows written": ", ".join(
            f"{count} {name.removeprefix('rows of ')}" for name, count in tables.items()
        ),
    }
    return ["| what | measured |", "| --- | ---: |"] + [
        f"| {name} | {value} |" for name, value in rows.items()
    ]


def replaced(document: str, table: str) -> str:
    """Return ``document`` with what stands between the markers replaced by ``table``.

    Raises:
        ValueError: a marker is missing.
    """
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the document lacks {BEGIN!r} before {END!r}")
    return f"{before}{BEGIN}\n\n{table}\n\n{END}{after}"

"""The command: measures, prints the tables, and writes them where they are wanted.

python -m benchmarks.extract --quick
python -m benchmarks.extract --json results.json --write docs/extraction.md
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

# Set before an engine or a numerical library is loaded: one thread for each process.
os.environ.update(
    OMP_THREAD_LIMIT="1",
    OMP_NUM_THREADS="1",
    OPENBLAS_NUM_THREADS="1",
    OPENCV_FOR_THREADS_NUM="1",
)

from benchmarks.extract.corpora import DIGITAL_SETS, SETS, digital_files, load_set
from benchmarks.extract.digital import DigitalFile, Profile, read_files
from benchmarks.extract.machine import describe
from benchmarks.extract.scans import PageReading, read_pages
from benchmarks.extract.tables import Table, digital_tables, profile_table, scan_tables
from ocr.attempts import MAX_UNCOVERED_INK

ROOT = Path(__file__).parents[2]
BEGIN, END = "<!-- bench-extract: begin -->", "<!-- bench-extract: end -->"
_QUICK = 1, 2
"""Pages of each set of scans, files of each other set."""
_WIDTH = 160
_PROFILED = 15

Item = TypeVar("Item")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    options = _options(arguments)
    corpus: Path = options.corpus
    if not corpus.is_dir():
        print(f"No corpus at {corpus}. Set MUNIMENT_CORPUS to its folder.", file=sys.stderr)
        return 2
    if options.quick:
        options.pages, options.files = _QUICK
    machine = describe()
    # A file or a pipe is given the room that the tables need.
    console = Console(width=None if sys.stdout.isatty() else _WIDTH)
    for name, value in machine.items():
        console.print(f"{name}: {value}", highlight=False)
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
    )
    profile = Profile()
    with progress:
        readings = _read_scans(options, corpus, progress)
        files = _read_digital(options, corpus, progress, profile)
    tables = scan_tables(readings, MAX_UNCOVERED_INK) + digital_tables(files)
    if any(file.whole for file in files):
        tables.append(profile_table(profile.shares(_PROFILED)))
    for table in tables:
        table.show(console)
    _save(options, machine, readings, files, tables)
    return 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("bench-extract", description=__doc__.splitlines()[0])
    known = [*SETS, *DIGITAL_SETS]
    parser.add_argument(
        "--sets", nargs="+", choices=known, default=known, metavar="SET", help=", ".join(known)
    )
    parser.add_argument("--pages", type=int, metavar="N", help="pages of each set of scans")
    parser.add_argument("--files", type=int, metavar="N", help="files of each set of PDFs")
    parser.add_argument("--quick", action="store_true", help="a few of each: some two minutes")
    parser.add_argument("--engine", choices=("auto", "tesseract", "tesserocr"), default="auto")
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="scans that are read at the same time"
    )
    parser.add_argument(
        "--cut-pages", type=int, default=5, metavar="N", help="pages of a PDF whose words are cut"
    )
    parser.add_argument("--no-layout", action="store_true", help="leave the layout model out")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all counts to FILE")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables to FILE")
    parser.add_argument(
        "--write", type=Path, metavar="FILE", help="put the tables between the markers in FILE"
    )
    parser.add_argument(
        "--corpus",
        type=Path,
        metavar="FOLDER",
        default=Path(os.environ.get("MUNIMENT_CORPUS", ROOT.parent / "shared" / "corpus")),
        help="default: MUNIMENT_CORPUS",
    )
    return parser.parse_args(arguments)


def _read_scans(options: argparse.Namespace, corpus: Path, progress: Progress) -> list[PageReading]:
    readings: list[PageReading] = []
    for name in (name for name in SETS if name in options.sets):
        pages = _spread(load_set(corpus, name), options.pages)
        task = progress.add_task(name, total=len(pages))
        for found in read_pages(pages, first_engine=options.engine, jobs=options.jobs):
            readings += found
            progress.advance(task)
    return sorted(readings, key=lambda reading: (list(SETS).index(reading.set), reading.page))


def _read_digital(
    options: argparse.Namespace, corpus: Path, progress: Progress, profile: Profile
) -> list[DigitalFile]:
    files: list[DigitalFile] = []
    for name in (name for name in DIGITAL_SETS if name in options.sets):
        paths = _spread(digital_files(corpus, name), options.files)
        task = progress.add_task(name, total=len(paths))
        layout = not options.no_layout
        for file in read_files(
            name, paths, layout=layout, cut_pages=options.cut_pages, profile=profile
        ):
            files.append(file)
            progress.advance(task)
    return files


def _spread(items: Sequence[Item], most: int | None) -> list[Item]:
    """Return at most ``most`` of ``items``, evenly spread."""
    if most is None or len(items) <= most:
        return list(items)
    return [items[(2 * index + 1) * len(items) // (2 * most)] for index in range(most)]


def _save(
    options: argparse.Namespace,
    machine: dict[str, str],
    readings: Sequence[PageReading],
    files: Sequence[DigitalFile],
    tables: Sequence[Table],
) -> None:
    markdown = _markdown(machine, tables)
    if options.json:
        results: dict[str, Any] = {
            "machine": machine,
            "scans": [asdict(reading) for reading in readings],
            "digital": [asdict(file) for file in files],
            "tables": [asdict(table) for table in tables],
        }
        options.json.write_text(json.dumps(results, indent=1, ensure_ascii=False), "utf-8")
    if options.markdown:
        options.markdown.write_text(markdown, "utf-8")
    if options.write:
        options.write.write_text(replaced(options.write.read_text("utf-8"), markdown), "utf-8")


def _markdown(machine: dict[str, str], tables: Sequence[Table]) -> str:
    return "\n".join(
        [*(f"- {name}: {value}" for name, value in machine.items()), ""]
        + [table.markdown() for table in tables]
    )


def replaced(document: str, tables: str) -> str:
    """Return ``document`` with what stands between the markers replaced by ``tables``.

    Raises:
        ValueError: a marker is missing.
    """
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the document lacks {BEGIN!r} before {END!r}")
    return f"{before}{BEGIN}\n\n{tables}\n{END}{after}"

"""The command: lists exports of growing size to their end, each in a process of its own.

The export is made first, row by row, and deleted afterwards. Peak memory is that of the process
that lists it (``ru_maxrss``), with all that it imports; the same process also fetches a record out
of every thousand. The floor beside it is reading the file's bytes and splitting it into lines.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

_KIB = 1024
_MB = 1_000_000
_NOTE = "The client asked for the terms of the framework agreement and its renewal. " * 6
_EVERY = 1_000


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="bench-sources", description=__doc__)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[50, 500])
    parser.add_argument("--one", nargs=2, metavar=("KIND", "FILE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(_listed(given.one[0], Path(given.one[1]))))
        return
    table = Table("export", "MB", "records", "MB/s", "lines alone, MB/s", "peak MB")
    for kind in ("csv", "jsonl"):
        for size in given.megabytes:
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / f"export.{kind}"
                _write(kind, file, size * _MB)
                done = subprocess.run(  # noqa: S603  # this very program
                    [sys.executable, "-m", "benchmarks.sources", "--one", kind, str(file)],
                    check=True,
                    capture_output=True,
                    text=True,
                )
                found = json.loads(done.stdout)
                table.add_row(
                    kind,
                    f"{size:,}",
                    f"{found['records']:,}",
                    f"{size / found['seconds']:.1f}",
                    f"{size / _floor(file):.0f}",
                    f"{found['peak_kib'] * _KIB / _MB:.0f}",
                )
    console = Console()
    console.print(f"date: {datetime.now(UTC):%Y-%m-%d %H:%M} UTC")
    console.print(table)


def _write(kind: str, file: Path, size: int) -> None:
    with file.open("w", encoding="utf-8", newline="") as stream:
        if kind == "csv":
            stream.write("id,subject,note,date\r\n")
        number = 0
        while stream.tell() < size:
            for _ in range(_EVERY):
                number += 1
                if kind == "csv":
                    stream.write(f'{number},Call {number},"{_NOTE}",2026-03-01\r\n')
                else:
                    record = {"id": number, "subject": f"Call {number}", "note": _NOTE}
                    stream.write(json.dumps({**record, "date": "2026-03-01"}) + "\n")


def _floor(file: Path) -> float:
    started = time.perf_counter()
    with file.open("rb") as stream:
        for _ in stream:
            pass
    return time.perf_counter() - started


def _listed(kind: str, file: Path) -> dict[str, float]:
    from pydantic import TypeAdapter

    from ingest.configuration import Configuration
    from ingest.sources import connect
    from schemas.licence import Licence
    from schemas.source import Item, Source

    source: Source = TypeAdapter(Source).validate_python(
        {
            **{"id": "export", "kind": "crm", "connector": kind, "address": str(file)},
            **{"key": "id", "text": ["subject", "note"], "date": "date", "licence": "own"},
        }
    )
    licence = Licence(id="own", name="Own", attribution_required=False)
    configuration = Configuration(
        sources=(source,), licences={"own": licence}, base=Path(file).parent
    )
    connector = connect(source, configuration)
    started = time.perf_counter()
    records = 0
    seconds = 0.0
    for entry in connector.list():
        records += 1
        if records % _EVERY == 0 and isinstance(entry, Item):
            before = time.perf_counter()
            connector.fetch(entry)
            seconds -= time.perf_counter() - before
    seconds += time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"records": records, "seconds": seconds, "peak_kib": peak}


if __name__ == "__main__":
    main()

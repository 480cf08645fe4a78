"""How long each page of the dashboard takes over an installation of two years.

python -m benchmarks.dashboard
python -m benchmarks.dashboard --catalog postgresql://postgres@127.0.0.1:5432/empty

One document is from a real run. The others are rows of the catalogue alone, as many as there would
be: a page that lists documents reads no more of them. The catalogue that is named is written to: it
has to be an empty one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pymupdf
import yaml
from fastapi.testclient import TestClient
from more_itertools import chunked
from pydantic import SecretStr
from sqlalchemy import insert, text

from benchmarks.extract.machine import describe
from benchmarks.nightly.installation import Silent
from dashboard.app import NAVIGATION, create_app
from ingest.catalog import Catalog
from ingest.catalog.models import (
    DocumentRow,
    MetricRow,
    QuarantineRow,
    RunRow,
    SourceRow,
    VersionRow,
)
from ingest.pipeline import Pipeline, open_catalog
from ingest.runner import new_run_id, run_all
from ingest.settings import Settings
from schemas.base import OPEN_END, sha256_text, utc_now
from schemas.identity import document_id
from schemas.quality import WHOLE_RUN
from schemas.run import Ledger, LedgerLine

GOALS = {"sqlite": 0.8, "postgresql": 0.3}
"""Seconds that a page may take, by the catalogue's kind."""
_TOLD = ("date", "commit", "processor", "load at the start", "system")
_ROUNDS = 5
_CHUNKS_A_VERSION = 50
_REAL = "source-000"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status: 1 where a page took too long."""
    parser = argparse.ArgumentParser("bench-dashboard", description=__doc__.splitlines()[0])
    parser.add_argument("--nights", type=int, default=730, metavar="N")
    parser.add_argument("--sources", type=int, default=200, metavar="N")
    parser.add_argument("--chunks", type=int, default=1_000_000, metavar="N")
    parser.add_argument("--catalog", metavar="URL", help="of an empty database; else SQLite")
    options = parser.parse_args(arguments)
    told = {name: said for name, said in describe().items() if name in _TOLD}
    with TemporaryDirectory(prefix="muniment-dashboard-") as folder:
        settings = _settings(Path(folder), options.sources, options.catalog)
        pages = _with_history(settings, options.nights, options.sources, options.chunks)
        goal = GOALS[open_catalog(settings).engine.dialect.name]
        found = measure(settings, pages)
    print("\n".join(f"- {name}: {value}" for name, value in told.items()))
    print(f"- nights: {options.nights}, sources: {options.sources}, chunks: {options.chunks}\n")
    print("| page | first, ms | best, ms |\n|---|---:|---:|")
    for page, (first, best) in found.items():
        print(f"| {page} | {first * 1000:.0f} | {best * 1000:.0f} |")
    return int(any(best > goal for _, best in found.values()))


def measure(settings: Settings, pages: dict[str, str]) -> dict[str, tuple[float, float]]:
    """Return the seconds that each page took when it was first asked for, and the least."""
    client = TestClient(create_app(settings))
    client.get("/static/style.css")  # what starting the app takes is not a page's
    found = {}
    for name, address in pages.items():
        seconds = []
        for _ in range(_ROUNDS):
            begun = time.perf_counter()
            answer = client.get(address)
            seconds.append(time.perf_counter() - begun)
            if answer.status_code != 200:
                raise SystemExit(f"{address} answered {answer.status_code}: {answer.text}")
        found[name] = (seconds[0], min(seconds))
    return found


def _settings(folder: Path, sources: int, catalog: str | None) -> Settings:
    (folder / "in").mkdir()
    document = pymupdf.open()  # type: ignore[no-untyped-call]
    for number in range(3):
        document.new_page().insert_text((60, 60), f"Page {number} on planning systems.")
    (folder / "in" / "real.pdf").write_bytes(document.tobytes())  # type: ignore[no-untyped-call]
    common = {"kind": "report", "connector": "files", "licence": "own"}
    entries = [
        {"id": _id(number), **common, "address": str(folder / "in")} for number in range(sources)
    ]
    licence = {"id": "own", "name": "Own", "attribution_required": False}
    for name, content in (("sources", entries), ("licences", [licence])):
        (folder / f"{name}.yaml").write_text(yaml.safe_dump({name: content}))
    return Settings(
        home=folder / "home",
        sources_file=folder / "sources.yaml",
        licences_file=folder / "licences.yaml",
        catalog_url=None if catalog is None else SecretStr(catalog),
    )


def _with_history(settings: Settings, nights: int, sources: int, chunks: int) -> dict[str, str]:
    """Make the history, and return the addresses of the pages to measure, by name."""
    pipeline = Pipeline(settings, new_run_id(), Silent())
    run_all(pipeline, [_REAL])
    catalog = pipeline.catalog
    now = utc_now()
    [real] = catalog.documents(_REAL)
    names = [one.name for one in catalog.metrics(pipeline.run_id) if one.source_id == _REAL]
    if not names:
        raise SystemExit("The run measured nothing: there is no metric to make a history of.")
    _insert(catalog, RunRow, _runs(now, nights, sources))
    _insert(catalog, MetricRow, _metrics(names, nights, sources))
    documents = chunks // _CHUNKS_A_VERSION // 2
    _insert(catalog, DocumentRow, _documents(now, documents, sources))
    _insert(catalog, VersionRow, _versions(now, documents, sources))
    _insert(catalog, QuarantineRow, _quarantine(now, 20_000, sources))
    _insert(catalog, SourceRow, _listed(now, sources))
    with catalog.engine.begin() as connection:
        connection.execute(text("ANALYZE"))
    return {
        **{name: address for address, name in NAVIGATION},
        "Quality of a source": f"/quality?source={_id(7)}",
        "A metric": f"/quality/{names[0]}?source={_id(7)}",
        "A chart": f"/charts/{names[0]}.svg?source={_id(7)}",
        "Quarantine of a source": f"/quarantine?source={_id(7)}",
        "Documents, searched": "/documents?q=number+00999",
        "Documents, searched in vain": "/documents?q=nothing+like+it",
        "A document": f"/documents/{real.doc_id}",
        "Viewer": f"/documents/{real.doc_id}/versions/1?page=2",
        "Picture of a page": f"/documents/{real.doc_id}/versions/1/pages/2.png",
        "Figures for Prometheus": "/metrics",
    }


def _insert(catalog: Catalog, table: Any, rows: Iterable[dict[str, Any]]) -> None:
    with catalog.engine.begin() as connection:
        for batch in chunked(rows, 10_000):
            connection.execute(insert(table), batch)


def _id(number: int) -> str:
    return f"source-{number:03}"


def _run(night: int) -> str:
    return f"run-of-night-{night:04}"


def _runs(now: datetime, nights: int, sources: int) -> Iterator[dict[str, Any]]:
    lines = tuple(
        LedgerLine(source_id=_id(number), listed=100, unchanged=100) for number in range(sources)
    )
    for night in range(nights):
        begun = now - timedelta(days=nights - night - 1, minutes=5)
        ended = begun + timedelta(minutes=4)
        ledger = Ledger(run_id=_run(night), started_at=begun, finished_at=ended, lines=lines)
        yield {
            "run_id": _run(night),
            "started_at": begun,
            "finished_at": ended,
            "ledger": ledger.model_dump(mode="json", round_trip=True),
        }


def _metrics(names: list[str], nights: int, sources: int) -> Iterator[dict[str, Any]]:
    for night in range(nights):
        for source in (WHOLE_RUN, *(_id(number) for number in range(sources))):
            for place, name in enumerate(names):
                yield {
                    "run_id": _run(night),
                    "source_id": source,
                    "name": name,
                    "value": float(100 + (night * 7 + place) % 13),
                    "low": 95.0,
                    "high": 115.0,
                    "state": "ok",
                }


def _documents(now: datetime, count: int, sources: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        source, key = _id(number % sources), f"archive/{number:06}.pdf"
        yield {
            "doc_id": document_id(source, key),
            "source_id": source,
            "document_key": key,
            "title": f"Report number {number:05} on planning systems",
            "created_at": now,
        }


def _versions(now: datetime, count: int, sources: int) -> Iterator[dict[str, Any]]:
    turned = now - timedelta(days=90)
    for document in _documents(now, count, sources):
        for version in (1, 2):
            yield {
                "doc_id": document["doc_id"],
                "version": version,
                "doc_sha256": sha256_text(f"{document['doc_id']} {version}"),
                "text_sha256": sha256_text(f"{document['doc_id']} text {version}"),
                "title": document["title"],
                "source_key": document["document_key"],
                "source_uri": f"file:///{document['document_key']}",
                "media_type": "application/pdf",
                "licence_id": "own",
                "confidentiality": "internal",
                "effective_from": now - timedelta(days=500) if version == 1 else turned,
                "effective_until": turned if version == 1 else OPEN_END,
                "effective_basis": "received",
                "received_at": now - timedelta(days=500),
                "state": "published",
                "published_at": now - timedelta(days=500),
                "extraction_uri": "extractions/none",
                "payloads_uri": "chunks/none",
                "chunk_count": _CHUNKS_A_VERSION,
                "run_id": _run(0),
            }


def _quarantine(now: datetime, count: int, sources: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        yield {
            "source_id": _id(number % sources),
            "source_key": f"refused/{number:06}.pdf",
            "level": "item",
            "stage": "extract",
            "code": ("damaged", "encrypted", "no_text")[number % 3],
            "message": "It could not be read.",
            "evidence": {"page": number},
            "state": "open" if number % 20 == 0 else "closed",
            "first_run": _run(0),
            "last_run": _run(1),
            "first_seen": now - timedelta(days=300),
            "last_seen": now - timedelta(days=299),
            "times_seen": 2,
        }


def _listed(now: datetime, sources: int) -> Iterator[dict[str, Any]]:
    for number in range(1, sources):
        yield {"source_id": _id(number), "listed_at": now, "entries": 100}


if __name__ == "__main__":
    raise SystemExit(main())

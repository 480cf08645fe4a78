"""A backfill is killed at random moments while readers look: nothing half-done is ever seen."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import QdrantClient, models
from qdrant_server import Engine, qdrant_server
from workspace import ROOT, Workspace

from attribution.filters import default_filter
from ingest.pipeline import open_catalog
from ingest.settings import QdrantSettings

KILLS = int(os.environ.get("MUNIMENT_TEST_KILLS", "1"))
SEED = 20261201
NOTICE_SECONDS = 3

PATTERN = r"(?P<document>\w+)-v(?P<version_label>\d+)_(?P<effective_from>\d{4}-\d{2}-\d{2})\.txt"
DAYS = [datetime(year, 6, 1, tzinfo=UTC) for year in (2020, 2022, 2026)]
VARYING = {"run_id", "published_at", "recorded_at", "interval_history"}

# Everything is imported once; each run is a fork of this process, so that a kill costs little.
STARTER = """
import os, sys
from ingest.backfill.run import run_backfill
from ingest.pipeline import Pipeline
from ingest.runner import new_run_id
from ingest.settings import load_settings
from schemas.backfill import BackfillRequest
import ingest.quality.gate, ingest.index, ingest.steps.fetch, ingest.steps.extract
import ingest.steps.chunk, ingest.steps.gate, ingest.steps.index, ingest.steps.audit
import ingest.steps.publish, ingest.steps.report
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os.setpgid(0, 0)
        status = 1
        try:
            pipeline = Pipeline(load_settings(home=line.strip()), new_run_id())
            _, _, ledger = run_backfill(pipeline, BackfillRequest(reason="smaller chunks"))
            status = 0 if ledger.balanced or not ledger.lines else 3
        finally:
            os._exit(status)
    print(child, flush=True)
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Starter:
    """Starts backfills, one at a time."""

    def __init__(self, ws: Workspace, **environment: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", STARTER],
            env=ws.environment() | {"PYTHONPATH": str(ROOT), **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
        )

    def start(self, home: Path) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{home}\n")
        return int(self._line())

    def status(self) -> int:
        """Wait for the run that was started last."""
        return int(self._line())

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=30)


class Readers:
    """Ask again and again what is in force, and keep every answer that may not be."""

    def __init__(self, engine: Engine, collection: str, allowed: list[set[frozenset[str]]]) -> None:
        self.looks = 0
        self.wrong: list[tuple[datetime, int]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._read, args=(engine, collection, allowed), daemon=True
        )
        self._thread.start()

    def _read(self, engine: Engine, collection: str, allowed: list[set[frozenset[str]]]) -> None:
        while not self._stop.is_set():
            for day, states in zip(DAYS, allowed, strict=True):
                seen = engine.do(lambda client, day=day: visible(client, collection, day))
                self.looks += 1
                if seen not in states:
                    self.wrong.append((day, len(seen)))
            time.sleep(0.005)

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


def visible(client: QdrantClient, collection: str, day: datetime) -> frozenset[str]:
    records, _ = client.scroll(collection, default_filter(at=day), limit=1_000, with_payload=False)
    return frozenset(str(record.id) for record in records)


def comparable(engine: Engine, collection: str) -> dict[str, dict[str, Any]]:
    records, _ = engine.do(lambda client: client.scroll(collection, limit=1_000))
    return {
        str(record.id): {k: v for k, v in record.payload.items() if k not in VARYING}
        for record in records
    }


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[str, Engine]]:
    with qdrant_server() as found:
        yield found


def test_a_backfill_killed_at_any_moment_is_never_seen_half_done(
    served: tuple[str, Engine], tmp_path: Path
) -> None:
    url, engine = served
    ws = Workspace(
        tmp_path,
        qdrant=QdrantSettings(url=url, prefer_grpc=False, notice_seconds=NOTICE_SECONDS),
    )
    ws.add_source("contracts", kind="contract", name_pattern=PATTERN)
    for number, year in ((1, 2020), (2, 2022), (3, 2024)):
        clauses = (
            f"Clause {n} holds for {number * 10} days and is given in writing to the other party."
            for n in range(24)
        )
        ws.write(f"contracts/msa-v{number}_{year}-01-01.txt", "\n\n".join(clauses))
    assert ws.run().balanced
    [collection] = [one.name for one in engine.client.get_collections().collections]
    home = ws.settings.home
    points, _ = engine.client.scroll(collection, limit=1_000, with_vectors=True)
    before = [visible(engine.client, collection, day) for day in DAYS]
    assert all(before)

    # What changes: the size of chunks, and with it every point; and what the licence says.
    ws.licences[0]["attribution_required"] = True
    ws.licences[0]["attribution_text"] = "By permission"
    ws.save()
    starter = Starter(
        ws,
        MUNIMENT_QDRANT__URL=url,
        MUNIMENT_QDRANT__PREFER_GRPC="false",
        MUNIMENT_QDRANT__NOTICE_SECONDS=str(NOTICE_SECONDS),
        MUNIMENT_CHUNKING__MAX_TOKENS="96",
        MUNIMENT_CHUNKING__MIN_TOKENS="16",
    )

    def restored(name: str) -> Path:
        """Return a home as it was before, with the index as it was."""
        copy = tmp_path / name
        shutil.copytree(home, copy, ignore=shutil.ignore_patterns("airflow", "reports"))
        structs = [models.PointStruct(id=p.id, vector=p.vector, payload=p.payload) for p in points]
        engine.client.delete(collection, models.Filter())
        engine.client.upsert(collection, structs)
        return copy

    undisturbed = restored("undisturbed")
    began = time.monotonic()
    starter.start(undisturbed)
    assert starter.status() == 0
    length = time.monotonic() - began
    expected = comparable(engine, collection)
    after = [visible(engine.client, collection, day) for day in DAYS]
    assert not set().union(*before) & set().union(*after)
    allowed = [{old, new} for old, new in zip(before, after, strict=True)]

    chance = random.Random(SEED)
    killed = 0
    stages: set[str] = set()
    for number in range(KILLS):
        copy = restored(f"killed-{number}")
        readers = Readers(engine, collection, allowed)
        child = starter.start(copy)
        time.sleep(chance.uniform(0, length))
        with suppress(ProcessLookupError):  # it was faster
            os.kill(child, signal.SIGKILL)
        if starter.status() != 0:
            killed += 1
        stages |= {path.name.split(".")[0] for path in copy.glob("artifacts/runs/*/batches/*/*")}
        starter.start(copy)
        assert starter.status() == 0
        readers.stop()
        assert readers.looks > 20
        assert readers.wrong == [], f"kill {number} of {KILLS}"
        assert comparable(engine, collection) == expected, f"kill {number} of {KILLS}"
        there = ws.settings.model_copy(update={"home": copy})
        assert open_catalog(there).unsettled_documents() == []
        shutil.rmtree(copy)
    starter.close()
    assert killed >= KILLS // 2, "most kills came too late to test anything"
    if KILLS >= 50:
        assert stages >= {"fetch", "extract", "chunk", "gate", "index", "audit", "publish"}

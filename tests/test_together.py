"""A nightly run, a backfill and a rebuild at the same time, while readers look."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

from qdrant_client import QdrantClient
from qdrant_server import Engine, qdrant_server
from workspace import Workspace

from attribution.filters import default_filter
from ingest.pipeline import open_catalog
from ingest.settings import QdrantSettings
from schemas.run import ChunkRecord

ROUNDS = int(os.environ.get("MUNIMENT_TEST_ROUNDS", "1"))
PATTERN = r"(?P<document>\w+)-v(?P<version_label>\d+)_(?P<effective_from>\d{4}-\d{2}-\d{2})\.txt"
COMMANDS = (
    ("run",),
    ("backfill", "--reason", "renewed"),
    ("rebuild", "run", "--reason", "new disks"),
)


def write(ws: Workspace, version: int) -> None:
    clauses = (
        f"Clause {n} holds for {version * 10} days and is given in writing to the other party."
        for n in range(40)
    )
    ws.write(f"contracts/msa-v{version}_{2019 + version}-01-01.txt", "\n\n".join(clauses))


def terms(ws: Workspace, text: str) -> None:
    ws.licences[0]["attribution_required"] = True
    ws.licences[0]["attribution_text"] = text
    ws.save()


class Readers:
    """Ask again and again what is in force on days in whose version nothing changes."""

    def __init__(self, engine: Engine, days: list[datetime]) -> None:
        self.looks = 0
        self.wrong: list[tuple[datetime, set[int]]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read, args=(engine, days), daemon=True)
        self._thread.start()

    def _read(self, engine: Engine, days: list[datetime]) -> None:
        while not self._stop.is_set():
            for number, day in enumerate(days, start=1):
                seen = engine.do(lambda client, day=day: versions_seen(client, day))
                self.looks += 1
                if seen != {number}:
                    self.wrong.append((day, seen))
            time.sleep(0.01)

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


def versions_seen(client: QdrantClient, day: datetime) -> set[int]:
    records, _ = client.scroll("muniment", default_filter(at=day), limit=1_000)
    return {record.payload["version"] for record in records if record.payload}


def test_they_end_as_if_one_had_come_after_the_other(tmp_path: Path) -> None:
    with qdrant_server() as (url, engine):
        ws = Workspace(
            tmp_path,
            qdrant=QdrantSettings(url=url, prefer_grpc=False, notice_seconds=3),
            recheck_nights=1,
        )
        ws.add_source("contracts", kind="contract", name_pattern=PATTERN)
        for version in (1, 2):
            write(ws, version)
        terms(ws, "By permission 0")
        assert ws.run().balanced
        environment = ws.environment() | {
            "MUNIMENT_QDRANT__URL": url,
            "MUNIMENT_QDRANT__PREFER_GRPC": "false",
            "MUNIMENT_QDRANT__NOTICE_SECONDS": "3",
        }
        readers = Readers(engine, [datetime(year, 6, 1, tzinfo=UTC) for year in (2020, 2021)])
        for number in range(1, ROUNDS + 1):
            write(ws, 2 + number)
            terms(ws, f"By permission {number}")
            started = [
                subprocess.Popen(
                    [sys.executable, "-m", "ingest", *command],
                    env=environment,
                    cwd=ws.folder,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
                for command in COMMANDS
            ]
            for one in started:
                output, _ = one.communicate(timeout=300)
                assert one.returncode == 0, output
        readers.stop()
        assert readers.looks > 20
        assert readers.wrong == []

        # The next night has nothing to do, and every point is as the catalogue says.
        ledger = ws.run()
        assert ledger.balanced
        assert ledger.unprovable == ()
        catalog = open_catalog(ws.settings)
        current = catalog.current_rebuild("muniment")
        assert current is not None
        assert current.collection.endswith(f"-r{ROUNDS + 1}")
        points = ws.points()
        [doc_id] = catalog.document_ids()
        artifacts = ws.pipeline().artifacts
        expected = {
            record.payload.chunk_id
            for version in catalog.versions(doc_id)
            for record in artifacts.read_lines(version.payloads_uri or "", ChunkRecord)
        }
        assert points.keys() == expected
        assert {p["version"] for p in points.values()} == set(range(1, 3 + ROUNDS))
        assert {p["attribution_text"] for p in points.values()} == {f"By permission {ROUNDS}"}

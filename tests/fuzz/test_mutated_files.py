"""Damaged files of every kind: the run goes on, and each is read or kept with its reason.

``MUNIMENT_TEST_FUZZ_FILES`` sets how many (``make test-fuzz``: 2,000), and
``MUNIMENT_TEST_FUZZ_SEED`` which ones.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

from fuzz.mutations import MUTATIONS
from fuzz.seeds import seeds
from workspace import Workspace

from ingest.pipeline import open_catalog

FILES = int(os.environ.get("MUNIMENT_TEST_FUZZ_FILES", "68"))
SEED = int(os.environ.get("MUNIMENT_TEST_FUZZ_SEED", "20260301"))


def mutated(count: int, seed: int) -> dict[str, bytes]:
    """Return ``count`` damaged files by name, the same ones for the same seed."""
    rng = random.Random(seed)
    intact = seeds()
    others = list(intact.values())
    files: dict[str, bytes] = {}
    for number in range(count):
        name = list(intact)[number % len(intact)]
        data = intact[name]
        for _ in range(rng.choice((1, 1, 2))):
            mutate = rng.choice(MUTATIONS)
            data = mutate(data, rng, others) if len(data) > 8 else data
        files[f"{number:05d}-{name}"] = data
    return files


def test_the_seeds_are_intact(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.add_source("seeds")
    for name, data in seeds().items():
        workspace.write(f"seeds/{name}", data)
    ledger = workspace.run()
    assert ledger.balanced
    assert workspace.quarantine() == []


def test_damaged_files_never_end_the_run(tmp_path: Path) -> None:
    workspace = Workspace(
        tmp_path,
        batch_cost=200,
        extraction={"layout": False, "ocr_second_engine": "none", "limits": {"seconds": 60}},
        gate={"stop_share": 1.0},
    )
    workspace.add_source("mutated")
    for name, data in mutated(FILES, SEED).items():
        workspace.write(f"mutated/{name}", data)
    ledger = workspace.run()
    (line,) = ledger.lines
    assert ledger.balanced, line
    assert line.error is None
    assert line.listed == FILES
    entries = open_catalog(workspace.settings).quarantine()
    print(Counter(entry.code for entry in entries))
    for entry in entries:
        assert Path(entry.source_key).name.split("!/")[0] in entry.message, entry
        assert len(entry.message.split()) > 5, entry
    # A reader that meets damage says so; one that falls over it has a fault of its own.
    crashed = [entry.message for entry in entries if entry.code == "extraction_crashed"]
    assert crashed == []

"""Every file of the corpus through the whole pipeline (``make test-corpus``; half an hour)."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from small_model import small_model
from workspace import Workspace

from ingest.pipeline import open_catalog

pytestmark = pytest.mark.skipif(
    "MUNIMENT_TEST_WHOLE_CORPUS" not in os.environ, reason="slow: make test-corpus sets it"
)

REASONS = {
    "archive_bomb",
    "damaged",
    "empty_file",
    "encrypted",
    "no_pages",
    "no_text",
    "password_needed",
    "unsupported_format",
}
"""Why a file may be refused. That its reader fell over it, or took too long, is none of them."""


def test_every_file_is_indexed_or_refused_with_a_reason(corpus: Path, tmp_path: Path) -> None:
    workspace = Workspace(
        tmp_path,
        embedding_model=str(small_model(tmp_path / "model")),
        gate={"stop_share": 1.0},
        # How well scans are read is measured by the benchmark.
        extraction={"layout": False, "ocr_second_engine": "none"},
    )
    for folder in sorted(path for path in corpus.iterdir() if path.is_dir()):
        workspace.add_source(folder.name.replace("_", "-"), address=str(folder))
    ledger = workspace.run()
    for line in ledger.lines:
        print(line.source_id, line.listed, line.published, line.quarantined, line.error)
    entries = open_catalog(workspace.settings).quarantine()
    for entry in entries:
        print(entry.code, entry.source_id, entry.source_key, entry.message, sep=" | ")
    print(Counter(entry.code for entry in entries))
    assert ledger.balanced, ledger
    assert not [line for line in ledger.lines if line.error]
    assert [entry for entry in entries if entry.code not in REASONS] == []
    assert all(Path(entry.source_key).name in entry.message for entry in entries)

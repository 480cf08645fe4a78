"""What all tests share: no network, no settings of the machine's own, the corpus where it is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# Set before anything imports a library that reads them.
os.environ.update(HF_HUB_OFFLINE="1", DO_NOT_TRACK="1", OMP_THREAD_LIMIT="1")
for name in list(os.environ):
    if name.startswith("MUNIMENT_") and not name.startswith(("MUNIMENT_TEST_", "MUNIMENT_CORPUS")):
        del os.environ[name]

ROOT = Path(__file__).parents[1]


# The same examples each time, so that a change is judged by itself; "explore" looks for new ones:
# pytest --hypothesis-profile=explore. No deadlines: a busy machine is not a fault.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None, max_examples=2_000)
settings.load_profile("steady")

LONGEST = ("test_crash.py", "dags/test_nightly_ingest.py", "test_corpus.py", "test_end_to_end.py")
"""Started first, so that no core waits for another at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first; within a file the order stays."""
    items.sort(key=lambda item: not str(item.path.relative_to(ROOT / "tests")).startswith(LONGEST))


@pytest.fixture(scope="session")
def corpus() -> Path:
    """Return the folder of real files with ground truth."""
    folder = Path(os.environ.get("MUNIMENT_CORPUS", ROOT.parent / "shared" / "corpus"))
    if not folder.is_dir():
        pytest.skip(f"no corpus at {folder}; set MUNIMENT_CORPUS to its folder")
    return folder

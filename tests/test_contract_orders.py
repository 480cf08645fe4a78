"""A real contract in many real versions: whatever order they arrive in, the index is the same."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from workspace import Workspace

from attribution.filters import default_filter
from ingest.embedding import Embedder
from ingest.pipeline import open_catalog, open_index
from schemas.base import OPEN_END

OF_THE_RUN = {
    "chunk_id",
    "version",
    "run_id",
    "published_at",
    "recorded_at",
    "interval_history",
    "source_uri",
}
"""What depends on the order of arrival or on the moment: numbers count arrivals."""

PATTERN = r"(?P<document>[^/]+)/(?P<version_label>v\d+)_(?P<effective_from>\d{4}-\d{2}-\d{2})_"

Key = tuple[str, int, int]


@pytest.fixture(scope="module")
def versions(corpus: Path) -> list[Path]:
    """Versions of one agreement, several of which have the same date; all twelve if asked for."""
    files = sorted((corpus / "contract_versions" / "commonpaper-csa").glob("*.md"))
    assert len(files) == 12
    return files if os.environ.get("MUNIMENT_TEST_EXAMPLES") else files[2:6]


@pytest.fixture(scope="module")
def at_once(versions: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """All of them in one run."""
    return arrived(tmp_path_factory.mktemp("at_once"), [versions], None)


def arrived(folder: Path, arrivals: Sequence[Sequence[Path]], like: Workspace | None) -> Workspace:
    """Run once after each arrival; what ``like`` has embedded is not embedded again."""
    ws = Workspace(folder)
    ws.add_source("contracts", kind="contract", name_pattern=PATTERN)
    if like is not None:
        model = ws.settings.embedding_model
        texts = {point["text_sha256"] for point in like.points().values()}
        known = open_catalog(like.settings).embeddings(model, texts)
        open_catalog(ws.settings).store_embeddings(model, known)
    for files in arrivals:
        for file in files:
            ws.write(f"contracts/csa/{file.name}", file.read_bytes())
        assert ws.run().balanced
    return ws


def content(ws: Workspace) -> dict[Key, dict[str, Any]]:
    """Return what the index says, whatever the order of arrival."""
    points = ws.points().values()
    said = {
        (point["source_key"], point["char_start"], point["char_end"]): {
            name: value for name, value in point.items() if name not in OF_THE_RUN
        }
        for point in points
    }
    assert len(said) == len(points)
    return said


def answers(ws: Workspace, days: Sequence[datetime]) -> list[set[str]]:
    """Return the labels of what is in force on each day."""
    with open_index(ws.settings, Embedder(ws.settings.embedding_model)) as index:
        return [
            {point["version_label"] for _, point in index.scroll(default_filter(at=day))}
            for day in days
        ]


def dates(versions: Sequence[Path]) -> list[datetime]:
    found = [re.search(r"_(\d{4})-(\d{2})-(\d{2})_", file.name) for file in versions]
    return [datetime(*map(int, date.groups()), tzinfo=UTC) for date in found if date]  # type: ignore[arg-type,misc]  # three numbers


def test_on_each_day_the_last_version_of_that_day_or_before_is_in_force(
    at_once: Workspace, versions: list[Path]
) -> None:
    starts = dates(versions)
    last = {start: file.name[:3] for start, file in zip(starts, versions, strict=True)}
    days = sorted(last)
    assert len(days) < len(versions)  # or no two have the same date
    assert answers(at_once, days) == [{last[day]} for day in days]
    before = [after - timedelta(seconds=1) for after in days[1:]]
    assert answers(at_once, before) == [{last[day]} for day in days[:-1]]
    assert answers(at_once, [days[0] - timedelta(seconds=1)]) == [set()]


def test_intervals_join_from_the_first_version_to_the_last(at_once: Workspace) -> None:
    spans = sorted(
        {
            (point["effective_from"], point["effective_until"])
            for point in at_once.points().values()
            if point["effective_from"] != point["effective_until"]
        }
    )
    assert spans[-1][1] == OPEN_END.strftime("%Y-%m-%dT%H:%M:%SZ")
    for (_, until), (start, _) in pairwise(spans):
        assert until == start


@pytest.mark.parametrize("seed", [None, 1])
def test_the_order_of_arrival_does_not_matter(
    at_once: Workspace, versions: list[Path], tmp_path: Path, seed: int | None
) -> None:
    """One by one in order, and in random orders a few at a time."""
    arrivals = [[file] for file in versions]
    if seed is not None:
        chance = random.Random(seed)
        shuffled = chance.sample(versions, len(versions))
        cuts = sorted(chance.sample(range(1, len(versions)), 2))
        arrivals = [shuffled[a:b] for a, b in pairwise([0, *cuts, len(versions)])]
    ws = arrived(tmp_path, arrivals, at_once)
    assert content(ws) == content(at_once)
    starts = dates(versions)
    assert answers(ws, starts) == answers(at_once, starts)

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from sources.conformance.case import LIMIT, Case, Maker


def _local(base: Path, environment: pytest.MonkeyPatch) -> Iterator[Case]:
    folder = base / "in"
    for name in ("a.txt", "b ü.txt", "sub/c.txt"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"the text of {name}", "utf-8")
    (folder / "m.csv").write_text("file,title,effective_from\na.txt,A,2026-01-01\n")
    yield Case(
        base,
        {"connector": "files", "address": "in", "manifest": "m.csv"},
        remove_first=(folder / "a.txt").unlink,
        change_first=lambda: (folder / "a.txt").write_text("another text"),
        break_source=lambda: folder.rename(base / "away"),
        grow_first=lambda: (folder / "a.txt").write_text("x" * (LIMIT + 1)),
        bodies=("a.txt", "b ü.txt", "c.txt"),
    )


CASES: dict[str, Maker] = {"local": _local}

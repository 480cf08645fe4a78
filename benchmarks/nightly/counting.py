"""Counting what a run does to its stores, and how often it reads and parses."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from sqlalchemy import event

from ingest.artifacts import Artifacts
from ingest.index import VectorIndex
from ingest.pipeline import Pipeline
from ingest.steps import readings
from ingest.vault import Vault

_WRITE = re.compile(r"\s*(INSERT INTO|UPDATE|DELETE FROM)\s+(\w+)", re.IGNORECASE)


@contextmanager
def counted(pipeline: Pipeline, source_id: str) -> Iterator[Counter[str]]:
    """Count, while the block runs, what the pipeline does.

    The counts are "fetches", "parses", "vault writes", "index opened", "run files", and "rows of"
    with the name of each table that was written.
    """
    counts: Counter[str] = Counter()

    def watch(owner: Any, name: str, what: str) -> None:
        stack.enter_context(
            patch.object(owner, name, _counting(getattr(owner, name), counts, what))
        )

    def rows(_: Any, cursor: Any, statement: str, *__: Any) -> None:
        written = _WRITE.match(statement)
        if written is not None:
            counts[f"rows of {written[2]}"] += max(cursor.rowcount, 0)

    with ExitStack() as stack:
        watch(pipeline.connector(source_id), "fetch", "fetches")
        watch(readings, "extract_all", "parses")
        watch(Vault, "put", "vault writes")
        watch(VectorIndex, "__init__", "index opened")
        for name in ("write_bytes", "write_lines"):
            watch(Artifacts, name, "run files")
        engine = pipeline.catalog.engine
        event.listen(engine, "after_cursor_execute", rows)
        stack.callback(event.remove, engine, "after_cursor_execute", rows)
        yield counts


def _counting(function: Callable[..., Any], counts: Counter[str], what: str) -> Callable[..., Any]:
    def counting(*args: Any, **kwargs: Any) -> Any:
        counts[what] += 1
        return function(*args, **kwargs)

    return counting

"""What an orchestrator calls: each hour, and when a deadline passes.

Nothing is imported before it is called, for a DAG that names these functions is parsed often.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ingest.pipeline import Pipeline


def watch_now() -> list[str]:
    """Look at the state, tell what is new, and return what is open, in sentences for people."""
    from ingest.alerts.watch import watch
    from schemas.base import utc_now

    return [one.message for one in watch(_pipeline(), utc_now())]


async def nightly_is_late(**_: Any) -> None:
    """Tell that the nightly run has not ended when it should have."""
    await asyncio.to_thread(_tell_late)


def _tell_late() -> None:
    from ingest.alerts.findings import OF_DEADLINE
    from ingest.alerts.watch import tell_new
    from schemas.base import utc_now
    from schemas.incident import Finding

    late = Finding(
        kind="deadline_missed",
        subject="nightly_ingest",
        message="The nightly run has not ended by its deadline. Look at it in the scheduler: which "
        "task hangs, or waits for a worker.",
    )
    pipeline, now = _pipeline(), utc_now()
    pipeline.catalog.note_incidents([late], kinds=OF_DEADLINE, subjects=None, at=now)
    tell_new(pipeline, now)


def _pipeline() -> Pipeline:
    from ingest.pipeline import Pipeline
    from ingest.runner import new_run_id
    from ingest.settings import load_settings

    return Pipeline(load_settings(), new_run_id())

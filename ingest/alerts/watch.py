"""Watching: what is so now is compared with what was, and what is new is told once."""

from __future__ import annotations

import logging
from datetime import datetime

from ingest.alerts.findings import OF_DEADLINE, OF_RUN, OF_SOURCES, OF_STATE, of_ledger, of_state
from ingest.alerts.telling import tell
from ingest.errors import MunimentError
from ingest.pipeline import Pipeline
from schemas.base import utc_now
from schemas.incident import IncidentRecord
from schemas.run import Ledger

log = logging.getLogger(__name__)


def watch(pipeline: Pipeline, now: datetime) -> list[IncidentRecord]:
    """Look at the state between runs, tell what is new, and return the open incidents.

    Raises:
        ConfigurationError: the configuration is wrong.
        RetriableError: the catalogue is locked or does not answer.
    """
    found = of_state(pipeline.catalog, pipeline.configuration, pipeline.settings.alerts, now)
    pipeline.catalog.note_incidents(found, kinds=OF_STATE, subjects=None, at=now)
    tell_new(pipeline, now)
    return pipeline.catalog.incidents()


def watch_run(pipeline: Pipeline, ledger: Ledger) -> None:
    """Look at a run that has just ended, and tell what is new.

    A run does not fail because nobody could be told of it: that is logged.
    """
    now = utc_now()
    sources = [line.source_id for line in ledger.lines]
    try:
        found = list(of_ledger(ledger))
        catalog = pipeline.catalog
        catalog.note_incidents(
            (one for one in found if one.kind in OF_SOURCES),
            kinds=OF_SOURCES,
            subjects=sources,
            at=now,
        )
        catalog.note_incidents((), kinds=OF_DEADLINE, subjects=None, at=now)
        # What was not looked at again is not known to be over.
        if ledger.points_rechecked or ledger.unprovable:
            catalog.note_incidents(
                (one for one in found if one.kind in OF_RUN), kinds=OF_RUN, subjects=None, at=now
            )
        watch(pipeline, now)
    except MunimentError as error:
        log.error("Alerts could not be told: %s", error)


def tell_new(pipeline: Pipeline, now: datetime) -> None:
    """Tell people of what they were not told of yet.

    Raises:
        RetriableError: the catalogue is locked or does not answer.
    """
    settings, catalog = pipeline.settings.alerts, pipeline.catalog
    if not settings.urls:
        return
    # One at a time, so that two who look at the same moment do not both tell it.
    with catalog.alerts_lock():
        untold = catalog.untold_incidents()
        if untold and tell(settings, untold):
            catalog.note_told(untold, now)

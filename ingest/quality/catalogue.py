"""The catalogue of checks: every expectation of every stage, with its severity and its owner."""

from __future__ import annotations

from typing import Literal

import great_expectations as gx

from ingest.quality.results import Severity
from ingest.quality.suites import chunk_suite
from ingest.settings import GateSettings
from schemas.base import Model, utc_now

CheckStage = Literal["items", "versions", "chunks", "points"]


class CheckEntry(Model):
    """One check that is made of everything that comes in."""

    code: str
    stage: CheckStage
    severity: Severity
    owner: str
    guarantee: int | None
    description: str


def catalogue(settings: GateSettings) -> list[CheckEntry]:
    """Return all checks, in the order in which they are made."""
    return [*_entries(chunk_suite(settings, utc_now()), "chunks")]


def _entries(suite: gx.ExpectationSuite, stage: CheckStage) -> list[CheckEntry]:
    return [
        CheckEntry(
            code=meta["code"],
            stage=stage,
            severity=expectation.configuration.severity.value,
            owner=meta["owner"],
            guarantee=meta["guarantee"],
            description=expectation.description or "",
        )
        for expectation in suite.expectations
        if (meta := expectation.meta) is not None
    ]

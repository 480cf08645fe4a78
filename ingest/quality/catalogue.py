"""The catalogue of checks: every expectation of every stage, with its severity and its owner."""

from __future__ import annotations

import great_expectations as gx

from ingest.quality.contract import DATA_ENGINEER
from ingest.quality.results import CheckStage, Severity
from ingest.quality.stages import item_suite, version_suite
from ingest.quality.suites import chunk_suite
from ingest.settings import GateSettings
from schemas.base import Model, utc_now

_POINTS: tuple[tuple[str, int, str], ...] = (
    ("vault_missing", 11, "The source bytes must be in the vault."),
    ("vault_damaged", 11, "The source bytes must still have their SHA-256."),
    ("point_missing", 8, "The index must have every point that was loaded."),
    ("point_unexpected", 8, "The index must have no point that belongs to no version."),
    ("payload_differs", 11, "A point must say what was loaded."),
    ("payload_invalid", 11, "A point must keep the contract of the payload."),
    ("identity_differs", 4, "A point's id must be that of its document, version and text."),
    ("source_differs", 11, "A point must name the bytes that its version is made of."),
    ("text_hash", 11, "A point's text must have the SHA-256 that it names."),
    ("text_differs", 1, "A point's text must be the version's at its offsets."),
    ("no_word", 2, "Every character of a paged point must belong to a word."),
    ("page_differs", 3, "A point's pages must be those of its words."),
    ("page_label", 3, "A point's page label must be that of its page."),
    ("box_differs", 2, "A point's boxes must be those of the lines of its words."),
    ("box_outside", 2, "A point's boxes must lie inside their pages."),
)
"""What the audit finds when it reads points back: it refuses their version."""


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
    points = (
        CheckEntry(
            code=code,
            stage="points",
            severity="critical",
            owner=DATA_ENGINEER,
            guarantee=guarantee,
            description=description,
        )
        for code, guarantee, description in _POINTS
    )
    return [
        *_entries(item_suite(()), "items"),
        *_entries(version_suite(), "versions"),
        *_entries(chunk_suite(settings, utc_now()), "chunks"),
        *points,
    ]


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

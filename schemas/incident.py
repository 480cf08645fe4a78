"""Incidents: what a person should know of, from when it was found until it is over."""

from __future__ import annotations

from typing import Literal

from schemas.base import Model, UtcDatetime

IncidentKind = Literal[
    "run_late",
    "deadline_missed",
    "run_incomplete",
    "ledger_unbalanced",
    "gate_stopped",
    "unprovable",
    "source_stale",
    "licence_ending",
]
"""run_late: no run has ended for longer than is allowed; deadline_missed: the nightly run is under
way for longer than its schedule allows; run_incomplete: a source could not be
listed, or a batch was not finished; unprovable: published points that cannot be proved any more;
licence_ending: what is held under a licence ends soon, or has ended."""


class Finding(Model):
    """Something that is so now; the same kind and subject are the same incident."""

    kind: IncidentKind
    subject: str
    """What it is about: the id of a source or licence; empty for the installation."""
    message: str
    """What happened and what to do next, in sentences for people."""


class IncidentRecord(Finding):
    """An incident."""

    id: int
    opened_at: UtcDatetime
    seen_at: UtcDatetime
    """When it was last found to be so."""
    closed_at: UtcDatetime | None
    """When it was found to be over."""
    told_at: UtcDatetime | None
    """When a person was told of it."""
    end_told_at: UtcDatetime | None
    """When a person was told that it is over."""

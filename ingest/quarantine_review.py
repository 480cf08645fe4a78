"""Review of the quarantine: what a person is asked about an entry, and what their answer does."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Literal, get_args

from ingest.catalog.records import QuarantineRecord
from ingest.errors import ItemError
from ingest.pipeline import Pipeline
from ingest.quality.values import inert
from ingest.quarantine_retry import RetryResult, retry_now
from schemas.base import Model, utc_now

Option = Literal["leave", "retry", "dismiss"]
OPTIONS: tuple[Option, ...] = get_args(Option)

_SHOWN = 2_000


class Question(Model):
    """What is put before a person."""

    number: int
    subject: str
    body: str
    """Markdown."""


class Decision(Model):
    """What a person decided; nobody's answer leaves the entry where it is."""

    option: Option = "leave"
    reason: str = ""


def questions(pipeline: Pipeline, *, most: int, older_than_days: float = 0) -> list[Question]:
    """Return what is to be asked of the open entries, those that have waited longest first."""
    before = utc_now() - timedelta(days=older_than_days) if older_than_days else None
    return [_question(entry) for entry in pipeline.catalog.quarantine(before=before)[:most]]


def apply_decisions(pipeline: Pipeline, decisions: Mapping[int, Decision]) -> RetryResult:
    """Dismiss what is to be left out and try again what is to be retried, at once.

    An entry that was closed or dismissed meanwhile is left alone.

    Raises:
        ItemError: ``quarantine_unknown``; or ``reason_missing``, and then nothing was done.
    """
    for number, decision in decisions.items():
        if decision.option == "dismiss" and not decision.reason.strip():
            raise ItemError(
                "reason_missing",
                f"Entry {number} is to be dismissed and no reason is given. Answer again with one, "
                f"or: muniment quarantine dismiss {number} --reason …",
            )
    again: list[QuarantineRecord] = []
    for number, decision in decisions.items():
        entry = pipeline.catalog.quarantine_entry(number)
        if entry.state != "open":
            continue
        if decision.option == "dismiss":
            pipeline.catalog.dismiss_quarantine(number, decision.reason.strip())
        elif decision.option == "retry":
            again.append(entry)
    return retry_now(pipeline, again) if again else RetryResult()


def decision_of(answer: Mapping[str, Any] | None) -> Decision:
    """Read an answer as the orchestrator keeps it: options that were chosen, and what was typed."""
    if answer is None:
        return Decision()
    given = answer.get("params_input") or {}
    return Decision.model_validate(
        {"option": answer["chosen_options"][0], "reason": str(given.get("reason") or "")}
    )


def _question(entry: QuarantineRecord) -> Question:
    facts = {
        "source": entry.source_id,
        "item": entry.source_key,
        "version": entry.version,
        "refused by": entry.stage,
        "reason code": entry.code,
        "first seen": f"{entry.first_seen:%Y-%m-%d %H:%M} UTC",
        "seen": f"{entry.times_seen}×",
    }
    lines = [
        f"- {name}: {_shown(str(value))}" for name, value in facts.items() if value is not None
    ]
    more = f"muniment quarantine show {entry.id} --pictures FOLDER"
    return Question(
        number=entry.id,
        subject=_shown(f"{entry.id}: {entry.source_id}, {entry.source_key}: {entry.code}", 200),
        body="\n".join([_shown(entry.message), "", *lines, "", f"The evidence: `{more}`"]),
    )


def _shown(text: str, limit: int = _SHOWN) -> str:
    """Return text of a document that is neither markup nor a template of the orchestrator."""
    return inert(text, limit).replace("{", "(").replace("}", ")").replace("`", "'")

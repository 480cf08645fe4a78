"""Time: when a version is in force, how that is known, and what was believed of it when."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from schemas.base import OPEN_END, Model, UtcDatetime

EffectiveBasis = Literal["source", "metadata", "text", "receipt", "correction"]
"""How an effective date is known. source: its listing or manifest says it; metadata: a date of the
file itself; text: a passage found by the source's rule; receipt: nobody says, so the date of
receipt stands in; correction: a person set it."""


class DateEvidence(Model):
    """What an effective date was read from."""

    rule: str
    """What found it: a field of the file's metadata, or the source's pattern."""
    quote: Annotated[str, Field(max_length=500)]
    """The value as it stands there, with the words around it that make it an effective date."""
    char_start: Annotated[int, Field(ge=0)] | None = None
    """Offset of the quotation in the version's text; None for what does not stand in the text."""
    char_end: Annotated[int, Field(ge=1)] | None = None
    page: Annotated[int, Field(ge=1)] | None = None
    """Physical page that the quotation starts on; None where the format has no pages."""


class HeldInterval(Model):
    """An effective interval, and the span of time in which readers were told it.

    Both are half-open: ``[effective_from, effective_until)`` and ``[recorded_at, superseded_at)``.
    """

    effective_from: UtcDatetime
    effective_until: UtcDatetime
    recorded_at: UtcDatetime
    superseded_at: UtcDatetime = OPEN_END

    @model_validator(mode="after")
    def _neither_runs_backwards(self) -> HeldInterval:
        for name, first, last in (
            ("effective interval", self.effective_from, self.effective_until),
            ("time in which it was held", self.recorded_at, self.superseded_at),
        ):
            if first > last:
                raise ValueError(
                    f"{name} runs backwards: {first.isoformat()} is after {last.isoformat()}"
                )
        return self

"""Licences: the terms under which a source may be used."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from schemas.base import OPEN_END, Model, UtcDatetime

Confidentiality = Literal["public", "internal", "client"]
"""public: anyone; internal: any of our own readers; client: only readers for that client."""

Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


class Licence(Model):
    """One entry of the licence registry."""

    id: Identifier
    name: str
    attribution_required: bool
    attribution_text: str | None = None
    """The credit line to show with every use; required where attribution is."""
    display_allowed: bool = True
    """Whether the passage itself may be shown to a reader, not only used."""
    max_quote_chars: Annotated[int, Field(ge=0)] | None = None
    """Longest verbatim quotation in characters; None where there is no limit."""
    valid_until: UtcDatetime = OPEN_END
    """From this instant on the default filter returns nothing under this licence."""

    @model_validator(mode="after")
    def _required_attribution_has_a_text(self) -> Licence:
        if self.attribution_required and not (self.attribution_text or "").strip():
            raise ValueError(
                f"licence {self.id!r} requires attribution but has no attribution_text"
            )
        return self

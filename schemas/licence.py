"""Licences: the terms under which a source may be used."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from schemas.base import BEGINNING, OPEN_END, Model, UtcDatetime

Confidentiality = Literal["public", "internal", "client"]
"""public: anyone; internal: any of our own readers; client: only readers for that client."""

Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


Use = Literal["retrieval", "generation", "analysis", "training"]
"""retrieval: found and cited; generation: put before a language model; analysis: counted or mined;
training: a model is trained on it."""

Territory = Annotated[str, Field(pattern=r"^[A-Z]{2}$")]
"""A country's two letters (ISO 3166-1)."""

WORLD = "*"
"""Stands in a payload's territories where a licence holds everywhere."""

ExpiryAction = Literal["hide", "retire", "erase"]
"""What the nightly run does with what a licence that has ended covers. hide: nothing, the default
filter alone keeps it back; retire: close its documents; erase: remove them and their bytes."""


class Licence(Model):
    """One entry of the licence registry."""

    id: Identifier
    name: str
    provider: str | None = None
    """Who grants it."""
    attribution_required: bool
    attribution_text: str | None = None
    """The credit line to show with every use; required where attribution is."""
    display_allowed: bool = True
    """Whether the passage itself may be shown to a reader, not only used."""
    max_quote_chars: Annotated[int, Field(ge=0)] | None = None
    """Longest verbatim quotation in characters; None where there is no limit."""
    redistribution_allowed: bool = False
    """Whether passages may be passed on outside the organisation."""
    allowed_uses: Annotated[tuple[Use, ...], Field(min_length=1)] = ("retrieval", "generation")
    """What may be done with it. Without "retrieval" nothing of it is loaded."""
    territories: tuple[Territory, ...] = ()
    """Countries in which it may be used; all of them where none is named."""
    valid_from: UtcDatetime = BEGINNING
    """Before this instant the default filter returns nothing under this licence."""
    valid_until: UtcDatetime = OPEN_END
    """From this instant on the default filter returns nothing under this licence."""
    on_expiry: ExpiryAction = "retire"

    @model_validator(mode="after")
    def _required_attribution_has_a_text(self) -> Licence:
        if self.attribution_required and not (self.attribution_text or "").strip():
            raise ValueError(
                f"licence {self.id!r} requires attribution but has no attribution_text"
            )
        return self

    @model_validator(mode="after")
    def _validity_runs_forward(self) -> Licence:
        if self.valid_from >= self.valid_until:
            raise ValueError(
                f"licence {self.id!r} ends at {self.valid_until.isoformat()}, which is not after "
                f"its beginning at {self.valid_from.isoformat()}"
            )
        return self


class Terms(Model):
    """What an item's own terms say: each may narrow the licence of its source, never widen it."""

    attribution_text: Annotated[str, Field(min_length=1)] | None = None
    """A credit line that every use of this item has to show, instead of the licence's."""
    display_allowed: bool | None = None
    max_quote_chars: Annotated[int, Field(ge=0)] | None = None
    redistribution_allowed: bool | None = None
    allowed_uses: Annotated[tuple[Use, ...], Field(min_length=1)] | None = None
    territories: Annotated[tuple[Territory, ...], Field(min_length=1)] | None = None
    valid_from: UtcDatetime | None = None
    valid_until: UtcDatetime | None = None


def widening(licence: Licence, terms: Terms) -> list[str]:
    """Return what ``terms`` allow and ``licence`` does not, in words; nothing of it counts."""
    said = {name: value for name, value in terms if value is not None}
    return [
        f"{name} {_shown(value)} where the licence has {_shown(getattr(licence, name))}"
        for name, value in said.items()
        if name != "attribution_text" and _is_wider(name, value, getattr(licence, name))
    ]


def narrowed(licence: Licence, terms: Terms | None) -> Licence:
    """Return ``licence`` as ``terms`` narrow it; its id stays.

    Of each of the two the narrower one counts, so terms that allow more than the licence (see
    `widening`) change nothing, even if it is the licence that became narrower later.

    Raises:
        ValueError: no use or no country is left, or it ends before it begins.
    """
    if terms is None:
        return licence
    both: dict[str, Any] = {}
    for name, value in terms:
        licensed: Any = getattr(licence, name)
        if value is None:
            continue
        if name in ("allowed_uses", "territories"):
            # No territories at all means everywhere; all others are lists of what is allowed.
            both[name] = tuple(one for one in value if one in licensed or not licensed)
            if not both[name]:
                raise ValueError(f"{name} has nothing in common with the licence {licence.id!r}")
        elif name == "attribution_text" or not _is_wider(name, value, licensed):
            both[name] = value
    if terms.attribution_text is not None:
        both["attribution_required"] = True
    return Licence.model_validate(licence.model_dump() | both)


def _is_wider(name: str, value: Any, licensed: Any) -> bool:
    match name:
        case "max_quote_chars":
            return licensed is not None and value > licensed
        case "allowed_uses":
            return not set(value) <= set(licensed)
        case "territories":
            return bool(licensed) and not set(value) <= set(licensed)
        case "valid_from":
            return bool(value < licensed)
        case "valid_until":
            return bool(value > licensed)
        case _:
            return bool(value and not licensed)


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    return value.isoformat() if isinstance(value, datetime) else str(value)

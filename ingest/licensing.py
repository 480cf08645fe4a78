"""Under which terms an item stands: its licence as its own terms narrow it (guarantee 6)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from ingest.errors import ItemError
from schemas.base import OPEN_END
from schemas.licence import Licence, narrowed
from schemas.source import Item

REFUSALS = ("licence_unknown", "use_not_allowed")
"""Codes of what `licence_of` refuses: what is published of such an item is swept."""


def licence_of(licences: Mapping[str, Licence], item: Item) -> Licence:
    """Return the licence that ``item`` stands under, narrowed by its own terms.

    Raises:
        ItemError: ``licence_unknown`` where the registry has no such licence; ``use_not_allowed``
            where nothing may be found in it.
    """
    licence = licences.get(item.licence_id)
    if licence is None:
        raise ItemError(
            "licence_unknown",
            f"{item.source_key}: its licence {item.licence_id!r} is not in the registry, which has "
            f"{', '.join(sorted(licences)) or 'none'}. Add it, or correct what names it, then "
            "retry the item.",
        )
    try:
        own = narrowed(licence, item.terms)
    except ValueError as error:
        raise ItemError(
            "use_not_allowed",
            f"{item.source_key}: its own terms and its licence leave nothing that is allowed: "
            f"{error}. Correct the terms, then retry the item.",
        ) from error
    if "retrieval" not in own.allowed_uses:
        raise ItemError(
            "use_not_allowed",
            f"{item.source_key}: its licence {licence.id!r}"
            f"{' with its own terms' if item.terms else ''} allows {', '.join(own.allowed_uses)} "
            "and no retrieval, so nothing of it is loaded. Have the licence extended, or take the "
            "item out of the source.",
        )
    return own


def valid_until(licences: Mapping[str, Licence], item: Item) -> datetime:
    """Return when the licence of ``item`` ends; `OPEN_END` where it has none that allows it.

    Such an item is refused before anything of it is published.
    """
    try:
        return licence_of(licences, item).valid_until
    except ItemError:
        return OPEN_END


def usable(licences: Mapping[str, Licence]) -> set[str]:
    """Return the ids of the licences under which anything may be found at all."""
    return {licence.id for licence in licences.values() if "retrieval" in licence.allowed_uses}

"""Record checks: whether one payload keeps the contract, before it is compared with others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ingest.quality.values import inert
from schemas.payload import Payload


def payload_problems(payload: Mapping[str, Any]) -> list[str]:
    """Return why ``payload`` must not be loaded, a sentence each; empty if it keeps the contract.

    Takes field values as Python objects or as JSON gives them. NaN, day-first dates and times
    without an offset are among what :class:`schemas.payload.Payload` refuses.
    """
    try:
        Payload.model_validate(dict(payload))
    except ValidationError as error:
        return [_sentence(detail) for detail in error.errors(include_url=False)]
    return []


def _sentence(detail: ErrorDetails) -> str:
    field = ".".join(str(part) for part in detail["loc"])
    if detail["type"] == "missing":
        return f"{field} is missing."
    if detail["type"] == "extra_forbidden":
        return f"{inert(field)} is not a field of the payload."
    message = detail["msg"].removeprefix("Value error, ").rstrip(".")
    if detail["type"] != "value_error":  # our own messages already say what they refuse
        message = f"{message[:1].lower()}{message[1:]}, not {inert(repr(detail['input']))}"
    return f"{inert(field) or 'The payload'} is refused: {inert(message, 300)}."

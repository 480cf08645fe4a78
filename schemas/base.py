"""Shared building blocks of the contracts: strict frozen models, UTC instants, hashes."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, StringConstraints

# RFC 3339 §5.6, with the offset required: a time without one means something else on each machine.
_RFC3339 = re.compile(r"^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$")


class Model(BaseModel):
    """Immutable record that refuses fields it does not know and numbers that are not finite."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        # The docstrings below fields reach the JSON Schema, and with it editors and the docs.
        use_attribute_docstrings=True,
    )


def _only_rfc3339(value: Any) -> Any:
    if isinstance(value, datetime):
        return value
    if isinstance(value, str) and _RFC3339.match(value):
        return value
    raise ValueError(
        f"{value!r} is not an RFC 3339 date-time with an offset, such as 2026-03-31T00:00:00Z"
    )


def _to_utc(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError(f"{value.isoformat()} has no offset from UTC; add one, such as Z")
    try:
        return value.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{value.isoformat()} is outside the years 1 to 9999 in UTC") from error


UtcDatetime = Annotated[datetime, BeforeValidator(_only_rfc3339), AfterValidator(_to_utc)]
"""An instant, written as RFC 3339 in UTC. Naive, day-first and numeric dates are refused."""

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
"""A SHA-256 digest as 64 lower-case hexadecimal digits."""

BEGINNING = datetime(1900, 1, 1, tzinfo=UTC)
"""Start of an interval that was always open. A real value, as `OPEN_END` is."""

OPEN_END = datetime(9999, 12, 31, tzinfo=UTC)
"""End of an interval that is still open. A real value, so that range filters can use an index."""


def utc_now() -> datetime:
    """Return the current instant in UTC, to the second: finer steps only make diffs noisy."""
    return datetime.now(UTC).replace(microsecond=0)


def sha256_bytes(data: bytes) -> str:
    """Return the SHA-256 of ``data`` as hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def sha256_text(text: str) -> str:
    """Return the SHA-256 of ``text`` in UTF-8.

    A lone surrogate cannot be written as UTF-8, so extractors must not produce one: this raises
    ``UnicodeEncodeError`` where one does.
    """
    return sha256_bytes(text.encode("utf-8"))

"""Values of JSON records: where one stands in its record, and what it is as text."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from functools import cache
from typing import Any
from uuid import UUID

import jmespath  # type: ignore[import-untyped]  # ships neither stubs nor py.typed
from jmespath.exceptions import JMESPathError  # type: ignore[import-untyped]


def value_at(record: Mapping[str, Any], name: str) -> Any:
    """Return the value called ``name``: a key of the record, else what it finds as JMESPath.

    A name that is no JMESPath, such as one with spaces, is a key and nothing else. None where there
    is no such value.
    """
    if name in record:
        return record[name]
    path = _compiled(name)
    try:
        return None if path is None else path.search(record)
    except JMESPathError:
        return None


@cache
def _compiled(name: str) -> Any:
    try:
        return jmespath.compile(name)
    except JMESPathError:
        return None


def text_of(value: Any) -> str:
    """Return a value as text: texts as they are, lists of texts line by line, else as JSON.

    None, which is nothing, has no text.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "\n".join(value)
    return json.dumps(value, ensure_ascii=False)


def record_bytes(record: Mapping[str, Any]) -> bytes:
    """Return a record as one JSON object in UTF-8, the same bytes for the same values.

    Keys stand in the record's order. Instants are RFC 3339 in UTC, those without a zone and plain
    dates ISO 8601; decimals and UUIDs are texts, bytes Base64; what is no finite number is null.
    """
    return json.dumps(
        {name: plain(value) for name, value in record.items()},
        ensure_ascii=False,
        separators=(",", ":"),
    ).encode("utf-8", "replace")


def plain(value: Any) -> Any:
    """Return a value as JSON has it; see `record_bytes`."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case datetime():
            if value.tzinfo is None:
                return value.isoformat()
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case date() | time():
            return value.isoformat()
        case Decimal() | UUID():
            return str(value)
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(bytes(value)).decode()
        case Mapping():
            return {str(name): plain(part) for name, part in value.items()}
        case list() | tuple() | set():
            return [plain(part) for part in value]
    return str(value)

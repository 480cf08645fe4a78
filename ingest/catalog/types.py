"""Column types that behave the same on SQLite and PostgreSQL."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, DateTime, Dialect, Text, TypeDecorator
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeEngine

# PostgreSQL stores no U+0000 in text or jsonb, and a lone surrogate has no UTF-8 form.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(value: Any) -> Any:
    """Return text, or a JSON value, with what a database can't store replaced by U+FFFD."""
    match value:
        case str():
            return _UNSTORABLE.sub("\ufffd", value)
        case dict():
            return {storable(name): storable(entry) for name, entry in value.items()}
        case list():
            return [storable(entry) for entry in value]
    return value


class UtcDateTime(TypeDecorator[datetime]):
    """An instant: stored in UTC, given back with its time zone; naive ones are refused."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Turn the instant into UTC; without zone for SQLite, whose text must sort by time."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"{value.isoformat()} has no offset from UTC")
        value = value.astimezone(UTC)
        return value.replace(tzinfo=None) if dialect.name == "sqlite" else value

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Give the instant in UTC, whatever time zone the session has."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class FreeText(TypeDecorator[str]):
    """Text that came out of a document or a parser, and may hold anything."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> Any:
        """Replace what a database can't store."""
        return storable(value)


class JsonObject(TypeDecorator[dict[str, Any]]):
    """A JSON object; jsonb on PostgreSQL. None is NULL."""

    impl = JSON(none_as_null=True)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the column's type in this database."""
        kind = JSONB if dialect.name == "postgresql" else JSON
        return dialect.type_descriptor(kind(none_as_null=True))

    def process_bind_param(self, value: dict[str, Any] | None, dialect: Dialect) -> Any:
        """Replace what a database can't store."""
        return storable(value)

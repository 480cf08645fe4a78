"""Credentials of sources, by name: from the environment, or from whoever runs the pipeline.

They never stand in the sources file, and what they hold is registered as secret the moment it is
read (see `ingest.secrets`).
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from ingest.errors import ConfigurationError
from ingest.secrets import register
from schemas.source import SourceBase

PREFIX = "MUNIMENT_CONNECTION_"
_OPEN = {
    *("endpoint_url", "region_name", "host_key", "sslmode"),
    # Of a Google service account.
    *("type", "project_id", "client_email", "client_id", "auth_uri", "token_uri"),
    *("auth_provider_x509_cert_url", "client_x509_cert_url", "universe_domain"),
}
"""Names in ``extra`` whose values are no secrets."""
_KEYS = {"conn_type", "host", "port", "login", "password", "schema", "extra", "description"}


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a connection holds. Its secrets are not in its representation."""

    login: str | None = None
    password: str | None = field(default=None, repr=False)
    """Or a token, or the secret half of a key pair."""
    host: str | None = None
    port: int | None = None
    schema: str | None = None
    """Of a database: its name."""
    extra: dict[str, Any] = field(default_factory=dict, repr=False)
    """Whatever else a file system, server or database takes, such as a private key."""

    def __post_init__(self) -> None:
        hidden = {name: value for name, value in self.extra.items() if not _is_open(name, value)}
        for value in (self.password, *_texts(hidden)):
            if value:
                register(value)
        if self.login and self.password:
            # As it is sent for basic authentication.
            register(base64.b64encode(f"{self.login}:{self.password}".encode()).decode())


def _is_open(name: str, value: Any) -> bool:
    """Say whether a value of ``extra`` may be shown. To mask it would hide words of messages."""
    return name in _OPEN and not (isinstance(value, str) and "@" in urlsplit(value).netloc)


CredentialLookup = Callable[[str], Credentials]
"""Returns the credentials of a name, or raises ConfigurationError."""


def credentials_of(source: SourceBase, lookup: CredentialLookup) -> Credentials | None:
    """Return the credentials that a source's connection names; None where it names none.

    Raises:
        ConfigurationError: there are none of that name.
    """
    return None if source.connection is None else lookup(source.connection)


def from_environment(name: str) -> Credentials:
    """Return the credentials in MUNIMENT_CONNECTION_<NAME>, in capitals with "_" for "-" and ".".

    It holds a JSON object or a URI, both as Airflow writes them.

    Raises:
        ConfigurationError: the variable is not set (``connection_unknown``), or is neither
            (``connection_invalid``).
    """
    variable = PREFIX + re.sub(r"[^A-Za-z0-9]", "_", name).upper()
    value = os.environ.get(variable)
    if not value:
        raise ConfigurationError(
            "connection_unknown",
            f"There are no credentials for the connection {name!r}. Set {variable} to a JSON "
            'object such as {"login": "…", "password": "…"}, or to a URI.',
        )
    try:
        return _from_json(value) if value.lstrip().startswith("{") else _from_uri(value)
    except (ValueError, TypeError):
        # The parsers' own errors quote the value, which must not be shown.
        raise ConfigurationError(
            "connection_invalid",
            f"{variable} is neither a JSON object with some of {', '.join(sorted(_KEYS))}, nor a "
            "URI such as type://login:password@host:port/schema. Correct it.",
        ) from None


def _from_json(value: str) -> Credentials:
    parts = json.loads(value)
    if not isinstance(parts, dict) or not set(parts) <= _KEYS:
        raise ValueError("unknown keys")
    extra = parts.get("extra") or {}
    if isinstance(extra, str):
        extra = json.loads(extra)
    texts = {name: parts.get(name) or None for name in ("login", "password", "host", "schema")}
    if not all(text is None or isinstance(text, str) for text in texts.values()):
        raise TypeError("no text")
    port = int(parts["port"]) if parts.get("port") is not None else None
    return Credentials(**texts, port=port, extra=dict(extra))


def _from_uri(value: str) -> Credentials:
    uri = urlsplit(value)
    if not uri.scheme or not value.strip()[len(uri.scheme) :].startswith("://"):
        raise ValueError("no URI")
    extra: dict[str, Any] = dict(parse_qsl(uri.query, keep_blank_values=True))
    if "__extra__" in extra:
        # Airflow writes an extra so whose values are not all texts.
        extra = dict(json.loads(extra["__extra__"]))
    return Credentials(
        login=unquote(uri.username) if uri.username else None,
        password=unquote(uri.password) if uri.password else None,
        host=unquote(uri.hostname) if uri.hostname else None,
        port=uri.port,
        schema=unquote(uri.path.lstrip("/")) or None,
        extra=extra,
    )


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for part in value.values() for text in _texts(part)]
    if isinstance(value, list):
        return [text for part in value for text in _texts(part)]
    return []

"""Secrets that stand in the sources file, where they do not belong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

_SECRET = re.compile(
    r"secret|passw|passphrase|token|credential|signature|connection_?string|authorization|cookie"
    r"|^auth$|^sig$|^p?key$|[_-]key$|sas$",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    # Azure's own addresses have the container before the "@", and no ":".
    r"(?:abfss?|az|wasbs?)://[^/?#@]*:[^/?#]*@|(?!abfss?:|az:|wasbs?:)[a-z0-9+.-]+://[^/?#]*@",
    re.IGNORECASE,
)


def has_login(address: str) -> bool:
    """Tell whether a URL has a user, or a user and a password, before its host."""
    return _LOGIN.match(address) is not None


def has_secret_parameter(address: str) -> bool:
    """Tell whether a URL has a parameter that, by its name, is a secret."""
    query = address.partition("?")[2] if "://" in address else ""
    return any(_SECRET.search(unquote(part.partition("=")[0])) for part in query.split("&"))


def secret_options(options: Any) -> list[str]:
    """Return the names of options, those inside options too, that hold what should be a secret."""
    named = {name for name, value in _named(options) if _SECRET.search(name) or has_login(value)}
    return sorted(named)


def _named(options: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield names and values of all options; no value where it is no text."""
    if isinstance(options, dict):
        for inner, value in options.items():
            yield str(inner), ""
            yield from _named(value, str(inner))
    elif isinstance(options, list):
        for value in options:
            yield from _named(value, name)
    elif isinstance(options, str):
        yield name, options

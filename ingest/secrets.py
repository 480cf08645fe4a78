"""Secrets that this process knows, kept out of every message that it writes.

A secret is registered when it is resolved. From then on errors, log records and listing problems
show `MASK` in its place, also where a library put it into a text of its own.
"""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "***"
_MIN_LENGTH = 4
"""Masking shorter ones would eat into ordinary words."""

_known: set[str] = set()


def register(secret: str) -> None:
    """Keep ``secret``, and how it looks inside a URL, out of what this process writes."""
    if len(secret) < _MIN_LENGTH or secret in _known:
        return
    if not _known:
        _mask_log_records()
    _known.update((secret, quote(secret, safe=""), quote_plus(secret)))


def redact(text: str) -> str:
    """Return ``text`` with every known secret masked."""
    for secret in sorted(_known, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def _mask_log_records() -> None:
    make = logging.getLogRecordFactory()

    def masked(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001  # logging reports a bad format itself, later
            return record
        clear = redact(message)
        if clear != message:
            record.msg, record.args = clear, ()
        return record

    logging.setLogRecordFactory(masked)

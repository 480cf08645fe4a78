"""Secrets that this process knows, kept out of every message that it writes.

A secret is registered when it is resolved. From then on errors, log records and listing problems
show `MASK` in its place, also where a library put it into a text of its own.
"""

from __future__ import annotations

import json
import logging
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "***"
_MIN_LENGTH = 4
"""Masking shorter ones would eat into ordinary words."""
_MIN_LINE = 16

_FORMATTER = logging.Formatter()
_known: set[str] = set()


def register(secret: str) -> None:
    """Keep ``secret``, and how it looks when it is written down, out of what this process writes.

    Inside a URL, in JSON, as Python shows it, and in Base64; of one with several lines each line.
    """
    if len(secret) < _MIN_LENGTH or secret in _known:
        return
    if not _known:
        _mask_log_records()
    _known.update((secret, *_forms(secret)))
    for line in secret.splitlines():
        # Lines such as "-----BEGIN PRIVATE KEY-----" are in every key.
        if len(line) >= _MIN_LINE and not line.startswith("-----"):
            _known.add(line)


def _forms(secret: str) -> Iterator[str]:
    yield from (quote(secret, safe=""), quote_plus(secret))
    yield from (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1])
    yield repr(secret)[1:-1]
    data = secret.encode("utf-8", "surrogatepass")
    yield from (text.decode().rstrip("=") for text in (b64encode(data), urlsafe_b64encode(data)))


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
        if record.exc_info:
            shown = _FORMATTER.formatException(record.exc_info)
            clear = redact(shown)
            if clear != shown:
                # Formatters take this text where it is there.
                record.exc_text = clear
        return record

    logging.setLogRecordFactory(masked)

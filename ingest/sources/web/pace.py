"""How soon a host may be asked again."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime

_LONGEST_DELAY = 60.0
"""Seconds; a Crawl-delay beyond this counts as this."""
_LONGEST_PAUSE = 3600.0
"""Seconds for which a host is left alone, at most; then it is asked again."""


class Pace:
    """When each host was asked last, and how long it wants to be left alone."""

    def __init__(self, delay: float) -> None:
        """Keep at least ``delay`` seconds between two requests to one host."""
        self._delay = delay
        self._last: dict[str, float] = {}
        self._until: dict[str, float] = {}

    def wait(self, host: str, crawl_delay: float | None) -> None:
        """Sleep until ``host`` may be asked, and take this as the moment that it is."""
        delay = max(self._delay, min(crawl_delay or 0.0, _LONGEST_DELAY))
        last = self._last.get(host)
        if last is not None:
            time.sleep(max(0.0, last + delay - time.monotonic()))
        self._last[host] = time.monotonic()

    def pause(self, host: str, seconds: float) -> None:
        """Note that ``host`` does not want to be asked for so long."""
        self._until[host] = time.monotonic() + min(seconds, _LONGEST_PAUSE)

    def paused_for(self, host: str) -> float:
        """Return the seconds for which ``host`` is to be left alone, 0 if it may be asked."""
        return max(0.0, self._until.get(host, 0.0) - time.monotonic())


def retry_after(value: str | None) -> float | None:
    """Return the seconds that a Retry-After header asks for (RFC 9110 §10.2.3), None if none.

    It is a number of seconds, or an HTTP date.
    """
    text = (value or "").strip()
    if text.isascii() and text.isdigit() and len(text) < 10:
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None

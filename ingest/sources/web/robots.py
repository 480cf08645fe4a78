"""What hosts keep from programs (RFC 9309)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import httpx
from protego import Protego

from ingest.errors import ItemError
from ingest.sources.web.addresses import Origin, origin, public_url
from ingest.sources.web.pages import unreachable

PRODUCT = "muniment"
"""The name that robots.txt may address this program by."""
_ASK_AGAIN = 60.0
"""Seconds after which a robots.txt that could not be read is asked for again."""


@dataclass(frozen=True, slots=True)
class _Rules:
    rules: Protego | None
    """None while robots.txt cannot be read: until then nothing may be."""
    read_at: float = field(default_factory=time.monotonic)

    @property
    def is_old(self) -> bool:
        return self.rules is None and time.monotonic() > self.read_at + _ASK_AGAIN


class Robots:
    """The robots.txt of each host, read once for the life of a connector."""

    def __init__(self, read: Callable[[httpx.URL], str | None]) -> None:
        """Prepare to ask.

        Args:
            read: returns the text at a robots.txt, "" where there is none, None where it cannot
                be read now.
        """
        self._read = read
        self._known: dict[Origin, _Rules] = {}

    def check(self, url: httpx.URL) -> float | None:
        """Make sure that ``url`` may be read; return its host's Crawl-delay in seconds, if any.

        Raises:
            ItemError: ``robots_disallowed``.
            RetriableError: robots.txt cannot be read, so nothing may be for now (§2.3.1.4).
        """
        place = origin(url)
        found = self._known.get(place)
        if found is None or found.is_old:
            text = self._read(url.copy_with(raw_path=b"/robots.txt", fragment=None))
            found = self._known[place] = _Rules(None if text is None else Protego.parse(text))
        if found.rules is None:
            raise unreachable(
                str(url), "its host's robots.txt cannot be read, so nothing of it may be"
            )
        if not found.rules.can_fetch(str(url), PRODUCT):
            raise ItemError(
                "robots_disallowed",
                f"{public_url(str(url))}: its host's robots.txt keeps it from programs. Dismiss "
                "the entry, or set respect_robots to false if the host's owner agrees.",
            )
        return found.rules.crawl_delay(PRODUCT)

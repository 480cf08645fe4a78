"""Reading pages over HTTP, within limits."""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

import httpx

from ingest.errors import ItemError, RetriableError
from ingest.sources.credentials import CredentialLookup
from ingest.sources.location import too_large
from ingest.sources.web.pages import WebPage, WebState, refused
from schemas.source import WebSourceBase

_REDIRECTS = 5
_WHOLE_READ = 10
"""A page may take this many times the time-out in all: each piece of it is waited for anew."""
_PASSING = {408, 425, 429}
"""Client errors that may pass (RFC 9110 §15.5, RFC 6585 §4), beside all of 5xx."""


class WebReader:
    """Gets pages for one source.

    Addresses that a feed names are not trusted: one that leads to a private or loopback address is
    refused, unless it is the feed's own host.
    """

    def __init__(
        self,
        source: WebSourceBase,
        *,
        own_host: str | None,
        credentials: CredentialLookup,
        cache: Path | None,
    ) -> None:
        """Prepare to read for ``source``; nothing is asked yet.

        Args:
            source: its limits, and how it is authenticated.
            own_host: host of the source's own address, where that is on the web.
            credentials: gives those of the source's connection.
            cache: folder for pages of this source, which it has to itself; None keeps none.
        """
        del credentials, cache
        self._timeout = source.timeout_seconds
        self._max_bytes = source.max_item_bytes
        self._own_host = own_host
        self._headers = {"User-Agent": f"muniment/{version('muniment')}"}

    def get(self, url: str, *, size: int | None = None, sha256: str | None = None) -> WebPage:
        """Return what is at ``url`` now.

        Raises:
            RetriableError: it does not answer, or says that it will later (429, 5xx).
            ItemError: it is gone, forbidden, too large, or at an address that is refused.
        """
        deadline = time.monotonic() + _WHOLE_READ * self._timeout
        with (
            _passing_errors(url),
            httpx.Client(timeout=self._timeout, headers=self._headers) as client,
        ):
            urlsplit(url)  # stricter than httpx about brackets: ValueError
            target = httpx.URL(url)
            for _ in range(1 + _REDIRECTS):
                self._check(target)
                with client.stream("GET", target) as response:
                    if response.has_redirect_location:
                        target = response.url.join(response.headers["location"])
                        continue
                    _check_status(url, response.status_code)
                    data = self._body(url, response, deadline)
                    return WebPage(str(response.url), data, response.headers.get("content-type"))
        raise refused(url, f"it redirects more than {_REDIRECTS} times")

    def head(self, url: str) -> WebState:
        """Return what the server says of ``url`` without sending it; errors are those of get."""
        page = self.get(url)
        return WebState(page.etag, page.last_modified, len(page.data))

    def _check(self, target: httpx.URL) -> None:
        if target.scheme not in ("http", "https") or not target.host:
            raise refused(str(target), "it is not an http or https address")
        if target.host != self._own_host and _is_private(target.host):
            raise refused(str(target), "it leads to a private address")

    def _body(self, url: str, response: httpx.Response, deadline: float) -> bytes:
        pieces: list[bytes] = []
        size = 0
        for piece in response.iter_bytes():
            size += len(piece)
            if size > self._max_bytes:
                raise too_large(url, size, self._max_bytes)
            if time.monotonic() > deadline:
                raise httpx.ReadTimeout("the page came too slowly")
            pieces.append(piece)
        return b"".join(pieces)


def _is_private(host: str) -> bool:
    """Tell whether a host is, or resolves to, an address that is not on the public Internet.

    A name that cannot be resolved here is left to the request itself, which may use a proxy.
    """
    try:
        found = {str(entry[4][0]) for entry in socket.getaddrinfo(host, None)}
    except (OSError, UnicodeError):
        return False
    return any(not ipaddress.ip_address(address.partition("%")[0]).is_global for address in found)


def _check_status(url: str, status: int) -> None:
    if status in _PASSING or status >= 500:
        raise RetriableError(
            "source_unreachable",
            f"{url}: the server answered {status}. It is tried again; if it keeps failing, ask "
            "whoever runs it.",
        )
    if not 200 <= status < 300:
        raise ItemError(
            "item_unavailable",
            f"{url}: the server answered {status}. If the page is gone for good, dismiss the "
            "entry; otherwise correct the address or the access, then retry it.",
        )


@contextmanager
def _passing_errors(url: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise refused(url, f"it is no address ({error})") from error
    except httpx.RequestError as error:
        raise RetriableError(
            "source_unreachable",
            f"{url}: it could not be read: {type(error).__name__}: {error}. It is tried again; if "
            "it keeps failing, check the network and the address.",
        ) from error

"""Reading pages over HTTP, within limits."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from ingest.errors import ConfigurationError, ItemError, RetriableError
from ingest.secrets import register
from ingest.sources.credentials import CredentialLookup
from ingest.sources.location import too_large
from ingest.sources.web.addresses import public_url, web_address
from ingest.sources.web.cache import PageCache
from ingest.sources.web.download import download
from ingest.sources.web.exchange import CONNECTION_ERRORS, Exchange
from ingest.sources.web.pages import WebPage, WebState, gone, unreachable
from schemas.base import sha256_bytes
from schemas.source import FeedSource, PortalSource

_TOKEN = re.compile(r"[!-~]+")


class WebReader:
    """Gets pages for one source.

    Addresses that a page names are not trusted: one that leads to a private or loopback address is
    refused, unless its host is in the source's ``allow_hosts``, or it has the very host and port of
    the source's own address. Credentials go to that address's scheme, host and port alone, and
    nowhere once a redirect has led away from it.
    """

    def __init__(
        self,
        source: FeedSource | PortalSource,
        *,
        own_host: str | None,
        credentials: CredentialLookup,
        cache: Path | None,
    ) -> None:
        """Prepare to read for ``source``; nothing is asked yet.

        Args:
            source: its limits and manners, and how it is authenticated.
            own_host: host of the source's own address, None where that is not on the web.
            credentials: gives those of the source's connection.
            cache: folder for pages of this source, which it has to itself; None keeps none.

        Raises:
            ConfigurationError: there are no credentials of the name, or none that fit.
        """
        self._max_bytes = source.max_item_bytes
        self._cache = PageCache(cache)
        self._exchange = Exchange(
            source,
            own=_own_address(source.address) if own_host is not None else None,
            authorization=_authorization(source, credentials),
        )

    def get(self, url: str, *, size: int | None = None, sha256: str | None = None) -> WebPage:
        """Return what is at ``url`` now, whole.

        Args:
            url: http or https; user info in it is not used.
            size: how many bytes the listing says that it has.
            sha256: their hash, hexadecimal, if the listing gives it.

        Raises:
            RetriableError: it does not answer, or says that it will later (429, 5xx); or what comes
                is not what the listing says, and changes (``source_changing``).
            ItemError: it is gone, forbidden, too large, at an address that is refused, or stays
                other than the listing says (``checksum_wrong``).
        """
        if size is not None and size > self._max_bytes:
            raise too_large(public_url(url), size, self._max_bytes)
        with _passing_errors(url):
            page = download(self._exchange, url, self._max_bytes, self._cache.find(url))
            fault = _misfit(page.data, size, sha256)
            if fault:
                before = page.data
                page = download(self._exchange, url, self._max_bytes)
                fault = _misfit(page.data, size, sha256)
                if fault and before != page.data:
                    raise _changing(url, fault)
            if fault:
                raise _checksum_wrong(url, fault)
            self._cache.keep(url, page)
            return page

    def head(self, url: str) -> WebState:
        """Return what the server says of ``url`` without sending it; nothing if it won't.

        Servers often answer signed addresses, and pages that a program makes, only when they are
        read whole.

        Raises:
            RetriableError: as for :meth:`get`.
            ItemError: it is gone, or at an address that is refused.
        """
        with _passing_errors(url):
            self._exchange.start()
            with self._exchange.ask("HEAD", url, {"Accept-Encoding": "identity"}) as response:
                if response.status_code in (404, 410):
                    raise gone(url, response.status_code)
                if not 200 <= response.status_code < 300:
                    return WebState()
                headers = response.headers
                length = headers.get("content-length", "")
                return WebState(
                    headers.get("etag"),
                    headers.get("last-modified"),
                    int(length) if length.isdigit() else None,
                )


def _own_address(address: str) -> httpx.URL | None:
    try:
        return web_address(address)
    except ValueError:
        return None  # it is refused when it is read


def _authorization(source: FeedSource | PortalSource, lookup: CredentialLookup) -> str | None:
    """Return the Authorization header of a source, if it has one; it is registered as secret."""
    if source.auth == "none":
        return None
    if source.connection is None:
        raise ConfigurationError(
            "connection_missing",
            f"{source.id}: auth is {source.auth!r}, but no connection is named. Name the one that "
            "holds the credentials.",
        )
    found = lookup(source.connection)
    password = found.password or ""
    if source.auth == "bearer":
        if not _TOKEN.fullmatch(password):
            raise _unfit(source.connection, "a token without spaces as its password")
        return f"Bearer {password}"
    if not found.login or ":" in found.login:
        raise _unfit(source.connection, "a login without a colon")
    header = base64.b64encode(f"{found.login}:{password}".encode()).decode()
    register(header)
    return f"Basic {header}"


def _unfit(connection: str, needed: str) -> ConfigurationError:
    return ConfigurationError(
        "connection_invalid",
        f"The connection {connection!r} does not have {needed}, which the source's auth needs. "
        "Correct it.",
    )


def _misfit(data: bytes, size: int | None, sha256: str | None) -> str | None:
    """Return what is wrong with bytes of which the listing says this; None if nothing is."""
    if size is not None and len(data) != size:
        return f"{len(data):,} bytes came where the listing says {size:,}"
    if sha256 is not None and sha256_bytes(data) != sha256.lower():
        return f"the SHA-256 of what came is {sha256_bytes(data)}, not {sha256} as the listing says"
    return None


def _changing(url: str, fault: str) -> RetriableError:
    return RetriableError(
        "source_changing",
        f"{public_url(url)}: {fault}, and something else came a moment later. It is tried again.",
    )


def _checksum_wrong(url: str, fault: str) -> ItemError:
    return ItemError(
        "checksum_wrong",
        f"{public_url(url)}: {fault}, twice. Have whoever runs the server mend its file or its "
        "listing, then retry the entry.",
    )


@contextmanager
def _passing_errors(url: str) -> Iterator[None]:
    try:
        yield
    except CONNECTION_ERRORS as error:
        raise unreachable(url, f"it could not be read: {type(error).__name__}: {error}") from error

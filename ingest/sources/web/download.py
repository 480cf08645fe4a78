"""Reading a body to its end, going on where a connection broke."""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin

import httpcore
import httpx

from ingest.sources.location import too_large
from ingest.sources.web.addresses import public_url
from ingest.sources.web.cache import KeptPage
from ingest.sources.web.exchange import Exchange
from ingest.sources.web.pages import WebPage, gone, unreachable
from ingest.sources.web.unpack import Unpacker, UnpackError

_TRIES = 5
_BROKEN = (httpcore.ReadError, httpcore.ReadTimeout, httpcore.RemoteProtocolError)
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")


class BrokenOffError(Exception):
    """A body that ended before its end; the text says how."""


def download(exchange: Exchange, url: str, max_bytes: int, kept: KeptPage | None = None) -> WebPage:
    """Return what is at ``url``, whole; it is not sent if it still is what was ``kept``.

    A body that breaks off is gone on with by Range, if the server tells states apart for certain,
    else begun anew.

    Raises:
        RetriableError: it cannot be read whole at this moment.
        ItemError: it is gone, forbidden, refused or too large.
    """
    exchange.start()
    body: _Body | None = None
    plain: dict[str, str] = {}
    conditions = kept.conditions() if kept is not None else {}
    reason = ""
    for _ in range(_TRIES):
        asked = body.rest() if body is not None else conditions
        try:
            with exchange.ask("GET", url, {**plain, **asked}) as response:
                if body is not None and not body.goes_on(response):
                    body = None
                if body is None:
                    if response.status_code == 304 and kept is not None and asked is conditions:
                        return kept.page(str(response.url))
                    if response.status_code in (206, 304, 416):
                        reason = f"the server answered {response.status_code} to what was not asked"
                        continue
                    if not 200 <= response.status_code < 300:
                        raise gone(url, response.status_code)
                    body = _Body(url, response, max_bytes)
                body.read(response)
                return body.page(str(response.url))
        except UnpackError as error:
            body, reason = None, str(error)
            plain = {"Accept-Encoding": "identity"}
        except (BrokenOffError, *_BROKEN) as error:
            if isinstance(error, httpcore.ReadTimeout) and (
                body is None or not exchange.clock.left()
            ):
                raise
            reason = f"it broke off: {type(error).__name__}: {error}"
            if body is not None and not body.resumable:
                body = None
    raise unreachable(url, f"it could not be read whole in {_TRIES} attempts; at last {reason}")


class _Body:
    """A body as far as it has come."""

    def __init__(self, url: str, response: httpx.Response, max_bytes: int) -> None:
        self._url = url
        self._max_bytes = max_bytes
        self._headers = response.headers
        self._links = response.links
        self._unpacker = Unpacker(response.headers.get("content-encoding"))
        self._pieces: list[bytes] = []
        self._size = 0
        self._raw = 0
        self._total = _length(response)
        self._validator = _validator(response.headers)
        if self._total is not None and self._total > max_bytes:
            raise too_large(public_url(url), self._total, max_bytes)

    @property
    def resumable(self) -> bool:
        """Whether the server can be asked for the rest of this very state."""
        ranges = self._headers.get("accept-ranges", "").strip().lower()
        return self._validator is not None and ranges == "bytes" and self._raw > 0

    def rest(self) -> dict[str, str]:
        """Return the headers that ask for the rest, or for all of it if it has changed."""
        return {"Range": f"bytes={self._raw}-", "If-Range": self._validator or ""}

    def goes_on(self, response: httpx.Response) -> bool:
        """Tell whether an answer is the rest of this body."""
        found = _RANGE.fullmatch(response.headers.get("content-range", "").strip())
        if response.status_code != 206 or found is None or int(found[1]) != self._raw:
            return False
        if found[3] != "*" and self._total not in (None, int(found[3])):
            return False
        if found[3] != "*":
            self._total = int(found[3])
        return all(
            response.headers.get(name) in (None, self._headers.get(name))
            for name in ("etag", "last-modified", "content-encoding")
        )

    def read(self, response: httpx.Response) -> None:
        """Read an answer to its end.

        Raises:
            BrokenOffError: that is not the end of the body.
            UnpackError: the body is not encoded as it says.
            ItemError: it is too large.
        """
        for data in response.iter_raw():
            self._raw += len(data)
            for piece in self._unpacker.feed(data):
                self._size += len(piece)
                if self._size > self._max_bytes:
                    raise too_large(public_url(self._url), self._size, self._max_bytes)
                self._pieces.append(piece)
        if self._total is not None and self._raw != self._total:
            raise BrokenOffError(f"{self._raw:,} of {self._total:,} bytes came")
        self._unpacker.finish()

    def page(self, url: str) -> WebPage:
        """Return the body as the page at ``url``."""
        return WebPage(
            url,
            b"".join(self._pieces),
            self._headers.get("content-type"),
            self._headers.get("etag"),
            self._headers.get("last-modified"),
            _next(url, self._links),
        )


def _length(response: httpx.Response) -> int | None:
    length = response.headers.get("content-length", "")
    if "transfer-encoding" in response.headers or not length.isdigit():
        return None
    return int(length)


def _validator(headers: httpx.Headers) -> str | None:
    """Return what If-Range may tell a state by: only what is strong (RFC 9110 §8.8)."""
    etag = headers.get("etag")
    if etag is not None:
        return etag if etag.startswith('"') and etag.isascii() else None
    try:
        changed = parsedate_to_datetime(headers["last-modified"])
        sent = parsedate_to_datetime(headers["date"])
        is_strong = (sent - changed).total_seconds() >= 1
    except (KeyError, ValueError, TypeError):
        return None
    return headers["last-modified"] if is_strong else None


def _next(url: str, links: dict[str | None, dict[str, str]]) -> str | None:
    """Return the address of the next page that a Link header names, if it does."""
    for link in links.values():
        if "next" in link.get("rel", "").lower().split():
            try:
                return urljoin(url, link["url"])
            except ValueError:
                return None
    return None

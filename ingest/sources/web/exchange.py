"""One question to a server and its answer: over redirects, with manners, and in time."""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import cached_property
from http.cookiejar import Cookie, CookieJar, DefaultCookiePolicy
from importlib.metadata import version
from urllib.request import Request

import httpcore
import httpx

from ingest.errors import ItemError, RetriableError
from ingest.sources.web.addresses import Origin, origin, public_url, web_address
from ingest.sources.web.log import keep_secrets_out
from ingest.sources.web.network import CheckedTransport, Clock, ForbiddenAddressError
from ingest.sources.web.pace import Pace, retry_after
from ingest.sources.web.pages import refused, unreachable
from ingest.sources.web.robots import PRODUCT, Robots
from ingest.sources.web.unpack import ACCEPTED, Unpacker, UnpackError
from schemas.base import utc_now
from schemas.source import WebSourceBase

_REDIRECTS = 5
_WHOLE_READ = 10
"""A page may take this many times the time-out in all: each piece of it is waited for anew."""
_PASSING = {408, 425, 429}
"""Client errors that may pass (RFC 9110 §15.5, RFC 6585 §4), beside all of 5xx."""
_TRIES = 3
_FIRST_WAIT = 0.25
"""Seconds before a server that failed is asked again; then twice as long."""
_ROBOTS_BYTES = 512 * 1024
"""What is beyond is not looked at (RFC 9309 §2.5)."""


class Exchange:
    """Asks servers for one source."""

    def __init__(
        self, source: WebSourceBase, *, own: httpx.URL | None, authorization: str | None
    ) -> None:
        """Prepare to ask.

        Args:
            source: its limits and manners.
            own: the source's own address, where that is on the web. Its host and port may be
                private, and robots.txt is not asked about it, since it was configured on purpose.
            authorization: the header for ``own``'s scheme, host and port, and for nothing else.
        """
        self.clock = Clock()
        self._timeout = source.timeout_seconds
        self._own = own
        self._own_origin: Origin | None = origin(own) if own is not None else None
        self._authorization = authorization
        self._allowed = frozenset(map(_in_ascii, source.allow_hosts))
        self._pace = Pace(source.delay_seconds)
        self._robots = Robots(self._robots_text) if source.respect_robots else None
        keep_secrets_out()

    @cached_property
    def _client(self) -> httpx.Client:
        client = httpx.Client(
            transport=CheckedTransport(self._trusts, self.clock),
            timeout=self._timeout,
            headers={"User-Agent": f"{PRODUCT}/{version(PRODUCT)}", "Accept-Encoding": ACCEPTED},
            cookies=CookieJar(_AsciiCookies()),
            trust_env=False,  # a proxy would connect to addresses that nobody checked
        )
        weakref.finalize(self, client.close)
        return client

    def start(self) -> None:
        """Begin to count the time that a page may take."""
        self.clock.start(_WHOLE_READ * self._timeout)

    @contextmanager
    def ask(
        self, method: str, url: str, headers: Mapping[str, str], *, robots: bool = True
    ) -> Iterator[httpx.Response]:
        """Give the answer to a request, with its body still to be read.

        A server that is busy or failing is asked again a few times, after a short while.

        Raises:
            RetriableError: it stays so.
            ItemError: an address on the way is refused, or robots.txt keeps it from programs.
        """
        for attempt in range(1, _TRIES + 1):
            response = self._follow(method, url, headers, robots=robots)
            try:
                if response.status_code not in _PASSING and response.status_code < 500:
                    yield response
                    return
                wait = self._patience(url, response, attempt)
            finally:
                response.close()
            time.sleep(wait)

    def _follow(
        self, method: str, url: str, headers: Mapping[str, str], *, robots: bool
    ) -> httpx.Response:
        """Send a request, and send it on where it is redirected to."""
        target = _parsed(url, url)
        trusted = True
        for _ in range(1 + _REDIRECTS):
            response, trusted = self._send(method, target, headers, trusted, robots=robots)
            if not response.has_redirect_location:
                return response
            response.close()
            target = _parsed(response.headers["location"], url, response.url)
        raise refused(url, f"it redirects more than {_REDIRECTS} times")

    def _send(
        self,
        method: str,
        target: httpx.URL,
        headers: Mapping[str, str],
        trusted: bool,
        *,
        robots: bool,
    ) -> tuple[httpx.Response, bool]:
        """Send one request; also tell whether the way so far led over the own host alone."""
        trusted = trusted and origin(target) == self._own_origin
        if busy := self._pace.paused_for(target.host):
            raise _busy(str(target), busy)
        try:
            self._mind_manners(target, robots=robots)
            request = self._client.build_request(method, target, headers=headers)
            if trusted and self._authorization is not None:
                request.headers["Authorization"] = self._authorization
            return self._client.send(request, stream=True), trusted
        except ForbiddenAddressError as error:
            raise refused(str(target), str(error)) from None

    def _mind_manners(self, target: httpx.URL, *, robots: bool) -> None:
        delay = None
        with self.clock.paused():
            if self._robots is not None and robots and target != self._own:
                delay = self._robots.check(target)
            self._pace.wait(target.host, delay)

    def _patience(self, url: str, response: httpx.Response, attempt: int) -> float:
        """Return how many seconds to wait before asking again.

        Raises:
            RetriableError: it would be too long, or was asked often enough.
        """
        status = response.status_code
        asked_for = retry_after(response.headers.get("retry-after"))
        bound = min(self._timeout, self.clock.left())
        if asked_for is not None and asked_for > bound:
            self._pace.pause(response.url.host, asked_for)
            raise _busy(url, asked_for, status)
        wait = _FIRST_WAIT * 2 ** (attempt - 1) if asked_for is None else asked_for
        if attempt == _TRIES or wait > bound:
            raise unreachable(url, f"the server answered {status}")
        return wait

    def _trusts(self, host: str, port: int) -> bool:
        own = self._own_origin
        return host.lower() in self._allowed or (own is not None and (host, port) == own[1:])

    def _robots_text(self, url: httpx.URL) -> str | None:
        """Return a robots.txt: "" where there is none, None where it cannot be had now."""
        self.start()
        text = bytearray()
        try:
            with self.ask("GET", str(url), {}, robots=False) as response:
                if not 200 <= response.status_code < 300:
                    return ""
                unpacker = Unpacker(response.headers.get("content-encoding"))
                for data in response.iter_raw():
                    for piece in unpacker.feed(data):
                        text += piece
                        if len(text) > _ROBOTS_BYTES:
                            break
        except (RetriableError, UnpackError, *CONNECTION_ERRORS):
            return None
        except ItemError:
            return ""  # if it is the host itself that is refused, so is what was to be read of it
        return text[:_ROBOTS_BYTES].decode("utf-8", "replace")


CONNECTION_ERRORS = (
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.UnsupportedProtocol,
)
"""What httpcore raises when a server cannot be reached or breaks the rules."""


class _AsciiCookies(DefaultCookiePolicy):
    """Takes no cookie that could not be sent back."""

    def set_ok(self, cookie: Cookie, request: Request) -> bool:
        return f"{cookie.name}{cookie.value}".isascii() and super().set_ok(cookie, request)


def _in_ascii(host: str) -> str:
    """Return a configured host as it stands in requests."""
    host = host.strip("[]").lower()
    try:
        return host if host.isascii() else httpx.URL(f"http://{host}/").raw_host.decode("ascii")
    except httpx.InvalidURL:
        return host  # no request can be for it


def _parsed(link: str, asked: str, base: httpx.URL | None = None) -> httpx.URL:
    try:
        return web_address(link, base)
    except ValueError as error:
        raise refused(asked, str(error)) from None


def _busy(url: str, seconds: float, status: int | None = None) -> RetriableError:
    until = (utc_now() + timedelta(seconds=min(seconds, 10**8))).isoformat(timespec="seconds")
    answer = f"answered {status} and " if status else ""
    return RetriableError(
        "source_busy",
        f"{public_url(url)}: the server {answer}asks to be left alone until {until}. It is tried "
        "again after that; make delay_seconds longer if this happens each time.",
    )

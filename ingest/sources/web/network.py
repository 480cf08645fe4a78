"""Connections that go to no other address than the one that was checked.

A name is resolved once for each connection. Every address that it has must be on the public
Internet, unless the source trusts the host, and the connection is made to one of these very
addresses, so a name that resolves differently the next moment gains nothing (DNS rebinding). TLS
and the Host header keep the name.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore
import httpx

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NUMBER = re.compile(r"0x[0-9a-f]*|\d+", re.IGNORECASE)
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")
_COMPATIBLE = ipaddress.IPv6Network("::/96")


class ForbiddenAddressError(Exception):
    """A host that may not be connected to; the text says why."""


class Clock:
    """When the exchange under way has to be over."""

    def __init__(self) -> None:
        self._end = float("inf")

    def start(self, seconds: float) -> None:
        """Give the exchange that starts now this long."""
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds that are left, 0 when it is over."""
        return max(0.0, self._end - time.monotonic())

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Not count what happens inside, which may start an exchange of its own."""
        end, begun = self._end, time.monotonic()
        try:
            yield
        finally:
            self._end = end + time.monotonic() - begun


class CheckedTransport(httpx.BaseTransport):
    """Sends requests over checked connections. Errors are those of httpcore, and
    `ForbiddenAddressError`."""

    def __init__(self, trusts: Callable[[str, int], bool], clock: Clock) -> None:
        """Prepare to connect.

        Args:
            trusts: tells whether a host and port may be at a private address.
            clock: when reading and connecting have to be over, however slowly bytes come.
        """
        self._pool = httpcore.ConnectionPool(
            ssl_context=httpx.create_ssl_context(),
            network_backend=_Backend(trusts, clock),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request; its answer is read as it comes."""
        answer = self._pool.handle_request(
            httpcore.Request(
                method=request.method,
                url=httpcore.URL(
                    scheme=request.url.raw_scheme,
                    host=request.url.raw_host,
                    port=request.url.port,
                    target=request.url.raw_path,
                ),
                headers=request.headers.raw,
                extensions=request.extensions,
            )
        )
        assert isinstance(answer.stream, Iterable)  # noqa: S101  # it is, in a pool that is not async
        return httpx.Response(
            answer.status,
            headers=answer.headers,
            stream=_Body(answer),
            extensions=answer.extensions,
        )

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()


class _Body(httpx.SyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        yield from self._answer.iter_stream()

    def close(self) -> None:
        self._answer.close()


class _Backend(httpcore.NetworkBackend):
    def __init__(self, trusts: Callable[[str, int], bool], clock: Clock) -> None:
        self._trusts = trusts
        self._clock = clock
        self._plain = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        if self._trusts(host, port):
            addresses = _resolve(host, port)
        else:
            addresses = _resolve_public(host, port)
        end = time.monotonic() + min(timeout or float("inf"), self._clock.left())
        fault: Exception = httpcore.ConnectError(f"{host} has no address")
        for address in addresses:
            left = end - time.monotonic()
            if left <= 0:
                raise httpcore.ConnectTimeout("timed out")
            try:
                stream = self._plain.connect_tcp(address, port, left, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                fault = error
            else:
                return _Stream(stream, self._clock)
        raise fault

    def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        raise ForbiddenAddressError("it is a socket of this machine")

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class _Stream(httpcore.NetworkStream):
    """A connection whose every wait ends with the clock: bytes that drip in win no time."""

    def __init__(self, plain: httpcore.NetworkStream, clock: Clock) -> None:
        self._plain = plain
        self._clock = clock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        wait = self._wait(timeout, httpcore.ReadTimeout)
        try:
            return self._plain.read(max_bytes, wait)
        except httpcore.ReadTimeout:
            self._wait(timeout, httpcore.ReadTimeout)
            raise

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._plain.write(buffer, self._wait(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._plain.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        wait = self._wait(timeout, httpcore.ConnectTimeout)
        return _Stream(self._plain.start_tls(ssl_context, server_hostname, wait), self._clock)

    def get_extra_info(self, info: str) -> Any:
        return self._plain.get_extra_info(info)

    def _wait(self, timeout: float | None, fault: type[httpcore.TimeoutException]) -> float:
        left = self._clock.left()
        if not left:
            raise fault("the page came too slowly")
        return min(left, timeout or left)


def _resolve(host: str, port: int) -> list[str]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(f"{host} cannot be resolved: {error}") from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def _resolve_public(host: str, port: int) -> list[str]:
    """Raise ForbiddenAddressError for a host that isn't on the public Internet for certain."""
    last = host.rstrip(".").rpartition(".")[2]
    if _NUMBER.fullmatch(last) and not _is_address(host):
        # Programs disagree about 0177.0.0.1, 2130706433 and 127.1.
        raise ForbiddenAddressError("its host is a number that programs read differently")
    addresses = _resolve(host, port)
    for address in addresses:
        if not is_public(ipaddress.ip_address(address.partition("%")[0])):
            raise ForbiddenAddressError(
                "it leads to a private address; if that is meant, name its host in allow_hosts"
            )
    return addresses


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_public(address: Address) -> bool:
    """Tell whether an address, and each one inside it, is on the public Internet for anyone."""
    if isinstance(address, ipaddress.IPv6Address):
        if address in _COMPATIBLE or address in _LOCAL_NAT64 or address.is_site_local:
            return False
        inner = [found for found in (address.ipv4_mapped, address.sixtofour) if found]
        if address in _NAT64:
            inner.append(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
        if inner:
            return all(is_public(found) for found in inner)
    return address.is_global and not (
        address.is_multicast
        or address.is_reserved
        or address.is_unspecified
        or address.is_loopback
        or address.is_link_local
    )

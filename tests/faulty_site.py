"""A web server on the loopback address that fails on purpose: slow, cut, wrong or hostile."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Reply:
    """What the server answers, and how it fails to."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    """Close the connection after so many bytes of the body."""
    length: int | None = None
    """What Content-Length says, if it lies; -1 for no such header."""
    wait: float = 0.0
    """Seconds before anything is sent."""
    drip: float = 0.0
    """Seconds before each byte of the body."""
    drip_headers: float = 0.0
    """Seconds before each of endless headers."""
    ranges: bool = False
    """Answer Range, as If-Range says."""
    content_range: str | None = None
    """What Content-Range says, if it lies."""


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    """Names in lower case."""


@dataclass
class FaultySite:
    """Paths with the answers that they give one after the other; the last one stays."""

    url: str
    port: int
    replies: dict[str, list[Reply]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)

    def says(self, path: str, *replies: Reply) -> str:
        """Have ``path`` answer so; return its URL."""
        self.replies[path] = list(replies)
        return self.url + path

    def asks(self, path: str) -> list[Asked]:
        """Return the requests for ``path`` alone."""
        return [asked for asked in self.asked if asked.path == path]

    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]


@contextmanager
def faulty_site(authorization: str | None = None) -> Iterator[FaultySite]:
    """Serve; what is not there is a 404.

    With ``authorization``, whoever does not send that very header is answered 401.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            served.asked.append(Asked(self.command, self.path, headers))
            replies = served.replies.get(self.path, [Reply(b"nothing here", 404)])
            reply = replies.pop(0) if len(replies) > 1 else replies[0]
            if authorization is not None and self.headers["Authorization"] != authorization:
                reply = Reply(b"who are you?", 401)
            with suppress(OSError):  # the client had enough
                self._send(reply, headers)

        do_HEAD = do_GET  # noqa: N815

        def _send(self, reply: Reply, headers: dict[str, str]) -> None:
            time.sleep(reply.wait)
            body, status, extra = reply.body, reply.status, dict(reply.headers)
            tag = reply.headers.get("ETag")
            if tag is not None and headers.get("if-none-match") == tag:
                body, status = b"", 304
            start = re.fullmatch(r"bytes=(\d+)-", headers.get("range", ""))
            known = (tag, reply.headers.get("Last-Modified"))
            if reply.ranges and start and headers.get("if-range") in known:
                first = int(start[1])
                extra["Content-Range"] = reply.content_range or (
                    f"bytes {first}-{len(body) - 1}/{len(body)}"
                )
                body, status = body[first:], 206
            if reply.ranges:
                extra["Accept-Ranges"] = "bytes"
            self.send_response(status)
            for name, value in extra.items():
                self.send_header(name, value)
            length = len(body) if reply.length is None else reply.length
            if length >= 0:
                self.send_header("Content-Length", str(length))
            while reply.drip_headers:
                self.send_header("X-Drip", "drip")
                self.flush_headers()
                time.sleep(reply.drip_headers)
            self.end_headers()
            if self.command == "HEAD":
                return
            body = body if reply.cut is None else body[: reply.cut]
            step = 1 if reply.drip else max(1, len(body))
            for at in range(0, len(body), step):
                time.sleep(reply.drip)
                self.wfile.write(body[at : at + step])
                self.wfile.flush()

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = FaultySite(f"http://127.0.0.1:{server.server_port}", server.server_port)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

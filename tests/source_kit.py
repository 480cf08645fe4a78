"""Sources in a temporary folder, and a web server for them, as tests of connectors need them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from ingest.configuration import Configuration
from ingest.sources import connect
from ingest.sources.base import Connector, Fetched
from schemas.licence import Licence
from schemas.source import Item, ListingProblem, Source

LICENCES = {
    "open": Licence(id="open", name="Open", attribution_required=False),
    "paid": Licence(id="paid", name="Paid", attribution_required=True, attribution_text="© Paid"),
}


@dataclass(frozen=True)
class Listing:
    """All that a listing yields."""

    items: tuple[Item, ...]
    problems: tuple[ListingProblem, ...]


@dataclass(frozen=True)
class Whole:
    """A connector whose listing is read to its end at once."""

    connector: Connector

    def list(self) -> Listing:
        entries = list(self.connector.list())
        return Listing(
            tuple(entry for entry in entries if isinstance(entry, Item)),
            tuple(entry for entry in entries if isinstance(entry, ListingProblem)),
        )

    def fetch(self, item: Item) -> Fetched:
        return self.connector.fetch(item)


def connector(
    base: Path,
    licences: dict[str, Licence] = LICENCES,
    cache: Path | None = None,
    **source: Any,
) -> Whole:
    """Return the connector of a source that is declared like an entry of sources.yaml."""
    given = {"id": "src", "kind": "report", "licence": "open", **source}
    checked: Source = TypeAdapter(Source).validate_python(given)
    configuration = Configuration(sources=(checked,), licences=licences, base=base)
    return Whole(connect(checked, configuration, cache=cache))


def keys(listing: Listing) -> list[str]:
    return [item.source_key for item in listing.items]


def problems(listing: Listing) -> list[tuple[str, str]]:
    return [(problem.source_key, problem.code) for problem in listing.problems]


@dataclass
class Answer:
    """What the server says at a path."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Site:
    """A web server on the loopback address."""

    url: str
    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    agents: set[str] = field(default_factory=set)


@contextmanager
def site(authorization: str | None = None) -> Iterator[Site]:
    """Serve ``answers`` over HTTP; what is not there is a 404.

    Who has what an answer's ETag names is told 304. With ``authorization``, whoever does not send
    that very header is answered 401.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.asked.append(self.path)
            served.agents.add(self.headers["User-Agent"])
            answer = served.answers.get(self.path, Answer(b"nothing here", 404))
            if authorization is not None and self.headers["Authorization"] != authorization:
                answer = Answer(b"who are you?", 401)
            tag = answer.headers.get("ETag")
            if tag is not None and self.headers["If-None-Match"] == tag:
                answer = Answer(b"", 304, answer.headers)
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served = Site(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

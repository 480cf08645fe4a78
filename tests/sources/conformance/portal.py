from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faulty_site import Reply, faulty_site
from sources.conformance.case import LIMIT, Case, Maker

TOKEN = "planted-token-4d1b7e"
PASSWORD = "planted pass:word/4d1b7e"


def _json(base: Path, environment: pytest.MonkeyPatch) -> Iterator[Case]:
    """A listing in JSON over two pages, from a server that wants a token; it tells states."""
    environment.setenv("MUNIMENT_CONNECTION_PORTAL", json.dumps({"password": TOKEN}))
    with faulty_site(f"Bearer {TOKEN}") as web:

        def write(text: str, etag: str) -> None:
            entries = [
                {"id": name, "href": f"files/{name}.txt", "rev": etag if name == "a" else "1"}
                for name in "abc"
            ]
            pages: list[dict[str, Any]] = [
                {"data": entries[:2], "next": "/list?page=2"},
                {"data": entries[2:], "next": None},
            ]
            for path, page in zip(("/list", "/list?page=2"), pages, strict=True):
                web.says(path, Reply(json.dumps(page).encode()))
            web.says("/files/a.txt", Reply(text.encode(), headers={"Content-Type": "text/plain"}))

        write("the text of a", "1")
        for name in "bc":
            web.says(f"/files/{name}.txt", Reply(f"the text of {name}".encode()))
        yield Case(
            base,
            {
                **{"connector": "portal", "address": f"{web.url}/list"},
                **{"auth": "bearer", "connection": "portal"},
                **{"entries": "data", "next": "next"},
                "fields": {"url": "href", "key": "id", "etag": "rev"},
            },
            remove_first=lambda: web.replies.pop("/files/a.txt"),
            change_first=lambda: write("another", "2"),
            break_source=lambda: web.says("/list", Reply(b"<html>Sign in</html>")),
            cut_source=lambda: web.says("/list?page=2", Reply(b"", 404)),
            grow_first=lambda: write("x" * (LIMIT + 1), "1"),
            secrets=(TOKEN,),
            bodies=("a.txt", "b.txt", "c.txt"),
            asked=web.paths,
        )


def _html(base: Path, environment: pytest.MonkeyPatch) -> Iterator[Case]:
    """Links on two pages, from a server that wants a login; HEAD tells the states."""
    environment.setenv(
        "MUNIMENT_CONNECTION_PORTAL", json.dumps({"login": "reader", "password": PASSWORD})
    )
    login = base64.b64encode(f"reader:{PASSWORD}".encode()).decode()
    with faulty_site(f"Basic {login}") as web:

        def write(name: str, text: str, etag: str) -> None:
            web.says(f"/{name}.txt", Reply(text.encode(), headers={"ETag": f'"{etag}"'}))

        web.says("/list", Reply(b"<a href=a.txt>A</a><a href=b.txt>B</a><a id=n href=/2>more</a>"))
        web.says("/2", Reply(b"<a href=c.txt>C</a>"))
        for name in "abc":
            write(name, f"the text of {name}", "1")
        yield Case(
            base,
            {
                **{"connector": "portal", "address": f"{web.url}/list", "listing": "html"},
                **{"auth": "basic", "connection": "portal", "next": "a#n"},
            },
            remove_first=lambda: web.replies.pop("/a.txt"),
            change_first=lambda: write("a", "another", "2"),
            break_source=lambda: web.says("/list", Reply(b"", 503)),
            cut_source=lambda: web.says("/2", Reply(b"", 500)),
            secrets=(PASSWORD, login),
        )


CASES: dict[str, Maker] = {"json": _json, "html": _html}

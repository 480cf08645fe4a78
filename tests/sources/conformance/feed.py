from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from feed_texts import item, json_feed, rss
from source_kit import Answer, site
from sources.conformance.case import LIMIT, Case, Maker

TOKEN = "planted-token-7f3a9c"


def _entries(start: str, first: str = "d a") -> list[str]:
    return [
        item(guid=name, title=f"T {name}", description=text, link=f"{start}/{name}.html")
        for name, text in (("a", first), ("b", "d b"), ("c", "d c"))
    ]


def _content(base: Path, environment: pytest.MonkeyPatch) -> Iterator[Case]:
    """The entries' own content, from a file."""
    entries = _entries("https://wire.example")

    def write(*entries: str) -> None:
        (base / "feed.xml").write_text(rss(*entries))

    write(*entries)
    yield Case(
        base,
        {"connector": "feed", "address": "feed.xml", "follow_links": False},
        remove_first=lambda: write(*entries[1:]),
        change_first=lambda: write(*_entries("https://wire.example", "another")),
        break_source=lambda: (base / "feed.xml").write_text("<html>no feed</html>"),
    )


def _mirror(base: Path, environment: pytest.MonkeyPatch) -> Iterator[Case]:
    """Articles from a folder."""
    feed = base / "feed.xml"
    feed.write_text(rss(*_entries("https://wire.example")))
    page = base / "pages" / "a.html"
    page.parent.mkdir()
    for name in "abc":
        page.with_stem(name).write_text(f"<p>page {name}")

    def change_first() -> None:
        feed.write_text(rss(*_entries("https://wire.example", "another")))
        page.write_text("<p>another")

    yield Case(
        base,
        {
            **{"connector": "feed", "address": "feed.xml"},
            "mirror": {"https://wire.example/": "pages"},
        },
        remove_first=page.unlink,
        change_first=change_first,
        break_source=feed.unlink,
        grow_first=lambda: page.write_text("x" * (LIMIT + 1)),
        bodies=("a.html", "b.html", "c.html"),
    )


def _web(base: Path, environment: pytest.MonkeyPatch) -> Iterator[Case]:
    """Feed and articles from a server that wants a token."""
    environment.setenv("MUNIMENT_CONNECTION_WIRE", json.dumps({"password": TOKEN}))
    with site(f"Bearer {TOKEN}") as web:

        def write(entry: str, page: str) -> None:
            web.answers["/feed.xml"] = Answer(rss(*_entries(web.url, entry)).encode())
            web.answers["/a.html"] = Answer(page.encode())

        write("d a", "<p>page a")
        for name in "bc":
            web.answers[f"/{name}.html"] = Answer(f"<p>page {name}".encode())
        yield Case(
            base,
            {
                **{"connector": "feed", "address": f"{web.url}/feed.xml", "delay_seconds": 0},
                **{"auth": "bearer", "connection": "wire"},
            },
            remove_first=lambda: web.answers.pop("/a.html"),
            change_first=lambda: write("another", "<p>another"),
            break_source=lambda: web.answers.update({"/feed.xml": Answer(b"", 503)}),
            grow_first=lambda: write("d a", "x" * (LIMIT + 1)),
            secrets=(TOKEN,),
            bodies=("a.html", "b.html", "c.html"),
            asked=lambda: web.asked,
        )


def _json(base: Path, environment: pytest.MonkeyPatch) -> Iterator[Case]:
    """A JSON Feed with the content of its entries."""

    def write(**texts: str) -> None:
        entries = [{"id": key, "content_text": text} for key, text in texts.items()]
        (base / "feed.json").write_bytes(json_feed(*entries))

    write(a="A", b="B", c="C")
    yield Case(
        base,
        {"connector": "feed", "address": "feed.json"},
        remove_first=lambda: write(b="B", c="C"),
        change_first=lambda: write(a="another", b="B", c="C"),
        break_source=lambda: (base / "feed.json").write_text("{"),
    )


CASES: dict[str, Maker] = {"content": _content, "mirror": _mirror, "web": _web, "json": _json}

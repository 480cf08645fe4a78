"""What every connector keeps, whatever its source."""

from __future__ import annotations

import builtins
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from source_kit import Answer, Whole, connector, site

from ingest.errors import ItemError, RetriableError
from ingest.sources.base import state_of
from schemas.source import Item


@dataclass
class Case:
    """A source of three items, and how to take the first of them away."""

    connect: Callable[[], Whole]
    remove_first: Callable[[], object]
    bodies: tuple[str, ...] = ()
    """Names of what holds the items' bytes: listing must not open them."""


@pytest.fixture(params=["files", "csv", "feed_content", "feed_mirror", "feed_web"])
def case(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Case]:
    yield from globals()[f"_{request.param}"](tmp_path)


def _files(base: Path) -> Iterator[Case]:
    for name in ("a.txt", "b ü.txt", "sub/c.txt"):
        (base / "in" / name).parent.mkdir(parents=True, exist_ok=True)
        (base / "in" / name).write_text(f"the text of {name}", "utf-8")
    (base / "in/m.csv").write_text("file,title,effective_from\na.txt,A,2026-01-01\n")
    yield Case(
        lambda: connector(base, connector="files", address="in", manifest="m.csv"),
        (base / "in/a.txt").unlink,
        ("a.txt", "b ü.txt", "c.txt"),
    )


def _csv(base: Path) -> Iterator[Case]:
    rows = [b"id,note\r\n", b'a,"one\r\nline"\r\n', "b,zwei Ü\r\n".encode(), b"c,three\r\n"]
    (base / "crm.csv").write_bytes(b"".join(rows))
    yield Case(
        lambda: connector(base, connector="csv", address="crm.csv", key="id", text=["note"]),
        lambda: (base / "crm.csv").write_bytes(b"".join([rows[0], *rows[2:]])),
    )


ENTRIES = [
    f"<item><guid>{name}</guid><title>T {name}</title><description>d {name}</description>"
    f"<link>https://wire.example/{name}.html</link></item>"
    for name in "abc"
]


def _rss(entries: list[str]) -> str:
    return f'<rss version="2.0"><channel>{"".join(entries)}</channel></rss>'


def _feed_content(base: Path) -> Iterator[Case]:
    (base / "feed.xml").write_text(_rss(ENTRIES))
    yield Case(
        lambda: connector(base, connector="feed", address="feed.xml", follow_links=False),
        lambda: (base / "feed.xml").write_text(_rss(ENTRIES[1:])),
    )


def _feed_mirror(base: Path) -> Iterator[Case]:
    (base / "feed.xml").write_text(_rss(ENTRIES))
    (base / "pages").mkdir()
    for name in "abc":
        (base / f"pages/{name}.html").write_text(f"<p>page {name}")
    mirror = {"https://wire.example/": "pages"}
    yield Case(
        lambda: connector(base, connector="feed", address="feed.xml", mirror=mirror),
        (base / "pages/a.html").unlink,
        ("a.html", "b.html", "c.html"),
    )


def _feed_web(base: Path) -> Iterator[Case]:
    with site() as web:
        feed = _rss(ENTRIES).replace("https://wire.example", web.url)
        web.answers["/feed.xml"] = Answer(feed.encode())
        for name in "abc":
            web.answers[f"/{name}.html"] = Answer(f"<p>page {name}".encode())

        def connect() -> Whole:
            web.asked.clear()
            return connector(base, connector="feed", address=f"{web.url}/feed.xml")

        yield Case(connect, lambda: web.answers.pop("/a.html"))


class TestConformance:
    def test_two_listings_are_equal(self, case: Case) -> None:
        source = case.connect()
        listing = source.list()
        assert len(listing.items) == 3
        assert listing.problems == ()
        assert source.list() == listing
        assert case.connect().list() == listing

    def test_keys_are_unique_and_items_can_be_sent(self, case: Case) -> None:
        listing = case.connect().list()
        assert len({item.source_key for item in listing.items}) == 3
        for item in listing.items:
            assert Item.model_validate_json(item.model_dump_json()) == item
            assert item.source_id == "src"
            assert state_of(item)

    def test_an_item_is_fetched_alike_by_any_process(self, case: Case) -> None:
        source = case.connect()
        for item in source.list().items:
            fetched = source.fetch(item)
            assert fetched.data
            assert fetched.fingerprint == item.fingerprint
            assert source.fetch(item) == fetched
            sent = Item.model_validate_json(item.model_dump_json())
            assert case.connect().fetch(sent) == fetched

    def test_listing_opens_no_item(self, case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
        opened: list[str] = []
        real = io.open

        def spy(file: Any, *args: Any, **kwargs: Any) -> Any:
            opened.append(str(file))
            return real(file, *args, **kwargs)

        source = case.connect()
        monkeypatch.setattr(builtins, "open", spy)
        monkeypatch.setattr(io, "open", spy)
        source.list()
        assert not [path for path in opened if path.endswith(case.bodies or ("\0",))]

    def test_an_item_that_left_costs_that_item(self, case: Case) -> None:
        listed = case.connect().list().items
        case.remove_first()
        source = case.connect()
        with pytest.raises((ItemError, RetriableError)) as caught:
            source.fetch(listed[0])
        assert isinstance(caught.value, ItemError)
        assert listed[0].source_key in caught.value.message
        for item in listed[1:]:
            assert source.fetch(item).fingerprint == item.fingerprint

"""Feeds and articles over HTTP, from a server on this machine."""

from __future__ import annotations

import gzip
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from feed_texts import feed, item, json_feed, rss
from source_kit import Answer, Site, Whole, connector, keys, site

from ingest.errors import ConfigurationError, ItemError, RetriableError
from schemas.source import FeedSource


@pytest.fixture
def web() -> Iterator[Site]:
    with site() as served:
        yield served


def online(tmp_path: Path, web: Site, *items: str, **source: Any) -> Whole:
    web.answers["/feed.xml"] = Answer(rss(*items).encode(), 200, {"Content-Type": "text/xml"})
    given = {"address": f"{web.url}/feed.xml", "delay_seconds": 0, **source}
    return connector(tmp_path, connector="feed", **given)


def asked(web: Site) -> list[str]:
    """Return what was asked for, robots.txt aside."""
    return [path for path in web.asked if path != "/robots.txt"]


def test_keys_do_not_depend_on_where_the_feed_is(tmp_path: Path, web: Site) -> None:
    entries = [item(guid="a"), item(guid="b", link="b.html"), item(link="c.html")]
    here = keys(feed(tmp_path, rss(*entries)).list())
    assert keys(online(tmp_path, web, *entries).list()) == here == ["a", "b", "c.html"]


def test_feed_and_articles_over_http(tmp_path: Path, web: Site) -> None:
    wire = online(tmp_path, web, item(guid="g", link="/2026/a.html"))
    web.answers["/2026/a.html"] = Answer(
        b"<p>Article", 200, {"Content-Type": "text/html; charset=windows-1252"}
    )
    (entry,) = wire.list().items
    assert entry.uri == entry.fetch_uri == f"{web.url}/2026/a.html"
    assert asked(web) == ["/feed.xml"], "listing reads no article"
    page = wire.fetch(entry)
    assert page.data == b"<p>Article"
    assert page.media_type == "text/html; charset=windows-1252"
    assert page.fingerprint == entry.fingerprint
    assert all(agent.startswith("muniment/") for agent in web.agents)


def test_redirects_are_followed_and_relative_links_start_where_they_end(
    tmp_path: Path, web: Site
) -> None:
    online(tmp_path, web, item(guid="g", link="a.html"))
    web.answers["/deep/feed.xml"] = web.answers["/feed.xml"]
    web.answers["/old"] = Answer(b"", 301, {"Location": "/older"})
    web.answers["/older"] = Answer(b"", 302, {"Location": "deep/feed.xml"})
    wire = connector(tmp_path, connector="feed", address=f"{web.url}/old", delay_seconds=0)
    assert wire.list().items[0].uri == f"{web.url}/deep/a.html"


def test_compressed_answers_are_unpacked(tmp_path: Path, web: Site) -> None:
    wire = online(tmp_path, web, item(guid="g", link="/a"))
    web.answers["/a"] = Answer(gzip.compress(b"<p>A"), 200, {"Content-Encoding": "gzip"})
    assert wire.fetch(wire.list().items[0]).data == b"<p>A"


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_trouble_that_may_pass_is_tried_again(tmp_path: Path, web: Site, status: int) -> None:
    wire = online(tmp_path, web, item(guid="g", link="/a"))
    (entry,) = wire.list().items
    web.answers["/a"] = Answer(b"", status)
    with pytest.raises(RetriableError, match=str(status)):
        wire.fetch(entry)
    web.answers["/feed.xml"] = Answer(b"", status)
    with pytest.raises(RetriableError, match=str(status)):
        wire.list()


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_trouble_that_stays(tmp_path: Path, web: Site, status: int) -> None:
    wire = online(tmp_path, web, item(guid="g", link="/a"))
    (entry,) = wire.list().items
    web.answers["/a"] = Answer(b"", status)
    with pytest.raises(ItemError, match=str(status)) as item_error:
        wire.fetch(entry)
    assert item_error.value.code == "item_unavailable"
    web.answers["/feed.xml"] = Answer(b"", status)
    with pytest.raises(ConfigurationError, match=str(status)) as source_error:
        wire.list()
    assert source_error.value.code == "source_missing"


def test_a_server_that_does_not_answer_is_tried_again(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/feed.xml"
        wire = connector(tmp_path, connector="feed", address=address, timeout_seconds=0.2)
        with pytest.raises(RetriableError, match="Timeout"):
            wire.list()
    with pytest.raises(RetriableError, match="Connect"):
        wire.list()


def test_redirects_end(tmp_path: Path, web: Site) -> None:
    wire = online(tmp_path, web, item(guid="g", link="/a"))
    web.answers["/a"] = Answer(b"", 302, {"Location": "/a"})
    with pytest.raises(ItemError, match="redirects") as caught:
        wire.fetch(wire.list().items[0])
    assert caught.value.code == "link_refused"
    assert web.asked.count("/a") == 6


@pytest.mark.parametrize("packed", [False, True])
def test_pages_that_are_too_large_are_not_read_to_the_end(
    tmp_path: Path, web: Site, packed: bool
) -> None:
    wire = online(tmp_path, web, item(guid="g", link="/a"), max_item_bytes=100_000)
    body = b"x" * 10_000_000
    web.answers["/a"] = (
        Answer(gzip.compress(body), 200, {"Content-Encoding": "gzip"}) if packed else Answer(body)
    )
    with pytest.raises(ItemError, match="max_item_bytes") as caught:
        wire.fetch(wire.list().items[0])
    assert caught.value.code == "too_large"


@pytest.mark.parametrize(
    "link",
    [
        "http://localhost:{port}/a",
        "http://127.0.0.2:{port}/a",
        "http://[::1]:{port}/a",
        "http://[::ffff:127.0.0.1]:{port}/a",
        "http://169.254.169.254/latest/meta-data",
        "http://10.0.0.1/",
        "http://2130706433/",
        "ftp://wire.example/a",
        "file:///etc/passwd",
        "http://[bad/",
        "mailto:a@wire.example",
    ],
)
def test_links_to_private_and_odd_addresses_are_refused(
    tmp_path: Path, web: Site, link: str
) -> None:
    wire = online(tmp_path, web, item(guid="g", link=link.format(port=web.url.rpartition(":")[2])))
    (entry,) = wire.list().items
    with pytest.raises(ItemError) as caught:
        wire.fetch(entry)
    assert caught.value.code == "link_refused"
    assert asked(web) == ["/feed.xml"]


def test_a_redirect_to_a_private_address_is_refused(tmp_path: Path, web: Site) -> None:
    wire = online(tmp_path, web, item(guid="g", link="/a"))
    port = web.url.rpartition(":")[2]
    web.answers["/a"] = Answer(b"", 302, {"Location": f"http://localhost:{port}/secret"})
    with pytest.raises(ItemError) as caught:
        wire.fetch(wire.list().items[0])
    assert caught.value.code == "link_refused"
    assert "/secret" not in web.asked


# --- manners ----------------------------------------------------------------------------------


def test_a_feed_that_did_not_change_is_not_sent_again(tmp_path: Path, web: Site) -> None:
    def again() -> Whole:
        return connector(
            tmp_path,
            cache=tmp_path / "cache",
            connector="feed",
            address=f"{web.url}/feed.xml",
            delay_seconds=0,
        )

    online(tmp_path, web, item(guid="a"), item(guid="b"))
    answer = web.answers["/feed.xml"]
    answer.headers["ETag"] = '"1"'
    first = again().list()
    # From here on, the body is what no reader would take for a feed.
    answer.body = b"not sent"
    assert again().list() == first
    assert keys(first) == ["a", "b"]
    answer.headers["ETag"] = '"2"'
    answer.body = rss(item(guid="b"), item(guid="c")).encode()
    assert keys(again().list()) == ["b", "c"]


def test_what_robots_txt_keeps_back_is_left_out_and_said(tmp_path: Path, web: Site) -> None:
    rules = b"User-agent: muniment\nDisallow: /private/\n"
    web.answers["/robots.txt"] = Answer(rules, 200, {"Content-Type": "text/plain"})
    for path in ("/private/a", "/b"):
        web.answers[path] = Answer(b"<p>A")
    entries = [item(guid=f"g{path}", link=path) for path in ("/private/a", "/b")]
    wire = online(tmp_path, web, *entries)
    kept_back, free = wire.list().items
    assert wire.fetch(free).data == b"<p>A"
    with pytest.raises(ItemError, match=r"robots\.txt") as caught:
        wire.fetch(kept_back)
    assert caught.value.code == "robots_disallowed"
    assert "/private/a" not in web.asked
    careless = online(tmp_path, web, *entries, respect_robots=False)
    assert careless.fetch(kept_back).data == b"<p>A"


def test_the_feed_itself_is_read_since_someone_configured_it(tmp_path: Path, web: Site) -> None:
    web.answers["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /\n")
    assert keys(online(tmp_path, web, item(guid="a")).list()) == ["a"]


def test_a_host_is_not_asked_faster_than_the_delay(tmp_path: Path, web: Site) -> None:
    entries = [item(guid=f"g{path}", link=path) for path in ("/a", "/b")]
    for path in ("/a", "/b"):
        web.answers[path] = Answer(b"<p>A")
    wire = online(tmp_path, web, *entries, delay_seconds=0.2)
    started = time.monotonic()
    for entry in wire.list().items:
        wire.fetch(entry)
    assert time.monotonic() - started >= 0.2 * 2


def test_feeds_wait_a_second_unless_told_otherwise() -> None:
    source = FeedSource(
        id="news", kind="news", licence="open", connector="feed", address="https://wire.example/"
    )
    assert source.delay_seconds == 1.0
    assert source.respect_robots


def test_a_feed_that_is_too_large_is_not_read_to_its_end(tmp_path: Path, web: Site) -> None:
    wire = online(tmp_path, web, item(guid="a", title="x" * 50_000), max_item_bytes=10_000)
    with pytest.raises(ConfigurationError, match="max_item_bytes"):
        wire.list()


def test_what_a_feed_is_called_counts_less_than_what_it_is(tmp_path: Path, web: Site) -> None:
    wire = online(tmp_path, web, item(guid="a"))
    web.answers["/feed.xml"].headers["Content-Type"] = "application/json"
    assert keys(wire.list()) == ["a"]
    web.answers["/feed.xml"] = Answer(json_feed({"id": "b"}), 200, {"Content-Type": "text/xml"})
    assert keys(wire.list()) == ["b"]
    web.answers["/feed.xml"] = Answer(b"[]", 200, {"Content-Type": "application/feed+json"})
    with pytest.raises(ConfigurationError, match="names itself"):
        wire.list()


def test_an_enclosed_document_is_read_from_its_server(tmp_path: Path, web: Site) -> None:
    entry = item(guid="g", link="/a").replace(
        "</item>", '<enclosure url="/q1.pdf?utm_source=rss" type="application/pdf"/></item>'
    )
    wire = online(tmp_path, web, entry)
    web.answers["/q1.pdf?utm_source=rss"] = Answer(
        b"%PDF", 200, {"Content-Type": "application/pdf"}
    )
    enclosed = wire.list().items[1]
    assert enclosed.uri == f"{web.url}/q1.pdf"
    page = wire.fetch(enclosed)
    assert (page.data, page.media_type) == (b"%PDF", "application/pdf")


def test_hosts_that_the_source_allows_may_be_private(tmp_path: Path, web: Site) -> None:
    port = web.url.rpartition(":")[2]
    web.answers["/a"] = Answer(b"<p>A")
    entry = item(guid="g", link=f"http://localhost:{port}/a")
    wire = online(tmp_path, web, entry, allow_hosts=["localhost"])
    assert wire.fetch(wire.list().items[0]).data == b"<p>A"

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from feed_texts import feed, item, rss
from source_kit import Listing, connector, keys, problems

from ingest.errors import ConfigurationError, ItemError, RetriableError
from schemas.source import Item


def listed(tmp_path: Path, *items: str, **source: Any) -> Listing:
    return feed(tmp_path, rss(*items), **source).list()


# --- entries ----------------------------------------------------------------------------------


def test_an_entry_becomes_an_item(tmp_path: Path) -> None:
    listing = listed(
        tmp_path,
        item(
            title="Prices &amp;amp; &lt;b&gt;costs&lt;/b&gt;\n rise",
            guid="tag:1",
            link="https://wire.example/1.html",
            pubDate="Tue, 24 May 2016 2:17:57 PM CEST",
        ),
    )
    (entry,) = listing.items
    assert entry.source_key == entry.document_key == "tag:1"
    assert entry.uri == entry.fetch_uri == "https://wire.example/1.html"
    assert entry.title == "Prices & costs rise"
    assert entry.effective_from is not None
    assert entry.effective_from.isoformat() == "2016-05-24T12:17:57+00:00"


def test_a_date_that_is_not_certain_leaves_the_entry_without_one(tmp_path: Path) -> None:
    (entry,) = listed(tmp_path, item(guid="1", pubDate="Mo, 25 Jun 2018 11:41:36")).items
    assert entry.effective_from is None


def test_an_atom_entry_s_own_date_counts_before_its_update(tmp_path: Path) -> None:
    atom = """<feed xmlns="http://www.w3.org/2005/Atom">
        <entry><id>a</id><published>2026-01-01T00:00:00Z</published>
            <updated>2026-02-01T00:00:00Z</updated></entry>
        <entry><id>b</id><updated>2026-02-01T00:00:00Z</updated></entry></feed>"""
    first, second = feed(tmp_path, atom).list().items
    assert first.effective_from is not None
    assert second.effective_from is not None
    assert (first.effective_from.month, second.effective_from.month) == (1, 2)


def test_keys_fall_back_from_guid_to_link_to_a_hash(tmp_path: Path) -> None:
    entries = [
        item(guid="g", link="https://wire.example/1"),
        item(link="https://wire.example/2", title="x"),
        item(title="No address", pubDate="Mon, 02 Mar 2026 09:00:00 GMT", description="one"),
    ]
    found = keys(listed(tmp_path, *entries))
    assert found[:2] == ["g", "https://wire.example/2"]
    assert found[2].startswith("sha256:")
    entries[2] = entries[2].replace("one", "two")
    assert keys(listed(tmp_path, *entries)) == found


def test_entries_of_one_guid_are_versions_from_old_to_new(tmp_path: Path) -> None:
    newer = item(guid="g", title="New", pubDate="Tue, 03 Mar 2026 09:00:00 GMT")
    older = item(guid="g", title="Old", pubDate="Mon, 02 Mar 2026 09:00:00 GMT")
    alone = listed(tmp_path, older).items[0]
    for order in ((newer, older), (older, newer)):
        first, second = listed(tmp_path, *order).items
        assert (first.title, second.title) == ("Old", "New")
        assert first.document_key == second.document_key == first.source_key == "g"
        assert second.source_key.startswith("g#")
        assert first == alone, "the older one stays what it was before the newer came"


def test_entries_of_one_guid_without_dates_stay_in_the_feed_s_order(tmp_path: Path) -> None:
    first, second = listed(tmp_path, item(guid="g", title="A"), item(guid="g", title="B")).items
    assert (first.title, second.title) == ("A", "B")


def test_a_guid_is_an_address_only_if_it_looks_like_one(tmp_path: Path) -> None:
    entries = [item(guid="https://wire.example/1"), item(guid="post-2"), item(guid="tag:x,3")]
    first, second, third = listed(tmp_path, *entries).items
    assert first.uri == first.fetch_uri == first.source_key == "https://wire.example/1"
    for entry in (second, third):
        assert entry.fetch_uri.startswith(f"{(tmp_path / 'feed.xml').as_uri()}#entry=")


def test_the_same_entry_twice_is_one(tmp_path: Path) -> None:
    assert keys(listed(tmp_path, item(guid="g", title="A"), item(guid="g", title="A"))) == ["g"]


@pytest.mark.parametrize(
    "changed",
    [
        {"title": "B"},
        {"link": "https://wire.example/2"},
        {"pubDate": "Tue, 03 Mar 2026 09:00:00 GMT"},
        {"description": "two"},
    ],
)
def test_the_fingerprint_changes_with_the_entry(tmp_path: Path, changed: dict[str, str]) -> None:
    given = {
        "guid": "g",
        "title": "A",
        "link": "https://wire.example/1",
        "pubDate": "Mon, 02 Mar 2026 09:00:00 GMT",
        "description": "one",
    }
    (before,) = listed(tmp_path, item(**given)).items
    (same,) = listed(tmp_path, item(guid="0"), item(**given)).items[1:]
    (after,) = listed(tmp_path, item(**{**given, **changed})).items
    assert before.fingerprint == same.fingerprint != after.fingerprint


def test_character_references_that_no_text_can_hold_do_no_harm(tmp_path: Path) -> None:
    (entry,) = listed(tmp_path, item(guid="g", title="A&#0;B<br>")).items
    assert entry.title == "AB"


# --- own content ------------------------------------------------------------------------------


def test_an_entry_s_own_content_is_the_document_if_links_are_not_followed(tmp_path: Path) -> None:
    entries = [
        item(
            guid="g",
            title="A &lt; B",
            link="https://wire.example/1",
            description="<![CDATA[<p>Prices <b>rise</b>.</p><script>x()</script>]]>",
        )
    ]
    wire = feed(tmp_path, rss(*entries), follow_links=False)
    (entry,) = wire.list().items
    assert entry.uri == "https://wire.example/1"
    page = wire.fetch(entry)
    assert page.media_type == entry.media_type == "text/html"
    assert page.fingerprint == entry.fingerprint
    text = page.data.decode()
    assert "<title>A &lt; B</title>" in text
    assert "<h1>A &lt; B</h1>" in text
    assert "<p>Prices <b>rise</b>.</p>" in text
    assert "script" not in text


def test_an_entry_without_a_link_is_its_own_content(tmp_path: Path) -> None:
    wire = feed(tmp_path, rss(item(guid="g", description="One &amp; two")))
    (entry,) = wire.list().items
    assert entry.uri == f"{(tmp_path / 'feed.xml').as_uri()}#entry=g"
    assert b"<article>\nOne & two\n</article>" in wire.fetch(entry).data


def test_full_content_counts_before_a_summary(tmp_path: Path) -> None:
    atom = """<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>a</id>
        <summary>Teaser</summary>
        <content type="text">Whole &lt;text>\n\nSecond paragraph</content></entry></feed>"""
    wire = feed(tmp_path, atom)
    text = wire.fetch(wire.list().items[0]).data.decode()
    assert "Teaser" not in text
    assert "<p>Whole &lt;text&gt;</p>\n<p>Second paragraph</p>" in text


def test_an_entry_that_left_the_feed_before_it_was_fetched(tmp_path: Path) -> None:
    (entry,) = listed(tmp_path, item(guid="g", description="x")).items
    with pytest.raises(ItemError) as caught:
        feed(tmp_path, rss(item(guid="h"))).fetch(entry)
    assert caught.value.code == "item_unavailable"


def test_a_feed_that_broke_before_its_entry_was_fetched_is_tried_again(tmp_path: Path) -> None:
    (entry,) = listed(tmp_path, item(guid="g", description="x")).items
    with pytest.raises(RetriableError):
        feed(tmp_path, "no feed").fetch(entry)


# --- mirrors ----------------------------------------------------------------------------------

MIRROR = {"https://wire.example/": "pages/", "https://wire.example/deep": "deep"}


@pytest.mark.parametrize(
    ("link", "file"),
    [
        ("https://wire.example/2026/a.html", "pages/2026/a.html"),
        ("https://wire.example/a%20b.html#part", "pages/a b.html"),
        ("https://wire.example/", "pages/index.html"),
        ("https://wire.example/x/", "pages/x/index.html"),
        ("https://wire.example/show?id=1", "pages/show?id=1"),
        ("https://wire.example/deep/c.html", "deep/c.html"),
        ("https://wire.example/deeper/c.html", "pages/deeper/c.html"),
    ],
)
def test_mirrored_pages_are_read_without_a_network(tmp_path: Path, link: str, file: str) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"<p>{file}")
    wire = feed(tmp_path, rss(item(guid="g", link=link)), mirror=MIRROR)
    (entry,) = wire.list().items
    assert entry.uri == link
    assert entry.fetch_uri == path.as_uri()
    assert entry.media_type == "text/html"
    page = wire.fetch(entry)
    assert page.data == f"<p>{file}".encode()
    assert page.fingerprint == entry.fingerprint


@pytest.mark.parametrize(
    "link",
    [
        "https://wire.example/../secret.txt",
        "https://wire.example/%2e%2e/secret.txt",
        "https://wire.example/..%2fsecret.txt",
        "https://wire.example/%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2fetc/passwd",
        "https://wire.example/link.txt",
        "https://wire.example/a%00b",
        "file:///etc/passwd",
    ],
)
def test_no_link_leads_out_of_the_mirror(tmp_path: Path, link: str) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "link.txt").symlink_to(tmp_path / "secret.txt")
    (tmp_path / "wire").mkdir()
    (tmp_path / "wire" / "feed.xml").write_text(rss(item(guid="g", link=link)))
    wire = connector(tmp_path, connector="feed", address="wire/feed.xml", mirror=MIRROR)
    (entry,) = wire.list().items
    with pytest.raises(ItemError):
        wire.fetch(entry)


def test_a_page_that_the_mirror_lacks_is_not_fetched_from_the_network(tmp_path: Path) -> None:
    wire = feed(tmp_path, rss(item(guid="g", link="https://wire.example/a")), mirror=MIRROR)
    with pytest.raises(ItemError) as caught:
        wire.fetch(wire.list().items[0])
    assert caught.value.code == "item_unavailable"


def test_relative_links_of_a_file_are_read_from_its_folder_alone(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<p>beside the feed")
    wire = feed(
        tmp_path, rss(item(guid="a", link="page.html"), item(guid="b", link="../../etc/passwd"))
    )
    good, bad = wire.list().items
    assert wire.fetch(good).data == b"<p>beside the feed"
    with pytest.raises(ItemError) as caught:
        wire.fetch(bad)
    assert caught.value.code == "link_refused"


# --- feeds that are none ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no feed",
        b"/etc/hostname",
        b"<html><body>404</body></html>",
        b"<rss version='2.0'><channel><title>cut",
        b"\x89PNG\r\n\x1a\n\0\0",
        b"<?xml version='1.0' encoding='\xff'?><rss/>",
        b"<rss version='2.0'><channel><title>&#99999999;<br></title></channel></rss>",
    ],
)
def test_what_is_no_feed_is_a_matter_of_configuration(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(ConfigurationError, match=r"feed\.xml") as caught:
        feed(tmp_path, data).list()
    assert caught.value.code == "feed_unreadable"


def test_an_empty_feed_lists_nothing(tmp_path: Path) -> None:
    assert listed(tmp_path) == Listing((), ())


def test_a_missing_feed_is_a_matter_of_configuration(tmp_path: Path) -> None:
    wire = connector(tmp_path, connector="feed", address="gone.xml")
    with pytest.raises(ConfigurationError, match=r"gone\.xml") as caught:
        wire.list()
    assert caught.value.code == "source_missing"


def test_a_feed_that_is_too_large_is_a_matter_of_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="max_item_bytes"):
        feed(tmp_path, rss(item(guid="g")), max_item_bytes=10).list()


def test_a_feed_that_is_cut_says_so_beside_its_entries(tmp_path: Path) -> None:
    data = rss(item(guid="a", title="A"), item(guid="b", title="B"))
    listing = feed(tmp_path, data[: data.index("</item></channel>")]).list()
    assert keys(listing)[0] == "a"
    assert problems(listing) == [("feed.xml", "feed_malformed")]
    assert "line 1" in listing.problems[0].message


# --- damage -----------------------------------------------------------------------------------


def test_damaged_feeds_raise_nothing_of_their_own(tmp_path: Path, corpus: Path) -> None:
    chance = random.Random(7)
    feeds = [path.read_bytes() for path in sorted((corpus / "feeds").glob("*.xml"))[:60]]
    pieces = [b"<", b"&#xD800;", b"&#0;", b"&#99999999;", b"\0", b"\xff", b"<![CDATA[", b"</link>"]
    pieces += [b"<link>http://[bad</link>", b"<guid>//[</guid>", b"<!--", b"<a href='//[x'>"]
    for _ in range(600):
        data = bytearray(chance.choice(feeds)[:4000])
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(data) + 1)
            data[at : at + chance.choice([0, 0, 9])] = chance.choice(pieces)
        wire = feed(tmp_path, bytes(data), follow_links=chance.random() < 0.5)
        try:
            listing = wire.list()
        except ConfigurationError:
            continue
        for entry in listing.items:
            assert Item.model_validate_json(entry.model_dump_json()) == entry
            if "#entry=" in entry.fetch_uri:
                assert wire.fetch(entry).data

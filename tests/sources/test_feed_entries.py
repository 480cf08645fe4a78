"""What counts as an entry's identity and state, where its links lead, and what it encloses."""

from __future__ import annotations

from pathlib import Path

import pytest
from feed_texts import codes, content, feed, item, items, json_feed, rss
from source_kit import connector, keys

from ingest.errors import ItemError
from ingest.sources.links import without_tracking

DATE = "Mon, 02 Mar 2026 09:00:00 GMT"
BODY = '<p>Prices <b>rise</b>. <a href="https://wire.example/more?id=1">More</a></p>'


def cdata(text: str) -> str:
    return f"<![CDATA[{text}]]>"


GIVEN = {
    "guid": "g",
    "title": "Prices rise",
    "link": "https://wire.example/1?id=7",
    "pubDate": DATE,
    "description": cdata(BODY),
}


# --- state ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changed",
    [
        {"title": "Prices \n  rise"},
        {"link": "https://wire.example/1?utm_source=rss&amp;id=7&amp;fbclid=x"},
        {"pubDate": "Mon, 02 Mar 2026 10:00:00 +0100"},
        {"description": cdata(BODY.replace("<b>", "<strong>").replace("</b>", "</strong>"))},
        {"description": cdata("\n  " + BODY.replace(". ", ".\n\n"))},
        {"description": cdata(BODY + '<img src="https://count.example/pixel?n=0.123" width="1">')},
        {"description": cdata(BODY.replace("id=1", "id=1&utm_campaign=march"))},
        {"description": cdata(BODY + "<script>n = 17</script>")},
        {"slash:comments": "17"},
        {"category": "metals"},
    ],
)
def test_what_only_looks_different_is_nothing_new(changed: dict[str, str], tmp_path: Path) -> None:
    space = 'xmlns:slash="http://purl.org/rss/1.0/modules/slash/"'

    def fingerprint(fields: dict[str, str]) -> str:
        text = rss(item(**fields)).replace("<rss", f"<rss {space}")
        return items(tmp_path, text)[0].fingerprint

    before, after = fingerprint(GIVEN), fingerprint({**GIVEN, **changed})
    # The exact address is part of what is fetched, not of what the entry says.
    assert before == after


@pytest.mark.parametrize(
    "changed",
    [
        {"link": "https://wire.example/1?id=8"},
        {"description": cdata(BODY.replace("rise", "fall"))},
        {"description": cdata(BODY.replace("id=1", "id=2"))},
        {"author": "A. Writer"},
    ],
)
def test_what_says_something_else_is_a_new_state(changed: dict[str, str], tmp_path: Path) -> None:
    (before,) = items(tmp_path, rss(item(**GIVEN)))
    (after,) = items(tmp_path, rss(item(**{**GIVEN, **changed})))
    assert before.source_key == after.source_key == after.document_key == "g"
    assert before.fingerprint != after.fingerprint


def test_a_guid_that_is_used_again_is_a_new_state_of_its_document(tmp_path: Path) -> None:
    (old,) = items(tmp_path, rss(item(guid="g", title="March", description="a")))
    (new,) = items(tmp_path, rss(item(guid="g", title="April", description="b")))
    assert (old.source_key, old.document_key) == (new.source_key, new.document_key)
    assert old.fingerprint != new.fingerprint


def test_a_damaged_marked_section_does_no_harm(tmp_path: Path) -> None:
    data = json_feed({"id": "1", "content_html": "<p>one</p><![bad[ two"})
    first = items(tmp_path, data)
    assert first == items(tmp_path, data)
    assert first != items(tmp_path, data.replace(b"two", b"ten"))


# --- identity ---------------------------------------------------------------------------------


def test_a_link_is_the_key_without_what_follows_readers(tmp_path: Path) -> None:
    (plain,) = items(tmp_path, rss(item(title="A", link="https://wire.example/1?id=7")))
    (tracked,) = items(
        tmp_path, rss(item(title="A", link="https://wire.example/1?id=7&amp;utm_medium=feed"))
    )
    assert plain.source_key == tracked.source_key == "https://wire.example/1?id=7"
    assert tracked.uri == "https://wire.example/1?id=7", "citations do not follow readers"
    assert tracked.fetch_uri.endswith("utm_medium=feed"), "what is fetched is what is given"


def test_without_guid_and_link_the_key_is_the_title_and_the_instant(tmp_path: Path) -> None:
    (one,) = items(tmp_path, rss(item(title="A", pubDate=DATE, description="x")))
    again = item(title=" A\n", pubDate="Mon, 02 Mar 2026 10:00:00 +0100", description="y")
    (same,) = items(tmp_path, rss(again))
    (other,) = items(tmp_path, rss(item(title="B", pubDate=DATE, description="x")))
    assert one.source_key == same.source_key != other.source_key
    assert one.fingerprint != same.fingerprint


def test_without_anything_to_go_by_the_key_is_what_the_entry_says(tmp_path: Path) -> None:
    entries = [item(description="x"), item(description="y"), item(description="x")]
    first, second = items(tmp_path, rss(*entries))
    assert first.source_key != second.source_key
    assert first.document_key != second.document_key


def test_keys_are_unique_whatever_guids_there_are(tmp_path: Path) -> None:
    versions = [item(guid="g", title="A"), item(guid="g", title="B")]
    second = items(tmp_path, rss(*versions))[1]
    listing = feed(tmp_path, rss(*versions, item(guid=second.source_key, title="C"))).list()
    assert len(set(keys(listing))) == 3


@pytest.mark.parametrize(
    ("url", "clean"),
    [
        ("https://x.example/a", "https://x.example/a"),
        ("https://x.example/a?utm_source=rss", "https://x.example/a"),
        ("https://x.example/a?UTM_Source=rss#part", "https://x.example/a#part"),
        ("https://x.example/a?b=%2F&gclid=1&c=+", "https://x.example/a?b=%2F&c=+"),
        ("https://x.example/a?b=utm_source", "https://x.example/a?b=utm_source"),
        ("https://x.example/a?&&", "https://x.example/a?&&"),
        ("https://x.example/a#utm_source=1", "https://x.example/a#utm_source=1"),
    ],
)
def test_only_parameters_that_follow_readers_go(url: str, clean: str) -> None:
    assert without_tracking(url) == clean


def test_signed_links_are_no_keys_and_are_not_shown(tmp_path: Path) -> None:
    def entries(signature: str) -> str:
        link = f"https://wire.example/get?id=7&amp;token={signature}"
        return rss(*(item(title=title, link=link) for title in ("A", "B")))

    first, second = items(tmp_path, entries("s3cret"))
    assert first.document_key != second.document_key
    assert "s3cret" in first.fetch_uri
    assert "s3cret" not in first.source_key + first.uri + first.fingerprint
    again = items(tmp_path, entries("an0ther"))
    assert [one.fingerprint for one in again] == [first.fingerprint, second.fingerprint]
    assert [one.source_key for one in again] == [first.source_key, second.source_key]


# --- links ------------------------------------------------------------------------------------


def test_relative_links_start_at_xml_base(tmp_path: Path) -> None:
    atom = """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="https://wire.example/a/">
        <entry><id>1</id><link href="one.html"/></entry>
        <entry xml:base="b/"><id>2</id><link href="two.html"/>
            <content type="html">&lt;a href="more.html"&gt;More&lt;/a&gt;</content></entry>
        <entry xml:base="https://other.example/"><id>3</id><link href="/three.html"/></entry>
    </feed>"""
    assert [one.uri for one in items(tmp_path, atom)] == [
        "https://wire.example/a/one.html",
        "https://wire.example/a/b/two.html",
        "https://other.example/three.html",
    ]
    source = feed(tmp_path, atom, follow_links=False)
    page = source.fetch(source.list().items[1]).data
    assert b'href="https://wire.example/a/b/more.html"' in page


def test_a_counter_s_address_gives_way_to_the_article_s_own(tmp_path: Path) -> None:
    space = 'xmlns:feedburner="http://rssnamespace.org/feedburner/ext/1.0"'
    entry = item(guid="1", link="https://feeds.example/~r/1").replace(
        "</item>",
        "<feedburner:origLink>https://wire.example/1</feedburner:origLink></item>",
    )
    (one,) = items(tmp_path, rss(entry).replace("<rss", f"<rss {space}"))
    assert one.uri == one.fetch_uri == "https://wire.example/1"


def test_content_that_is_elsewhere_is_the_article(tmp_path: Path) -> None:
    atom = """<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id>
        <content type="application/pdf" src="https://wire.example/1.pdf"/></entry></feed>"""
    (one,) = items(tmp_path, atom)
    assert one.fetch_uri == "https://wire.example/1.pdf"


# --- enclosures -------------------------------------------------------------------------------


def enclosure(url: str, kind: str = "") -> str:
    return f'<enclosure url="{url}" length="9"' + (f' type="{kind}"' if kind else "") + "/>"


def with_enclosures(*enclosures: str, **fields: str) -> str:
    return item(**fields).replace("</item>", "".join(enclosures) + "</item>")


def test_an_enclosed_document_is_an_item_beside_its_article(tmp_path: Path) -> None:
    (tmp_path / "q1.pdf").write_bytes(b"%PDF-1.7 q1")
    (tmp_path / "1.html").write_text("<p>article")
    pdf = enclosure("q1.pdf", "application/pdf")
    entry = with_enclosures(pdf, guid="g", title="Q1", link="1.html", pubDate=DATE)
    source = feed(tmp_path, rss(entry, item(guid="h")))
    article, _, enclosed = source.list().items
    assert article.source_key == "g"
    assert article.warnings == ()
    assert enclosed.source_key == enclosed.document_key == "g#enclosure=q1.pdf"
    assert enclosed.uri == (tmp_path / "q1.pdf").as_uri()
    assert enclosed.title == "Q1"
    assert enclosed.effective_from == article.effective_from
    assert source.fetch(enclosed).data == b"%PDF-1.7 q1"
    assert source.fetch(article).data == b"<p>article"


def test_an_enclosed_document_of_two_versions_is_one_item(tmp_path: Path) -> None:
    pdf = enclosure("https://wire.example/q1.pdf")
    entries = [with_enclosures(pdf, guid="g", title=title) for title in ("A", "B")]
    found = keys(feed(tmp_path, rss(*entries)).list())
    assert len(found) == 3
    assert found[2] == "g#enclosure=https://wire.example/q1.pdf"


def test_a_change_of_the_enclosure_is_no_change_of_the_article(tmp_path: Path) -> None:
    pdf = enclosure("https://wire.example/q1.pdf", "application/pdf")
    before = items(tmp_path, rss(with_enclosures(pdf, **GIVEN)))
    after = items(tmp_path, rss(with_enclosures(pdf.replace('"9"', '"10"'), **GIVEN)))
    assert before[0] == after[0]
    assert before[1].fingerprint != after[1].fingerprint


@pytest.mark.parametrize(
    ("url", "kind", "what"),
    [
        ("a.mp3", "audio/mpeg", "noted"),
        ("a.mp4", "", "noted"),
        ("a", "", "noted"),
        ("a.torrent", "application/x-bittorrent", "noted"),
        ("a.jpg", "image/jpeg", "silent"),
        ("a.png", "application/octet-stream", "silent"),
        ("a.pdf", "application/octet-stream", "item"),
        ("a.pdf?x=1", "", "item"),
        ("a.bin", "Application/PDF", "item"),
        ("a.docx", "", "item"),
        ("//[bad/a.pdf", "", "noted"),
    ],
)
def test_which_enclosures_are_read(url: str, kind: str, what: str, tmp_path: Path) -> None:
    found = items(tmp_path, rss(with_enclosures(enclosure(url, kind), guid="g", link="x.html")))
    assert len(found) == (2 if what == "item" else 1)
    assert codes(found[0]) == (["enclosure_not_read"] if what == "noted" else [])


def test_an_enclosure_that_is_the_article_is_read_once(tmp_path: Path) -> None:
    pdf = enclosure("https://wire.example/1.pdf", "application/pdf")
    (one,) = items(tmp_path, rss(with_enclosures(pdf, guid="g", link="https://wire.example/1.pdf")))
    assert one.source_key == "g"


def test_nothing_enclosed_is_fetched_if_links_are_not_followed(tmp_path: Path) -> None:
    pdf = enclosure("https://wire.example/1.pdf", "application/pdf")
    (one,) = items(tmp_path, rss(with_enclosures(pdf, guid="g")), follow_links=False)
    assert codes(one) == ["enclosure_not_read"]


def test_an_enclosure_is_no_way_out_of_the_feed_s_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.pdf").write_bytes(b"%PDF")
    (tmp_path / "wire").mkdir()
    pdf = enclosure("../secret.pdf")
    (tmp_path / "wire" / "feed.xml").write_text(rss(with_enclosures(pdf, guid="g")))
    source = connector(tmp_path, connector="feed", address="wire/feed.xml")
    with pytest.raises(ItemError) as caught:
        source.fetch(source.list().items[1])
    assert caught.value.code == "link_refused"


def test_a_json_feed_s_attachments_are_enclosures(tmp_path: Path) -> None:
    attachment = {"url": "q1.pdf", "mime_type": "application/pdf", "title": "The quarter"}
    one, enclosed = items(tmp_path, json_feed({"id": "1", "attachments": [attachment]}))
    assert enclosed.title == "The quarter"
    assert "Prices" in content(tmp_path, json_feed({"id": "1", "content_html": "Prices"}))
    assert one.source_key == "1"

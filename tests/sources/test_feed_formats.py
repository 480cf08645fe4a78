"""Every format of feed, and what is wrong with feeds: encodings, entities, types."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from feed_texts import codes, content, feed, item, items, json_feed, rss
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from source_kit import connector, keys, problems

from ingest.errors import ConfigurationError
from ingest.sources.feed_entries import keyed
from ingest.sources.json_feed import read_json_feed
from ingest.sources.web import WebPage
from schemas.source import Item

LINK = "https://wire.example/1"

RSS_DATE = "Tue, 03 Mar 2026 09:00:00 +0100"
FORMATS = {
    "rss-0.90": (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
        ' xmlns="http://my.netscape.com/rdf/simple/0.9/"><channel><title>T</title></channel>'
        f"<item><title>Prices rise</title><link>{LINK}</link></item></rdf:RDF>",
        (LINK, LINK, "Prices rise", None),
    ),
    "rss-0.91": (
        '<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN"'
        ' "http://my.netscape.com/publish/formats/rss-0.91.dtd"><rss version="0.91"><channel>'
        f"<item><title>Prices rise</title><link>{LINK}</link><description>Text</description></item>"
        "</channel></rss>",
        (LINK, LINK, "Prices rise", None),
    ),
    "rss-0.92": (
        f'<rss version="0.92"><channel><item><title>Prices rise</title><link>{LINK}</link>'
        "<description>Text</description></item></channel></rss>",
        (LINK, LINK, "Prices rise", None),
    ),
    "rss-1.0": (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
        ' xmlns="http://purl.org/rss/1.0/" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f'<channel rdf:about="https://wire.example/"><title>T</title></channel>'
        f'<item rdf:about="urn:1"><title>Prices rise</title><link>{LINK}</link>'
        "<dc:date>2026-03-03T09:00:00+01:00</dc:date><description>Text</description></item>"
        "</rdf:RDF>",
        ("urn:1", LINK, "Prices rise", "2026-03-03T08:00:00+00:00"),
    ),
    "rss-2.0": (
        rss(item(title="Prices rise", guid="1", link=LINK, description="Text", pubDate=RSS_DATE)),
        ("1", LINK, "Prices rise", "2026-03-03T08:00:00+00:00"),
    ),
    "atom-0.3": (
        '<feed version="0.3" xmlns="http://purl.org/atom/ns#"><entry><id>tag:1</id>'
        f'<title>Prices rise</title><link rel="alternate" href="{LINK}"/>'
        "<issued>2026-03-03T09:00:00+01:00</issued><modified>2026-03-04T09:00:00Z</modified>"
        '<content type="text/html" mode="escaped">Text</content></entry></feed>',
        ("tag:1", LINK, "Prices rise", "2026-03-03T08:00:00+00:00"),
    ),
    "atom-1.0": (
        '<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>tag:1</id><title>Prices rise</title>'
        f'<link rel="self" href="https://wire.example/self"/><link href="{LINK}"/>'
        "<published>2026-03-03T09:00:00+01:00</published><updated>2026-03-04T09:00:00Z</updated>"
        '<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">Text</div></content>'
        "</entry></feed>",
        ("tag:1", LINK, "Prices rise", "2026-03-03T08:00:00+00:00"),
    ),
    "json-1.0": (
        json.dumps(
            {
                "version": "https://jsonfeed.org/version/1",
                "items": [
                    {
                        "id": "1",
                        "url": LINK,
                        "title": "Prices rise",
                        "content_text": "Text",
                        "date_published": "2026-03-03T09:00:00+01:00",
                        "date_modified": "2026-03-04T09:00:00Z",
                        "author": {"name": "A. Writer"},
                    }
                ],
            }
        ),
        ("1", LINK, "Prices rise", "2026-03-03T08:00:00+00:00"),
    ),
    "json-1.1": (
        json_feed(
            {
                "id": "1",
                "external_url": LINK,
                "title": "Prices rise",
                "content_html": "<p>Text</p>",
                "date_modified": "2026-03-03T08:00:00Z",
            }
        ).decode(),
        ("1", LINK, "Prices rise", "2026-03-03T08:00:00+00:00"),
    ),
}


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_gives_key_link_title_date_and_content(name: str, tmp_path: Path) -> None:
    text, expected = FORMATS[name]
    (one,) = items(tmp_path, text)
    date = one.effective_from.isoformat() if one.effective_from else None
    assert (one.source_key, one.uri, one.title, date) == expected
    assert one.warnings == ()
    if name != "rss-0.90":
        assert "Text" in content(tmp_path, text).partition("</h1>")[2]


# --- JSON Feed --------------------------------------------------------------------------------


def test_a_json_feed_is_told_by_its_beginning_whatever_the_file_is_called(tmp_path: Path) -> None:
    for data in (b"\xef\xbb\xbf", b" \r\n"):
        assert keys(feed(tmp_path, data + json_feed({"id": "1"})).list()) == ["1"]


def test_text_of_a_json_feed_keeps_its_paragraphs_and_its_author(tmp_path: Path) -> None:
    page = content(
        tmp_path,
        json_feed(
            {
                "id": "1",
                "title": "A < B",
                "content_text": "One & two\nthree\n\nFour",
                "authors": [{"name": "A. Writer"}, {"url": "https://x.example"}, {"name": "B"}],
            }
        ),
    )
    assert "<h1>A &lt; B</h1>\n<p>One &amp; two three</p>\n<p>Four</p>" in page
    assert '<meta name="author" content="A. Writer, B">' in page


def test_the_feed_s_author_stands_for_entries_without_one(tmp_path: Path) -> None:
    data = json_feed({"id": "1", "content_text": "x"}, authors=[{"name": "Desk"}])
    assert 'content="Desk"' in content(tmp_path, data)


def test_the_summary_stands_in_where_there_is_no_content(tmp_path: Path) -> None:
    data = json_feed({"id": "1", "summary": "Short"})
    assert "<p>Short</p>" in content(tmp_path, data)


def test_wrong_types_cost_a_field_or_an_entry_and_are_named(tmp_path: Path) -> None:
    listing = feed(
        tmp_path,
        json_feed(
            {"id": 7, "title": ["no"], "content_text": 1, "authors": {}, "date_published": 5},
            "no entry",
            {"id": True, "url": LINK, "attachments": ["x", {"url": 3}], "authors": "me"},
            None,
            {"id": "whole", "title": "W"},
        ),
    ).list()
    assert keys(listing) == ["7", LINK, "whole"]
    messages = [[warning.message for warning in one.warnings] for one in listing.items]
    assert [len(found) for found in messages] == [4, 4, 0]
    assert "title is no text but a list" in messages[0][0] + messages[0][1]
    assert {code for one in listing.items for code in codes(one)} == {"entry_field_unreadable"}
    assert [code for _, code in problems(listing)] == ["entry_malformed"] * 2
    assert "item 2 is no object but a text" in listing.problems[0].message
    assert "item 4 is no object but null" in listing.problems[1].message


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b'{"version": "https://jsonfeed.org/version/1.1"}',
        b'{"version": "https://jsonfeed.org/version/1.1", "items": {}}',
        b'{"items": [{"id": "1"}]}',
        b'{"error": "not found"}',
        b'{"version": "https://jsonfeed.org/version/1.1", "items": [' + b"[" * 100_000,
        b'{"version": "\xff"}',
    ],
)
def test_json_that_is_no_feed_is_a_matter_of_configuration(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(ConfigurationError, match=r"feed\.xml") as caught:
        feed(tmp_path, data).list()
    assert caught.value.code == "feed_unreadable"
    assert len(caught.value.message) < 1_000


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)
NAMES = ["id", "url", "external_url", "title", "content_html", "content_text", "summary"]
NAMES += ["date_published", "date_modified", "author", "authors", "attachments"]


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=80)
@given(st.lists(st.dictionaries(st.sampled_from(NAMES), JSON_VALUES), max_size=4))
def test_no_type_anywhere_breaks_the_reading(given_items: list[dict[str, object]]) -> None:
    page = WebPage("https://wire.example/feed.json", json_feed(*given_items), None)
    read = read_json_feed(page)
    assert len(read.entries) == len(given_items)
    found = list(keyed(read.entries))
    assert len({one.key for one in found}) == len(found)


# --- dates ------------------------------------------------------------------------------------


def test_a_date_that_cannot_be_read_is_flagged_with_its_text(tmp_path: Path) -> None:
    text = "Mo, 25 Juni 2018\n 11:41"
    flagged, sound, silent = items(
        tmp_path,
        rss(
            item(guid="1", pubDate=text),
            item(guid="2", pubDate=RSS_DATE),
            item(guid="3"),
        ),
    )
    assert flagged.effective_from is None
    assert codes(flagged) == ["date_unreadable"]
    assert "'Mo, 25 Juni 2018 11:41'" in flagged.warnings[0].message
    assert codes(sound) == codes(silent) == []


# --- encodings --------------------------------------------------------------------------------

UMLAUTS = "Größe über 3 €"


@pytest.mark.parametrize(
    ("declared", "real", "noted"),
    [
        ("utf-8", "utf-8", False),
        ("iso-8859-1", "utf-8", True),
        ("windows-1252", "utf-8", True),
        ("us-ascii", "utf-8", True),
        ("utf-8", "windows-1252", True),
        ("nonsense", "utf-8", False),
        ("windows-1252", "windows-1252", False),
        ("utf-16", "utf-16", False),
        ("utf-8", "utf-16", False),
        ("utf-16", "big-endian", False),
        (None, "utf-8-sig", False),
        (None, "utf-8", False),
    ],
)
def test_letters_are_right_whatever_encoding_is_declared(
    declared: str | None, real: str, noted: bool, tmp_path: Path
) -> None:
    head = f'<?xml version="1.0" encoding="{declared}"?>' if declared else ""
    text = rss(item(guid="1", title=UMLAUTS), head=head)
    data = b"\xfe\xff" + text.encode("utf-16-be") if real == "big-endian" else text.encode(real)
    (one,) = items(tmp_path, data)
    assert one.title == UMLAUTS
    assert codes(one) == (["feed_encoding_unsure"] if noted else [])


def test_encodings_of_several_bytes_are_believed(tmp_path: Path) -> None:
    # These two characters in GBK are sound UTF-8 by chance.
    text = rss(item(guid="1", title="联通"), head='<?xml version="1.0" encoding="gbk"?>')
    (one,) = items(tmp_path, text.encode("gbk"))
    assert one.title == "联通"


# --- entities ---------------------------------------------------------------------------------

BOMB = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10 if n else "lol"}">' for n in range(10))


@pytest.mark.parametrize(
    "declarations",
    [
        BOMB,
        BOMB.replace("><", ">\n<"),
        '<!ENTITY x SYSTEM "file:///etc/passwd">',
        '<!ENTITY x PUBLIC "-//X" "http://127.0.0.1:1/x">',
        f'<!ENTITY x "{"a" * 5000}">',
        f'<!ENTITY % p "{"a" * 5000}">',
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_that_grow_or_read_files_are_refused(
    declarations: str, encoding: str, tmp_path: Path
) -> None:
    head = f'<?xml version="1.0" encoding="{encoding}"?>\n<!DOCTYPE rss [{declarations}]>'
    text = rss(item(guid="1", title="&x;&l9;"), head=head)
    with pytest.raises(ConfigurationError, match="entity") as caught:
        feed(tmp_path, text.encode(encoding)).list()
    assert caught.value.code == "feed_unsafe"


def test_plain_entities_and_a_dtd_elsewhere_do_no_harm(tmp_path: Path) -> None:
    head = '<?xml version="1.0"?>\n<!DOCTYPE rss [\n<!ENTITY copy "&#169;">\n]>\n'
    (one,) = items(tmp_path, rss(item(guid="1", title="&copy; 2026"), head=head))
    assert one.title == "© 2026"
    words = "&lt;!ENTITY x SYSTEM &quot;file:///etc/passwd&quot;&gt;"
    (one,) = items(tmp_path, rss(item(guid="1", title=words)))
    assert one.title is not None


# --- real feeds -------------------------------------------------------------------------------


def test_every_real_feed_of_the_manifest_is_read(corpus: Path) -> None:
    """All of them give entries or a clear error, whatever their version, encoding and faults."""
    folder = corpus / "feeds"
    with (folder / "MANIFEST.tsv").open(encoding="utf-8", newline="") as manifest:
        names = [row["file"] for row in csv.DictReader(manifest, delimiter="\t")]
    assert len(names) > 200
    assert {path.name for path in folder.glob("*.xml")} == set(names)
    entries = 0
    refused: dict[str, str] = {}
    for name in names:
        source = connector(folder, connector="feed", address=name, follow_links=False)
        try:
            listing = source.list()
        except ConfigurationError as error:
            refused[name] = error.code
            continue
        for one in listing.items:
            assert Item.model_validate_json(one.model_dump_json()) == one
            page = source.fetch(one).data.decode("utf-8")
            assert "\0" not in page
            entries += 1
        assert len(set(keys(listing))) == len(listing.items)
        assert source.list() == listing
    assert entries > 200
    assert len(refused) < 20, refused

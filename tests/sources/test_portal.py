"""Portals: what their listings say, over pages, and what is wrong with them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from faulty_site import FaultySite, Reply, faulty_site
from source_kit import Listing, Whole, connector, keys, problems

from ingest.configuration import load_configuration
from ingest.errors import ConfigurationError, ItemError, RetriableError
from ingest.sources.base import state_of
from schemas.source import Item


@pytest.fixture
def web() -> Iterator[FaultySite]:
    with faulty_site() as served:
        yield served


def portal(web: FaultySite, tmp_path: Path, **source: Any) -> Whole:
    given = {"connector": "portal", "address": f"{web.url}/list", **source}
    return connector(tmp_path, **given)


def listed(web: FaultySite, tmp_path: Path, *entries: Any, **source: Any) -> Listing:
    web.says("/list", Reply(json.dumps(entries).encode()))
    return portal(web, tmp_path, **source).list()


def linked(web: FaultySite, tmp_path: Path, page: str, **source: Any) -> Listing:
    web.says("/list", Reply(page.encode(), headers={"Content-Type": "text/html; charset=utf-8"}))
    return portal(web, tmp_path, **{"listing": "html", **source}).list()


def pages(web: FaultySite, *contents: list[Any], last: str | None = None) -> None:
    """Have the listing stand on pages, each with the address of the next."""
    paths = ["/list", *(f"/list?page={number}" for number in range(2, len(contents) + 1))]
    for path, following, entries in zip(paths, [*paths[1:], last], contents, strict=True):
        web.says(path, Reply(json.dumps({"items": entries, "next": following}).encode()))


PAGED = {"entries": "items", "next": "next", "fields": {"etag": "v"}}
STATED = {"etag": "v"}


# --- JSON ---------------------------------------------------------------------------------------


def test_an_entry_becomes_an_item(web: FaultySite, tmp_path: Path) -> None:
    entry = {
        "doc": {"no": 7, "name": " Prices\n& costs\u0000 "},
        "file": {"href": "../files/r 7.pdf?x=ü", "bytes": "5", "hash": "5" * 64},
        "rev": 2.5,
        "from": "2026-03-31",
    }
    (item,) = listed(
        web,
        tmp_path,
        entry,
        ocr_languages="deu",
        fields={
            "key": "join('/', ['reports', to_string(doc.no)])",
            "document": "doc.no",
            "title": "doc.name",
            "url": "file.href",
            "size": "file.bytes",
            "etag": "file.hash",
            "version_label": "rev",
            "effective_from": '"from"',
        },
    ).items
    assert (item.source_key, item.document_key) == ("reports/7", "7")
    assert item.uri == item.fetch_uri == f"{web.url}/files/r%207.pdf?x=%C3%BC"
    assert (item.title, item.version_label, item.size) == ("Prices & costs", "2.5", 5)
    assert str(item.effective_from) == "2026-03-31 00:00:00+00:00"
    assert item.options == {"ocr_languages": "deu"}
    assert web.paths() == ["/list"], "neither the item nor robots.txt was asked for"


def test_entries_may_be_plain_urls(web: FaultySite, tmp_path: Path) -> None:
    listing = listed(web, tmp_path, "/a.pdf", "b.pdf#page=2", fields={"url": "@", "etag": "@"})
    assert keys(listing) == [f"{web.url}/a.pdf", f"{web.url}/b.pdf"]


def test_bytes_order_marks_and_wide_letters_are_read(web: FaultySite, tmp_path: Path) -> None:
    text = json.dumps([{"url": "/ü", "v": 1}], ensure_ascii=False)
    for coding in ("utf-8-sig", "utf-16", "utf-32"):
        web.says("/list", Reply(text.encode(coding)))
        assert len(portal(web, tmp_path, fields=STATED).list().items) == 1


@pytest.mark.parametrize(
    ("entry", "fields", "code"),
    [
        ({"v": 1}, {}, "entry_invalid"),
        ({"url": "", "v": 1}, {}, "entry_invalid"),
        ({"url": ["/a"], "v": 1}, {}, "entry_invalid"),
        ({"url": True, "v": 1}, {}, "entry_invalid"),
        (7, {}, "entry_invalid"),
        (None, {}, "entry_invalid"),
        ({"url": "/a", "v": 1}, {"key": "id"}, "key_missing"),
        ({"url": "javascript:void(0)", "v": 1}, {}, "link_refused"),
        ({"url": "data:text/plain,x", "v": 1}, {}, "link_refused"),
        ({"url": "file:///etc/passwd", "v": 1}, {}, "link_refused"),
        ({"url": "http://[bad/", "v": 1}, {}, "link_refused"),
        ({"url": "http://", "v": 1}, {}, "link_refused"),
        ({"url": "/a", "v": 1, "on": "31/03/2026"}, {"effective_from": "on"}, "date_invalid"),
        ({"url": "/a", "v": 1, "on": "2026-03-31T09:00"}, {"effective_from": "on"}, "date_invalid"),
        ({"url": "/a", "v": 1, "n": "12 MB"}, {"size": "n"}, "entry_invalid"),
        ({"url": "/a", "v": 1, "n": -1}, {"size": "n"}, "entry_invalid"),
        ({"url": "/a", "v": 1, "h": "abc"}, {"sha256": "h"}, "entry_invalid"),
        ({"url": "/a", "v": 1, "t": {"en": "x"}}, {"title": "t"}, "entry_invalid"),
        ({"url": "/a", "v": 1, "t": 7}, {"title": "length(t)"}, "entry_invalid"),
    ],
)
def test_an_entry_that_cannot_be_used_costs_that_entry(
    web: FaultySite, tmp_path: Path, entry: Any, fields: dict[str, str], code: str
) -> None:
    good = {"url": "/good", "v": 1, "id": "good", "t": "Good"}
    listing = listed(web, tmp_path, entry, good, fields={**STATED, **fields})
    assert len(listing.items) == 1
    ((key, found),) = problems(listing)
    assert found == code
    assert key in listing.problems[0].message
    assert f"{web.url}/list" in listing.problems[0].message


def test_two_entries_of_one_key_are_named(web: FaultySite, tmp_path: Path) -> None:
    entries = [{"id": "k", "url": f"/{name}", "v": 1} for name in "abc"]
    listing = listed(web, tmp_path, *entries, fields={**STATED, "key": "id"})
    assert keys(listing) == ["k"]
    assert listing.items[0].uri.endswith("/a")
    assert problems(listing) == [("k#2", "key_duplicate"), ("k#3", "key_duplicate")]


def test_the_same_entry_twice_is_one(web: FaultySite, tmp_path: Path) -> None:
    entry = {"url": "/a", "v": 1}
    listing = listed(web, tmp_path, entry, entry, fields=STATED)
    assert len(listing.items) == 1
    assert listing.problems == ()


# --- states -------------------------------------------------------------------------------------


def _state(web: FaultySite, tmp_path: Path, entry: dict[str, Any], **fields: str) -> str:
    (item,) = listed(web, tmp_path, entry, fields=fields).items
    return state_of(item)


@pytest.mark.parametrize("field", ["etag", "modified", "sha256"])
def test_the_listing_tells_states_apart(web: FaultySite, tmp_path: Path, field: str) -> None:
    values = ("a" * 64, "b" * 64) if field == "sha256" else ("Mon", "Tue")
    first, second = (
        _state(web, tmp_path, {"url": "/a", "v": value}, **{field: "v"}) for value in values
    )
    assert first != second
    assert _state(web, tmp_path, {"url": "/a", "v": values[0], "x": 1}, **{field: "v"}) == first
    assert web.paths().count("/a") == 0


def test_a_date_and_a_size_are_one_state(web: FaultySite, tmp_path: Path) -> None:
    fields = {"modified": "m", "size": "n"}
    states = {
        _state(web, tmp_path, {"url": "/a", "m": m, "n": n}, **fields)
        for m, n in (("Mon", 1), ("Mon", 2), ("Tue", 1))
    }
    assert len(states) == 3


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"ETag": '"1"'}, {"ETag": '"2"'}),
        ({"Last-Modified": "Mon, 02 Mar 2026 09:00:00 GMT"}, {"Last-Modified": "x"}),
    ],
)
def test_where_the_listing_says_nothing_the_server_is_asked(
    web: FaultySite, tmp_path: Path, before: dict[str, str], after: dict[str, str]
) -> None:
    states = []
    for headers in (before, before, after):
        web.says("/a", Reply(b"text", headers=headers))
        states.append(_state(web, tmp_path, {"url": "/a"}))
    assert states[0] == states[1] != states[2]
    assert {asked.method for asked in web.asks("/a")} == {"HEAD"}


@pytest.mark.parametrize("status", [200, 403, 405])
def test_where_nobody_says_anything_the_entry_is_the_state(
    web: FaultySite, tmp_path: Path, status: int
) -> None:
    web.says("/a", Reply(b"text", status))
    first, again, changed = (
        _state(web, tmp_path, entry)
        for entry in ({"url": "/a", "x": 1}, {"x": 1, "url": "/a"}, {"url": "/a", "x": 2})
    )
    assert first == again != changed


@pytest.mark.parametrize("status", [404, 410])
def test_an_item_that_its_server_lacks_costs_that_item(
    web: FaultySite, tmp_path: Path, status: int
) -> None:
    web.says("/a", Reply(b"", status))
    web.says("/b", Reply(b"text"))
    listing = listed(web, tmp_path, {"url": "/a"}, {"url": "/b"})
    assert keys(listing) == [f"{web.url}/b"]
    assert problems(listing) == [(f"{web.url}/a", "item_unavailable")]


def test_a_server_that_fails_on_an_item_s_state_stops_the_listing(
    web: FaultySite, tmp_path: Path
) -> None:
    web.says("/a", Reply(b"", 500))
    with pytest.raises(RetriableError, match="500"):
        listed(web, tmp_path, {"url": "/a"})


def test_addresses_signed_anew_each_time_are_one_item(web: FaultySite, tmp_path: Path) -> None:
    def entry(signature: str) -> dict[str, Any]:
        return {"url": f"/a.pdf?id=1&X-Amz-Date={signature}&X-Amz-Signature={signature}"}

    web.says("/a.pdf?id=1&X-Amz-Date=s1&X-Amz-Signature=s1", Reply(b"", 403))
    web.says("/a.pdf?id=1&X-Amz-Date=s2&X-Amz-Signature=s2", Reply(b"", 403))
    first, second = (listed(web, tmp_path, entry(s)).items[0] for s in ("s1", "s2"))
    assert first.fingerprint == second.fingerprint
    assert first.source_key == first.uri == second.uri == f"{web.url}/a.pdf?id=1"
    assert first.fetch_uri != second.fetch_uri
    assert second.fetch_uri.endswith("X-Amz-Signature=s2")


def test_entries_that_differ_in_secrets_alone_are_named(web: FaultySite, tmp_path: Path) -> None:
    entries = [{"url": f"/download?key={name}", "v": 1} for name in "ab"]
    listing = listed(web, tmp_path, *entries, fields=STATED)
    assert problems(listing) == [(f"{web.url}/download#2", "key_duplicate")]
    assert "key=" not in listing.problems[0].message


# --- fetching -----------------------------------------------------------------------------------


def test_bytes_are_checked_against_the_listing(web: FaultySite, tmp_path: Path) -> None:
    good = hashlib.sha256(b"text").hexdigest()
    fields = {"sha256": "h", "size": "n", "key": "id"}
    web.says("/a", Reply(b"text", headers={"Content-Type": "text/plain"}))
    for hash_, size, fine in ((good, 4, True), ("0" * 64, 4, False), (good, 5, False)):
        entry = {"id": "k", "url": "/a", "h": hash_, "n": size}
        (item,) = listed(web, tmp_path, entry, fields=fields).items
        sent = Item.model_validate_json(item.model_dump_json())
        fetch = portal(web, tmp_path, fields=fields).fetch
        if fine:
            fetched = fetch(sent)
            assert (fetched.data, fetched.media_type) == (b"text", "text/plain")
            assert fetched.fingerprint == item.fingerprint
            continue
        with pytest.raises(ItemError, match=r"k: .*listing says") as caught:
            fetch(sent)
        assert caught.value.code == "checksum_wrong"


def test_user_info_in_a_listing_is_kept_nowhere(web: FaultySite, tmp_path: Path) -> None:
    entry = {"url": f"http://u:planted@127.0.0.1:{web.port}/a", "v": 1}
    (item,) = listed(web, tmp_path, entry, fields=STATED).items
    assert "planted" not in item.model_dump_json()


def test_an_item_on_a_private_host_is_refused(web: FaultySite, tmp_path: Path) -> None:
    with faulty_site() as internal:
        internal.says("/secret", Reply(b"internal"))
        entry = {"url": f"{internal.url}/secret", "v": 1}
        (item,) = listed(web, tmp_path, entry, fields=STATED).items
        with pytest.raises(ItemError) as caught:
            portal(web, tmp_path, fields=STATED).fetch(item)
        assert caught.value.code == "link_refused"
        listing = listed(web, tmp_path, entry)
        assert problems(listing) == [(f"{internal.url}/secret", "link_refused")]
        assert internal.asked == []


def test_what_robots_txt_keeps_away_is_named(web: FaultySite, tmp_path: Path) -> None:
    web.says("/robots.txt", Reply(b"User-agent: *\nDisallow: /private\n"))
    web.says("/a", Reply(b"text"))
    listing = listed(web, tmp_path, {"url": "/a"}, {"url": "/private/b"})
    assert keys(listing) == [f"{web.url}/a"]
    assert problems(listing) == [(f"{web.url}/private/b", "robots_disallowed")]


# --- pages --------------------------------------------------------------------------------------


def test_pages_are_followed_to_the_last(web: FaultySite, tmp_path: Path) -> None:
    pages(web, *([{"url": f"/{number}", "v": 1}] for number in range(5)))
    listing = portal(web, tmp_path, **PAGED).list()
    assert keys(listing) == [f"{web.url}/{number}" for number in range(5)]
    assert web.paths().count("/list") == 1


def test_a_link_header_leads_on_where_nothing_else_is_named(
    web: FaultySite, tmp_path: Path
) -> None:
    link = {"Link": '</x>; rel="prev", </2>; rel="last next"'}
    web.says("/list", Reply(b'[{"url": "/a", "v": 1}]', headers=link))
    web.says("/2", Reply(b'[{"url": "/b", "v": 1}]'))
    assert len(portal(web, tmp_path, fields=STATED).list().items) == 2
    named = portal(web, tmp_path, fields=STATED, next="next", entries="[*]")
    assert len(named.list().items) == 1


def test_relative_addresses_start_at_the_page_that_names_them(
    web: FaultySite, tmp_path: Path
) -> None:
    web.says("/list", Reply(b"", 302, {"Location": "/deep/list"}))
    web.says("/deep/list", Reply(b'{"items": [{"url": "a", "v": 1}], "next": "more/2"}'))
    web.says("/deep/more/2", Reply(b'{"items": [{"url": "b", "v": 1}]}'))
    listing = portal(web, tmp_path, **PAGED).list()
    assert keys(listing) == [f"{web.url}/deep/a", f"{web.url}/deep/more/b"]


def test_an_empty_page_in_the_middle_is_no_end(web: FaultySite, tmp_path: Path) -> None:
    pages(web, [{"url": "/a", "v": 1}], [], [{"url": "/b", "v": 1}])
    assert len(portal(web, tmp_path, **PAGED).list().items) == 2


def test_an_entry_that_moves_to_the_next_page_while_it_is_read_is_one_item(
    web: FaultySite, tmp_path: Path
) -> None:
    a, b, c = ({"url": f"/{name}", "v": 1} for name in "abc")
    pages(web, [a, b], [b, c])
    listing = portal(web, tmp_path, **PAGED).list()
    assert len(listing.items) == 3
    assert listing.problems == ()


@pytest.mark.parametrize("last", ["/list", "/list?page=2", "/list?page=3"])
def test_pages_that_lead_back_are_an_error(web: FaultySite, tmp_path: Path, last: str) -> None:
    pages(web, *([{"url": f"/{number}", "v": 1}] for number in range(3)), last=last)
    with pytest.raises(RetriableError) as caught:
        portal(web, tmp_path, **PAGED).list()
    assert caught.value.code == "listing_loops"


def test_pages_that_repeat_themselves_under_new_addresses_are_an_error(
    web: FaultySite, tmp_path: Path
) -> None:
    same = [{"url": "/a", "v": 1}, {"url": "/b", "v": 1}]
    pages(web, same, same, same)
    with pytest.raises(RetriableError, match="page 2") as caught:
        portal(web, tmp_path, **PAGED).list()
    assert caught.value.code == "listing_loops"


def test_a_listing_that_does_not_end_is_an_error(web: FaultySite, tmp_path: Path) -> None:
    pages(web, *([{"url": f"/{number}", "v": 1}] for number in range(4)))
    assert len(portal(web, tmp_path, **PAGED, max_pages=4).list().items) == 4
    with pytest.raises(ConfigurationError, match="max_pages") as caught:
        portal(web, tmp_path, **PAGED, max_pages=3).list()
    assert caught.value.code == "listing_too_long"


@pytest.mark.parametrize(
    "reply",
    [
        *(Reply(b"", status) for status in (401, 403, 404, 500, 503)),
        Reply(b'{"items": [', length=99),
        Reply(b'{"items": [{"url": "/c", "v": 1}'),
        Reply(b"<html>Sign in</html>"),
        Reply(b"{}"),
        Reply(b'{"items": {"url": "/c"}}'),
        Reply(b'{"items": [], "next": 3}'),
        Reply(b'{"items": [], "next": "javascript:more()"}'),
        Reply(b"", 302, {"Location": "http://169.254.169.254/"}),
        Reply(b"[" * 200_000),
    ],
)
def test_a_page_that_fails_is_never_the_end(web: FaultySite, tmp_path: Path, reply: Reply) -> None:
    pages(web, [{"url": "/a", "v": 1}], [])
    web.says("/list?page=2", reply)
    with pytest.raises(RetriableError) as caught:
        portal(web, tmp_path, **PAGED).list()
    assert len(caught.value.message) > 40
    web.says("/list", reply)
    with pytest.raises((ConfigurationError, RetriableError)):
        portal(web, tmp_path, **PAGED).list()


def test_a_listing_that_is_as_it_was_is_not_sent_again(web: FaultySite, tmp_path: Path) -> None:
    body = b'[{"url": "/a", "v": 1}]'
    web.says("/list", Reply(body, headers={"ETag": '"1"', "Link": "</2>; rel=next"}))
    web.says("/2", Reply(b'[{"url": "/b", "v": 1}]', headers={"ETag": '"2"'}))
    given = {"connector": "portal", "address": f"{web.url}/list", "fields": STATED}
    first, second = (
        connector(tmp_path, cache=tmp_path / "cache", **given).list() for _ in range(2)
    )
    assert first == second
    assert len(first.items) == 2
    tags = [asked.headers.get("if-none-match") for asked in web.asked if "robots" not in asked.path]
    assert tags == [None, None, '"1"', '"2"']


# --- HTML ---------------------------------------------------------------------------------------


def test_links_become_items(web: FaultySite, tmp_path: Path) -> None:
    for path in ("/files/a.pdf", "/files/b.pdf?x=1", "/list/c.pdf"):
        web.says(path, Reply(b"text", headers={"ETag": '"1"'}))
    page = """<html><body><nav><a href="/home">Home</a></nav>
        <ul class=docs>
        <li><a href="/files/a.pdf"><img src=i.png></a> <a href="/files/a.pdf">
            Prices &amp; <b>costs</b></a></li>
        <li><a href=" /files/b.pdf?x=1#page=3 " title="Beta"></a></li>
        <li data-x><a href="list/c.pdf">Ümlaut</a></li></ul>"""
    listing = linked(web, tmp_path, page, links="ul.docs li a, li[data-x]")
    assert [(item.title, item.uri) for item in listing.items] == [
        ("Prices & costs", f"{web.url}/files/a.pdf"),
        ("Beta", f"{web.url}/files/b.pdf?x=1"),
        ("Ümlaut", f"{web.url}/list/c.pdf"),
    ]
    assert keys(listing) == [item.uri for item in listing.items]
    assert listing.problems == ()


def test_base_and_charset_of_a_page_are_kept(web: FaultySite, tmp_path: Path) -> None:
    page = '<base href="/elsewhere/x"><a href="a">Grüße</a>'
    web.says("/elsewhere/a", Reply(b"text"))
    web.says(
        "/list", Reply(page.encode("cp1252"), headers={"Content-Type": "text/html; charset=cp1252"})
    )
    (item,) = portal(web, tmp_path, listing="html").list().items
    assert (item.uri, item.title) == (f"{web.url}/elsewhere/a", "Grüße")


def test_links_that_lead_to_no_document_are_counted(web: FaultySite, tmp_path: Path) -> None:
    web.says("/a", Reply(b"text"))
    page = """<a href="/a">A</a> <a href="javascript:go()">B</a> <a href="JavaScript:x">C</a>
        <a href="mailto:x@y">D</a> <a href="#top">E</a> <a href="data:text/html,x">F</a>
        <a href="/list">this page</a> <a href="http://[bad/">G</a> <a href="">H</a>"""
    listing = linked(web, tmp_path, page)
    assert keys(listing) == [f"{web.url}/a"]
    found = {problem.code: problem.message for problem in listing.problems}
    assert found.keys() == {"links_left_out", "link_refused"}
    assert "6 links" in found["links_left_out"]
    assert "javascript: 2" in found["links_left_out"]
    assert "Narrow `links`" in found["links_left_out"]


def test_the_link_to_the_next_page_is_no_item(web: FaultySite, tmp_path: Path) -> None:
    web.says("/a", Reply(b"text"))
    web.says("/b", Reply(b"text"))
    web.says("/2", Reply(b"<a href=/b>B</a><a rel=prev href=/list>back</a>"))
    page = "<a href=/a>A</a><span class=next><a href=/2>more</a></span>"
    listing = linked(web, tmp_path, page, next=".next", links="a:not([rel])")
    assert keys(listing) == [f"{web.url}/a", f"{web.url}/b"]


@pytest.mark.parametrize("body", [b"<html></html>", b"text", b"<p>Nothing now"])
def test_a_page_without_links_lists_nothing(web: FaultySite, tmp_path: Path, body: bytes) -> None:
    web.says("/list", Reply(body))
    assert portal(web, tmp_path, listing="html").list() == Listing((), ())


@pytest.mark.parametrize("body", [b"", b"  \n"])
def test_a_page_that_is_empty_is_no_listing(web: FaultySite, tmp_path: Path, body: bytes) -> None:
    web.says("/list", Reply(body))
    with pytest.raises(ConfigurationError) as caught:
        portal(web, tmp_path, listing="html").list()
    assert caught.value.code == "listing_unreadable"


# --- configuration ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "place"),
    [
        ({"entries": "data["}, "entries"),
        ({"next": "]"}, "next"),
        ({"fields": {"url": "a b"}}, "fields.url"),
        ({"listing": "html", "links": "a["}, "links"),
        ({"listing": "html", "next": "a:nowhere"}, "next"),
        ({"listing": "html", "links": ""}, "links"),
    ],
)
def test_expressions_are_checked_before_anything_is_asked(
    web: FaultySite, tmp_path: Path, source: dict[str, Any], place: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"{place} is ") as caught:
        portal(web, tmp_path, **source)
    assert caught.value.code == "expression_invalid"
    assert web.asked == []


PORTAL = """sources:
  - id: portal
    kind: report
    connector: portal
    licence: open
    {}
"""


AT = "address: https://portal.example/list\n    "


@pytest.mark.parametrize(
    ("given", "place", "message"),
    [
        ("address: ftp://portal.example/", "address", "should be an http or https URL"),
        ("address: https://u:planted@portal.example/", "address", "should not hold a login"),
        (f"{AT}auth: basic", "auth", "connection has to name the credentials"),
        (f'{AT}allow_hosts: ["https://x/"]', "allow_hosts[0]", "should be a host alone"),
        (f"{AT}links: a", "links", "is not used where listing is 'json'"),
        (f"{AT}listing: html\n    fields: {{key: id}}", "fields", "is not used where"),
        (f'{AT}entries: "data["', "entries", "no JMESPath"),
        (AT + 'fields: {url: "a b"}', "fields.url", "no JMESPath"),
        (AT + "fields: {link: x}", "fields.link", "known are url, key"),
        (f'{AT}listing: html\n    links: "a["', "links", "no CSS selector"),
    ],
)
def test_the_configuration_s_check_names_what_is_wrong(
    tmp_path: Path, given: str, place: str, message: str
) -> None:
    (tmp_path / "licences.yaml").write_text(
        "licences: [{id: open, name: Open, attribution_required: false}]"
    )
    (tmp_path / "sources.yaml").write_text(PORTAL.format(given))
    with pytest.raises(ConfigurationError) as caught:
        load_configuration(tmp_path / "sources.yaml", tmp_path / "licences.yaml")
    assert f"sources[0].{place}: " in str(caught.value)
    assert message in str(caught.value)
    assert "planted" not in str(caught.value)

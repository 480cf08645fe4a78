"""Reading pages from servers that are slow, broken, busy or hostile; each is a real one."""

from __future__ import annotations

import gzip
import hashlib
import json
import time
import zlib
from collections.abc import Callable, Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
from faulty_site import FaultySite, Reply, faulty_site

from ingest.errors import ConfigurationError, ItemError, MunimentError, RetriableError
from ingest.sources.credentials import Credentials
from ingest.sources.web import WebReader
from ingest.sources.web import exchange as exchange_module
from schemas.source import PortalSource

BODY = bytes(range(256)) * 400


@pytest.fixture
def web() -> Iterator[FaultySite]:
    with faulty_site() as served:
        yield served


def nobody(name: str) -> Credentials:
    raise AssertionError(name)


def reader(
    web: FaultySite,
    *,
    cache: Path | None = None,
    credentials: Callable[[str], Credentials] = nobody,
    **source: Any,
) -> WebReader:
    given = {
        "id": "src",
        "kind": "report",
        "licence": "open",
        "connector": "portal",
        "address": f"{web.url}/listing",
        "respect_robots": False,
        "timeout_seconds": 2.0,
        **source,
    }
    checked = PortalSource.model_validate(given)
    return WebReader(checked, own_host="127.0.0.1", credentials=credentials, cache=cache)


def code(error: type[MunimentError], read: Callable[[], object]) -> str:
    with pytest.raises(error) as caught:
        read()
    return caught.value.code


# --- broken downloads -------------------------------------------------------------------------


def test_a_page_that_is_cut_is_gone_on_with_where_it_broke(web: FaultySite) -> None:
    whole = Reply(BODY, headers={"ETag": '"v1"'}, ranges=True)
    cut = Reply(BODY, headers={"ETag": '"v1"'}, ranges=True, cut=70_000)
    url = web.says("/a", cut, whole)
    assert reader(web).get(url).data == BODY
    first, second = web.asks("/a")
    assert "range" not in first.headers
    assert second.headers["range"] == "bytes=70000-"
    assert second.headers["if-range"] == '"v1"'


def test_a_page_may_be_cut_several_times(web: FaultySite) -> None:
    parts = [Reply(BODY, headers={"ETag": '"v1"'}, ranges=True, cut=30_000) for _ in range(3)]
    url = web.says("/a", *parts, Reply(BODY, headers={"ETag": '"v1"'}, ranges=True))
    assert reader(web).get(url).data == BODY
    ranges = [asked.headers.get("range") for asked in web.asks("/a")]
    assert ranges == [None, "bytes=30000-", "bytes=60000-", "bytes=90000-"]


def test_a_date_of_last_change_tells_states_apart_too(web: FaultySite) -> None:
    changed = {"Last-Modified": formatdate(time.time() - 3600, usegmt=True)}
    cut = Reply(BODY, headers=changed, ranges=True, cut=10)
    url = web.says("/a", cut, Reply(BODY, headers=changed, ranges=True))
    assert reader(web).get(url).data == BODY
    assert web.asks("/a")[1].headers["if-range"] == changed["Last-Modified"]


@pytest.mark.parametrize(
    "headers",
    [{}, {"ETag": 'W/"v1"'}, {"Last-Modified": formatdate(time.time() + 86_400, usegmt=True)}],
)
def test_a_state_that_is_not_told_for_certain_is_read_anew(
    web: FaultySite, headers: dict[str, str]
) -> None:
    cut = Reply(BODY, headers=headers, ranges=True, cut=70_000)
    url = web.says("/a", cut, Reply(BODY, headers=headers, ranges=True))
    assert reader(web).get(url).data == BODY
    assert "range" not in web.asks("/a")[1].headers


def test_a_page_that_changed_while_it_was_read_is_never_pieced_together(web: FaultySite) -> None:
    new = bytes(reversed(BODY))
    url = web.says(
        "/a",
        Reply(BODY, headers={"ETag": '"v1"'}, ranges=True, cut=70_000),
        Reply(new, headers={"ETag": '"v2"'}, ranges=True),
    )
    assert reader(web).get(url).data == new


@pytest.mark.parametrize(
    "content_range",
    ["bytes 0-9/102400", "bytes 70001-102399/102400", "bytes 70000-102399/999", "x"],
)
def test_a_part_that_does_not_fit_is_not_used(web: FaultySite, content_range: str) -> None:
    tag = {"ETag": '"v1"'}
    url = web.says(
        "/a",
        Reply(BODY, headers=tag, ranges=True, cut=70_000),
        Reply(BODY, headers=tag, ranges=True, content_range=content_range),
        Reply(BODY, headers=tag),
    )
    assert reader(web).get(url).data == BODY
    assert [asked.headers.get("range") for asked in web.asks("/a")][2] is None


def test_a_compressed_page_is_gone_on_with_too(web: FaultySite) -> None:
    packed = gzip.compress(BODY * 20)
    headers = {"ETag": '"v1"', "Content-Encoding": "gzip"}
    cut = Reply(packed, headers=headers, ranges=True, cut=len(packed) // 2)
    url = web.says("/a", cut, Reply(packed, headers=headers, ranges=True))
    assert reader(web).get(url).data == BODY * 20
    assert web.asks("/a")[1].headers["range"] == f"bytes={len(packed) // 2}-"


@pytest.mark.parametrize("length", [len(BODY) + 1, len(BODY) * 3])
def test_a_page_shorter_than_announced_is_never_whole(web: FaultySite, length: int) -> None:
    url = web.says("/a", Reply(BODY, length=length))
    with pytest.raises(RetriableError, match="could not be read whole"):
        reader(web).get(url)
    assert len(web.asks("/a")) == 5


def test_a_compressed_page_without_a_length_is_known_to_be_cut(web: FaultySite) -> None:
    packed = gzip.compress(BODY)
    cut = Reply(packed, headers={"Content-Encoding": "gzip"}, length=-1, cut=len(packed) - 9)
    url = web.says("/a", cut)
    with pytest.raises(RetriableError, match="ends in the middle"):
        reader(web).get(url)


def test_what_the_listing_says_of_the_bytes_is_checked(web: FaultySite) -> None:
    url = web.says("/a", Reply(BODY))
    good = hashlib.sha256(BODY).hexdigest()
    assert reader(web).get(url, size=len(BODY), sha256=good.upper()).data == BODY
    for wrong in ({"size": len(BODY) + 1}, {"sha256": "0" * 64}):
        web.asked.clear()
        assert code(ItemError, lambda w=wrong: reader(web).get(url, **w)) == "checksum_wrong"
        assert len(web.asks("/a")) == 2, "once more, to be sure"


def test_bytes_that_change_under_the_reader_are_tried_again(web: FaultySite) -> None:
    url = web.says("/a", Reply(b"one"), Reply(b"two"))
    assert code(RetriableError, lambda: reader(web).get(url, size=99)) == "source_changing"


def test_a_second_download_may_be_right(web: FaultySite) -> None:
    url = web.says("/a", Reply(b"old!"), Reply(b"new"))
    assert reader(web).get(url, size=3).data == b"new"


# --- slow, busy and failing servers -------------------------------------------------------------


def test_a_server_that_does_not_begin_to_answer(web: FaultySite) -> None:
    url = web.says("/a", Reply(BODY, wait=1.0))
    begun = time.monotonic()
    with pytest.raises(RetriableError, match="ReadTimeout"):
        reader(web, timeout_seconds=0.1).get(url)
    assert time.monotonic() - begun < 0.9


@pytest.mark.parametrize("reply", [Reply(BODY, drip=0.02), Reply(BODY, drip_headers=0.02)])
def test_bytes_that_drip_in_win_no_time(web: FaultySite, reply: Reply) -> None:
    url = web.says("/a", reply)
    begun = time.monotonic()
    with pytest.raises(RetriableError, match="too slowly"):
        reader(web, timeout_seconds=0.05).get(url)
    assert time.monotonic() - begun < 2.0


def test_a_busy_server_is_waited_for_if_that_is_short(web: FaultySite) -> None:
    busy = Reply(b"", 429, {"Retry-After": "1"})
    url = web.says("/a", busy, Reply(b"fine"))
    begun = time.monotonic()
    assert reader(web).get(url).data == b"fine"
    assert time.monotonic() - begun >= 1.0


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("as_date", [False, True])
def test_a_server_that_is_busy_for_long_is_left_alone(
    web: FaultySite, status: int, as_date: bool
) -> None:
    value = formatdate(time.time() + 900, usegmt=True) if as_date else "900"
    url = web.says("/a", Reply(b"", status, {"Retry-After": value}), Reply(b"fine"))
    web.says("/b", Reply(b"fine"))
    page = reader(web)
    with pytest.raises(
        RetriableError, match=rf"{status} and asks .* until 20\d\d-.*\+00:00"
    ) as one:
        page.get(url)
    assert one.value.code == "source_busy"
    assert code(RetriableError, lambda: page.get(f"{web.url}/b")) == "source_busy"
    assert web.paths() == ["/a"], "nothing else was asked of it"


def test_a_retry_after_that_is_none_is_no_reason_to_wait(web: FaultySite) -> None:
    url = web.says("/a", Reply(b"", 503, {"Retry-After": "soon"}), Reply(b"fine"))
    assert reader(web).get(url).data == b"fine"


@pytest.mark.parametrize("status", [408, 500, 502])
def test_a_server_that_fails_once_is_asked_again(web: FaultySite, status: int) -> None:
    url = web.says("/a", Reply(b"", status), Reply(b"fine"))
    assert reader(web).get(url).data == b"fine"


def test_a_server_that_keeps_failing_is_an_error_that_may_pass(web: FaultySite) -> None:
    url = web.says("/a", Reply(b"", 500))
    with pytest.raises(RetriableError, match="500"):
        reader(web).get(url)
    assert len(web.asks("/a")) == 3


def test_redirects_end(web: FaultySite) -> None:
    url = web.says("/a", Reply(b"", 302, {"Location": "/b"}))
    web.says("/b", Reply(b"", 302, {"Location": "/a"}))
    with pytest.raises(ItemError, match="redirects more than 5 times"):
        reader(web).get(url)
    assert len(web.asked) == 6


def test_requests_to_one_host_keep_their_distance(web: FaultySite) -> None:
    url = web.says("/a", Reply(b"fine"))
    page = reader(web, delay_seconds=0.3)
    begun = time.monotonic()
    for _ in range(3):
        page.get(url)
    assert 0.6 <= time.monotonic() - begun < 1.5


# --- size and compression -----------------------------------------------------------------------


def test_a_page_that_announces_to_be_too_large_is_not_read(web: FaultySite) -> None:
    url = web.says("/a", Reply(b"", length=10**12))
    assert code(ItemError, lambda: reader(web, max_item_bytes=1000).get(url)) == "too_large"
    assert code(ItemError, lambda: reader(web, max_item_bytes=1000).get(url, size=1001)) == (
        "too_large"
    )


@pytest.mark.parametrize("reply", [Reply(BODY), Reply(BODY, length=-1)])
def test_a_page_that_is_too_large_is_not_read_to_its_end(web: FaultySite, reply: Reply) -> None:
    url = web.says("/a", reply)
    assert code(ItemError, lambda: reader(web, max_item_bytes=1000).get(url)) == "too_large"


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_bomb_is_noticed_while_it_unpacks(web: FaultySite, coding: str) -> None:
    zeros = bytes(200_000_000)
    packed = gzip.compress(zeros, 6) if coding == "gzip" else zlib.compress(zeros, 6)
    url = web.says("/a", Reply(packed, headers={"Content-Encoding": coding}))
    assert len(packed) < 1_000_000
    assert code(ItemError, lambda: reader(web, max_item_bytes=1_000_000).get(url)) == "too_large"


@pytest.mark.parametrize(
    ("body", "coding"),
    [
        (gzip.compress(BODY), "gzip"),
        (gzip.compress(BODY), "X-GZIP"),
        (gzip.compress(BODY[:9]) + gzip.compress(BODY[9:]), "gzip"),
        (gzip.compress(BODY) + b"\0" * 100, "gzip"),
        (zlib.compress(BODY), "deflate"),
        (zlib.compress(BODY)[2:-4], "deflate"),
        (BODY, "identity"),
        (BODY, ""),
    ],
)
def test_encodings_are_undone(web: FaultySite, body: bytes, coding: str) -> None:
    url = web.says("/a", Reply(body, headers={"Content-Encoding": coding}))
    assert reader(web).get(url).data == BODY


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "gzip, gzip", "aes128gcm"])
def test_an_encoding_that_is_wrong_is_asked_to_be_left_out(web: FaultySite, coding: str) -> None:
    url = web.says("/a", Reply(BODY, headers={"Content-Encoding": coding}), Reply(BODY))
    assert reader(web).get(url).data == BODY
    assert web.asks("/a")[1].headers["accept-encoding"] == "identity"
    web.says("/a", Reply(BODY, headers={"Content-Encoding": coding}))
    with pytest.raises(RetriableError, match="Content-Encoding"):
        reader(web).get(url)


# --- states -------------------------------------------------------------------------------------


def test_a_page_that_is_as_it_was_is_not_sent_again(web: FaultySite, tmp_path: Path) -> None:
    first = Reply(
        BODY, headers={"ETag": 'W/"1"', "Content-Type": "text/x", "Link": "<b>; rel=next"}
    )
    url = web.says("/a", first)
    page = reader(web, cache=tmp_path / "c").get(url)
    assert reader(web, cache=tmp_path / "c").get(url) == page
    assert [asked.headers.get("if-none-match") for asked in web.asks("/a")] == [None, 'W/"1"']
    assert (page.content_type, page.etag, page.next) == ("text/x", 'W/"1"', f"{web.url}/b")
    web.says("/a", Reply(b"new", headers={"ETag": '"2"'}))
    assert reader(web, cache=tmp_path / "c").get(url).data == b"new"


def test_pages_kept_for_one_source_are_not_another_s(web: FaultySite, tmp_path: Path) -> None:
    url = web.says("/a", Reply(BODY, headers={"ETag": '"1"'}))
    for name in "ab":
        reader(web, cache=tmp_path / name).get(url)
    assert [asked.headers.get("if-none-match") for asked in web.asks("/a")] == [None, None]


@pytest.mark.parametrize(
    "damage", [b"", b"{}\n", b"null\nx", b"retyped", b"{\n", b"\xff\xfe", b"cut"]
)
def test_a_kept_page_that_is_damaged_is_read_anew(
    web: FaultySite, tmp_path: Path, damage: bytes
) -> None:
    url = web.says("/a", Reply(BODY, headers={"ETag": '"1"'}))
    reader(web, cache=tmp_path).get(url)
    (kept,) = tmp_path.iterdir()
    whole = kept.read_bytes()
    made = {b"cut": whole[:-1], b"retyped": whole.replace(b"null", b"7", 1)}
    kept.write_bytes(made.get(damage, damage))
    assert reader(web, cache=tmp_path).get(url).data == BODY
    assert "if-none-match" not in web.asks("/a")[1].headers
    assert reader(web, cache=tmp_path).get(url).data == BODY
    assert web.asks("/a")[2].headers["if-none-match"] == '"1"'


def test_a_folder_that_cannot_be_written_costs_a_download(web: FaultySite, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    url = web.says("/a", Reply(BODY, headers={"ETag": '"1"'}))
    assert reader(web, cache=tmp_path / "file").get(url).data == BODY


def test_the_folder_stays_within_bounds(
    web: FaultySite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.sources.web.cache._MAX_FOLDER", 350_000)
    page = reader(web, cache=tmp_path)
    for name in "abcdef":
        page.get(web.says(f"/{name}", Reply(BODY, headers={"ETag": f'"{name}"'})))
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 350_000
    page.get(f"{web.url}/f")
    assert web.asked[-1].headers["if-none-match"] == '"f"', "what was used last stays"


def test_a_kept_page_that_the_listing_contradicts_is_read_anew(
    web: FaultySite, tmp_path: Path
) -> None:
    url = web.says("/a", Reply(b"old", headers={"ETag": '"1"'}))
    page = reader(web, cache=tmp_path)
    page.get(url)
    web.replies["/a"] = [Reply(b"old", headers={"ETag": '"1"'}), Reply(b"newer")]
    assert page.get(url, size=5).data == b"newer"
    assert "if-none-match" not in web.asks("/a")[2].headers


def test_headers_in_no_ascii_are_no_harm(web: FaultySite, tmp_path: Path) -> None:
    odd = {"ETag": '"ü"', "Set-Cookie": "a=ü", "Content-Type": "text/ü", "Link": "</ü>; rel=next"}
    url = web.says("/a", Reply(BODY, headers=odd, ranges=True, cut=9), Reply(BODY, headers=odd))
    page = reader(web, cache=tmp_path)
    for _ in range(2):
        assert page.get(url).next == f"{web.url}/ü"
    assert page.head(url).etag == '"ü"'


def test_a_304_that_nobody_asked_for(web: FaultySite) -> None:
    url = web.says("/a", Reply(b"", 304))
    with pytest.raises(RetriableError, match="304"):
        reader(web).get(url)


def test_the_state_of_a_page_costs_no_download(web: FaultySite) -> None:
    url = web.says("/a", Reply(BODY, headers={"ETag": '"1"', "Last-Modified": "then"}))
    state = reader(web).head(url)
    assert (state.etag, state.last_modified, state.size) == ('"1"', "then", len(BODY))
    assert web.asks("/a")[0].method == "HEAD"
    for status in (401, 403, 405, 501):
        web.says("/a", Reply(b"", status))
        if status < 500:
            assert reader(web).head(url).etag is None
    web.says("/a", Reply(b"", 410))
    assert code(ItemError, lambda: reader(web).head(url)) == "item_unavailable"


# --- robots.txt ---------------------------------------------------------------------------------

RULES = (
    b"User-agent: *\nDisallow: /\n\nUser-agent: muniment\nDisallow: /private\nCrawl-delay: 0.3\n"
)


def test_what_robots_txt_keeps_from_this_program_is_not_read(web: FaultySite) -> None:
    web.says("/robots.txt", Reply(RULES))
    web.says("/a", Reply(b"fine"))
    web.says("/private/b", Reply(b"secret"))
    page = reader(web, respect_robots=True)
    assert page.get(f"{web.url}/a").data == b"fine"
    assert code(ItemError, lambda: page.get(f"{web.url}/private/b")) == "robots_disallowed"
    assert code(ItemError, lambda: page.head(f"{web.url}/private/b")) == "robots_disallowed"
    assert web.paths() == ["/robots.txt", "/a"], "robots.txt is read once"
    assert web.asked[0].headers["user-agent"] == "muniment/0.1.0"
    assert reader(web, respect_robots=False).get(f"{web.url}/private/b").data == b"secret"


def test_a_redirect_does_not_lead_around_robots_txt(web: FaultySite) -> None:
    web.says("/robots.txt", Reply(RULES))
    url = web.says("/a", Reply(b"", 302, {"Location": "/private/b"}))
    page = reader(web, respect_robots=True)
    assert code(ItemError, lambda: page.get(url)) == "robots_disallowed"
    assert "/private/b" not in web.paths()


def test_the_source_s_own_address_was_configured_on_purpose(web: FaultySite) -> None:
    web.says("/robots.txt", Reply(b"User-agent: *\nDisallow: /\n"))
    web.says("/listing", Reply(b"fine"))
    assert reader(web, respect_robots=True).get(f"{web.url}/listing").data == b"fine"
    assert web.paths() == ["/listing"]


def test_crawl_delay_is_kept(web: FaultySite) -> None:
    web.says("/robots.txt", Reply(RULES))
    url = web.says("/a", Reply(b"fine"))
    page = reader(web, respect_robots=True)
    begun = time.monotonic()
    for _ in range(3):
        page.get(url)
    assert 0.9 <= time.monotonic() - begun < 2.0


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b"", 404),
        Reply(b"", 403),
        Reply(b"\xff\xfe\0 no rules"),
        Reply(b"", 302, {"Location": "http://169.254.169.254/"}),
        Reply(b"User-agent: *\nDisallow:\n" + b"#" * 2_000_000),
    ],
)
def test_without_rules_all_may_be_read(web: FaultySite, reply: Reply) -> None:
    web.says("/robots.txt", reply)
    url = web.says("/a", Reply(b"fine"))
    assert reader(web, respect_robots=True).get(url).data == b"fine"


@pytest.mark.parametrize("reply", [Reply(b"", 500), Reply(b"", 429), Reply(b"", cut=0, length=9)])
def test_while_robots_txt_cannot_be_read_nothing_may_be(
    web: FaultySite, reply: Reply, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.says("/robots.txt", reply)
    url = web.says("/a", Reply(b"fine"))
    page = reader(web, respect_robots=True)
    for _ in range(2):
        with pytest.raises(RetriableError, match=r"robots\.txt cannot be read"):
            page.get(url)
    assert "/a" not in web.paths()
    asked = len(web.asked)
    monkeypatch.setattr("ingest.sources.web.robots._ASK_AGAIN", 0.0)
    web.says("/robots.txt", Reply(b""))
    assert page.get(url).data == b"fine"
    assert len(web.asked) == asked + 2


# --- credentials --------------------------------------------------------------------------------


def login(name: str) -> Credentials:
    assert name == "portal"
    return Credentials(login="reader", password="pass:word-seven-c-one")


LOGIN = {"auth": "basic", "connection": "portal", "credentials": login}
BASIC = "Basic cmVhZGVyOnBhc3M6d29yZC1zZXZlbi1jLW9uZQ=="


def test_credentials_go_to_the_own_address(web: FaultySite) -> None:
    web.says("/robots.txt", Reply(b""))
    url = web.says("/a", Reply(b"fine"))
    assert reader(web, respect_robots=True, **LOGIN).get(url).data == b"fine"
    assert web.asks("/a")[0].headers["authorization"] == BASIC
    assert "authorization" in web.asks("/robots.txt")[0].headers
    reader(web, **LOGIN | {"auth": "bearer"}).head(url)
    assert web.asks("/a")[1].headers["authorization"] == "Bearer pass:word-seven-c-one"


def test_credentials_go_nowhere_else(web: FaultySite) -> None:
    with faulty_site() as other:
        hosts = {"allow_hosts": ["127.0.0.1", "localhost"]}
        away = other.says("/x", Reply(b"", 302, {"Location": f"{web.url}/back"}))
        web.says("/back", Reply(b"fine"))
        url = web.says("/a", Reply(b"", 302, {"Location": away}))
        page = reader(web, **hosts, **LOGIN)
        assert page.get(url).data == b"fine"
        page.get(f"http://localhost:{web.port}/back")
        assert "authorization" in web.asks("/a")[0].headers
        assert "authorization" not in other.asks("/x")[0].headers
        assert ["authorization" in asked.headers for asked in web.asks("/back")] == [False, False]


def test_credentials_for_https_are_not_sent_over_http(web: FaultySite) -> None:
    url = web.says("/a", Reply(b"fine"))
    secure = url.replace("http:", "https:")
    assert reader(web, address=secure, **LOGIN).get(url).data == b"fine"
    assert "authorization" not in web.asked[0].headers


def test_user_info_of_an_address_is_not_sent(web: FaultySite) -> None:
    web.says("/a", Reply(b"fine"))
    reader(web).get(f"http://someone:planted-pw@127.0.0.1:{web.port}/a#part")
    assert "authorization" not in web.asked[0].headers


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ({"auth": "bearer"}, "connection_missing"),
        ({**LOGIN, "auth": "bearer", "credentials": lambda _: Credentials()}, "connection_invalid"),
        (
            {
                **LOGIN,
                "auth": "bearer",
                "credentials": lambda _: Credentials(password="planted\nx"),
            },
            "connection_invalid",
        ),
        ({**LOGIN, "credentials": lambda _: Credentials(password="x")}, "connection_invalid"),
    ],
)
def test_credentials_that_do_not_fit(web: FaultySite, source: dict[str, Any], found: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        reader(web, **source)
    assert caught.value.code == found
    assert "planted" not in str(caught.value)


def test_what_is_kept_names_no_secret(web: FaultySite, tmp_path: Path) -> None:
    url = web.says("/a?token=planted-1&X-Amz-Signature=planted-2", Reply(b"b", 200, {"ETag": "1"}))
    reader(web, cache=tmp_path, **LOGIN).get(url)
    web.says("/b", Reply(b"b", headers={"ETag": "1", "Link": "</c?token=planted-3>; rel=next"}))
    assert reader(web, cache=tmp_path, **LOGIN).get(f"{web.url}/b").next is not None
    (kept,) = tmp_path.iterdir()
    head, _, body = kept.read_bytes().partition(b"\n")
    assert body == b"b"
    assert json.loads(head).keys() == {"content_type", "etag", "last_modified", "next", "sha256"}
    for secret in (b"planted", b"seven-c-one", b"word"):
        assert secret not in kept.name.encode() + kept.read_bytes()
    assert kept.stat().st_mode & 0o077 == 0


def test_secrets_are_in_no_message_and_no_log(
    web: FaultySite, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange_module, "_FIRST_WAIT", 0.0)
    query = "?id=7&token=planted-1&sig=planted-2&X-Amz-Credential=planted-3&key=planted-4"
    replies = [
        Reply(b"", 302, {"Location": "/b?access_token=planted-5", "Set-Cookie": "s=planted-6"}),
        Reply(b"", 302, {"Location": "http://u:planted-7@127.0.0.2/?Signature=planted-8"}),
        Reply(b"", 302, {"Location": "ftp://u:planted-7@127.0.0.2/?Signature=planted-8"}),
        Reply(b"", 302, {"Location": "http://u:planted-7@[bad/?Signature=planted-8"}),
        Reply(b"", 404),
        Reply(b"", 500),
        Reply(b"", 429, {"Retry-After": "900"}),
        Reply(b"", cut=0, length=5),
        Reply(b"x" * 2000),
        Reply(BODY[:9], headers={"Content-Encoding": "gzip"}),
    ]
    messages = []
    with caplog.at_level("DEBUG"):
        for reply in replies:
            web.says(f"/a{query}", reply)
            for method in ("get", "head"):
                page = reader(web, max_item_bytes=1000, **LOGIN)
                read = getattr(page, method)
                try:
                    read(f"http://u:planted-9@127.0.0.1:{web.port}/a{query}")
                except MunimentError as error:
                    messages.append(str(error))
    assert len(messages) > 14
    assert all("127.0.0." in message for message in messages)
    assert any("?id=7" in message for message in messages)
    assert any(record.name.startswith("httpx") for record in caplog.records)
    assert any(record.name.startswith("httpcore") for record in caplog.records)
    for text in [*messages, caplog.text, *map(repr, messages)]:
        assert "planted" not in text
        assert "seven-c-one" not in text
        assert BASIC.removeprefix("Basic ") not in text

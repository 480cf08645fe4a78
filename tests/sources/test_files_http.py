"""Folders that a web server shows as index pages."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import unquote

import pytest
from source_kit import Whole, connector, keys, problems
from stores import Pages, answering, index_pages

from ingest.errors import ConfigurationError, ItemError, RetriableError

# As Apache writes them: sorted anew, the folder above, names with signs in them, another host.
APACHE = """<html><head><title>Index of /in</title></head><body><pre>
<a href="?C=N;O=D">Name</a> <a href="?C=M;O=A">Last modified</a>
<a href="/">Parent Directory</a>
<a href="a%20%c3%bc.txt">a ü.txt</a> <a href="./b&amp;c.txt">b</a> <a href="sub/">sub/</a>
<a href="sub/">sub</a> <a href="/in/d.txt">d</a> <a href="50%2525.txt">50%25.txt</a>
<a href="../secret.txt">above</a> <a href="/other/e.txt">elsewhere</a> <a href="#top">top</a>
<a href="http://10.0.0.1/f.txt">another host</a> <a href="mailto:ann@x.example">Ann</a>
<a href="javascript:void(0)">x</a> see also http://host/in/g.txt
</pre></body></html>"""
BODIES = {
    "/in/a ü.txt": b"a",
    "/in/b&c.txt": b"b",
    "/in/sub/c.txt": b"c",
    "/in/d.txt": b"d",
    "/in/50%25.txt": b"50",
}


def say(
    request: BaseHTTPRequestHandler,
    body: bytes,
    status: int = 200,
    length: int | None = None,
    **headers: str,
) -> None:
    request.send_response(status)
    for name, value in headers.items():
        request.send_header(name.replace("_", "-"), value)
    request.send_header("Content-Length", str(len(body) if length is None else length))
    request.end_headers()
    if request.command != "HEAD":
        request.wfile.write(body)


def page(request: BaseHTTPRequestHandler) -> None:
    if request.path in ("/in/", "/in"):
        say(request, APACHE.encode(), Content_Type="text/html; charset=utf-8")
    elif request.path in ("/in/sub/", "/in/sub"):
        say(request, b'<a href="/in/">Up</a><a href="c.txt">c</a>', Content_Type="text/html")
    elif (path := unquote(request.path)) in BODIES:
        say(request, BODIES[path], ETag=f'"{len(request.path)}"')
    else:
        say(request, b"no", 404)


@pytest.fixture
def apache() -> Iterator[Pages]:
    with answering(page) as pages:
        yield pages


def index(tmp_path: Path, url: str, **more: object) -> Whole:
    return connector(tmp_path, connector="files", address=f"{url}/in", **more)


def test_links_in_the_folder_are_its_files_and_no_others(tmp_path: Path, apache: Pages) -> None:
    source = index(tmp_path, apache.url)
    listing = source.list()
    assert keys(listing) == ["50%25.txt", "a ü.txt", "b&c.txt", "d.txt", "sub/c.txt"]
    assert listing.problems == ()
    assert {source.fetch(item).data for item in listing.items} == set(BODIES.values())
    paths = {unquote(asked.partition(" ")[2]) for asked in apache.asked}
    assert paths <= {*BODIES, "/in/", "/in", "/in/sub/", "/in/sub"}


def test_a_manifest_names_files_as_people_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "served/in").mkdir(parents=True)
    (tmp_path / "served/in/a ü#1.txt").write_text("a")
    (tmp_path / "served/in/a ü#1.txt.terms.yaml").write_text("max_quote_chars: 7")
    (tmp_path / "served/in/m.csv").write_text("file,title\na ü#1.txt,The title\n", "utf-8")
    monkeypatch.setenv("MUNIMENT_CONNECTION_INDEX", '{"login": "ann", "password": "Tür: 1"}')
    with index_pages(tmp_path / "served", "ann", "Tür: 1") as url:
        source = index(tmp_path, url, connection="index", manifest="m.csv")
        listing = source.list()
        assert problems(listing) == []
        (item,) = listing.items
        assert (item.source_key, item.title) == ("a ü#1.txt", "The title")
        assert item.terms is not None
        assert item.terms.max_quote_chars == 7
        assert source.fetch(item).data == b"a"


def test_a_wrong_password_is_a_matter_of_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "served/in").mkdir(parents=True)
    wrong = json.dumps({"login": "ann", "password": "ganz:falsch/7"})
    monkeypatch.setenv("MUNIMENT_CONNECTION_INDEX", wrong)
    with (
        index_pages(tmp_path / "served", "ann", "right") as url,
        pytest.raises(ConfigurationError) as caught,
    ):
        index(tmp_path, url, connection="index").list()
    assert caught.value.code == "source_forbidden"
    assert "falsch" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "target", ["http://127.0.0.2:{port}/in/", "http://127.0.0.1:1/", "ftp://x/"]
)
@pytest.mark.parametrize("path", ["/in/", "/in/d.txt"])
def test_another_host_is_not_read_after_a_redirect(tmp_path: Path, target: str, path: str) -> None:
    """The metadata of a cloud machine are one redirect away."""

    def redirecting(request: BaseHTTPRequestHandler) -> None:
        if request.path == path:
            port = request.server.server_port  # type: ignore[attr-defined]  # it has one
            say(request, b"", 302, Location=target.format(port=port))
        else:
            page(request)

    with answering(redirecting) as pages:
        if path == "/in/":
            with pytest.raises((ConfigurationError, RetriableError)) as caught:
                index(tmp_path, pages.url).list()
            if "127" in target:
                assert caught.value.code == "source_forbidden"
        else:
            listing = index(tmp_path, pages.url).list()
            assert ("d.txt", "item_forbidden") in problems(listing)
            assert len(listing.items) == 4


def test_the_host_may_redirect_within_itself(tmp_path: Path) -> None:
    def moved(request: BaseHTTPRequestHandler) -> None:
        if request.path.startswith("/in/"):
            say(request, b"", 301, Location=f"/data{request.path}")
        elif request.path in ("/data/in/", "/data/in"):
            say(request, b'<a href="a.txt">a</a>', Content_Type="text/html")
        else:
            say(request, b"moved", ETag='"1"')

    with answering(moved) as pages:
        source = index(tmp_path, pages.url)
        (item,) = source.list().items
        assert source.fetch(item).data == b"moved"


@pytest.mark.parametrize("folder", ["my docs ü", "my%20docs%20%C3%BC", "my docs ü/"])
def test_the_folder_s_own_name_may_be_written_in_both_ways(tmp_path: Path, folder: str) -> None:
    def absolute(request: BaseHTTPRequestHandler) -> None:
        if request.path.endswith(".txt"):
            say(request, unquote(request.path).encode(), ETag='"1"')
        else:
            link = b'<a href="/my%20docs%20%C3%BC/a%20b.txt">a</a>'
            say(request, link, Content_Type="text/html")

    with answering(absolute) as pages:
        source = connector(tmp_path, connector="files", address=f"{pages.url}/{folder}")
        (item,) = source.list().items
        assert item.source_key == "a b.txt"
        assert source.fetch(item).data.decode() == "/my docs ü/a b.txt"


@pytest.mark.parametrize("status", [429, 500, 503])
@pytest.mark.parametrize("path", ["/in/", "/in/sub/", "/in/d.txt"])
def test_a_server_with_troubles_is_tried_again(tmp_path: Path, status: int, path: str) -> None:
    def failing(request: BaseHTTPRequestHandler) -> None:
        if request.path == path:
            say(request, b"trouble", status)
        else:
            page(request)

    with answering(failing) as pages, pytest.raises(RetriableError) as caught:
        index(tmp_path, pages.url).list()
    assert caught.value.code == "source_unreachable"


def test_a_page_or_a_file_that_is_cut_is_not_taken_for_a_whole_one(tmp_path: Path) -> None:
    cut = {"/in/d.txt"}

    def cutting(request: BaseHTTPRequestHandler) -> None:
        if request.path in cut and request.command == "GET":
            say(request, b"half", length=4000, ETag=f'"{len(request.path)}"')
            request.close_connection = True
        else:
            page(request)

    with answering(cutting) as pages:
        source = index(tmp_path, pages.url)
        item = next(one for one in source.list().items if one.source_key == "d.txt")
        with pytest.raises(RetriableError):
            source.fetch(item)
        cut.add("/in/sub/")
        with pytest.raises(RetriableError):
            source.list()


def test_a_file_whose_length_is_not_said_is_read_up_to_the_limit(tmp_path: Path) -> None:
    def streaming(request: BaseHTTPRequestHandler) -> None:
        if request.path != "/in/d.txt":
            page(request)
            return
        request.send_response(200)
        request.send_header("ETag", '"1"')
        request.end_headers()
        request.close_connection = True
        if request.command == "GET":
            request.wfile.write(b"x" * 5000)

    with answering(streaming) as pages:
        for limit, whole in ((5000, True), (4999, False)):
            source = index(tmp_path, pages.url, max_item_bytes=limit)
            item = next(one for one in source.list().items if one.source_key == "d.txt")
            if whole:
                assert source.fetch(item).data == b"x" * 5000
            else:
                with pytest.raises(ItemError) as caught:
                    source.fetch(item)
                assert caught.value.code == "too_large"


def test_a_page_that_is_not_there_is_a_matter_of_configuration(
    tmp_path: Path, apache: Pages
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        connector(tmp_path, connector="files", address=f"{apache.url}/lost").list()
    assert caught.value.code == "source_missing"


def test_a_server_that_is_gone_is_tried_again(tmp_path: Path) -> None:
    with answering(page) as pages:
        source = index(tmp_path, pages.url)
        item = source.list().items[0]
    for again in (source.list, lambda: source.fetch(item)):
        with pytest.raises(RetriableError):
            again()

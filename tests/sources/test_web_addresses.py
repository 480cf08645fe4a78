"""Where reading the web may lead: names, numbers, redirects, and names that change their mind."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from faulty_site import FaultySite, Reply, faulty_site

from ingest.errors import ItemError, RetriableError
from ingest.sources.credentials import from_environment
from ingest.sources.web import WebReader, public_url
from ingest.sources.web.network import is_public
from schemas.source import PortalSource

PUBLIC = "93.184.215.14"


@pytest.fixture
def web() -> Iterator[FaultySite]:
    with faulty_site() as served:
        yield served


def reader(address: str, own_host: str | None = None, **source: Any) -> WebReader:
    checked = PortalSource.model_validate(
        {
            "id": "src",
            "kind": "report",
            "licence": "open",
            "connector": "portal",
            "address": address,
            "respect_robots": False,
            "timeout_seconds": 2.0,
            **source,
        }
    )
    return WebReader(checked, own_host=own_host, credentials=from_environment, cache=None)


def stranger(**source: Any) -> WebReader:
    """Return a reader whose own address is elsewhere."""
    return reader("https://portal.example/", "portal.example", **source)


def refused(read: WebReader, url: str) -> str:
    for method in (read.get, read.head):
        with pytest.raises(ItemError) as caught:
            method(url)
        assert caught.value.code == "link_refused"
    return caught.value.message


# --- addresses ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1"],
)
def test_public_addresses(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.255.0.9", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1"),  # noqa: S104
        *("192.168.1.1", "169.254.169.254", "100.64.0.1", "198.18.0.1", "192.0.2.1"),
        *("224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255"),
        *("::", "::1", "fe80::1", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1", "ff0e::1"),
        *("2001:db8::1", "2001::1", "100::1"),
        *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:0.0.0.0", "::ffff:224.0.0.1"),
        *("::127.0.0.1", "::8.8.8.8", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1"),
        *("2002:7f00:1::", "2002:a00:1::1", "2002:a9fe:a9fe::"),
    ],
)
def test_addresses_that_are_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "LOCALHOST", "127.0.0.1", "127.0.0.1.", "[::1]"),
        *("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]"),
        *("2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "127.0.1", "0", "0.0.0.0"),  # noqa: S104
        *("134744072", "0x08.8.8.8", "8.8.8.8.", "169.254.169.254", "[fe80::1]"),
        *("①②⑦.0.0.1", "127。0。0。1"),
    ],
)
def test_private_hosts_are_refused_however_they_are_written(web: FaultySite, host: str) -> None:
    refused(stranger(), f"http://{host}:{web.port}/a")
    assert web.asked == []


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://wire.example/a", "file:///etc/passwd", "mailto:a@wire.example", "/a", "", "http:"),
        *("http://", "http:///a", "http://[bad/", "http://[::1/", "http://a b/", "http://%00/"),
        *("javascript:alert(1)", "data:text/plain,x", "gopher://x/", "http://x:99999999/", "//x/a"),
        *("unix:///run/docker.sock", "http+unix://%2Frun%2Fdocker.sock/x", "\0", "http://\ud800/"),
    ],
)
def test_what_is_no_http_address_is_refused(url: str) -> None:
    refused(stranger(), url)


def test_a_host_that_the_source_allows_is_read(web: FaultySite) -> None:
    web.says("/a", Reply(b"fine"))
    for allowed, host in (("127.0.0.1", "127.0.0.1"), ("LocalHost", "localhost")):
        page = stranger(allow_hosts=[allowed]).get(f"http://{host}:{web.port}/a")
        assert page.data == b"fine"
    assert "allow_hosts" in refused(
        stranger(allow_hosts=["localhost"]), f"http://127.0.0.1:{web.port}/a"
    )


def test_the_own_host_is_trusted_at_its_own_port_alone(web: FaultySite) -> None:
    web.says("/a", Reply(b"fine"))
    own = reader(f"{web.url}/listing", "127.0.0.1")
    assert own.get(f"{web.url}/a").data == b"fine"
    with faulty_site() as other:
        other.says("/a", Reply(b"internal"))
        refused(own, f"{other.url}/a")
        refused(own, f"http://localhost:{web.port}/a")
        assert other.asked == []


def test_a_redirect_to_a_private_address_is_refused(web: FaultySite) -> None:
    with faulty_site() as internal:
        internal.says("/secret", Reply(b"internal"))
        own = reader(f"{web.url}/listing", "127.0.0.1")
        for number, target in enumerate(
            (
                f"{internal.url}/secret",
                f"http://localhost:{internal.port}/secret",
                f"//127.0.0.1:{internal.port}/secret",
                f"http://2130706433:{internal.port}/secret",
                f"http://[::ffff:127.0.0.1]:{internal.port}/secret",
                "http://169.254.169.254/latest/meta-data",
                "file:///etc/passwd",
                "http://[bad/",
            )
        ):
            refused(own, web.says(f"/{number}", Reply(b"", 302, {"Location": target})))
        assert internal.asked == []


# --- names that change their mind ---------------------------------------------------------------


class Resolver:
    """Answers for one name, each time with the next of its addresses, and notes connections."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, name: str, *answers: list[str]) -> None:
        self.asked = 0
        self.connected: list[str] = []
        real_resolve, real_connect = socket.getaddrinfo, socket.create_connection

        def resolve(host: Any, port: Any, *args: Any, **kwargs: Any) -> Any:
            if host != name:
                return real_resolve(host, port, *args, **kwargs)
            found = answers[min(self.asked, len(answers) - 1)]
            self.asked += 1
            return [
                (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found
            ]

        def connect(address: tuple[str, int], *args: Any, **kwargs: Any) -> socket.socket:
            self.connected.append(address[0])
            # The public address stands for the test's own server.
            here = ("127.0.0.1", address[1]) if address[0] == PUBLIC else address
            return real_connect(here, *args, **kwargs)

        monkeypatch.setattr(socket, "getaddrinfo", resolve)
        monkeypatch.setattr(socket, "create_connection", connect)


def test_a_name_is_resolved_once_and_connected_to_as_it_was_checked(
    web: FaultySite, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = Resolver(monkeypatch, "rebind.example", [PUBLIC], ["127.0.0.1"])
    web.says("/a", Reply(b"fine"))
    page = stranger()
    assert page.get(f"http://rebind.example:{web.port}/a").data == b"fine"
    assert (names.asked, names.connected) == (1, [PUBLIC])
    assert web.asked[0].headers["host"] == f"rebind.example:{web.port}"
    web.asked.clear()
    refused(page, f"http://rebind.example:{web.port}/a")
    assert web.asked == []
    assert names.connected == [PUBLIC], "the second answer was never connected to"


def test_one_private_address_among_several_refuses_a_name(
    web: FaultySite, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = Resolver(monkeypatch, "both.example", [PUBLIC, "127.0.0.1"])
    refused(stranger(), f"http://both.example:{web.port}/a")
    assert names.connected == []


def test_a_redirect_to_a_name_that_turned_private_is_refused(
    web: FaultySite, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = Resolver(monkeypatch, "rebind.example", [PUBLIC], ["127.0.0.1"])
    web.says("/a", Reply(b"", 302, {"Location": "/b"}))
    web.says("/b", Reply(b"internal"))
    refused(stranger(), f"http://rebind.example:{web.port}/a")
    assert "/b" not in web.paths()
    assert names.connected == [PUBLIC]


def test_the_next_address_of_a_name_is_tried(
    web: FaultySite, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = Resolver(monkeypatch, "two.example", ["127.0.0.9", "127.0.0.1"])
    web.says("/a", Reply(b"fine"))
    url = f"http://two.example:{web.port}/a"
    assert stranger(allow_hosts=["two.example"]).get(url).data == b"fine"
    assert names.connected == ["127.0.0.9", "127.0.0.1"]


def test_a_host_may_be_allowed_in_its_own_letters(
    web: FaultySite, monkeypatch: pytest.MonkeyPatch
) -> None:
    Resolver(monkeypatch, "xn--bcher-kva.example", ["127.0.0.1"])
    web.says("/a", Reply(b"fine"))
    read = stranger(allow_hosts=["Bücher.example"])
    assert read.get(f"http://bücher.example:{web.port}/a").data == b"fine"


def test_a_name_that_cannot_be_resolved_may_be_some_day(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*args: Any, **kwargs: Any) -> Any:
        raise socket.gaierror(-3, "Temporary failure in name resolution")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(RetriableError, match=r"portal\.example cannot be resolved"):
        stranger().get("https://portal.example/a")


def test_proxies_of_the_environment_are_not_used(
    web: FaultySite, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.says("/a", Reply(b"fine"))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert reader(web.url, "127.0.0.1").get(f"{web.url}/a").data == b"fine"


# --- TLS ----------------------------------------------------------------------------------------


def _certificate(folder: Path, name: str) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    files = folder / "server.crt", folder / "server.key"
    files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    files[1].write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return files


def test_tls_speaks_to_the_name_at_the_checked_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = _certificate(tmp_path, "portal.example")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    greeted: list[str | None] = []
    context.sni_callback = lambda _socket, name, _context: greeted.append(name)
    heads: list[bytes] = []

    def serve(listening: socket.socket) -> None:
        for _ in range(2):
            try:
                with context.wrap_socket(listening.accept()[0], server_side=True) as client:
                    heads.append(client.recv(65536))
                    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine")
            except OSError:
                pass  # the client did not like the certificate

    names = Resolver(monkeypatch, "portal.example", [PUBLIC])
    Resolver(monkeypatch, "other.example", [PUBLIC])
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        port = listening.getsockname()[1]
        assert stranger().get(f"https://portal.example:{port}/a").data == b"fine"
        with pytest.raises(RetriableError, match="certificate"):
            stranger().get(f"https://other.example:{port}/a")
        thread.join()
    assert greeted == ["portal.example", "other.example"]
    assert f"Host: portal.example:{port}".encode() in heads[0]
    assert names.asked == 1


# --- what may be shown --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://h/a?id=1&b=%20#p", "https://h/a?id=1&b=%20#p"),
        ("https://user:pw@h:1/a", "https://h:1/a"),
        ("https://us@er:pw@h/a?x=u@v", "https://h/a?x=u@v"),
        ("//u:p@h/a", "//h/a"),
        ("ftp://u:p@h/a", "ftp://h/a"),
        ("https://h/a@b/c", "https://h/a@b/c"),
        ("https://h/a?token=x", "https://h/a"),
        ("https://h/a?TOKEN=x&id=1#p", "https://h/a?id=1#p"),
        ("https://h/a?id=1&%74oken=x&access_token=y&api_key=z&key=k&sig=s", "https://h/a?id=1"),
        (
            "https://b.s3/a?v=2&X-Amz-Algorithm=A&X-Amz-Credential=C&X-Amz-Date=D&X-Amz-Expires=9"
            "&X-Amz-SignedHeaders=host&X-Amz-Signature=S",
            "https://b.s3/a?v=2",
        ),
        ("https://b.s3/a?AWSAccessKeyId=A&Expires=9&Signature=S", "https://b.s3/a"),
        ("https://b/a?sv=1&sp=r&se=9&sr=b&sig=S&id=1", "https://b/a?id=1"),
        ("https://h/a?sv=1&expires=9", "https://h/a?sv=1&expires=9"),
        ("https://h/a?X-Goog-Signature=S&X-Goog-Date=D", "https://h/a"),
        ("no url at all?", "no url at all?"),
    ],
)
def test_public_urls(url: str, shown: str) -> None:
    assert public_url(url) == shown
    assert public_url(shown) == shown

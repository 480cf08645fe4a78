"""Folders on an SFTP server: who gets in, whose key is trusted, and what happens when it fails."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import asyncssh
import pytest
from source_kit import Whole, connector, keys
from stores import PASSWORD, USER, sftp_connection, sftp_server

from ingest.errors import ConfigurationError, RetriableError

OTHER_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"


@pytest.fixture
def served(tmp_path: Path) -> Path:
    (tmp_path / "served/in").mkdir(parents=True)
    (tmp_path / "served/in/a.txt").write_text("the text of a.txt")
    return tmp_path / "served"


@pytest.fixture
def server(served: Path) -> Iterator[tuple[str, str]]:
    with sftp_server(served) as found:
        yield found


def drop(tmp_path: Path, url: str, folder: str = "in") -> Whole:
    return connector(tmp_path, connector="files", address=f"{url}/{folder}", connection="drop")


def refusal(tmp_path: Path, url: str) -> ConfigurationError:
    with pytest.raises(ConfigurationError) as caught:
        drop(tmp_path, url).list()
    assert PASSWORD not in "".join(traceback.format_exception(caught.value))
    return caught.value


@pytest.mark.parametrize("passphrase", [None, "Losung: 12 Türen"])
@pytest.mark.parametrize("algorithm", ["ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa"])
def test_a_key_opens_the_door(
    tmp_path: Path,
    served: Path,
    monkeypatch: pytest.MonkeyPatch,
    algorithm: str,
    passphrase: str | None,
) -> None:
    key = asyncssh.generate_private_key(algorithm)
    text = key.export_private_key("openssh", passphrase=passphrase).decode()
    with sftp_server(served, key.export_public_key().decode()) as (url, host_key):
        extra = {"private_key": text, "passphrase": passphrase, "host_key": host_key}
        monkeypatch.setenv("MUNIMENT_CONNECTION_DROP", json.dumps({"login": USER, "extra": extra}))
        assert keys(drop(tmp_path, url).list()) == ["a.txt"]
        pem = key.export_private_key("pkcs8-pem", passphrase=passphrase).decode()
        extra = {"private_key": pem, "passphrase": passphrase, "host_key": host_key}
        monkeypatch.setenv("MUNIMENT_CONNECTION_DROP", json.dumps({"login": USER, "extra": extra}))
        assert keys(drop(tmp_path, url).list()) == ["a.txt"]
        other = asyncssh.generate_private_key(algorithm).export_private_key().decode()
        extra = {"private_key": other, "host_key": host_key}
        monkeypatch.setenv("MUNIMENT_CONNECTION_DROP", json.dumps({"login": USER, "extra": extra}))
        assert refusal(tmp_path, url).code == "source_forbidden"


def test_a_key_that_is_none_is_refused_and_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "-----BEGIN OPENSSH PRIVATE KEY-----\nbm90LWEta2V5LWJ1dC1zZWNyZXQ=\n-----END"
    extra = {"private_key": text}
    monkeypatch.setenv("MUNIMENT_CONNECTION_DROP", json.dumps({"login": USER, "extra": extra}))
    with pytest.raises(ConfigurationError) as caught:
        drop(tmp_path, "sftp://127.0.0.1:1")
    assert caught.value.code == "connection_invalid"
    assert "bm90LWEta2V5" not in "".join(traceback.format_exception(caught.value))


def test_a_wrong_password_is_a_matter_of_configuration(
    tmp_path: Path, server: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, host_key = server
    monkeypatch.setenv("MUNIMENT_CONNECTION_DROP", sftp_connection(host_key, login="nobody"))
    assert refusal(tmp_path, url).code == "source_forbidden"


def test_a_server_whose_key_is_not_known_is_not_trusted(
    tmp_path: Path, server: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither one with another key, nor the first that answers."""
    url, host_key = server
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MUNIMENT_CONNECTION_DROP", sftp_connection(OTHER_KEY))
    assert refusal(tmp_path, url).code == "source_forbidden"
    nothing_known = json.dumps({"login": USER, "password": PASSWORD})
    monkeypatch.setenv("MUNIMENT_CONNECTION_DROP", nothing_known)
    assert "known_hosts" in refusal(tmp_path, url).message
    assert not (tmp_path / ".ssh").exists()
    (tmp_path / ".ssh").mkdir()
    name = f"[127.0.0.1]:{url.rpartition(':')[2]}"
    (tmp_path / ".ssh/known_hosts").write_text(f"{name} {host_key}\n")
    assert keys(drop(tmp_path, url).list()) == ["a.txt"]


def test_a_host_key_that_is_none_is_refused(
    tmp_path: Path, server: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUNIMENT_CONNECTION_DROP", sftp_connection("nonsense"))
    assert refusal(tmp_path, server[0]).code == "connection_invalid"


def test_a_folder_that_may_not_be_read_is_not_taken_for_a_deletion(
    tmp_path: Path, served: Path, server: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, host_key = server
    monkeypatch.setenv("MUNIMENT_CONNECTION_DROP", sftp_connection(host_key))
    (served / "in/closed").mkdir()
    (served / "in/closed/b.txt").write_text("b")
    assert refusal(tmp_path, url).code == "source_forbidden"


def test_a_folder_that_is_not_there_is_a_matter_of_configuration(
    tmp_path: Path, server: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, host_key = server
    monkeypatch.setenv("MUNIMENT_CONNECTION_DROP", sftp_connection(host_key))
    for folder in ("lost", "in/a.txt"):
        with pytest.raises(ConfigurationError) as caught:
            drop(tmp_path, url, folder).list()
        assert caught.value.code == "source_missing"


def test_a_server_that_goes_away_is_tried_again_and_reached_when_it_is_back(
    tmp_path: Path, served: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_key = asyncssh.generate_private_key("ssh-ed25519")
    with sftp_server(served, host_key=own_key) as (url, host_key):
        monkeypatch.setenv("MUNIMENT_CONNECTION_DROP", sftp_connection(host_key))
        source = drop(tmp_path, url)
        (item,) = source.list().items
    for again in (source.list, lambda: source.fetch(item)):
        with pytest.raises(RetriableError) as caught:
            again()
        assert caught.value.code == "source_unreachable"
    with sftp_server(served, port=int(url.rpartition(":")[2]), host_key=own_key):
        assert source.fetch(item).data == b"the text of a.txt"
        assert source.list().items == (item,)


def test_a_server_that_falls_silent_is_not_waited_for_without_end(
    tmp_path: Path,
    served: Path,
    server: tuple[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url, host_key = server
    monkeypatch.setenv("MUNIMENT_CONNECTION_DROP", sftp_connection(host_key))
    monkeypatch.setattr("ingest.sources.stores._TIMEOUT_SECONDS", 1.0)
    source = drop(tmp_path, url)
    (item,) = source.list().items
    # The server has one thread for all that it does.
    monkeypatch.setattr("stores._Folder.open", lambda *args: time.sleep(4))
    start = time.monotonic()
    with pytest.raises(RetriableError):
        source.fetch(item)
    assert time.monotonic() - start < 4


def test_any_name_is_fetched(
    tmp_path: Path, served: Path, server: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, host_key = server
    monkeypatch.setenv("MUNIMENT_CONNECTION_DROP", sftp_connection(host_key))
    names = ["50%25 %.txt", "a b#1?x=2.txt", "sftp:x@y.txt", "ü/日本.txt"]
    for name in names:
        (served / "in" / name).parent.mkdir(exist_ok=True)
        (served / "in" / name).write_text(f"the text of {name}", "utf-8")
    source = drop(tmp_path, url)
    items = source.list().items
    assert [item.source_key for item in items] == sorted([*names, "a.txt"])
    for item in items:
        assert source.fetch(item).data.decode() == f"the text of {item.source_key}"


@pytest.mark.parametrize("root", ["", "/"])
def test_the_root_of_a_server_is_a_folder(
    tmp_path: Path, server: tuple[str, str], monkeypatch: pytest.MonkeyPatch, root: str
) -> None:
    url, host_key = server
    monkeypatch.setenv("MUNIMENT_CONNECTION_DROP", sftp_connection(host_key))
    source = connector(tmp_path, connector="files", address=f"{url}{root}", connection="drop")
    (item,) = source.list().items
    assert item.source_key == "in/a.txt"
    assert item.uri == f"{url}/in/a.txt"
    assert source.fetch(item).data == b"the text of a.txt"


def test_links_are_named_and_not_followed(
    tmp_path: Path, served: Path, server: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, host_key = server
    monkeypatch.setenv("MUNIMENT_CONNECTION_DROP", sftp_connection(host_key))
    (served / "in/link.txt").symlink_to("a.txt")
    listing = drop(tmp_path, url).list()
    assert keys(listing) == ["a.txt"]
    assert [(one.source_key, one.code) for one in listing.problems] == [("link.txt", "not_a_file")]

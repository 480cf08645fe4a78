from __future__ import annotations

import errno
import os
import stat
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import fsspec
import pytest

from ingest.errors import ConfigurationError, FatalError, RetriableError
from ingest.storage import Storage
from ingest.vault import Vault
from schemas.base import sha256_bytes

DATA = b"%PDF-1.7 a contract"
SHA256 = sha256_bytes(DATA)
PATH = f"{SHA256[:2]}/{SHA256[2:4]}/{SHA256}"


@pytest.fixture(params=["local", "file", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return {
        "local": f"{tmp_path}/a vault [1]*::x",
        "file": f"file://{tmp_path}/vault",
        "memory": f"memory://{uuid.uuid4().hex}/vault",
    }[request.param]


@pytest.fixture
def vault(url: str) -> Vault:
    return Vault(url)


def files(vault: Vault) -> list[str]:
    """Return everything that is stored, half-written files too."""
    storage = vault._storage
    return sorted(storage._fs.find(storage._root))


def damage(vault: Vault, data: bytes) -> None:
    folder = vault._storage.folder
    if folder is not None:
        (folder / PATH).chmod(0o644)
        (folder / PATH).write_bytes(data)
    else:
        vault._storage._fs.pipe_file(vault._storage._full(PATH), data)


@pytest.mark.parametrize("data", [DATA, b"", bytes(range(256)) * 10_000])
def test_what_goes_in_comes_out(vault: Vault, data: bytes) -> None:
    sha256 = vault.put(data)
    assert sha256 == sha256_bytes(data)
    assert vault.get(sha256) == data
    assert sha256 in vault
    with vault.local_file(sha256) as path:
        assert path.read_bytes() == data


def test_bytes_lie_under_their_hash(vault: Vault) -> None:
    vault.put(DATA)
    (only,) = files(vault)
    assert only.endswith(f"/{PATH}")


@pytest.mark.parametrize("scheme", ["", "file://", "memory://"])
def test_anyone_can_read_from_the_uri(tmp_path: Path, scheme: str) -> None:
    vault = Vault(f"{scheme}{tmp_path}/vault")
    vault.put(DATA)
    with fsspec.open(vault.uri(SHA256)) as stream:
        assert stream.read() == DATA


def test_bytes_that_are_there_are_not_written_again(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.put(DATA)

    def write(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("written again")

    monkeypatch.setattr(Storage, "writer", write)
    assert vault.put(DATA) == SHA256


def test_a_missing_file(vault: Vault) -> None:
    assert SHA256 not in vault
    for read in (vault.get, lambda sha256: vault.local_file(sha256).__enter__()):
        with pytest.raises(FatalError, match="ingest its source again") as caught:
            read(SHA256)
        assert caught.value.code == "vault_missing"
        assert SHA256 in caught.value.message


@pytest.mark.parametrize("data", [b"", DATA[:-1], DATA[:-1] + b"T", DATA + b"\n"])
def test_a_damaged_file(vault: Vault, data: bytes) -> None:
    vault.put(DATA)
    damage(vault, data)
    for read in (vault.get, lambda sha256: vault.local_file(sha256).__enter__()):
        with pytest.raises(FatalError, match="backup") as caught:
            read(SHA256)
        assert caught.value.code == "vault_damaged"


def test_a_file_that_lost_bytes_is_replaced(vault: Vault) -> None:
    vault.put(DATA)
    damage(vault, DATA[:5])
    vault.put(DATA)
    assert vault.get(SHA256) == DATA


@pytest.mark.parametrize("name", ["", "abc", "../" + SHA256[3:], SHA256.upper(), SHA256 + "\n"])
def test_what_is_no_hash_is_refused(vault: Vault, name: str) -> None:
    assert name not in vault
    for call in (vault.get, vault.uri, lambda sha256: vault.local_file(sha256).__enter__()):
        with pytest.raises(ValueError, match="SHA-256"):
            call(name)
    assert 7 not in vault


def test_erased_bytes_are_gone_and_others_stay(vault: Vault) -> None:
    other = vault.put(b"other")
    assert vault.erase(vault.put(DATA))
    assert not vault.erase(SHA256)
    assert SHA256 not in vault
    assert vault.get(other) == b"other"
    assert vault.put(DATA) == SHA256
    assert vault.get(SHA256) == DATA


def test_what_was_left_unfinished_is_erased(url: str) -> None:
    vault = Vault(url)
    assert vault.erase_unfinished() == 0
    vault.put(b"other")
    storage = vault._storage
    storage._fs.makedirs(storage._full(".partial"), exist_ok=True)
    storage._fs.pipe_file(storage._full(".partial/0123"), DATA)
    assert vault.erase_unfinished() == 1
    assert not storage._fs.exists(storage._full(".partial/0123"))
    assert len(storage.list()) == 1


def test_many_threads_may_put_the_same_bytes(vault: Vault) -> None:
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(lambda _: vault.put(DATA), range(40))) == {SHA256}
    assert vault.get(SHA256) == DATA
    assert len(files(vault)) == 1


def test_local_files_are_read_only_and_not_copied(tmp_path: Path) -> None:
    vault = Vault(str(tmp_path))
    vault.put(DATA)
    with vault.local_file(SHA256) as path:
        assert path == tmp_path / PATH
        assert stat.S_IMODE(path.stat().st_mode) == 0o444
    assert path.exists()


def test_copies_of_remote_files_are_taken_away() -> None:
    vault = Vault(f"memory://{uuid.uuid4().hex}")
    vault.put(DATA)
    with vault.local_file(SHA256) as path:
        assert path.read_bytes() == DATA
    assert not path.exists()


def test_a_vault_can_be_moved(tmp_path: Path) -> None:
    Vault(str(tmp_path / "a")).put(DATA)
    (tmp_path / "a").rename(tmp_path / "b")
    assert Vault(str(tmp_path / "b")).get(SHA256) == DATA


def fail(code: int) -> Any:
    def failing(*args: Any, **kwargs: Any) -> Any:
        raise OSError(code, os.strerror(code))

    return failing


@pytest.mark.parametrize(
    ("code", "kind", "name"),
    [
        (errno.ENOSPC, FatalError, "disk_full"),
        (errno.EDQUOT, FatalError, "disk_full"),
        (errno.EACCES, ConfigurationError, "store_denied"),
        (errno.EROFS, ConfigurationError, "store_denied"),
        (errno.EIO, FatalError, "store_failed"),
    ],
)
def test_what_a_disk_says(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    code: int,
    kind: type[Exception],
    name: str,
) -> None:
    vault = Vault(str(tmp_path))
    monkeypatch.setattr("os.fsync", fail(code))
    with pytest.raises(kind) as caught:
        vault.put(DATA)
    assert caught.value.code == name  # type: ignore[attr-defined]
    assert files(vault) == []
    monkeypatch.undo()
    vault.put(DATA)
    assert vault.get(SHA256) == DATA


@pytest.mark.parametrize(
    ("code", "kind", "name"),
    [
        (errno.ENOSPC, FatalError, "disk_full"),
        (errno.ECONNRESET, RetriableError, "store_unreachable"),
        (errno.EIO, RetriableError, "store_unreachable"),
    ],
)
def test_what_a_remote_store_says(
    monkeypatch: pytest.MonkeyPatch, code: int, kind: type[Exception], name: str
) -> None:
    vault = Vault(f"memory://{uuid.uuid4().hex}")
    monkeypatch.setattr(vault._storage._fs, "mv", fail(code))
    with pytest.raises(kind) as caught:
        vault.put(DATA)
    assert caught.value.code == name  # type: ignore[attr-defined]
    assert files(vault) == []


def test_a_full_disk_under_the_temporary_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    vault = Vault(f"memory://{uuid.uuid4().hex}")
    vault.put(DATA)
    monkeypatch.setattr(Path, "write_bytes", fail(errno.ENOSPC))
    with pytest.raises(FatalError) as caught, vault.local_file(SHA256):
        pass
    assert caught.value.code == "disk_full"


def test_a_kill_before_the_rename_leaves_nothing_under_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = Vault(str(tmp_path))
    # A killed process doesn't tidy up either.
    monkeypatch.setattr(Path, "unlink", lambda *args, **kwargs: None)
    monkeypatch.setattr(Path, "replace", fail(errno.EIO))
    with pytest.raises(FatalError):
        vault.put(DATA)
    monkeypatch.undo()
    assert SHA256 not in vault
    assert len(files(vault)) == 1
    vault.put(DATA)
    assert vault.get(SHA256) == DATA


@pytest.mark.parametrize("url", ["nope://bucket/x", "memory://bucket/*"])
def test_a_url_that_nothing_answers_to(url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Vault(url)
    assert caught.value.code == "store_url"


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "vault").write_text("in the way")
    with pytest.raises(ConfigurationError) as caught:
        Vault(str(tmp_path / "vault")).put(DATA)
    assert caught.value.code == "store_url"

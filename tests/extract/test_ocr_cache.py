from __future__ import annotations

import errno
import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import zstandard

from ingest.extract.ocr_cache import FolderCache
from ocr.recognition import RecognitionCache

KEY = "ab" + "0" * 62
OTHER = "cd" + "1" * 62
DATA = b'{"words": ["Agreement"]}' * 50


@pytest.fixture
def cache(tmp_path: Path) -> FolderCache:
    return FolderCache(tmp_path / "cache" / "ocr")


def entry(folder: Path, key: str = KEY) -> Path:
    return folder / "cache" / "ocr" / key[:2] / f"{key}.zst"


def test_what_is_put_is_there_for_the_next_process(cache: FolderCache, tmp_path: Path) -> None:
    kept: RecognitionCache = cache
    assert kept.get(KEY) is None
    kept.put(KEY, DATA)
    kept.put(OTHER, b"")
    assert FolderCache(tmp_path / "cache" / "ocr").get(KEY) == DATA
    assert kept.get(OTHER) == b""
    assert entry(tmp_path).stat().st_size < len(DATA) / 4
    kept.put(KEY, b"new")
    assert kept.get(KEY) == b"new"


def test_the_folder_has_entries_only(cache: FolderCache, tmp_path: Path) -> None:
    cache.put(KEY, DATA)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [entry(tmp_path)]


@pytest.mark.parametrize(
    "damage",
    [
        lambda packed: b"",
        lambda packed: b"no zstd at all",
        lambda packed: packed[: len(packed) // 2],
        lambda packed: packed[:-1],
        lambda packed: packed[:-6] + bytes([packed[-6] ^ 1]) + packed[-5:],
        lambda packed: zstandard.compress(b"\0" * (300 * 1024**2)),
    ],
)
def test_a_damaged_entry_is_none_and_is_replaced(
    damage: Any, cache: FolderCache, tmp_path: Path
) -> None:
    cache.put(KEY, DATA)
    entry(tmp_path).write_bytes(damage(entry(tmp_path).read_bytes()))
    assert cache.get(KEY) is None
    cache.put(KEY, DATA)
    assert cache.get(KEY) == DATA


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES])
def test_a_disk_that_takes_nothing_is_said_once(
    code: int,
    cache: FolderCache,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(code, "no")

    monkeypatch.setattr(Path, "replace", fail)
    with caplog.at_level(logging.WARNING):
        cache.put(KEY, DATA)
        cache.put(OTHER, DATA)
    assert len(caplog.records) == 1
    assert "MUNIMENT_EXTRACTION__OCR_CACHE" in caplog.text
    assert not any(path.is_file() for path in tmp_path.rglob("*")), "half-written files are gone"
    assert cache.get(KEY) is None


def test_a_folder_that_cannot_be_made_or_read_is_no_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = FolderCache(tmp_path / "file")
    assert cache.get(KEY) is None
    cache.put(KEY, DATA)
    assert len(caplog.records) == 1


def test_removed_is_removed(cache: FolderCache) -> None:
    cache.put(KEY, DATA)
    cache.put(OTHER, DATA)
    assert cache.remove([KEY, "ff" * 32]) == 1
    assert cache.get(KEY) is None
    assert cache.get(OTHER) == DATA


def test_every_entry_is_listed_and_damaged_ones_say_so(cache: FolderCache, tmp_path: Path) -> None:
    assert list(cache.entries()) == []
    cache.put(KEY, DATA)
    cache.put(OTHER, DATA)
    entry(tmp_path, OTHER).write_bytes(entry(tmp_path, OTHER).read_bytes()[:-9])
    assert list(cache.entries()) == [(KEY, DATA), (OTHER, None)]


def test_what_a_killed_process_left_is_removed(cache: FolderCache, tmp_path: Path) -> None:
    cache.put(KEY, DATA)
    left = entry(tmp_path).with_name(".tmpk3jx")
    left.write_bytes(DATA)
    assert cache.remove_unfinished() == 1
    assert not left.exists()
    assert cache.get(KEY) == DATA


def test_what_cannot_be_removed_is_an_error(cache: FolderCache, tmp_path: Path) -> None:
    entry(tmp_path).mkdir(parents=True)
    with pytest.raises(OSError, match=KEY):
        cache.remove([KEY])


@pytest.mark.parametrize("key", ["", "ab", "../../etc/passwd", "AB" * 32, "ab/" + "0" * 60])
def test_a_key_is_no_path(key: str, cache: FolderCache) -> None:
    with pytest.raises(ValueError, match="no key"):
        cache.put(key, DATA)
    with pytest.raises(ValueError, match="no key"):
        cache.get(key)


WRITE = """
import sys
from pathlib import Path
from ingest.extract.ocr_cache import FolderCache
cache = FolderCache(Path(sys.argv[1]))
for number in range(200):
    cache.put(sys.argv[2], bytes([number]) * 20_000)
"""


def test_readers_see_whole_entries_while_processes_write(
    cache: FolderCache, tmp_path: Path
) -> None:
    folder = str(tmp_path / "cache" / "ocr")
    command = [sys.executable, "-c", WRITE, folder, KEY]
    writers = [subprocess.Popen(command) for _ in range(2)]

    def look() -> int:
        seen = 0
        while any(writer.poll() is None for writer in writers):
            data = cache.get(KEY)
            if data is not None:
                assert len(data) == 20_000
                assert len(set(data)) == 1
                seen += 1
            else:
                assert not seen, "it was there before"
        return seen

    with ThreadPoolExecutor(2) as pool:
        assert sum(pool.map(lambda _: look(), range(2))) > 0
    assert [writer.wait() for writer in writers] == [0, 0]
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [entry(tmp_path)]

"""What was recognised before, in a folder."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile

import zstandard

log = logging.getLogger(__name__)

_KEY = re.compile(r"[0-9a-f]{8,128}")
_MAX_BYTES = 256 * 1024**2
"""A page of 100,000 words takes a tenth of this. An entry that claims more is not one of ours."""


class FolderCache:
    """Keeps bytes by key, one compressed file each, in folders by the key's first two digits.

    Threads and processes may share one: an entry is written to a file of its own and renamed, so
    it is there whole or not at all. The cache never fails: what it cannot read, it has not, and
    what it cannot write, it leaves, with one warning.
    """

    def __init__(self, folder: Path) -> None:
        """Use ``folder``, which is made when the first entry is put."""
        self._folder = folder
        self._warned = False

    def get(self, key: str) -> bytes | None:
        """Return what was put under ``key``; None without it, or if it cannot be read.

        Raises:
            ValueError: the key is no lower-case hexadecimal number of 8 digits or more.
        """
        path = self._path(key)
        try:
            packed = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn("read", error)
            return None
        try:
            return _unpack(packed)
        except (zstandard.ZstdError, ValueError):
            # Put there anew when the image has been read again.
            log.info("The cached reading %s is damaged and is not used.", path)
            return None

    def put(self, key: str, data: bytes) -> None:
        """Keep ``data`` under ``key`` in the place of what was there.

        Raises:
            ValueError: the key is no lower-case hexadecimal number of 8 digits or more.
        """
        path = self._path(key)
        packed = zstandard.ZstdCompressor(level=3, write_checksum=True).compress(data)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
                written = Path(file.name)
                try:
                    file.write(packed)
                    file.close()
                    written.replace(path)
                except BaseException:
                    with suppress(OSError):
                        written.unlink()
                    raise
        except OSError as error:
            self._warn("written", error)

    def entries(self) -> Iterator[tuple[str, bytes | None]]:
        """Yield every key with what is kept under it; None where that is damaged."""
        for path in sorted(self._folder.glob("??/*.zst")):
            try:
                yield path.stem, _unpack(path.read_bytes())
            except FileNotFoundError:
                continue
            except (zstandard.ZstdError, ValueError):
                yield path.stem, None

    def remove(self, keys: Iterable[str]) -> int:
        """Remove the entries of ``keys`` and return how many there were.

        Raises:
            OSError: an entry cannot be removed; what must be erased is not passed over.
            ValueError: a key is no lower-case hexadecimal number of 8 digits or more.
        """
        removed = 0
        for key in keys:
            with suppress(FileNotFoundError):
                self._path(key).unlink()
                removed += 1
        return removed

    def remove_unfinished(self) -> int:
        """Remove what was never wholly written, and return how many files. Nobody may be writing.

        Raises:
            OSError: a file cannot be removed.
        """
        unfinished = list(self._folder.glob("??/.*"))
        for path in unfinished:
            path.unlink(missing_ok=True)
        return len(unfinished)

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise ValueError(f"{key!r} is no key of the cache")
        return self._folder / key[:2] / f"{key}.zst"

    def _warn(self, what: str, error: OSError) -> None:
        if not self._warned:
            self._warned = True
            log.warning(
                "The cache of recognised pages in %s cannot be %s (%s); pages are read again "
                "each time. Make room, correct its permissions, or set "
                "MUNIMENT_EXTRACTION__OCR_CACHE.",
                self._folder,
                what,
                error,
            )


def _unpack(packed: bytes) -> bytes:
    if zstandard.frame_content_size(packed) > _MAX_BYTES:
        raise ValueError("too large for a reading")
    # A frame that is cut short gives no error by itself, only less than it promised.
    data = zstandard.ZstdDecompressor().decompress(packed, max_output_size=_MAX_BYTES)
    if len(data) != zstandard.frame_content_size(packed):
        raise ValueError("cut short")
    return data

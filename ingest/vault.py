"""The vault: source bytes under their SHA-256, never changed once written."""

from __future__ import annotations

import hashlib
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ingest.errors import FatalError
from ingest.storage import Storage, explain_os_error
from schemas.base import sha256_bytes

_SHA256 = re.compile(r"[0-9a-f]{64}")
_READ_BYTES = 1 << 20


class Vault:
    """Content-addressed bytes in a local folder or at any fsspec URL.

    Every read is hashed again, so what comes out is what went in, or an error.
    """

    def __init__(self, url: str, *, storage_options: Mapping[str, Any] | None = None) -> None:
        """Open the vault at ``url``.

        Raises:
            ConfigurationError: no file system answers to the URL.
        """
        self._storage = Storage(url, what="vault", storage_options=storage_options)

    def put(self, data: bytes) -> str:
        """Keep ``data`` and return its SHA-256. Bytes that are there already stay untouched.

        Raises:
            FatalError: ``disk_full``.
        """
        sha256 = sha256_bytes(data)
        path = _path(sha256)
        # A file of another size under this name was damaged after it was written: replace it.
        if self._storage.size(path) != len(data):
            with self._storage.writer(path, read_only=True) as stream:
                stream.write(data)
        return sha256

    def get(self, sha256: str) -> bytes:
        """Return the bytes whose SHA-256 is ``sha256``.

        Raises:
            FatalError: ``vault_missing`` or ``vault_damaged``.
        """
        try:
            data = self._storage.read(_path(sha256))
        except FileNotFoundError as error:
            raise self._missing(sha256) from error
        self._check(sha256, sha256_bytes(data))
        return data

    def size(self, sha256: str) -> int | None:
        """Return how many bytes they are; None if they are not there."""
        return self._storage.size(_path(sha256))

    def erase(self, sha256: str) -> bool:
        """Remove the bytes for good and return whether they were there."""
        return self._storage.remove(_path(sha256))

    def erase_unfinished(self) -> int:
        """Remove what was never wholly written; return how many files. Nobody may be writing."""
        return self._storage.remove_unfinished()

    def __contains__(self, sha256: object) -> bool:
        if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
            return False
        return self._storage.size(_path(sha256)) is not None

    def uri(self, sha256: str) -> str:
        """Return the URI of the bytes, whether or not they are there."""
        return self._storage.uri(_path(sha256))

    @contextmanager
    def local_file(self, sha256: str) -> Iterator[Path]:
        """Give a local file with the bytes: the vault's own, or a copy for as long as the block.

        Only read it: a local vault hands out the original.

        Raises:
            FatalError: ``vault_missing``, ``vault_damaged``, or ``disk_full`` for the copy.
        """
        if self._storage.folder is not None:
            path = self._storage.folder / _path(sha256)
            try:
                digest = self._digest(_path(sha256))
            except FileNotFoundError as error:
                raise self._missing(sha256) from error
            self._check(sha256, digest)
            yield path
            return
        data = self.get(sha256)
        with tempfile.TemporaryDirectory(prefix="muniment-") as folder:
            path = Path(folder) / sha256
            try:
                path.write_bytes(data)
            except OSError as error:
                what = f"The temporary copy {path} of a file from the vault could not be written"
                raise explain_os_error(error, what, local=True) from error
            yield path

    def _digest(self, path: str) -> str:
        digest = hashlib.sha256()
        with self._storage.reader(path) as stream:
            while data := stream.read(_READ_BYTES):
                digest.update(data)
        return digest.hexdigest()

    def _missing(self, sha256: str) -> FatalError:
        return FatalError(
            "vault_missing",
            f"The vault has no bytes with SHA-256 {sha256} (expected at {self.uri(sha256)}). "
            "Restore the file from a backup of the vault, or ingest its source again.",
        )

    def _check(self, sha256: str, found: str) -> None:
        if found != sha256:
            raise FatalError(
                "vault_damaged",
                f"The vault's file {self.uri(sha256)} was changed: its SHA-256 is now {found}. "
                "Restore it from a backup of the vault, or delete it and ingest its source again.",
            )


def _path(sha256: str) -> str:
    if not _SHA256.fullmatch(sha256):
        raise ValueError(f"{sha256!r} is not a SHA-256 in lower-case hexadecimal digits")
    return f"{sha256[:2]}/{sha256[2:4]}/{sha256}"

"""The artifact store: what steps hand to each other and what extraction made.

References are paths relative to the store, so that the store can be moved. A path that ends in
``.zst`` is compressed with Zstandard (RFC 8878), with a checksum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import zstandard
from pydantic import BaseModel, ValidationError

from ingest.errors import ConfigurationError, FatalError
from ingest.storage import Storage

ModelT = TypeVar("ModelT", bound=BaseModel)

_READ_BYTES = 1 << 20


class Artifacts:
    """Models and bytes by relative path, in a local folder or at any fsspec URL.

    Files are replaced whole: a reader sees the old or the new one, and a crash leaves the old one.
    """

    def __init__(self, url: str, *, storage_options: Mapping[str, Any] | None = None) -> None:
        """Open the store at ``url``.

        Raises:
            ConfigurationError: no file system answers to the URL.
        """
        self._url = url
        self._storage = Storage(url, what="artifact store", storage_options=storage_options)

    def write(self, path: str, model: BaseModel) -> str:
        """Write ``model`` as JSON and return ``path``; compressed where that ends in ``.zst``."""
        data = _encode(model)
        return self.write_bytes(path, _compressor().compress(data) if _is_zst(path) else data)

    def read(self, path: str, kind: type[ModelT]) -> ModelT:
        """Read the model at ``path``.

        Raises:
            FatalError: ``artifact_missing`` or ``artifact_damaged``.
        """
        data = self.read_bytes(path)
        try:
            if _is_zst(path):
                data = zstandard.ZstdDecompressor().decompress(data)
            return kind.model_validate_json(data)
        except (zstandard.ZstdError, ValidationError) as error:
            raise self._damaged(path, error) from error

    def write_lines(self, path: str, models: Iterable[BaseModel]) -> str:
        """Write ``models`` as JSON lines and return ``path``; always compressed.

        Nothing is kept if ``models`` raises halfway.
        """
        with (
            self._storage.writer(_checked(path)) as stream,
            _compressor().stream_writer(stream, closefd=False) as compressed,
        ):
            for model in models:
                compressed.write(_encode(model) + b"\n")
        return path

    def read_lines(self, path: str, kind: type[ModelT]) -> Iterator[ModelT]:
        """Yield the models at ``path`` one by one.

        Raises:
            FatalError: ``artifact_missing`` or ``artifact_damaged``, at the latest at its end.
        """
        try:
            for line in self._lines(path):
                yield kind.model_validate_json(line)
        except FileNotFoundError as error:
            raise self._missing(path) from error
        except (zstandard.ZstdError, ValidationError) as error:
            raise self._damaged(path, error) from error

    def write_bytes(self, path: str, data: bytes) -> str:
        """Write ``data`` as it is and return ``path``."""
        with self._storage.writer(_checked(path)) as stream:
            stream.write(data)
        return path

    def read_bytes(self, path: str) -> bytes:
        """Return the bytes at ``path`` as they are.

        Raises:
            FatalError: ``artifact_missing``.
        """
        try:
            return self._storage.read(_checked(path))
        except FileNotFoundError as error:
            raise self._missing(path) from error

    def read_content(self, path: str) -> bytes:
        """Return what is in the file at ``path``, decompressed where it is compressed.

        Raises:
            FatalError: ``artifact_missing`` or ``artifact_damaged``.
        """
        data = self.read_bytes(path)
        if not _is_zst(path):
            return data
        try:
            return zstandard.ZstdDecompressor().decompressobj().decompress(data)
        except zstandard.ZstdError as error:
            raise self._damaged(path, error) from error

    def write_content(self, path: str, content: bytes) -> str:
        """Write what :meth:`read_content` returns."""
        data = _compressor().compress(content) if _is_zst(path) else content
        return self.write_bytes(path, data)

    def remove(self, path: str) -> bool:
        """Remove the file at ``path`` for good and return whether it was there."""
        return self._storage.remove(_checked(path))

    def remove_unfinished(self) -> int:
        """Remove what was never wholly written; return how many files. Nobody may be writing."""
        return self._storage.remove_unfinished()

    def exists(self, path: str) -> bool:
        """Return whether there is a file at ``path``."""
        return self._storage.size(_checked(path)) is not None

    def list(self, prefix: str = "") -> list[str]:
        """Return the paths of all files in the folder ``prefix``, at any depth, sorted."""
        return self._storage.list(_checked(prefix.rstrip("/")) if prefix else "")

    def local_path(self, path: str) -> Path:
        """Return the local file of ``path``, whether or not it is there.

        Raises:
            ConfigurationError: the store is not on a local disk.
        """
        if self._storage.folder is None:
            raise ConfigurationError(
                "artifacts_not_local",
                f"The artifact store {self._url} is not a local folder, and this needs one. Set "
                "MUNIMENT_ARTIFACTS_URL to a folder.",
            )
        return self._storage.folder / _checked(path)

    def _lines(self, path: str) -> Iterator[bytes]:
        # The one-shot object, because the streaming reader takes a cut-off frame for a whole one.
        decompressor = zstandard.ZstdDecompressor().decompressobj()
        rest = b""
        with self._storage.reader(_checked(path)) as stream:
            while data := stream.read(_READ_BYTES):
                *lines, rest = (rest + decompressor.decompress(data)).split(b"\n")
                yield from lines
        if not decompressor.eof or rest:
            raise zstandard.ZstdError("the file ends in the middle")

    def _missing(self, path: str) -> FatalError:
        return FatalError(
            "artifact_missing",
            f"The artifact {self._storage.uri(path)} is not there. Run the pipeline again: it "
            "makes what is missing anew.",
        )

    def _damaged(self, path: str, error: Exception) -> FatalError:
        return FatalError(
            "artifact_damaged",
            f"The artifact {self._storage.uri(path)} cannot be read: {error}. Delete it and run "
            "the pipeline again: it is made anew from the vault.",
        )


def _encode(model: BaseModel) -> bytes:
    # round_trip leaves out computed fields, which strict models refuse when they are read back.
    return model.model_dump_json(round_trip=True).encode()


def _compressor() -> zstandard.ZstdCompressor:
    return zstandard.ZstdCompressor(write_checksum=True)


def _is_zst(path: str) -> bool:
    return path.endswith(".zst")


def _checked(path: str) -> str:
    """Return ``path`` if it stays inside the store and names one file in one way only."""
    parts = path.split("/")
    if "\\" in path or "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise ConfigurationError(
            "artifact_path",
            f"{path!r} is not a path inside the artifact store: it must be relative, with forward "
            "slashes and without empty, '.' and '..' parts. Check the names it was made from.",
        )
    return path

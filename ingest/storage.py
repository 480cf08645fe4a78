"""Files at an fsspec URL that are either whole or not there: what vault and artifacts stand on."""

from __future__ import annotations

import errno
import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

import fsspec  # type: ignore[import-untyped]  # ships neither stubs nor py.typed
from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]

from ingest.errors import ConfigurationError, FatalError, MunimentError, RetriableError

_PARTIAL = ".partial"
"""Folder of files that are still being written. One that is older than every running run was left
by a process that was killed, and may be deleted."""

_FULL = {errno.ENOSPC, errno.EDQUOT}
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}
_NOT_A_FOLDER = {errno.ENOTDIR, errno.EEXIST, errno.EISDIR}


class Storage:
    """Files under one root, named by relative paths with forward slashes.

    A file is written under a temporary name and then renamed, so that readers and crashes never
    see half of one; on a local disk it has reached the disk before it gets its name.
    """

    def __init__(
        self, url: str, *, what: str, storage_options: Mapping[str, Any] | None = None
    ) -> None:
        """Open the root.

        Args:
            url: a folder or an fsspec URL.
            what: what the store is called in messages.
            storage_options: passed to the URL's file system.

        Raises:
            ConfigurationError: no file system answers to the URL.
        """
        self._what = what
        self._url = url
        self.folder: Path | None = None
        """The root as a local folder; None where it is not on a local disk."""
        if "://" in url:
            try:
                self._fs, root = fsspec.core.url_to_fs(url, **(storage_options or {}))
            except (ValueError, ImportError) as error:
                raise ConfigurationError(
                    "store_url",
                    f"The {what} cannot be opened at {url!r}: {error}. Give a folder or an fsspec "
                    "URL, and install the package that its protocol needs.",
                ) from error
        else:
            # A plain path is never parsed as a URL: "::" and "*" are legal in folder names.
            self._fs, root = LocalFileSystem(), os.fspath(Path(url).expanduser().absolute())
        self._root: str = root.rstrip("/")
        if isinstance(self._fs, LocalFileSystem):
            self.folder = Path(root)
        elif any(character in self._root for character in "*?["):
            raise ConfigurationError(
                "store_url",
                f"The {what}'s URL {url!r} holds a wildcard character, which fsspec would expand. "
                "Choose a path without *, ? and [.",
            )

    def uri(self, path: str) -> str:
        """Return the absolute URI of ``path``."""
        return str(self._fs.unstrip_protocol(self._full(path)))

    def size(self, path: str) -> int | None:
        """Return the size of ``path`` in bytes; None if there is no such file."""
        self._fs.invalidate_cache()
        with self._explained(f"look up {path}"):
            try:
                info = self._fs.info(self._full(path))
            except (FileNotFoundError, NotADirectoryError):
                return None
        return int(info["size"]) if info["type"] == "file" else None

    def read(self, path: str) -> bytes:
        """Return the bytes of ``path``.

        Raises:
            FileNotFoundError: there is no such file.
        """
        with self._explained(f"read {path}"):
            return cast(bytes, self._fs.cat_file(self._full(path)))

    @contextmanager
    def reader(self, path: str) -> Iterator[BinaryIO]:
        """Open ``path`` for reading.

        Raises:
            FileNotFoundError: there is no such file.
        """
        with self._explained(f"read {path}"), self._fs.open(self._full(path), "rb") as stream:
            yield stream

    def list(self, prefix: str = "") -> list[str]:
        """Return the paths of all files in the folder ``prefix``, at any depth, sorted."""
        self._fs.invalidate_cache()
        with self._explained(f"list {prefix or 'all'}"):
            found = self._fs.find(self._full(prefix) if prefix else self._root or "/")
        paths = (path.removeprefix(self._root).lstrip("/") for path in found)
        return sorted(path for path in paths if not path.startswith(f"{_PARTIAL}/"))

    @contextmanager
    def writer(self, path: str, *, read_only: bool = False) -> Iterator[BinaryIO]:
        """Open a new file that takes the name ``path`` when the block ends without an error.

        Raises:
            FatalError: the disk is full.
            ConfigurationError: the store may not be written to.
            RetriableError: the store does not answer.
        """
        write = self._local_writer if self.folder is not None else self._remote_writer
        with self._explained(f"write {path}"), write(path, read_only) as stream:
            yield stream

    @contextmanager
    def _local_writer(self, path: str, read_only: bool) -> Iterator[BinaryIO]:
        assert self.folder is not None  # noqa: S101  # chosen by it
        target = self.folder / path
        partial = self.folder / _PARTIAL / uuid.uuid4().hex
        _make_folder(partial.parent)
        try:
            with partial.open("xb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            if read_only:
                partial.chmod(0o444)
            _make_folder(target.parent)
            partial.replace(target)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)

    @contextmanager
    def _remote_writer(self, path: str, read_only: bool) -> Iterator[BinaryIO]:
        del read_only  # has no counterpart that all protocols share
        target = self._full(path)
        partial = self._full(f"{_PARTIAL}/{uuid.uuid4().hex}")
        self._fs.makedirs(self._fs._parent(partial), exist_ok=True)
        try:
            with self._fs.open(partial, "wb") as stream:
                yield stream
            self._fs.makedirs(self._fs._parent(target), exist_ok=True)
            self._fs.mv(partial, target)
        except BaseException:
            with suppress(Exception):  # the first error is the one to tell
                self._fs.rm_file(partial)
            raise

    def remove(self, path: str) -> bool:
        """Remove ``path`` and return whether it was there; gone from a local disk for good."""
        with self._explained(f"remove {path}"):
            try:
                self._fs.rm_file(self._full(path))
            except FileNotFoundError:
                return False
            if self.folder is not None:
                _sync_folder((self.folder / path).parent)
        return True

    def remove_unfinished(self) -> int:
        """Remove the files that were never finished, and return how many. Nobody may be writing."""
        self._fs.invalidate_cache()
        with self._explained("list unfinished files"):
            found = self._fs.find(self._full(_PARTIAL))
        return sum(self.remove(path.removeprefix(self._root).lstrip("/")) for path in found)

    def _full(self, path: str) -> str:
        return f"{self._root}/{path}"

    @contextmanager
    def _explained(self, doing: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            raise explain_os_error(
                error, f"The {self._what} at {self._url} could not {doing}", self.folder is not None
            ) from error


def explain_os_error(error: OSError, what: str, local: bool) -> MunimentError:
    """Return the error of the pipeline's own tree that says what an operator does about it."""
    reason = error.strerror or str(error) or type(error).__name__
    if error.errno in _FULL:
        return FatalError(
            "disk_full",
            f"{what}: the disk is full. Free space on it, then run again; nothing half-written "
            "was kept.",
        )
    if isinstance(error, PermissionError) or error.errno in _DENIED:
        return ConfigurationError(
            "store_denied", f"{what}: {reason}. Give the user that runs this the right to do so."
        )
    if error.errno in _NOT_A_FOLDER:
        return ConfigurationError(
            "store_url",
            f"{what}: {reason}. A file stands where a folder is needed, or the reverse.",
        )
    if isinstance(error, ConnectionError | TimeoutError) or not local:
        return RetriableError(
            "store_unreachable", f"{what}: {reason}. Check the address if it stays like this."
        )
    return FatalError("store_failed", f"{what}: {reason}. Check the disk, then run again.")


def _make_folder(folder: Path) -> None:
    """Make ``folder`` and those above it so that they outlast a power cut."""
    if folder.is_dir():
        return
    _make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    _sync_folder(folder.parent)


def _sync_folder(folder: Path) -> None:
    """Put the names in ``folder`` on the disk: fsync of a file alone does not keep its name."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

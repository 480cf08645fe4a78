"""Files and folders that fsspec can reach, with its many errors made few."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, cast
from urllib.parse import unquote, unquote_to_bytes, urlsplit

from fsspec import get_filesystem_class  # type: ignore[import-untyped]  # fsspec ships no types
from fsspec.core import url_to_fs  # type: ignore[import-untyped]  # fsspec ships no types

from ingest.errors import ConfigurationError, ItemError, MunimentError, RetriableError
from ingest.sources.credentials import Credentials
from ingest.sources.index_page import Heads, encoded, in_folder
from ingest.sources.stores import (
    NAMELESS,
    WEB,
    refuses_access,
    register_stores,
    store_arguments,
)

_GONE = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
_PART = 1024 * 1024
_ETAGS = ("ETag", "etag", "content_md5", "md5Hash", "md5", "checksum")
_TIMES = ("mtime", "LastModified", "last_modified", "updated", "modified", "created")


class Location:
    """A configured file or folder, local or at an fsspec URL.

    ``OSError``\\ s that say "it is not there" or "you may not" pass through as they are; whatever
    else a file system raises becomes a RetriableError.
    """

    def __init__(
        self,
        address: str,
        base: Path,
        credentials: Credentials | None = None,
        options: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Resolve ``address``; a relative path starts at ``base``.

        Args:
            address: a path, or an fsspec URL.
            base: folder at which relative paths start.
            credentials: what its store wants to see.
            options: passed to the store's file system.

        Raises:
            ConfigurationError: no installed library reads addresses of this kind, or the
                credentials are not of a kind that it takes.
        """
        self.address = address
        self._full = address if "://" in address else os.fspath(base.absolute() / address)
        protocol = self._full.partition("://")[0] if "://" in self._full else "file"
        register_stores()
        try:
            kind = get_filesystem_class(protocol)
            self._arguments = store_arguments(protocol, credentials, options)
        except (ImportError, ValueError) as error:
            raise ConfigurationError(
                "address_unsupported",
                f"{address}: no installed library reads such addresses ({error}). Install the "
                "fsspec package for it, such as s3fs, or correct the address.",
            ) from error
        self._is_web = protocol in WEB
        self._is_sftp = protocol in NAMELESS
        protocols = kind.protocol
        self.is_local = "file" in ((protocols,) if isinstance(protocols, str) else protocols)
        path = kind._strip_protocol(self._full)
        self._host = urlsplit(self._full).netloc.rpartition("@")[2] if self._is_sftp else ""
        self.path: str = os.path.normpath(path) if self.is_local else path.rstrip("/")
        if self._is_sftp:
            self.path = self.path or "/"
        elif self._is_web:
            self.path = encoded(self.path)

    @cached_property
    def fs(self) -> Any:
        """The file system; a server is connected to when it is first asked for something."""
        return url_to_fs(self._full, **self._arguments)[0]

    @property
    def keeps_folders(self) -> bool:
        """Whether folders are things of their own; object stores have but names of files."""
        return self.is_local or self._is_sftp

    @cached_property
    def _heads(self) -> Heads:
        return Heads(self._arguments["client_kwargs"]["headers"])

    def is_folder(self) -> bool:
        """Tell whether the address is a folder that can be seen now.

        Not by fsspec's own ``isdir``, for which a folder that may not be seen is none.
        """
        try:
            if self.keeps_folders:
                return bool(self.info(self.path)["type"] == "directory")
            self.entries(self.path)
            return True
        except (FileNotFoundError, NotADirectoryError):
            return False

    def entries(self, folder: str) -> list[dict[str, Any]]:
        """Return what ``folder`` holds, as fsspec describes it: name, type, size and more.

        What object stores have below a name that is empty is one entry whose name ends with "/".

        Raises:
            NotADirectoryError: it is a file.
        """
        with self._calls():
            if self._is_web:
                self.fs.invalidate_cache()
                return in_folder(folder, self.fs.ls(f"{folder}/", detail=True))
            self.fs.invalidate_cache(folder)
            listed = self.fs.ls(folder, detail=True)
        if any(info["type"] == "file" and info["name"] == folder for info in listed):
            raise NotADirectoryError(f"{folder} is a file")
        # Object stores may list a folder as an entry of itself: as an object without bytes.
        return [
            info
            for info in listed
            if info["name"].rstrip("/") != folder.rstrip("/") or _is_unnamed(info)
        ]

    def name_in(self, path: str) -> str:
        """Return the name of ``path`` in this folder, as people write it."""
        name = path[len(self.path) :].lstrip("/")
        return unquote(name) if self._is_web else name

    def info(self, path: str) -> dict[str, Any]:
        """Return what fsspec knows about ``path`` now; links are followed."""
        with self._calls():
            self.fs.invalidate_cache(path.rpartition("/")[0])
            return cast(dict[str, Any], self.fs.info(path))

    def open(self, path: str) -> BinaryIO:
        """Open ``path`` for reading; the stream can seek."""
        with self._calls():
            return cast(BinaryIO, self.fs.open(path, "rb"))

    def read_up_to(self, path: str, limit: int) -> bytes:
        """Return the bytes of ``path``, and not many more than ``limit`` of them."""
        with self.open(path) as stream, self._calls():
            parts: list[bytes] = []
            while limit >= 0 and (part := stream.read(min(limit + 1, _PART))):
                parts.append(part)
                limit -= len(part)
            return b"".join(parts)

    def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        """Return the bytes of ``path``, all of them or those from ``start`` to before ``end``."""
        with self._calls():
            return cast(bytes, self.fs.cat_file(path, start, end))

    def state(self, path: str, info: dict[str, Any] | None = None) -> str:
        """Return a short text that changes when the bytes of ``path`` do, without reading them.

        ``info`` is what a listing has just said about it, if one has.

        An ETag or checksum where there is one, on the web by asking for the file's head; else size
        and time of last change, which for local files is the mtime in nanoseconds. A local file
        whose bytes change while size and mtime stay the same is taken for unchanged.
        """
        if self.is_local:
            with self._calls():
                status = Path(path).stat()
            return f"{status.st_size}-{status.st_mtime_ns}"
        if self._is_web:
            with self._calls():
                return self._heads.state(path)
        info = info or self.info(path)
        for name in _ETAGS:
            if info.get(name):
                return f"etag-{info[name]}"
        changed = next((info[name] for name in _TIMES if info.get(name)), "")
        # Some stores give a number when they list a folder, and a datetime when asked for a file.
        if isinstance(changed, datetime):
            changed = changed.timestamp()
        if isinstance(changed, float):
            changed = round(changed * 1000)
        return f"{info.get('size')}-{changed}"

    def uri(self, path: str) -> str:
        """Return the address of ``path`` for people and citations."""
        if self.is_local:
            return Path(path).as_uri()
        if self._host:
            return f"{urlsplit(self._full).scheme}://{self._host}{path}"
        return cast(str, self.fs.unstrip_protocol(path))

    def path_of(self, uri: str) -> str:
        """Return the path that :meth:`uri` made ``uri`` from."""
        if self.is_local:
            return os.fsdecode(unquote_to_bytes(urlsplit(uri).path))
        if self._host:
            return uri.partition(self._host)[2]
        return cast(str, self.fs._strip_protocol(uri))

    @contextmanager
    def _calls(self) -> Iterator[None]:
        try:
            yield
        except (*_GONE, MunimentError):
            raise
        except Exception as error:  # each file system raises errors of its own
            if self.is_local and not isinstance(error, OSError):
                raise
            # A connection that broke is not used again.
            self.__dict__.pop("fs", None)
            if refuses_access(error):
                raise PermissionError(f"{type(error).__name__}: {error}") from error
            raise RetriableError(
                "source_unreachable",
                f"{self.address}: could not be read: {type(error).__name__}: {error}. It is tried "
                "again; if it keeps failing, check the network, the credentials and the disk.",
            ) from error


def _is_unnamed(info: dict[str, Any]) -> bool:
    return info["type"] == "directory" and str(info["name"]).endswith("/")


@contextmanager
def listing(address: str) -> Iterator[None]:
    """Say what is wrong with a source whose file or folder cannot be had.

    Raises:
        ConfigurationError: it is not there, or may not be read.
        RetriableError: reading stopped half-way.
    """
    try:
        yield
    except PermissionError as error:
        raise ConfigurationError(
            "source_forbidden",
            f"{address}: may not be read ({error}). Nothing was listed, since a listing without it "
            "would look like a deletion. Give the pipeline's user access.",
        ) from error
    except _GONE as error:
        raise ConfigurationError(
            "source_missing",
            f"{address}: not found ({error}). Correct the source's address, or bring it back.",
        ) from error
    except OSError as error:
        raise RetriableError(
            "source_unreachable", f"{address}: reading stopped: {error}. It is tried again."
        ) from error


@contextmanager
def steady(file: Location) -> Iterator[None]:
    """Read a file to its end, and be sure that it was one file all the time.

    Raises:
        ConfigurationError: it is not there, or may not be read.
        RetriableError: it changed meanwhile, or reading stopped half-way.
    """
    with listing(file.address):
        before = file.state(file.path)
        yield
        if file.state(file.path) != before:
            raise RetriableError(
                "source_changing",
                f"{file.address}: it changed while it was read. It is tried again.",
            )


@contextmanager
def reading_again(address: str) -> Iterator[None]:
    """Have a fetch from inside an export tried again where the export cannot be had at the moment.

    That says nothing about the one record.

    Raises:
        RetriableError: it cannot be read.
    """
    try:
        yield
    except OSError as error:
        raise RetriableError(
            "source_unreachable",
            f"{address}: it cannot be read: {error}. It is tried again.",
        ) from error


@contextmanager
def passing() -> Iterator[None]:
    """Have a source that was sound when it was listed tried again, if it is wrong while fetching.

    Raises:
        RetriableError: the source is not what it was.
    """
    try:
        yield
    except ConfigurationError as error:
        raise RetriableError(error.code, error.message) from error


def unavailable(source_key: str, reason: object) -> ItemError:
    """Return the error for an item that was listed but cannot be had."""
    return ItemError(
        "item_unavailable",
        f"{source_key}: it was listed but cannot be fetched: {reason}. If it is gone for good, the "
        "next listing says so; otherwise bring it back, then retry the item.",
    )


def too_large(source_key: str, size: int, limit: int) -> ItemError:
    """Return the error for an item over the source's limit."""
    return ItemError(
        "too_large",
        f"{source_key}: {size:,} bytes are over the source's limit of {limit:,}. Raise "
        "max_item_bytes if it is meant to be this large.",
    )

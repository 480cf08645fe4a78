"""Pages that were read before, with what tells a server which state they are in.

A file a page, named by the SHA-256 of its URL, so that neither names nor metadata tell a secret
that was in it: a line of JSON, then the body. A file that is damaged is as good as none.
"""

from __future__ import annotations

import json
import os
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from ingest.sources.web.addresses import public_url
from ingest.sources.web.pages import WebPage
from schemas.base import sha256_bytes, sha256_text

_MAX_PAGE = 64 * 1024 * 1024
_MAX_FOLDER = 1024 * 1024 * 1024
"""In bytes. Past this, the pages that were not asked for the longest make room."""


@dataclass(frozen=True, slots=True)
class KeptPage:
    """A page as it was when it was last read."""

    data: bytes
    content_type: str | None
    etag: str | None
    last_modified: str | None
    next: str | None

    def conditions(self) -> dict[str, str]:
        """Return the headers that ask for the page only if it is no longer like this."""
        headers = {"If-None-Match": self.etag, "If-Modified-Since": self.last_modified}
        return {name: value for name, value in headers.items() if value and value.isascii()}

    def page(self, url: str) -> WebPage:
        """Return it as the page at ``url``."""
        return WebPage(url, self.data, self.content_type, self.etag, self.last_modified, self.next)


class PageCache:
    """The folder of one source. Whatever is wrong with it costs no more than a download."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._size: int | None = None

    def find(self, url: str) -> KeptPage | None:
        """Return the page that was kept for ``url``, if it is whole."""
        if self._folder is None:
            return None
        path = self._path(self._folder, url)
        try:
            head, _, data = path.read_bytes().partition(b"\n")
            known = json.loads(head)
            if known.pop("sha256") != sha256_bytes(data):
                return None
            if not all(value is None or isinstance(value, str) for value in known.values()):
                return None
            os.utime(path)
            return KeptPage(data=data, **known)
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return None

    def keep(self, url: str, page: WebPage) -> None:
        """Keep what ``url`` gave, if its server can be asked whether it changed."""
        if self._folder is None or not (page.etag or page.last_modified):
            return
        if len(page.data) > _MAX_PAGE or (page.next and public_url(page.next) != page.next):
            return
        kept = KeptPage(page.data, page.content_type, page.etag, page.last_modified, page.next)
        known = asdict(kept) | {"sha256": sha256_bytes(page.data)}
        del known["data"]
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            _write(self._path(self._folder, url), json.dumps(known).encode() + b"\n" + page.data)
            self._make_room(self._folder, len(page.data))

    def _path(self, folder: Path, url: str) -> Path:
        return folder / f"{sha256_text(url)}.page"

    def _make_room(self, folder: Path, added: int) -> None:
        if self._size is not None:
            self._size += added
            if self._size <= _MAX_FOLDER:
                return
        files = sorted(((path.stat(), path) for path in folder.glob("*.page")), key=_last_used)
        self._size = sum(status.st_size for status, _ in files)
        for status, path in files:
            if self._size <= _MAX_FOLDER:
                return
            path.unlink(missing_ok=True)
            self._size -= status.st_size


def _last_used(file: tuple[os.stat_result, Path]) -> float:
    return file[0].st_mtime


def _write(path: Path, data: bytes) -> None:
    """Write a file that is there whole or not at all, for this user alone."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise

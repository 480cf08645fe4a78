"""What lies in the home folder for people: proofs, reports, progress, logs, pages of the web."""

from __future__ import annotations

import json
import os
import re
import shutil
import uuid
from collections.abc import Collection, Iterator
from html import unescape
from pathlib import Path

from ingest.erasure.names import Names

_SHORT_ID = 8
"""Characters of a passage's id in the name of its picture in a report."""
_SHOWN = re.compile(r'class="value">([^<]*)<')
_HEX = re.compile(r"[^0-9a-f]")


class HomeFolder:
    """The home folder of an installation, as far as it is not the vault, a store or an index."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def proofs(self, chunk_ids: Collection[str]) -> list[Path]:
        """Return the pictures that ``muniment prove`` drew of these passages."""
        ids = set(chunk_ids)
        return [path for path in self._files("pages") if _chunk_of(path.name) in ids]

    def pictures(self, chunk_ids: Collection[str], sources: Collection[str]) -> list[Path]:
        """Return the pictures of these passages in reports."""
        starts = {chunk_id[:_SHORT_ID] for chunk_id in chunk_ids}
        return [
            path
            for path in self._files("reports", "*/pages/*.png")
            if any(
                path.name.startswith(f"{source}-")
                and path.name[len(source) + 1 : len(source) + 1 + _SHORT_ID] in starts
                for source in sources
            )
        ]

    def reports(self, runs: Collection[str], names: Names) -> list[Path]:
        """Return the quality reports of these runs, and those of others that name a document."""
        return [
            path
            for path in self._files("reports", "*/*")
            if path.suffix in (".html", ".part")
            and (path.parent.name in set(runs) or _mentioned(path, names))
        ]

    def lines(self, names: Names) -> list[Path]:
        """Return the files of progress and logs that name a document in some line."""
        return [path for path in self._lined() if any(_named(path.read_bytes(), names))]

    def mask(self, names: Names) -> int:
        """Write over every line of progress and logs that names a document; return how many files.

        In place and at the same length, because a run may be writing behind it.
        """
        masked = 0
        for path in self._lined():
            spans = list(_named(path.read_bytes(), names))
            if spans:
                masked += 1
                descriptor = os.open(path, os.O_WRONLY)
                try:
                    for start, end in spans:
                        os.pwrite(descriptor, b"x" * (end - start), start)
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
        return masked

    def web_pages(self, sources: Collection[str]) -> list[Path]:
        """Return the files that these sources keep of the web."""
        return [path for source in sources for path in self._files(f"cache/web/{source}")]

    def forget_web(self, sources: Collection[str]) -> None:
        """Remove what these sources keep of the web; the next listing reads it again."""
        for source in sources:
            folder = self._home / "cache" / "web" / source
            if folder.exists():
                shutil.rmtree(folder)

    def _lined(self) -> Iterator[Path]:
        yield from self._files("progress")
        yield from self._files("logs")
        yield from self._files("airflow/logs")

    def _files(self, folder: str, pattern: str = "**/*") -> list[Path]:
        found = (self._home / folder).glob(pattern)
        return sorted(path for path in found if path.is_file())


def _chunk_of(name: str) -> str | None:
    """Return the passage that a proof's picture is of; ids may be spelled in more than one way."""
    digits = _HEX.sub("", name.lower())[:32]
    return str(uuid.UUID(digits)) if len(digits) == 32 else None


def _mentioned(path: Path, names: Names) -> bool:
    text = path.read_text(encoding="utf-8", errors="replace")
    shown = {unescape(value) for value in _SHOWN.findall(text)}
    return names.mentions(text) or not shown.isdisjoint(key for _, key in names.keys)


def _named(data: bytes, names: Names) -> Iterator[tuple[int, int]]:
    """Yield start and end of what to write over: the detail of an event, or a line of a log."""
    start = 0
    for line in data.split(b"\n"):
        detail = re.search(rb'"detail":"((?:[^"\\]|\\.)*)"', line)
        if detail is not None:
            if names.mentions(_unescaped(detail[1]), message=True):
                yield start + detail.start(1), start + detail.end(1)
        elif names.mentions(line.decode("utf-8", "replace"), message=True):
            yield start, start + len(line)
        start += len(line) + 1


def _unescaped(text: bytes) -> str:
    return str(json.loads(b'"' + text + b'"'))

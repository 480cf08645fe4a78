"""Names of files inside documents: safe as keys and in paths, and each of them once.

A name comes from whoever made the document. It is never used as a path on a disk here, but it
becomes part of keys and addresses that other programs may use as one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from pathlib import PurePosixPath

from ingest.extract.decode import clean

MAX_BYTES = 500
"""Longest name in UTF-8: keys are indexed by databases, which have a limit on their length."""
_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Those that change the direction of writing make "fdp.exe" look like "exe.pdf"."""
_NAMELESS = "unnamed"
_JUNK_FOLDERS = frozenset({"__MACOSX"})
_JUNK_FILES = frozenset({".ds_store", "thumbs.db", "desktop.ini"})


class UnsafeNameError(Exception):
    """A name that leads out of its document, or is none."""

    def __init__(self, reason: str, name: str) -> None:
        super().__init__(reason, name)
        self.reason = reason
        self.name = name
        """What is left of it without what makes it unsafe."""


def safe_name(raw: str) -> str:
    """Return ``raw`` with "/" between folders, in one Unicode form.

    Raises:
        UnsafeNameError: the name is absolute, has a drive or "..", control characters, is empty or
            too long.
    """
    name = unicodedata.normalize("NFC", clean(raw)).replace("\\", "/")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    drive = bool(parts) and _DRIVE.match(parts[0]) is not None
    kept = [_CONTROL.sub("_", part) for part in parts if part != ".."]
    if drive and kept:
        kept[0] = _DRIVE.sub("", kept[0], count=1)
        kept = [part for part in kept if part]
    # "!/" stands between the names of a container and of its member.
    path = "/".join(part[:-1] + "_" if part.endswith("!") else part for part in kept[:-1])
    path = "/".join(filter(None, (path, *kept[-1:])))
    shortened = _shortened(path)
    if not path:
        raise UnsafeNameError("it has no name", _NAMELESS)
    if name.startswith("/") or drive:
        raise UnsafeNameError("its name is an absolute path", shortened)
    if ".." in parts:
        raise UnsafeNameError('its name leads out of the document by ".."', shortened)
    if _CONTROL.search(name):
        raise UnsafeNameError("its name has control characters", shortened)
    if shortened != path:
        raise UnsafeNameError(f"its name is longer than {MAX_BYTES} bytes", shortened)
    return path


def attached_name(raw: str | None, otherwise: str) -> str:
    """Return a safe name for a file whose ``raw`` name is only a hint, without folders.

    Programs that attach files write their names without care, so what is unsafe in one is taken
    out of it; where nothing is left the file is called ``otherwise``.
    """
    try:
        name = safe_name(raw or "")
    except UnsafeNameError as error:
        name = error.name
    name = name.replace("/", "_")
    return otherwise if not raw or name == _NAMELESS else name


def _shortened(path: str) -> str:
    if len(path.encode()) <= MAX_BYTES:
        return path
    suffix = PurePosixPath(path).suffix[:16]
    room = MAX_BYTES - len(suffix.encode())
    return path.encode()[:room].decode("utf-8", "ignore") + suffix


def is_junk(name: str) -> bool:
    """Tell whether a file holds what a file manager keeps for itself."""
    path = PurePosixPath(name)
    return (
        not _JUNK_FOLDERS.isdisjoint(path.parts)
        or path.name.lower() in _JUNK_FILES
        or path.name.startswith("._")
    )


class UniqueNames:
    """Gives each file inside a document a name of its own."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def take(self, name: str) -> str:
        """Return ``name``, with a number before its suffix if it is taken."""
        path = PurePosixPath(name)
        unique, number = name, 1
        while unique in self._taken:
            number += 1
            unique = str(path.with_name(f"{path.stem} ({number}){path.suffix}"))
        self._taken.add(unique)
        return unique

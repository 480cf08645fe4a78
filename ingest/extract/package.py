"""Zip packages of office files and e-books: opened within limits, parsed without entities.

The directory at the end of the file says how large every part is when unpacked, and `zipfile` never
unpacks more than that, so a bomb is told before anything is read. Names of parts are looked up,
never used as paths on a disk. Office formats forbid document type definitions (ECMA-376-2 §9.1.2,
Open Document 1.3 part 2 §3.1), which is where entity bombs and references to other files hide; a
part that has one is refused.
"""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import IO, Any, TypeAlias
from urllib.parse import unquote

from lxml import etree  # type: ignore[import-untyped]  # its stubs are a package of their own

from ingest.errors import ItemError
from ingest.extract.bombs import is_bomb
from ingest.extract.draft import SourceBytes, damaged
from ingest.extract.file_dates import iso_date
from schemas.document import FileDates

Node: TypeAlias = Any
"""An element of lxml, which has no types of its own."""

RELATIONSHIPS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_STRICT = {
    b"http://purl.oclc.org/ooxml/wordprocessingml/main": (
        b"http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    ),
    b"http://purl.oclc.org/ooxml/spreadsheetml/main": (
        b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    ),
    b"http://purl.oclc.org/ooxml/presentationml/main": (
        b"http://schemas.openxmlformats.org/presentationml/2006/main"
    ),
    b"http://purl.oclc.org/ooxml/drawingml/main": (
        b"http://schemas.openxmlformats.org/drawingml/2006/main"
    ),
    b"http://purl.oclc.org/ooxml/officeDocument/relationships": RELATIONSHIPS.encode(),
}
"""Namespaces of the strict conformance class (ECMA-376-1 annex A) as the transitional ones."""
_TERMS = "{http://purl.org/dc/terms/}"
_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"

_MAX_PARTS = 100_000
_CHUNK = 65_536
_SAFE = {
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "huge_tree": False,
    "remove_comments": True,
    "remove_pis": True,
}
"""Options of parsers that expand no entity, open no other file, and give up on huge trees."""


@dataclass(frozen=True, slots=True)
class Relationship:
    """A part that another part refers to (ECMA-376-2 §6.5)."""

    kind: str
    """Last segment of the relationship's type, such as "header"."""
    target: str
    """Name of the part in the package."""


class Package:
    """The parts of one zip package, by name."""

    def __init__(self, source: SourceBytes) -> None:
        """Open the package and look at its directory.

        Raises:
            ItemError: damaged, archive_bomb, password_needed.
        """
        self._source = source
        try:
            self._archive = zipfile.ZipFile(BytesIO(source.data))
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
            raise damaged(source.name, error) from error
        self._parts = {info.filename.lstrip("/"): info for info in self._archive.infolist()}
        self._folded = {name.lower(): name for name in self._parts}
        self._refuse_bombs()

    @property
    def names(self) -> list[str]:
        """Names of all parts, in the order of the directory."""
        return list(self._parts)

    def __contains__(self, name: str) -> bool:
        return self._find(name) is not None

    def open(self, name: str) -> IO[bytes]:
        """Return a part as a stream of unpacked bytes.

        Raises:
            KeyError: there is no such part.
            ItemError: damaged.
        """
        found = self._find(name)
        if found is None:
            raise KeyError(name)
        try:
            return self._archive.open(self._parts[found])
        except (
            zipfile.BadZipFile,
            NotImplementedError,
            RuntimeError,
            ValueError,
            OSError,
        ) as error:
            raise damaged(self._source.name, error) from error

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a part; None if there is no such part.

        Raises:
            ItemError: damaged.
        """
        if name not in self:
            return None
        try:
            with self.open(name) as stream:
                return stream.read()
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OSError) as error:
            raise damaged(self._source.name, f"{name}: {error}") from error

    def tree(self, name: str) -> Node | None:
        """Return the root of an XML part; None if there is no such part.

        Raises:
            ItemError: damaged, unsafe_xml.
        """
        data = self.read(name)
        if data is None:
            return None
        root = self.parse(data, name)
        if root.getroottree().docinfo.internalDTD is not None:
            raise unsafe_xml(self._source.name, name)
        return root

    def parse(self, data: bytes, name: str) -> Node:
        """Return the root of ``data`` as XML, whose entities stay unresolved.

        Raises:
            ItemError: damaged.
        """
        try:
            return etree.fromstring(_transitional(data), xml_parser())
        except (etree.XMLSyntaxError, ValueError) as error:
            raise damaged(self._source.name, f"{name}: {error}") from error

    def relationships(self, name: str) -> dict[str, Relationship]:
        """Return what a part refers to inside the package, by relationship id."""
        folder, base = posixpath.split(name)
        root = self.tree(posixpath.join(folder, "_rels", f"{base}.rels"))
        found: dict[str, Relationship] = {}
        for node in root if root is not None else ():
            target, key = node.get("Target"), node.get("Id")
            if not target or not key or node.get("TargetMode") == "External":
                continue
            kind = (node.get("Type") or "").rpartition("/")[2]
            found[key] = Relationship(kind, resolve(folder, target))
        return found

    def main_part(self, fallback: str) -> str:
        """Return the part that the package's own relationships name as its document."""
        for relationship in self.relationships("").values():
            if relationship.kind == "officeDocument" and relationship.target in self:
                return relationship.target
        return fallback

    def core_properties(self) -> tuple[str | None, str | None]:
        """Return the title and the author that the file names (ECMA-376-2 §8)."""
        root = self.tree("docProps/core.xml")
        return dublin_core(root)

    def core_dates(self) -> FileDates:
        """Return when the file says that it was created and last changed (ECMA-376-2 §8)."""
        root = self.tree("docProps/core.xml")
        found = {} if root is None else {node.tag: node.text for node in root.iter()}
        return FileDates(
            created=iso_date(found.get(_TERMS + "created")),
            modified=iso_date(found.get(_TERMS + "modified")),
        )

    def _find(self, name: str) -> str | None:
        # Names of parts are compared without regard to case (ECMA-376-2 §6.2.2).
        return name if name in self._parts else self._folded.get(name.lower())

    def _refuse_bombs(self) -> None:
        name = self._source.name
        limit = self._source.settings.limits.member_bytes
        parts = self._parts.values()
        total = sum(info.file_size for info in self._archive.infolist())
        if total > limit or len(parts) > _MAX_PARTS:
            raise ItemError(
                "archive_bomb",
                f"{name}: its {len(parts):,} parts unpack to {total:,} bytes, and the limit is "
                f"{limit:,}. Look at where the file comes from; if it is what it should be, raise "
                "MUNIMENT_EXTRACTION__LIMITS__MEMBER_BYTES, then retry the item.",
            )
        for info in parts:
            if info.flag_bits & 1:
                raise password_needed(name)
            if is_bomb(info):
                raise ItemError(
                    "archive_bomb",
                    f"{name}: a part of {info.compress_size:,} bytes unpacks to "
                    f"{info.file_size:,}, which no document does. Look at where the file comes "
                    "from; dismiss the entry, or save the document anew and retry the item.",
                )


def _transitional(data: bytes) -> bytes:
    for strict, transitional in _STRICT.items():
        data = data.replace(strict, transitional)
    return data


def xml_parser() -> etree.XMLParser:
    """Return a parser that expands no entity, opens no other file, and gives up on huge trees."""
    return etree.XMLParser(**_SAFE)


def iterate(
    package: Package, name: str, tags: tuple[str, ...], source: SourceBytes
) -> Iterator[Node]:
    """Yield the elements of a large part one by one; each is forgotten when the next is asked for.

    Raises:
        ItemError: damaged, unsafe_xml.
    """
    events = etree.XMLPullParser(events=("end",), tag=tags, **_SAFE)
    first = True
    try:
        with package.open(name) as stream:
            while data := stream.read(_CHUNK):
                if first:
                    if b"<!DOCTYPE" in data:
                        raise unsafe_xml(source.name, name)
                    data = _transitional(data)
                    first = False
                events.feed(data)
                for _, node in events.read_events():
                    yield node
                    node.clear(keep_tail=False)
                    parent = node.getparent()
                    while parent is not None and node.getprevious() is not None:
                        del parent[0]
            events.close()
    except (etree.XMLSyntaxError, zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise damaged(source.name, f"{name}: {error}") from error


def integer(given: str | None, fallback: int) -> int:
    """Return ``given`` as a number, or ``fallback`` where it is none."""
    try:
        return int(given) if given is not None else fallback
    except ValueError:
        return fallback


def resolve(folder: str, target: str) -> str:
    """Return the name of the part that ``target`` means, seen from ``folder``."""
    target = unquote(target.partition("#")[0])
    whole = target if target.startswith("/") else posixpath.join("/", folder, target)
    # normpath never climbs above the root.
    return posixpath.normpath(whole).lstrip("/")


def dublin_core(root: Node | None) -> tuple[str | None, str | None]:
    """Return the title and the creator that a metadata element holds."""
    if root is None:
        return None, None
    found = (
        next((node.text for node in root.iter(_DUBLIN_CORE + tag) if node.text), None)
        for tag in ("title", "creator")
    )
    title, creator = (" ".join(text.split()) or None if text else None for text in found)
    return title, creator


def password_needed(name: str) -> ItemError:
    """Return the error for a file that only a password opens."""
    return ItemError(
        "password_needed",
        f"{name}: the file is encrypted and needs a password. "
        "Save it without a password in its source, then retry the item.",
    )


def unsafe_xml(name: str, part: str) -> ItemError:
    """Return the error for XML that defines a document type."""
    return ItemError(
        "unsafe_xml",
        f"{name}: its part {part} defines XML entities, which no office file needs and attacks "
        "use. Look at where the file comes from; save the document anew, then retry the item.",
    )

"""Archives: no text of their own, only files, each of which is an item by itself.

ZIP as in PKWARE's APPNOTE.TXT 6.3.10, tar as in POSIX.1-2017 (pax) with GNU's extensions, gzip as
in RFC 1952. Nothing is written to a disk under a member's name, and what an archive may unpack to
is limited before and while it is unpacked.
"""

from __future__ import annotations

import io
import stat
import struct
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from ingest.errors import ItemError
from ingest.extract.bombs import is_bomb, most_unpacked
from ingest.extract.draft import Draft, Member, SourceBytes, damaged
from ingest.extract.member_names import UniqueNames, UnsafeNameError, is_junk, safe_name
from schemas.document import ExtractionWarning, MemberProblem

_ENCRYPTED = 0x1
_UTF8 = 0x800
_UNIX = 3
_UNICODE_PATH = 0x7075
_LOCAL_HEADER = 30
_CHUNK = 1024**2
_TAR_BLOCK = 512
_READ_ERRORS = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    NotImplementedError,
    struct.error,
)
"""What the readers of archives raise for bytes that are not what they claim to be."""

_Problem = tuple[str, str]
_DUPLICATE: _Problem = (
    "name_duplicate",
    "the archive has several files of this name, and nothing tells which one counts",
)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A file as the archive's directory describes it."""

    name: str
    size: int
    """Unpacked, as the directory says."""
    problem: _Problem | None
    """Code and reason, where it cannot be had."""
    read: Callable[[], bytes]


def read_zip(source: SourceBytes) -> Draft:
    """Read a ZIP archive.

    Raises:
        ItemError: damaged, no_members, too_many_members, members_too_large, archive_bomb.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            infos = [info for info in archive.infolist() if not info.orig_filename.endswith("/")]
            _refuse_overlaps(source, infos)
            return _draft(source, [_zip_entry(archive, info, source) for info in infos])
    except _READ_ERRORS as error:
        raise damaged(source.name, error) from error


def read_gzip(source: SourceBytes) -> Draft:
    """Read a gzip file: one file, or a tar archive.

    Raises:
        ItemError: damaged, no_members, too_many_members, members_too_large, archive_bomb.
    """
    try:
        data = _gunzipped(source)
    except (zlib.error, EOFError) as error:
        raise damaged(source.name, error) from error
    if is_tar(data):
        return read_tar(replace(source, data=data))
    return _draft(source, [_Entry(_gzip_name(source), len(data), None, lambda: data)])


def read_tar(source: SourceBytes) -> Draft:
    """Read a tar archive.

    Raises:
        ItemError: damaged, no_members, too_many_members, members_too_large.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(source.data), mode="r:") as archive:
            # Of several members of one name the last one counts: that is how tar updates.
            last = {info.name: info for info in archive if not info.isdir()}
            return _draft(source, [_tar_entry(archive, info) for info in last.values()])
    except _READ_ERRORS as error:
        raise damaged(source.name, error) from error


def is_tar(data: bytes) -> bool:
    """Tell whether ``data`` begins with the header of a tar member, by its checksum."""
    header = data[:_TAR_BLOCK]
    if len(header) < _TAR_BLOCK or not header.strip(b"\0"):
        return False
    try:
        tarfile.TarInfo.frombuf(header, "utf-8", "surrogateescape")
    except tarfile.TarError:
        return False
    return True


def _draft(source: SourceBytes, entries: Iterable[_Entry]) -> Draft:
    """Name the files, check them against the limits, and unpack them."""
    named: list[tuple[str, _Entry]] = []
    junk = 0
    for entry in entries:
        try:
            name = safe_name(entry.name)
        except UnsafeNameError as error:
            name = error.name
            entry = replace(entry, problem=("unsafe_name", error.reason))
        if is_junk(name):
            junk += 1
        else:
            named.append((name, entry))
    _refuse_too_many(source, named)

    draft = Draft(text="", body_end=0)
    names = UniqueNames()
    refused: list[tuple[str, _Problem]] = []
    repeated = Counter(name for name, entry in named if entry.problem is None)
    for name, entry in named:
        if entry.problem is not None:
            refused.append((name, entry.problem))
        elif repeated[name] > 1:
            refused.append((name, _DUPLICATE))
            repeated[name] = 0  # one entry for all of them
        elif repeated[name] == 1:
            names.take(name)
            try:
                draft.members.append(Member(name, entry.read()))
            except _READ_ERRORS as error:
                why = f"it is damaged and could not be unpacked ({error})"
                draft.member_problems.append(_problem(name, "damaged", why))
    # Behind the others, so that no name made safe takes the place of one that was.
    for name, problem in refused:
        draft.member_problems.append(_problem(names.take(name), *problem))
    if junk:
        draft.warnings.append(
            ExtractionWarning(
                code="members_left_out",
                message=f"{junk} files that file managers keep for themselves were left out.",
            )
        )
    return draft


def _problem(name: str, code: str, reason: str) -> MemberProblem:
    advice = "Put it right in the archive, or dismiss the entry."
    return MemberProblem(name=name, code=code, message=f"{reason}. {advice}")


def _refuse_too_many(source: SourceBytes, named: list[tuple[str, _Entry]]) -> None:
    limits = source.settings.limits
    if not named:
        raise ItemError(
            "no_members",
            f"{source.name}: the archive has no files. Get it again from its source, then retry "
            "the item; dismiss the entry if it is meant to be empty.",
        )
    if len(named) > limits.members:
        raise ItemError(
            "too_many_members",
            f"{source.name}: {len(named):,} files are more than the limit of {limits.members:,}. "
            "Split the archive, or raise MUNIMENT_EXTRACTION__LIMITS__MEMBERS, then retry the "
            "item.",
        )
    size = sum(entry.size for _, entry in named if entry.problem is None)
    if size > limits.member_bytes:
        raise too_large(source, size)


def too_large(source: SourceBytes, size: int) -> ItemError:
    """Return the error for a document whose files are too large together, unpacked."""
    limit = source.settings.limits.member_bytes
    return ItemError(
        "members_too_large",
        f"{source.name}: unpacked, its files have at least {size:,} bytes, more than the limit of "
        f"{limit:,}. Split it, or raise MUNIMENT_EXTRACTION__LIMITS__MEMBER_BYTES, then retry the "
        "item.",
    )


def _zip_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, source: SourceBytes) -> _Entry:
    def read() -> bytes:
        # zipfile gives no more than the directory says, and checks size and CRC-32 at the end.
        with archive.open(info) as stream:
            return stream.read()

    return _Entry(_zip_name(info), info.file_size, _zip_problem(info, source), read)


def _zip_problem(info: zipfile.ZipInfo, source: SourceBytes) -> _Problem | None:
    kind = stat.S_IFMT(info.external_attr >> 16) if info.create_system == _UNIX else 0
    if kind == stat.S_IFLNK:
        return "link_not_followed", "it is a link"
    if kind not in (0, stat.S_IFREG):
        return "not_a_file", "it is a device, a socket or a pipe"
    if info.flag_bits & _ENCRYPTED:
        return "password_needed", "it can only be unpacked with a password"
    if info.header_offset + _LOCAL_HEADER + info.compress_size > len(source.data):
        return "damaged", "it is damaged: the archive ends before it does"
    if is_bomb(info):
        return "archive_bomb", (
            f"it would unpack from {info.compress_size:,} to {info.file_size:,} bytes, as only "
            "files do that are meant to fill a disk"
        )
    return None


def _zip_name(info: zipfile.ZipInfo) -> str:
    """Return the file's name, which is in UTF-8 more often than its flag says.

    Without the flag it is in CP437 (APPNOTE.TXT appendix D), unless an extra field has it in UTF-8
    (§4.6.9), or its bytes are UTF-8: no CP437 text is so by chance.
    """
    name = info.orig_filename
    if info.flag_bits & _UTF8 or name.isascii():
        return name
    raw = name.encode("cp437")
    given = _unicode_path(info.extra, zlib.crc32(raw))
    try:
        return (given or raw).decode("utf-8")
    except UnicodeDecodeError:
        return name


def _unicode_path(extra: bytes, name_crc: int) -> bytes | None:
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<HH", extra)
        field, extra = extra[4 : 4 + length], extra[4 + length :]
        if kind == _UNICODE_PATH and len(field) > 5 and field[0] == 1:
            # By the checksum, no program that knows no such field changed the name since.
            return field[5:] if struct.unpack_from("<L", field, 1)[0] == name_crc else None
    return None


def _refuse_overlaps(source: SourceBytes, infos: list[zipfile.ZipInfo]) -> None:
    """Refuse an archive in which several names unpack the same bytes over and over."""
    ordered = sorted(infos, key=lambda info: info.header_offset)
    for info, following in pairwise(ordered):
        if info.header_offset + _LOCAL_HEADER + info.compress_size > following.header_offset:
            raise ItemError(
                "archive_bomb",
                f"{source.name}: its files overlap, as only those of archives do that are meant "
                "to fill a disk. Get another copy from its source, then retry the item; dismiss "
                "the entry if it is not needed.",
            )


def _tar_entry(archive: tarfile.TarFile, info: tarfile.TarInfo) -> _Entry:
    def read() -> bytes:
        stream = archive.extractfile(info)
        data = b"" if stream is None else stream.read()
        if len(data) != info.size:
            raise EOFError("the archive ends before it does")
        return data

    problem: _Problem | None = None
    if info.issym() or info.islnk():
        problem = "link_not_followed", f"it is a link to {info.linkname!r}"
    elif not info.isfile():
        problem = "not_a_file", "it is a device or a pipe"
    elif info.sparse is not None:
        problem = "sparse_file", "it has holes, which are not read"
    return _Entry(info.name, info.size, problem, read)


def _gunzipped(source: SourceBytes) -> bytes:
    """Return all members of the gzip file, one after the other (RFC 1952 §2.2)."""
    limit = source.settings.limits.member_bytes
    bomb = most_unpacked(len(source.data))
    out = bytearray()
    rest = source.data
    # Zeros behind the last member are padding.
    while rest.strip(b"\0"):
        unpacking = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        while not unpacking.eof:
            out += unpacking.decompress(rest, _CHUNK)
            rest = unpacking.unconsumed_tail or unpacking.unused_data
            if len(out) > limit:
                raise too_large(source, len(out))
            if len(out) > bomb:
                raise ItemError(
                    "archive_bomb",
                    f"{source.name}: {len(source.data):,} bytes unpack to more than {bomb:,}, as "
                    "only files do that are meant to fill a disk. Get another copy from its "
                    "source, then retry the item; dismiss the entry if it is not needed.",
                )
            if not rest and not unpacking.eof:
                raise EOFError("the file ends too early")
    return bytes(out)


def _gzip_name(source: SourceBytes) -> str:
    """Return the name of what was packed: that of the file without its suffix."""
    stem, _, suffix = source.name.rpartition(".")
    return f"{stem}.tar" if suffix.lower() == "tgz" else stem or source.name

"""Archives: what comes out of them, under which names, and what is refused."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import warnings
import zipfile
import zlib

import pytest
from extract.checks import FAST, check_invariants, limited, text_pdf

from ingest.errors import ItemError
from ingest.extract import extract_with_members, media
from ingest.extract.archives import is_tar
from ingest.extract.member_names import (
    MAX_BYTES,
    UniqueNames,
    UnsafeNameError,
    attached_name,
    safe_name,
)
from ingest.settings import ExtractionSettings
from schemas.document import Extraction

MIB = 1024**2
PDF = text_pdf()


def zipped(files: list[tuple[str | zipfile.ZipInfo, bytes]], method: int = 0) -> bytes:
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # zipfile warns of duplicates, which are meant
        with zipfile.ZipFile(buffer, "w", method) as archive:
            for name, data in files:
                archive.writestr(name, data)
    return buffer.getvalue()


def tarred(*members: tuple[tarfile.TarInfo | str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in members:
            info = tarfile.TarInfo(name) if isinstance(name, str) else name
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def read(
    data: bytes, name: str = "a.zip", settings: ExtractionSettings = FAST
) -> tuple[Extraction, dict[str, bytes]]:
    extraction, members = extract_with_members(data, name=name, settings=settings)
    check_invariants(extraction)
    assert [(a.name, a.size) for a in extraction.attachments] == [
        (m.name, len(m.data)) for m in members
    ]
    found = {member.name: member.data for member in members}
    names = [*found, *(problem.name for problem in extraction.member_problems)]
    assert len(names) == len(set(names)) == len(members) + len(extraction.member_problems)
    return extraction, found


def problems(extraction: Extraction) -> dict[str, str]:
    return {problem.name: problem.code for problem in extraction.member_problems}


def refusal(data: bytes, name: str = "a.zip", **limits: int) -> str:
    with pytest.raises(ItemError) as caught:
        read(data, name, limited(**limits) if limits else FAST)
    assert caught.value.message.startswith(f"{name}: ")
    return caught.value.code


def test_an_archive_has_no_text_and_all_its_files() -> None:
    extraction, found = read(
        zipped([("folder/", b""), ("folder/a.pdf", PDF), ("b.txt", b"Words.")])
    )
    assert (extraction.text, extraction.media_type) == ("", media.ZIP)
    assert found == {"folder/a.pdf": PDF, "b.txt": b"Words."}
    assert extraction.language is None


@pytest.mark.parametrize(
    ("raw", "safe", "reason"),
    [
        ("/etc/passwd", "etc/passwd", "absolute"),
        ("\\\\server\\share\\a.txt", "server/share/a.txt", "absolute"),
        ("C:\\Users\\a.txt", "Users/a.txt", "absolute"),
        ("c:a.txt", "a.txt", "absolute"),
        ("../../a.txt", "a.txt", '".."'),
        ("a/../../b.txt", "a/b.txt", '".."'),
        ("a\nb.txt", "a_b.txt", "control"),
        ("invoice\u202efdp.exe", "invoice_fdp.exe", "control"),
        ("", "unnamed", "no name"),
        ("..", "unnamed", "no name"),
        ("x" * 600 + ".pdf", "x" * (MAX_BYTES - 4) + ".pdf", "longer"),
    ],
)
def test_names_that_are_not_safe(raw: str, safe: str, reason: str) -> None:
    with pytest.raises(UnsafeNameError) as caught:
        safe_name(raw)
    assert caught.value.name == safe
    assert reason in caught.value.reason


@pytest.mark.parametrize(
    ("raw", "safe"),
    [
        ("a/b.txt", "a/b.txt"),
        ("a\\b.txt", "a/b.txt"),
        ("./a//b.txt", "a/b.txt"),
        ("a..b.txt", "a..b.txt"),
        ("Mu\u0308ller.txt", "Müller.txt"),
        ("stop!/a.txt", "stop_/a.txt"),
        ("stop!.txt", "stop!.txt"),
        ("a:b.txt", "a:b.txt"),
    ],
)
def test_names_that_are_safe(raw: str, safe: str) -> None:
    # A single letter before a colon is a drive wherever it stands first.
    if raw == "a:b.txt":
        with pytest.raises(UnsafeNameError):
            safe_name(raw)
        return
    assert safe_name(raw) == safe


def test_names_are_given_once() -> None:
    names = UniqueNames(["a.txt"])
    assert [names.take("a.txt"), names.take("a.txt"), names.take("b/c"), names.take("b/c")] == [
        "a (2).txt",
        "a (3).txt",
        "b/c",
        "b/c (2)",
    ]
    assert attached_name("../a/b.txt", "x") == "a_b.txt"
    assert attached_name(None, "x") == attached_name("..", "x") == "x"


def test_unsafe_names_are_refused_one_by_one_and_take_nobodys_place() -> None:
    extraction, found = read(zipped([("../a.txt", b"evil"), ("a.txt", b"good")]))
    assert found == {"a.txt": b"good"}
    assert problems(extraction) == {"a (2).txt": "unsafe_name"}


def test_a_link_a_pipe_and_an_encrypted_file_are_refused_one_by_one() -> None:
    link, pipe, plain = (zipfile.ZipInfo(name) for name in ("link", "pipe", "plain.txt"))
    link.create_system = pipe.create_system = plain.create_system = 3
    link.external_attr, pipe.external_attr = 0o120777 << 16, 0o010644 << 16
    plain.external_attr = 0o100644 << 16
    data = zipped([(link, b"/etc/passwd"), (pipe, b""), (plain, b"Words."), ("locked.txt", b"x")])
    # The flag of encryption stands in the file's own header and in the directory.
    at = data.rindex(b"PK\x01\x02")
    data = data[: at + 8] + b"\1" + data[at + 9 :]
    extraction, found = read(data)
    assert found == {"plain.txt": b"Words."}
    assert problems(extraction) == {
        "link": "link_not_followed",
        "pipe": "not_a_file",
        "locked.txt": "password_needed",
    }


def test_files_of_one_name_are_refused_together() -> None:
    extraction, found = read(
        zipped([("a.txt", b"1"), ("b.txt", b"2"), ("a.txt", b"3"), ("./a.txt", b"4")])
    )
    assert found == {"b.txt": b"2"}
    assert problems(extraction) == {"a.txt": "name_duplicate"}


def test_what_file_managers_leave_behind_is_left_out_and_counted() -> None:
    junk = ["__MACOSX/._a.txt", "._b", "x/.DS_Store", "Thumbs.db", "x/desktop.ini"]
    extraction, found = read(zipped([(name, b"x") for name in junk] + [("a.txt", b"Words.")]))
    assert found == {"a.txt": b"Words."}
    (warning,) = extraction.warnings
    assert warning.code == "members_left_out"
    assert warning.message.startswith("5 files")
    assert refusal(zipped([(name, b"x") for name in junk])) == "no_members"


def rename(data: bytes, old: bytes, new: bytes, flags: int = 0) -> bytes:
    """Write another name of the same length into an archive, and its flags."""
    assert len(old) == len(new)
    data = data.replace(old, new)
    at = data.index(b"PK\x01\x02")
    return data[: at + 8] + struct.pack("<H", flags) + data[at + 10 :]


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("Müller".encode("cp437"), "Müller"),
        ("Müller".encode(), "Müller"),
        ("契約書".encode(), "契約書"),
    ],
)
def test_names_without_the_flag_of_utf8_are_cp437_or_utf8(raw: bytes, name: str) -> None:
    stand_in = b"n" * len(raw)
    data = rename(zipped([(stand_in.decode() + ".txt", b"Words.")]), stand_in, raw)
    assert set(read(data)[1]) == {f"{name}.txt"}


def test_an_extra_field_has_the_name_in_utf8() -> None:
    raw = "Vertr\u00e4ge.txt".encode("cp437")
    info = zipfile.ZipInfo("Vertr_ge.txt")
    path = "Verträge 契約.txt".encode()
    for checksum, name in ((zlib.crc32(raw), "Verträge 契約.txt"), (1, "Verträge.txt")):
        field = struct.pack("<BL", 1, checksum) + path
        info.extra = struct.pack("<HH", 0x7075, len(field)) + field
        data = rename(zipped([(info, b"Words.")]), b"Vertr_ge.txt", raw)
        assert set(read(data)[1]) == {name}


def test_a_bomb_costs_one_file_and_never_the_memory() -> None:
    extraction, found = read(
        zipped([("bomb.bin", bytes(70 * MIB)), ("a.txt", b"Words.")], zipfile.ZIP_DEFLATED)
    )
    assert found == {"a.txt": b"Words."}
    assert problems(extraction) == {"bomb.bin": "archive_bomb"}


def test_a_file_that_unpacks_to_more_than_its_directory_says_is_damaged() -> None:
    data = zipped([("a.txt", b"a" * 1000), ("b.txt", b"Words.")], zipfile.ZIP_DEFLATED)
    at = data.index(b"PK\x01\x02")
    lying = data[: at + 24] + struct.pack("<L", 10) + data[at + 28 :]
    extraction, found = read(lying)
    assert found == {"b.txt": b"Words."}
    assert problems(extraction) == {"a.txt": "damaged"}


def test_files_that_overlap_are_those_of_a_bomb() -> None:
    data = zipped([("a.txt", b"a" * 500), ("b.txt", b"b" * 500)])
    at = data.rindex(b"PK\x01\x02")
    assert refusal(data[: at + 42] + struct.pack("<L", 10) + data[at + 46 :]) == "archive_bomb"


@pytest.mark.parametrize("change", ["flip", "cut", "method"])
def test_damage_costs_what_is_damaged(change: str) -> None:
    data = zipped([("a.txt", b"a" * 500), ("b.txt", b"Words.")])
    if change == "cut":
        assert refusal(data[:400]) == "damaged"
        return
    if change == "flip":
        data = data.replace(b"aaaa", b"abaa", 1)
    else:
        at = data.index(b"PK\x01\x02")
        data = data[: at + 10] + struct.pack("<H", 97) + data[at + 12 :]
    extraction, found = read(data)
    assert found == {"b.txt": b"Words."}
    assert problems(extraction) == {"a.txt": "damaged"}


def test_limits() -> None:
    data = zipped([(f"{number}.txt", b"12345") for number in range(4)])
    assert len(read(data, settings=limited(members=4, member_bytes=20))[1]) == 4
    assert refusal(data, members=3) == "too_many_members"
    assert refusal(data, member_bytes=19) == "members_too_large"
    assert refusal(gzip.compress(b"x" * 100), "a.txt.gz", member_bytes=99) == "members_too_large"
    assert refusal(tarred(("a", b"x" * 100)), "a.tar", member_bytes=99) == "members_too_large"


def test_an_empty_archive_is_refused() -> None:
    assert refusal(zipped([])) == "no_members"


def test_a_plain_archive_that_holds_an_office_file_is_an_archive() -> None:
    inner = zipped([("[Content_Types].xml", b"<Types/>"), ("word/document.xml", b"<x/>")])
    extraction, found = read(zipped([("report.docx", inner), ("a.pdf", PDF)]))
    assert extraction.media_type == media.ZIP
    assert set(found) == {"report.docx", "a.pdf"}
    assert read(zipped([("a.pdf", PDF)]))[0].media_type == media.ZIP


def test_tar_and_gzip() -> None:
    link = tarfile.TarInfo("link")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    device = tarfile.TarInfo("device")
    device.type = tarfile.CHRTYPE
    data = tarred(
        ("a/first.pdf", PDF),
        ("b.txt", b"old"),
        ("b.txt", b"new"),
        (link, b""),
        (device, b""),
    )
    for packed, name, kind in (
        (data, "a.tar", media.TAR),
        (gzip.compress(data), "a.tar.gz", media.GZIP),
        (gzip.compress(data), "a.tgz", media.GZIP),
    ):
        extraction, found = read(packed, name)
        assert extraction.media_type == kind
        # The later of two files of one name takes the place of the first: that is how tar updates.
        assert found == {"a/first.pdf": PDF, "b.txt": b"new"}
        assert problems(extraction) == {"link": "link_not_followed", "device": "not_a_file"}


def test_a_gzip_file_of_one_file() -> None:
    twice = gzip.compress(b"One, ") + gzip.compress(b"two.") + bytes(100)
    assert read(twice, "notes.txt.gz")[1] == {"notes.txt": b"One, two."}
    assert refusal(gzip.compress(b"Words. " * 100)[:-20], "a.txt.gz") == "damaged"
    assert refusal(gzip.compress(bytes(70 * MIB)), "a.gz") == "archive_bomb"


def test_a_tar_archive_is_told_by_its_checksum() -> None:
    data = tarred(("a.txt", b"Words."))
    assert is_tar(data)
    assert not is_tar(b"b" + data[1:])
    assert not is_tar(bytes(1024))
    assert not is_tar(b"Words.")


def test_a_truncated_tar_archive() -> None:
    data = tarred(("a.txt", b"a" * 100), ("b.txt", b"b" * 5_000))
    assert refusal(data[:2_500], "a.tar") == "damaged"

"""Files that a PDF carries: those of the document, and those pinned to a page.

PDF 32000-1 §7.11.4 (embedded file streams) and §12.5.6.15 (file attachment annotations). MuPDF
unpacks a stream whole, so what one unpacks to is only known afterwards; the memory of the process
bounds it.
"""

# mypy: allow-untyped-calls
# PyMuPDF says py.typed, but few of its functions are annotated.

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ingest.errors import ItemError
from ingest.extract.bombs import most_unpacked
from ingest.extract.draft import Member, SourceBytes
from ingest.extract.faults import raise_if_memory
from ingest.extract.member_names import UniqueNames, attached_name
from ingest.extract.text_layer import PDF_ERRORS
from ocr.mupdf import pymupdf
from schemas.base import sha256_bytes
from schemas.document import MemberProblem

_ERRORS = (*PDF_ERRORS, KeyError, TypeError, IndexError, AttributeError)


@dataclass(frozen=True, slots=True)
class _Attached:
    name: str
    packed: int
    """Bytes in the PDF; −1 where it does not say."""
    read: Callable[[], bytes]


def pdf_members(
    document: pymupdf.Document, source: SourceBytes
) -> tuple[list[Member], list[MemberProblem]]:
    """Return the files in a PDF, and those that cannot be had.

    Raises:
        ItemError: too_many_members, members_too_large.
    """
    limits = source.settings.limits
    members: list[Member] = []
    problems: list[MemberProblem] = []
    names = UniqueNames()
    seen: set[tuple[str, str]] = set()
    size = 0
    for number, attached in enumerate(_attached(document), start=1):
        if number > limits.members:
            raise ItemError(
                "too_many_members",
                f"{source.name}: it carries more than the limit of {limits.members:,} files. Raise "
                "MUNIMENT_EXTRACTION__LIMITS__MEMBERS, then retry the item.",
            )
        name = attached_name(attached.name, f"attachment-{number}")
        try:
            data = attached.read()
        except _ERRORS as error:
            raise_if_memory(error)
            problems.append(
                _problem(names.take(name), "damaged", f"it could not be taken out ({error})")
            )
            continue
        if len(data) > most_unpacked(attached.packed):
            why = f"it unpacks from {attached.packed:,} to {len(data):,} bytes"
            problems.append(_problem(names.take(name), "archive_bomb", why))
            continue
        # One file is often listed for the document and pinned to a page as well.
        if (same := (name, sha256_bytes(data))) in seen:
            continue
        seen.add(same)
        size += len(data)
        if size > limits.member_bytes:
            raise ItemError(
                "members_too_large",
                f"{source.name}: the files it carries have at least {size:,} bytes, more than the "
                f"limit of {limits.member_bytes:,}. Raise "
                "MUNIMENT_EXTRACTION__LIMITS__MEMBER_BYTES, then retry the item.",
            )
        members.append(Member(names.take(name), data))
    return members, problems


def _problem(name: str, code: str, why: str) -> MemberProblem:
    message = f"{why}. Get the file from whoever made the PDF, or dismiss the entry."
    return MemberProblem(name=name, code=code, message=message)


def _attached(document: pymupdf.Document) -> Iterator[_Attached]:
    try:
        count = document.embfile_count()
    except _ERRORS as error:
        raise_if_memory(error)
        count = 0
    for index in range(count):

        def read(index: int = index) -> bytes:
            return bytes(document.embfile_get(index))

        try:
            info = document.embfile_info(index)
            name = info["ufilename"] or info["filename"] or info["name"]
            packed = int(info["length"])
        except _ERRORS as error:
            raise_if_memory(error)
            name, packed = "", -1
        yield _Attached(name, packed, read)
    for page in range(document.page_count):
        yield from _pinned(document, page)


def _pinned(document: pymupdf.Document, number: int) -> Iterator[_Attached]:
    try:
        page = document.load_page(number)
        notes = list(page.annots(types=[pymupdf.mupdf.PDF_ANNOT_FILE_ATTACHMENT]))
    except _ERRORS as error:
        raise_if_memory(error)
        return  # reading the page says what is wrong with it
    for note in notes:

        def read(note: pymupdf.Annot = note) -> bytes:
            return bytes(note.get_file())

        try:
            info = note.file_info
            name, packed = info["filename"], int(info["length"])
        except _ERRORS as error:
            raise_if_memory(error)
            name, packed = "", -1
        yield _Attached(name, packed, read)

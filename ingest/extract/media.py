"""What bytes are, by what they begin with, and only then by what they are called."""

from __future__ import annotations

import codecs
import re
import zipfile
from io import BytesIO
from pathlib import PurePosixPath

from ingest.extract.decode import wide_encoding

PDF = "application/pdf"
TIFF = "image/tiff"
PNG = "image/png"
JPEG = "image/jpeg"
JPEG2000 = "image/jp2"
HEIC = "image/heic"
AVIF = "image/avif"
WEBP = "image/webp"
BMP = "image/bmp"
GIF = "image/gif"
HTML = "text/html"
PLAIN = "text/plain"
MARKDOWN = "text/markdown"
CSV = "text/csv"
TSV = "text/tab-separated-values"
JSON = "application/json"
XML = "application/xml"
RSS = "application/rss+xml"
ATOM = "application/atom+xml"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
XLSB = "application/vnd.ms-excel.sheet.binary.macroenabled.12"
ODT = "application/vnd.oasis.opendocument.text"
ODS = "application/vnd.oasis.opendocument.spreadsheet"
ODP = "application/vnd.oasis.opendocument.presentation"
EPUB = "application/epub+zip"
ZIP = "application/zip"
TAR = "application/x-tar"
GZIP = "application/gzip"
OLE = "application/x-ole-storage"
ENCRYPTED = "application/encrypted"
"""An Office file that a password protects, which is an OLE file around the encrypted one."""
RTF = "application/rtf"
EMAIL = "message/rfc822"
MSG = "application/vnd.ms-outlook"
UNKNOWN = "application/octet-stream"

_BY_EXTENSION = {
    ".pdf": (PDF,),
    ".tif": (TIFF,),
    ".tiff": (TIFF,),
    ".png": (PNG,),
    ".jpg": (JPEG,),
    ".jpeg": (JPEG,),
    ".jp2": (JPEG2000,),
    ".jpx": (JPEG2000,),
    ".j2k": (JPEG2000,),
    ".heic": (HEIC,),
    ".heif": (HEIC, AVIF),
    ".avif": (AVIF,),
    ".webp": (WEBP,),
    ".bmp": (BMP,),
    ".gif": (GIF,),
    ".html": (HTML,),
    ".htm": (HTML,),
    ".xhtml": (HTML,),
    ".txt": (PLAIN,),
    ".text": (PLAIN,),
    ".md": (MARKDOWN,),
    ".markdown": (MARKDOWN,),
    ".csv": (CSV,),
    ".tsv": (TSV,),
    ".xml": (XML, RSS, ATOM, HTML),
    ".rss": (RSS, XML),
    ".atom": (ATOM, XML),
    **dict.fromkeys((".docx", ".docm", ".dotx", ".dotm"), (DOCX,)),
    **dict.fromkeys((".xlsx", ".xlsm", ".xltx", ".xltm"), (XLSX,)),
    **dict.fromkeys((".pptx", ".pptm", ".potx", ".potm", ".ppsx", ".ppsm"), (PPTX,)),
    ".xlsb": (XLSB,),
    **dict.fromkeys((".odt", ".ott"), (ODT,)),
    **dict.fromkeys((".ods", ".ots"), (ODS,)),
    **dict.fromkeys((".odp", ".otp"), (ODP,)),
    ".epub": (EPUB,),
    ".doc": (OLE, RTF),
    ".xls": (OLE,),
    ".ppt": (OLE,),
    ".rtf": (RTF,),
    ".eml": (EMAIL,),
    ".msg": (MSG,),
    ".zip": (ZIP,),
    ".tar": (TAR,),
    ".gz": (GZIP,),
    ".tgz": (GZIP,),
}
"""What an extension may stand for, the likeliest first."""

_HEIF_BRANDS = {
    **dict.fromkeys((b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"), HEIC),
    **dict.fromkeys((b"avif", b"avis"), AVIF),
}
"""Brands of still and moving images in ISO/IEC 23008-12 files."""
_TEXTUAL = frozenset({HTML, PLAIN, MARKDOWN, CSV, TSV, JSON, XML, RSS, ATOM, EMAIL})
_BOMS = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_HEAD = 4096
_HTML_START = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*|<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|title)\b",
    re.IGNORECASE | re.DOTALL,
)
_XML_ROOT = re.compile(
    rb"\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*|<!doctype[^>[]*(?:\[.*?\])?\s*>\s*)*<(?:\w+:)?(\w+)",
    re.IGNORECASE | re.DOTALL,
)
_FEEDS = {b"rss": RSS, b"rdf": RSS, b"feed": ATOM}
_WHITE_CONTROLS = frozenset(b"\t\n\v\f\r\x1b")
_BINARY_SHARE = 0.02
_NUL_SHARE = 0.3
"""Text with a stray NUL is still text."""


def detect_media_type(data: bytes, name: str, declared: str | None = None) -> str:
    """Return the media type of ``data``.

    What has a signature (PDF, images, archives, HTML, feeds) is told by it. Other text is what the
    source declares, unless that is generic, or what the name's extension says, or plain text.
    """
    signed = _by_signature(data)
    if signed is not None:
        return signed
    by_name = extension_types(name)
    if not _is_text(data):
        # A PDF that lost its beginning is a damaged PDF, not an unknown format.
        return PDF if PDF in by_name else UNKNOWN
    if declared is not None:
        bare = declared.partition(";")[0].strip().lower()
        if bare in _TEXTUAL - {PLAIN}:
            return bare
    for media_type in by_name:
        if media_type in _TEXTUAL:
            return media_type
    return PLAIN


def extension_types(name: str) -> tuple[str, ...]:
    """Return the media types that the extension of ``name`` stands for; empty if unknown."""
    return _BY_EXTENSION.get(PurePosixPath(name).suffix.lower(), ())


def _by_signature(data: bytes) -> str | None:
    head = data[:_HEAD]
    if head.startswith(b"%PDF-"):
        return PDF
    if head.startswith((b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")):
        return TIFF
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return PNG
    if head.startswith(b"\xff\xd8\xff"):
        return JPEG
    if head.startswith((b"\0\0\0\x0cjP  \r\n\x87\n", b"\xff\x4f\xff\x51")):
        return JPEG2000
    if head[4:8] == b"ftyp" and head[8:12] in _HEIF_BRANDS:
        return _HEIF_BRANDS[head[8:12]]
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return WEBP
    # "BM" alone begins many a text; in a bitmap a small header size follows at byte 14.
    if head.startswith(b"BM") and head[6:10] == bytes(4) and head[15:18] == bytes(3):
        return BMP
    if head.startswith((b"GIF87a", b"GIF89a")):
        return GIF
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _office_type(data)
    if head.startswith(b"\x1f\x8b\x08"):
        return GZIP
    if head[257:262] == b"ustar":
        return TAR
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return _ole_type(data)
    if head.startswith(b"{\\rtf"):
        return RTF
    # PDF 32000-1 §7.5.2 wants the header first; Adobe's readers take it within 1,024 bytes. An
    # archive may begin with a PDF just as well, so all others are asked first.
    if b"%PDF-" in head[:1024]:
        return PDF
    return _by_markup(head)


def _office_type(data: bytes) -> str:
    """Tell office files, e-books and plain archives apart by the names of their parts."""
    # Open Document 1.3 part 2 §3.3 and OCF 3.3 §4.2 have the type first, at a fixed place.
    declared = data[38:150] if data[30:38] == b"mimetype" else b""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            names = {name.lower() for name in archive.namelist()}
            if "mimetype" in names:
                with archive.open("mimetype") as part:
                    declared = part.read(100)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, OSError, KeyError):
        # A damaged archive may still show what it was.
        names = {part for part in ("word/", "xl/", "ppt/") if part.encode() in data[:_HEAD]} | {
            "[content_types].xml"
        }
    for media_type in (ODT, ODS, ODP, EPUB):
        if declared.startswith(media_type.encode()):
            return media_type
    if "[content_types].xml" in names:
        if "xl/workbook.bin" in names:
            return XLSB
        for folder, media_type in (("word/", DOCX), ("xl/", XLSX), ("ppt/", PPTX)):
            if any(name.startswith(folder) for name in names):
                return media_type
    return EPUB if "meta-inf/container.xml" in names else ZIP


def _ole_type(data: bytes) -> str:
    """Tell encrypted files and mails apart from old Office files, by the names of their streams."""
    if "EncryptedPackage".encode("utf-16-le") in data:  # [MS-OFFCRYPTO] §2.3.4.4
        return ENCRYPTED
    return MSG if "__properties_version1.0".encode("utf-16-le") in data else OLE  # [MS-OXMSG] §2.4


def _by_markup(head: bytes) -> str | None:
    for bom in _BOMS:
        if head.startswith(bom):
            head = head[len(bom) :]
            if bom != codecs.BOM_UTF8:
                head = head.replace(b"\0", b"")  # enough to see ASCII markup in UTF-16
    if _HTML_START.match(head):
        return HTML
    root = _XML_ROOT.match(head)
    if root and root[1].lower() in _FEEDS:
        return _FEEDS[root[1].lower()]
    if head.lstrip().startswith(b"<?xml"):
        return HTML if root and root[1].lower() == b"html" else XML
    return None


def _is_text(data: bytes) -> bool:
    head = data[:_HEAD]
    if head.startswith(_BOMS):
        return True
    if head.count(0) > _NUL_SHARE * len(head):
        return wide_encoding(data) is not None
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        controls = sum(byte < 0x20 and byte not in _WHITE_CONTROLS and byte != 0 for byte in head)
        return controls <= _BINARY_SHARE * len(head)
    # Whatever controls stray into it: what is no text is hardly ever UTF-8.
    return True

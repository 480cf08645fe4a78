"""Which of the files that entries come with are documents."""

from __future__ import annotations

import mimetypes
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from ingest.sources.feed_entries import Enclosure

# The built-in table alone, so that a machine's /etc/mime.types changes nothing.
_TYPES = mimetypes.MimeTypes()
_DOCUMENTS = frozenset(
    {
        *("application/pdf", "application/rtf", "text/rtf", "application/epub+zip"),
        *("text/plain", "text/markdown", "text/csv", "text/html", "application/xhtml+xml"),
        *("application/zip", "message/rfc822", "application/vnd.ms-outlook"),
        *("application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint"),
    }
)
_FAMILIES = (
    "application/vnd.openxmlformats-officedocument.",
    "application/vnd.oasis.opendocument.",
)
_EXTENSIONS = frozenset(
    {".pdf", ".rtf", ".epub", ".txt", ".md", ".csv", ".html", ".htm", ".xhtml", ".zip", ".eml"}
    | {".msg", ".doc", ".xls", ".ppt", ".docx", ".xlsx", ".pptx", ".odt", ".ods", ".odp"}
)
_UNSAID = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/download"})


def is_document(enclosure: Enclosure) -> bool:
    """Tell whether an enclosure is a document; sound, moving and still pictures are none."""
    kind = enclosure.media_type
    if kind in _UNSAID:
        return PurePosixPath(_path(enclosure)).suffix.lower() in _EXTENSIONS
    return kind in _DOCUMENTS or kind.startswith(_FAMILIES)


def is_picture(enclosure: Enclosure) -> bool:
    """Tell whether an enclosure is a still picture, as blogs enclose one with each entry."""
    kind = enclosure.media_type
    if kind in _UNSAID:
        kind = _TYPES.guess_type(_path(enclosure))[0] or ""
    return kind.startswith("image/")


def _path(enclosure: Enclosure) -> str:
    try:
        return unquote(urlsplit(enclosure.url).path)
    except ValueError:  # such as a "[" without its "]"
        return ""

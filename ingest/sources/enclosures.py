"""Which of the files that entries come with are documents."""

from __future__ import annotations

import mimetypes
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
_UNSAID = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/download"})


def is_document(enclosure: Enclosure) -> bool:
    """Tell whether an enclosure is a document; sound, moving and still pictures are none."""
    kind = _kind(enclosure)
    return kind in _DOCUMENTS or kind.startswith(_FAMILIES)


def is_picture(enclosure: Enclosure) -> bool:
    """Tell whether an enclosure is a still picture, as blogs enclose one with each entry."""
    return _kind(enclosure).startswith("image/")


def _kind(enclosure: Enclosure) -> str:
    """Return the media type, by the name where the feed says nothing of use."""
    if enclosure.media_type not in _UNSAID:
        return enclosure.media_type
    try:
        path = unquote(urlsplit(enclosure.url).path)
    except ValueError:
        return ""
    return _TYPES.guess_type(path)[0] or ""

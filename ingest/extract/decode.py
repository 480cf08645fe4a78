"""Bytes to characters, without losing or inventing any."""

from __future__ import annotations

import codecs
import re

from schemas.document import ExtractionWarning

_NEVER = re.compile("[\x00\ud800-\udfff]")
"""Characters that no text may have: PostgreSQL refuses NUL, UTF-8 lone surrogates."""
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    # UTF-32's little-endian BOM begins with UTF-16's, so it is asked for first.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_HEAD = 4096
_LEAST = 16
_WIDE_SHARE = 0.9
_WHITE = frozenset(b"\t\n\f\r")
_TAKES_MARK = frozenset({"utf-8-sig", "utf-16", "utf-32"})


def clean(text: str) -> str:
    """Return ``text`` without NUL characters and lone surrogates."""
    return _NEVER.sub("", text)


def wide_encoding(data: bytes) -> str | None:
    """Return the form of UTF-16 that a text without a byte order mark is in; None for all else.

    It is told by every second byte, which is NUL nearly everywhere in a text that is mostly ASCII,
    as mails and markup are. The other bytes are then those of text, which arrays of small numbers
    and samples of sound are not.
    """
    head = data[:_HEAD]
    if len(head) < _LEAST or len(head) % 2:
        return None
    for name, high, low in (
        ("utf-16-le", head[1::2], head[::2]),
        ("utf-16-be", head[::2], head[1::2]),
    ):
        if high.count(0) < _WIDE_SHARE * len(high):
            continue
        pairs = zip(low, high, strict=True)
        if all(byte >= 0x20 or byte in _WHITE for byte, above in pairs if not above):
            return name
    return None


def decode(data: bytes, encoding: str | None = None) -> tuple[str, list[ExtractionWarning]]:
    """Decode ``data`` and return the text, with newlines as they are, and warnings.

    The encoding is the one given, else the one a byte order mark tells, else UTF-8, or UTF-16 where
    half of the bytes are NUL. What is none of these is read as Windows-1252, the superset of
    Latin-1 that files called Latin-1 mostly are. There is a warning where nothing told the
    encoding and it is not UTF-8, and for NUL characters, which are removed.

    Raises:
        LookupError: ``encoding`` is no encoding that Python knows.
    """
    warnings: list[ExtractionWarning] = []
    text = _decode(data, encoding, warnings)
    cleaned = clean(text)
    if len(cleaned) < len(text):
        warnings.append(
            ExtractionWarning(
                code="characters_removed",
                message=f"{len(text) - len(cleaned)} NUL characters were removed.",
            )
        )
    return cleaned, warnings


def _decode(data: bytes, encoding: str | None, warnings: list[ExtractionWarning]) -> str:
    given = encoding or next((name for bom, name in _BOMS if data.startswith(bom)), None)
    if given is None and (given := wide_encoding(data)) is not None:
        warnings.append(
            ExtractionWarning(
                code="encoding_assumed",
                message="The text says no encoding; half of its bytes are NUL, and it was read as "
                "UTF-16.",
            )
        )
    if given is not None:
        # A mark that the codec takes away itself may be followed by one that is text.
        mark = "" if codecs.lookup(given).name in _TAKES_MARK else "\ufeff"
        try:
            return data.decode(given).removeprefix(mark)
        except UnicodeDecodeError:
            text = data.decode(given, errors="replace").removeprefix(mark)
            lost = text.count("\ufffd")
            warnings.append(
                ExtractionWarning(
                    code="bytes_undecodable",
                    message=f"{lost} places are not valid {given} and were read as U+FFFD.",
                )
            )
            return text
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        warnings.append(
            ExtractionWarning(
                code="encoding_assumed",
                message="The text is not UTF-8 and says no encoding; it was read as Windows-1252.",
            )
        )
    try:
        return data.decode("cp1252")
    except UnicodeDecodeError:  # cp1252 leaves five bytes undefined; Latin-1 leaves none
        return data.decode("latin-1")

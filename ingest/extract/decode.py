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

_TAKES_MARK = frozenset({"utf-8-sig", "utf-16", "utf-32"})


def clean(text: str) -> str:
    """Return ``text`` without NUL characters and lone surrogates."""
    return _NEVER.sub("", text)


def decode(data: bytes, encoding: str | None = None) -> tuple[str, list[ExtractionWarning]]:
    """Decode ``data`` and return the text, with newlines as they are, and warnings.

    The encoding is the one given, else the one a byte order mark tells, else UTF-8. What is none of
    these is read as Windows-1252, the superset of Latin-1 that files called Latin-1 mostly are,
    with a warning. NUL characters are removed with a warning.

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

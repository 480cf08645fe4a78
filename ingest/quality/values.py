"""Values of documents made fit to be shown: short, on one line, and inert in any medium."""

from __future__ import annotations

from datetime import datetime

ELLIPSIS = "…"

_NAMED = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}


def inert(text: str, limit: int = 80) -> str:
    """Return ``text`` cut to ``limit`` characters, harmless to a page, a terminal and a log.

    Text of a document may hold markup, terminal sequences, marks that turn the direction of
    writing, or lone surrogates. Angle brackets and all that is not printable become ``\\u003c``
    and the like, whoever shows the value and whether or not they escape it.
    """
    cut = text if len(text) <= limit else text[:limit].rstrip() + ELLIPSIS
    return "".join(_inert_character(character) for character in cut)


def _inert_character(character: str) -> str:
    if character in _NAMED:
        return _NAMED[character]
    if character in "<>" or not character.isprintable():
        code = ord(character)
        return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
    return character


def show(value: object, limit: int = 80) -> str:
    """Return a short inert rendering of ``value``; text comes in quotes."""
    if value is None:
        return "missing"
    if isinstance(value, str):
        return f'"{inert(value, limit)}"'
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, float):
        return f"{value:g}"
    return inert(str(value), limit)

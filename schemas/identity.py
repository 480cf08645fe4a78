"""Deterministic identifiers: the same input always names the same document and the same point."""

from __future__ import annotations

import uuid

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "https://muniment.dev/identity/1")


def encode_parts(*parts: str | int) -> str:
    """Join ``parts`` so that no two different sequences give the same string.

    Each part is preceded by its length in code points, because a bare separator lets ("a_b", "c")
    and ("a", "b_c") collide. Integers are marked, so 1 and "1" differ.
    """
    out = []
    for part in parts:
        kind, value = ("i", str(part)) if isinstance(part, int) else ("s", part)
        out.append(f"{kind}{len(value)}:{value}")
    return "".join(out)


def document_id(source_id: str, document_key: str, moved: int = 0) -> str:
    """Return the id of the document that ``source_id`` knows under ``document_key``.

    ``moved`` is how many documents had the key before, and kept their ids when they were renamed.
    """
    parts: list[str | int] = ["document", source_id, document_key]
    return str(uuid.uuid5(_NAMESPACE, encode_parts(*parts, *([moved] if moved else []))))


def member_key(container_key: str, name: str) -> str:
    """Return the key of the file ``name`` inside the item or document ``container_key``.

    No name has "!/" in it, so that what follows the listed item's key can be taken apart again.
    """
    return f"{container_key}!/{name}"


def chunk_id(
    doc_id: str,
    version: int,
    char_start: int,
    char_end: int,
    text_sha256: str,
    chunker_version: str,
) -> str:
    """Return the id of a chunk, which is the id of its point too (guarantee 4)."""
    parts = encode_parts(
        "chunk", doc_id, version, char_start, char_end, text_sha256, chunker_version
    )
    return str(uuid.uuid5(_NAMESPACE, parts))

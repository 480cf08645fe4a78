"""The names of what is forgotten: telling who mentions them, and taking them out of JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

ERASED = "erased"
"""Stands where a name stood."""

_NO_HASH = "0" * 64
_HASH = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+(?:Z|[+-]\d\d:\d\d)")
_WORD_BREAK = re.compile(r"[\s'\"<>()\[\]]+")
_MARKS = ":;,."

_SEARCHED_FOR = 500
"""Up to this many names each is looked for within any text; of more, only as a word of its own."""
_SHORTEST = 6
"""Shorter names, such as numbers of records, stand in too many texts by chance."""

_KEPT = frozenset(
    {
        "batch_id",
        "change",
        "code",
        "confidentiality",
        "doc_id",
        "effective_basis",
        "kind",
        "licence_id",
        "media_type",
        "run_id",
        "source_id",
        "stage",
        "state",
    }
)
"""Fields that say nothing of what a document says or is called."""
_MESSAGES = frozenset({"detail", "error", "message", "source_key"})
_ADDRESSES = frozenset({"source_key", "document_key", "container_key", "uri", "fetch_uri"})
"""Those of another item stay, even if an item of another source goes that is called the same."""
_UNCOUNTED = frozenset({"passed", "loaded", "proved"})
"""Lists of versions by which later steps go, and which no ledger counts."""


class Names:
    """Names and hashes of documents, to find and remove wherever steps wrote them."""

    def __init__(
        self,
        *,
        doc_ids: Iterable[str],
        keys: Iterable[tuple[str, str]],
        uris: Iterable[str],
        sha256s: Iterable[str],
        chunk_ids: Iterable[str],
    ) -> None:
        """Take what identifies the documents.

        Args:
            doc_ids: theirs. They are no names: receipts have them too.
            keys: source and key of their items, and of the documents themselves.
            uris: addresses of their items.
            sha256s: of their bytes, but for those that other documents have too.
            chunk_ids: of their passages.
        """
        self.doc_ids = frozenset(doc_ids)
        self.keys = frozenset(keys)
        self._names = frozenset({key for _, key in self.keys} | set(uris)) - {""}
        self._hashes = frozenset(sha256s) | frozenset(chunk_ids)
        self._long = frozenset(name for name in self._names if len(name) >= _SHORTEST)
        self._searched = tuple(sorted(self._long)) if len(self._long) <= _SEARCHED_FOR else ()

    def mentions(self, text: str, *, message: bool = False) -> bool:
        """Tell whether a text holds a name or hash.

        Args:
            text: to look through.
            message: whether it is one, in which short names count too where messages have names:
                alone, or before a colon.
        """
        if any(name in text for name in self._searched):
            return True
        if message and any(part in self._names for part in text.split(": ")):
            return True
        words = (word.strip(_MARKS) for word in _WORD_BREAK.split(text))
        if text in self._long or any(word in self._long for word in words):
            return True
        return any(found in self._hashes for kind in (_HASH, UUID) for found in kind.findall(text))

    def may_be_in(self, text: str) -> bool:
        """Tell whether it is worth looking at a text more closely."""
        return len(self._names) > _SEARCHED_FOR or any(
            (
                not self.doc_ids.isdisjoint(UUID.findall(text)),
                any(name in text for name in self._names),
                self.mentions(text, message=True),
            )
        )

    def cleaned(self, value: Any) -> Any:
        """Return a JSON value without anything of the documents but their ids and their number.

        What is about one of them keeps its form, so that counts stay what they were.
        """
        match value:
            case str():
                return ERASED if self.mentions(value) else value
            case list():
                return [self.cleaned(one) for one in value if not self._is_name(one)]
            case dict():
                if self._is_about(value):
                    return {name: _blank(name, entry) for name, entry in value.items()}
                return {name: self._field(name, entry, value) for name, entry in value.items()}
        return value

    def _field(self, name: str, value: Any, of: dict[str, Any]) -> Any:
        if name in _KEPT or (name in _ADDRESSES and _is_an_item(of)):
            return value
        if name == "examples" and self._fails(of):
            return []  # values that failing passages have, theirs among them
        if name in _UNCOUNTED and isinstance(value, list):
            value = [one for one in value if not (isinstance(one, dict) and self._is_about(one))]
        if name in _MESSAGES and isinstance(value, str):
            return ERASED if self.mentions(value, message=True) else value
        return self.cleaned(value)

    def _is_name(self, value: Any) -> bool:
        return isinstance(value, str) and self.mentions(value, message=True)

    def _fails(self, failure: dict[str, Any]) -> bool:
        versions = failure.get("versions", ())
        return any(isinstance(one, dict) and self._is_about(one) for one in versions)

    def _is_about(self, value: dict[str, Any]) -> bool:
        return (
            value.get("doc_id") in self.doc_ids
            or (value.get("source_id"), value.get("source_key")) in self.keys
            or any(isinstance(part, dict) and self._is_about(part) for part in value.values())
        )


def _is_an_item(value: dict[str, Any]) -> bool:
    return "source_key" in value and "source_id" in value


def _blank(name: str, value: Any) -> Any:
    match value:
        case str():
            if name in _KEPT or _INSTANT.fullmatch(value):
                return value
            return _NO_HASH if _HASH.fullmatch(value) else ERASED
        case list():
            return []
        case dict():
            if name in ("options", "evidence"):
                return {}
            if name == "terms":
                return None
            return {inner: _blank(inner, entry) for inner, entry in value.items()}
    return value

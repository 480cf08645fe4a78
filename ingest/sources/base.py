"""What every connector offers, and what all of them need to describe an item."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, get_args

from schemas.base import sha256_text
from schemas.identity import encode_parts
from schemas.licence import Confidentiality, Licence
from schemas.source import Access, FilesSource, Item, ListingEntry, WebSourceBase


@dataclass(frozen=True, slots=True)
class Fetched:
    """The bytes of an item, and the fingerprint of the state that they are in."""

    data: bytes
    media_type: str | None
    """As the source declares it, perhaps with parameters; None where it does not say."""
    fingerprint: str


class Connector(Protocol):
    """One configured source. A connector may be used by one thread at a time."""

    def list(self) -> Iterator[ListingEntry]:
        """Yield what the source has now, without reading the items themselves.

        No two entries have one key. Entries are not held, so that a listing may be as long as it
        likes; what is wrong with the source may show after some of them.

        Raises:
            RetriableError: the source does not answer, or is being written at this moment.
            ConfigurationError: the source is not there, or not what the configuration says.
        """
        ...

    def fetch(self, item: Item) -> Fetched:
        """Return the bytes of an item that :meth:`list` gave, perhaps in another process.

        Raises:
            RetriableError: the source does not answer, or is being written at this moment.
            ItemError: this item cannot be had: it is gone, too large, or its address is refused.
        """
        ...


class UnlistableError(Exception):
    """An item that the source names but that may not be listed; becomes a ListingProblem."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message


def fingerprint(state: str, item: Item, licence: Licence) -> str:
    """Return the fingerprint of ``item`` whose bytes are in ``state``.

    It changes with the bytes' state (an ETag, size and mtime, or a hash), with everything that the
    source says about the item, and with the licence's terms: all of them end up on its points.
    """
    described = encode_parts(
        item.document_key,
        item.title or "",
        item.version_label or "",
        item.effective_from.isoformat() if item.effective_from else "",
        *(["withdrawn"] if item.withdrawn else []),
        item.media_type or "",
        licence.model_dump_json(),
        item.terms.model_dump_json() if item.terms else "",
        item.confidentiality,
        item.client_id or "",
        json.dumps(item.options, sort_keys=True, ensure_ascii=False),
    )
    return f"{state}:{sha256_text(described)[:16]}"


def options_of(source: FilesSource | WebSourceBase) -> dict[str, Any]:
    """Return what the extractor needs to know of the source itself."""
    return {"ocr_languages": source.ocr_languages} if source.ocr_languages else {}


def state_of(item: Item) -> str:
    """Return the part of the item's fingerprint that is about its bytes alone."""
    return item.fingerprint.rpartition(":")[0]


def resolve_access(
    default: Access, confidentiality: str, client_id: str
) -> tuple[Confidentiality, str | None]:
    """Return who may see an item, from what the source says about it; empty cells say nothing.

    A client's name alone makes the item that client's.

    Raises:
        UnlistableError: the two contradict each other, or no client is named where one must be.
    """
    if not confidentiality:
        confidentiality = "client" if client_id else default.confidentiality
    known = get_args(Confidentiality)
    if confidentiality not in known:
        raise UnlistableError(
            "access_invalid",
            f"confidentiality {confidentiality!r} is not one of {', '.join(known)}",
        )
    if confidentiality != "client":
        if client_id:
            raise UnlistableError(
                "access_invalid",
                f"names the client {client_id!r} but is {confidentiality}; clear one of the two",
            )
        return confidentiality, None  # type: ignore[return-value]  # checked against the Literal above
    client_id = client_id or default.client_id or ""
    if not client_id:
        raise UnlistableError(
            "client_missing", "is confidential to a client, but no client is named"
        )
    return "client", client_id

"""What reading the web gives, and the errors for what it does not."""

from __future__ import annotations

from dataclasses import dataclass

from ingest.errors import ItemError, RetriableError
from ingest.sources.web.addresses import public_url


@dataclass(frozen=True, slots=True)
class WebPage:
    """What a URL gave: its own address after redirects, and its bytes without any compression."""

    url: str
    data: bytes
    content_type: str | None
    """As the server declares it, with its parameters."""
    etag: str | None = None
    last_modified: str | None = None
    next: str | None = None
    """Absolute URL of the next page, where a Link header names one (RFC 8288)."""


@dataclass(frozen=True, slots=True)
class WebState:
    """What a server says of a resource without sending it; None for each thing that it doesn't."""

    etag: str | None = None
    last_modified: str | None = None
    size: int | None = None
    """In bytes, not compressed."""


def refused(url: str, reason: str) -> ItemError:
    """Return the error for a link that is not followed."""
    return ItemError(
        "link_refused",
        f"{public_url(url)}: it was not read, since {reason}. Correct the address, or dismiss the "
        "entry.",
    )


def unreachable(url: str, reason: str) -> RetriableError:
    """Return the error for a server that does not answer as it should at this moment."""
    return RetriableError(
        "source_unreachable",
        f"{public_url(url)}: {reason}. It is tried again; if it keeps failing, ask whoever runs "
        "the server, and check the network and the address.",
    )


def gone(url: str, status: int) -> ItemError:
    """Return the error for a page that a server does not hand out."""
    return ItemError(
        "item_unavailable",
        f"{public_url(url)}: the server answered {status}. If the page is gone for good, dismiss "
        "the entry; otherwise correct the address or the access, then retry it.",
    )

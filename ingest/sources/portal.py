"""Portals: sites that list their documents in JSON or HTML, over as many pages as it takes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from ingest.configuration import Configuration
from ingest.errors import ConfigurationError, ItemError, MunimentError, RetriableError
from ingest.sources.base import Fetched, UnlistableError, fingerprint, options_of, state_of
from ingest.sources.credentials import CredentialLookup
from ingest.sources.dates import effective_date
from ingest.sources.portal_pages import (
    Fault,
    ListingPage,
    PortalEntry,
    UnreadablePageError,
    page_reader,
)
from ingest.sources.web import WebReader, public_url
from schemas.base import sha256_text
from schemas.source import Item, ListingEntry, ListingProblem, PortalSource

_SHA256 = re.compile(r"[0-9a-f]{64}")
_HASHED = "sha256-"


class PortalConnector:
    """Reads a portal's listing page by page, and its documents when they are fetched.

    An item's state is what the listing says of its bytes: their SHA-256, an ETag, or when they were
    changed. Where it says none of these, the server is asked for the headers of the item (HEAD).
    Where they say nothing either, the state is the listing's entry itself, without signatures.
    """

    def __init__(
        self,
        source: PortalSource,
        configuration: Configuration,
        *,
        credentials: CredentialLookup,
        cache: Path | None,
    ) -> None:
        self._source = source
        self._licence = configuration.licences[source.licence]
        self._pages = page_reader(source)
        self._web = WebReader(
            source,
            own_host=urlsplit(source.address).hostname,
            credentials=credentials,
            cache=cache,
        )
        self._shown = public_url(source.address)

    def list(self) -> Iterator[ListingEntry]:
        """Yield what the portal lists now; see Connector.

        Problems are ``entry_invalid``, ``key_missing``, ``key_duplicate``, ``date_invalid``,
        ``link_refused``, ``item_unavailable``, ``robots_disallowed`` and, for a whole HTML listing,
        ``links_left_out``.

        Raises:
            RetriableError: a page cannot be had, or leads back to one before it: a listing is
                whole, or none.
            ConfigurationError: the first page cannot be had or is no such listing, or there are
                more than ``max_pages``.
        """
        seen: dict[str, _Seen] = {}
        left_out: Counter[str] = Counter()
        visited: set[str] = set()
        url = self._source.address
        for number in range(1, self._source.max_pages + 1):
            visited.add(url)
            page = self._page(url, number)
            known = len(seen)
            for position, entry in enumerate(page.entries, start=1):
                yield from self._entry(entry, f"page={number}&entry={position}", seen)
            left_out += page.left_out
            if page.next is None:
                yield from self._left_out(left_out)
                return
            url = page.next
            if url in visited:
                raise self._loops(number, "leads back to a page before it")
            if number > 1 and page.entries and len(seen) == known:
                raise self._loops(number, "lists nothing that the pages before it do not")
        raise ConfigurationError(
            "listing_too_long",
            f"{self._shown}: the listing has more than {self._source.max_pages:,} pages, so "
            "nothing of it counts. Raise max_pages if it is meant to be this long.",
        )

    def fetch(self, item: Item) -> Fetched:
        """Return the document's bytes, checked against what the listing says; see Connector."""
        state = state_of(item)
        sha256 = state.removeprefix(_HASHED) if state.startswith(_HASHED) else None
        try:
            page = self._web.get(item.fetch_uri, size=item.size, sha256=sha256)
        except ItemError as error:
            if item.source_key in error.message:
                raise
            raise ItemError(error.code, f"{item.source_key}: {error.message}") from error
        return Fetched(page.data, page.content_type, item.fingerprint)

    def _page(self, url: str, number: int) -> ListingPage:
        failure: type[MunimentError] = ConfigurationError if number == 1 else RetriableError
        named = "The listing" if number == 1 else f"Page {number} of the listing"
        try:
            page = self._web.get(url)
            read = self._pages.read(page.url, page.data, page.content_type)
        except ItemError as error:
            code = "source_missing" if error.code == "item_unavailable" else error.code
            raise failure(
                code, f"{named} cannot be had, so nothing of it counts: {error}"
            ) from error
        except UnreadablePageError as error:
            raise failure(
                "listing_unreadable",
                f"{public_url(url)}: {named} cannot be read, so nothing of it counts: {error}. "
                "Have it mended, or correct the source's expressions.",
            ) from error
        if read.next is None and self._source.next is None:
            return ListingPage(read.entries, page.next, read.left_out)
        return read

    def _loops(self, number: int, reason: str) -> RetriableError:
        return RetriableError(
            "listing_loops",
            f"{self._shown}: page {number} of the listing {reason}, so nothing of it counts. It is "
            "tried again; if it stays so, correct `next`, or have the listing mended.",
        )

    def _entry(
        self, entry: PortalEntry | Fault, place: str, seen: dict[str, _Seen]
    ) -> Iterator[ListingEntry]:
        key = entry.key
        if key is None:
            key = f"{self._shown}#{place}" if isinstance(entry, Fault) else public_url(entry.url)
        whole = entry.whole if isinstance(entry, PortalEntry) else place
        before = seen.get(key)
        if before is not None:
            if before.whole == whole:
                return  # listings that grow while they are read repeat entries
            before.count += 1
            error = UnlistableError(
                "key_duplicate",
                f"another entry of the listing has the key {key!r} too. Name a key that tells them "
                "apart",
            )
            yield self._problem(f"{key}#{before.count}", error)
            return
        seen[key] = _Seen(whole)
        try:
            if isinstance(entry, Fault):
                raise entry.error
            yield self._item(key, entry)
        except (UnlistableError, ItemError) as error:
            yield self._problem(key, error)

    def _item(self, key: str, entry: PortalEntry) -> Item:
        said = entry.said
        size = _size(said.get("size"))
        date = _date(said.get("effective_from"))
        item = Item(
            source_id=self._source.id,
            source_key=key,
            document_key=said.get("document") or key,
            uri=public_url(entry.url),
            fetch_uri=entry.url,
            fingerprint="",
            size=size,
            title=said.get("title"),
            version_label=said.get("version_label"),
            effective_from=date,
            licence_id=self._source.licence,
            confidentiality=self._source.access.confidentiality,
            client_id=self._source.access.client_id,
            options=options_of(self._source),
        )
        mark = fingerprint(self._state(entry), item, self._licence)
        return item.model_copy(update={"fingerprint": mark})

    def _state(self, entry: PortalEntry) -> str:
        said = entry.said
        if sha256 := said.get("sha256", "").lower():
            if not _SHA256.fullmatch(sha256):
                raise UnlistableError(
                    "entry_invalid", f"{said['sha256']!r} is no SHA-256 in hexadecimal"
                )
            return _HASHED + sha256
        if "etag" in said:
            return f"etag-{sha256_text(said['etag'])}"
        if "modified" in said:
            return f"modified-{sha256_text(said['modified'])}-{said.get('size', '')}"
        head = self._web.head(entry.url)
        if head.etag:
            return f"etag-{sha256_text(head.etag)}"
        if head.last_modified:
            return f"modified-{sha256_text(head.last_modified)}-{head.size}"
        return f"entry-{entry.gist}-{head.size}"

    def _left_out(self, kinds: Counter[str]) -> Iterator[ListingProblem]:
        if kinds:
            named = ", ".join(f"{kind} {count:,}" for kind, count in sorted(kinds.items()))
            error = UnlistableError(
                "links_left_out",
                f"{kinds.total():,} links of the listing lead to no document ({named}). Narrow "
                "`links` to those that do",
            )
            yield self._problem(self._shown, error)

    def _problem(self, key: str, error: UnlistableError | ItemError) -> ListingProblem:
        message = error.message.rstrip(".")
        if isinstance(error, UnlistableError):
            message = f"{self._shown}, {key}: {message}"
        elif key not in message:
            message = f"{key}: {message}"
        return ListingProblem(source_key=key, code=error.code, message=f"{message}.")


class _Seen:
    """A key that was listed: by which entry first, and how often."""

    def __init__(self, whole: str) -> None:
        self.whole = whole
        self.count = 1


def _size(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit()):
        raise UnlistableError("entry_invalid", f"its size is {text!r}, which is no number of bytes")
    return int(text)


def _date(text: str | None) -> datetime | None:
    try:
        return effective_date(text) if text is not None else None
    except ValueError as error:
        raise UnlistableError("date_invalid", f"its effective_from is wrong: {error}") from error

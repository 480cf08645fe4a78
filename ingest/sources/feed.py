"""RSS, Atom and JSON feeds, with the article pages that their entries link to."""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from ingest.configuration import Configuration
from ingest.errors import ConfigurationError, ItemError
from ingest.sources.base import Fetched, fingerprint, options_of
from ingest.sources.credentials import CredentialLookup
from ingest.sources.enclosures import is_document, is_picture
from ingest.sources.entry_html import entry_page
from ingest.sources.feed_entries import (
    Enclosure,
    Feed,
    KeyedEntry,
    enclosure_state,
    keyed,
)
from ingest.sources.json_feed import is_json_feed, read_json_feed
from ingest.sources.links import absolute, citable, is_web
from ingest.sources.location import Location, listing, passing, too_large, unavailable
from ingest.sources.mirror import Mirror
from ingest.sources.web import WebPage, WebReader, public_url, refused
from ingest.sources.xml_feed import read_xml_feed
from schemas.document import ExtractionWarning
from schemas.source import FeedSource, Item, ListingEntry, ListingProblem

# The built-in table alone, so that a machine's /etc/mime.types changes no fingerprint.
_PAGE_TYPES = mimetypes.MimeTypes()
_OWN_TYPE: str | None = "text/html"
"""Of an entry's own content."""
_SHOWN = 100
"""Characters of a text from the feed that a warning repeats."""


class FeedConnector:
    """Lists a feed's entries; each is an item, and so is each document enclosed with one.

    See `ingest.sources.feed_entries.keyed` for keys and states. A linked page that changes while
    its entry doesn't is not fetched again.
    """

    def __init__(
        self,
        source: FeedSource,
        configuration: Configuration,
        *,
        credentials: CredentialLookup,
        cache: Path | None,
    ) -> None:
        self._source = source
        self._licence = configuration.licences[source.licence]
        self._file: Location | None = None
        self._address = source.address
        own_folder: Path | None = None
        if not is_web(source.address):
            self._file = Location(source.address, configuration.base)
            self._address = self._file.uri(self._file.path)
            own_folder = Path(self._file.path).parent
        self._shown = public_url(source.address)
        self._mirror = Mirror(source.mirror, configuration.base, own_folder)
        self._web = WebReader(
            source,
            own_host=urlsplit(source.address).hostname if self._file is None else None,
            credentials=credentials,
            cache=cache,
        )
        self._entries: dict[str, KeyedEntry] | None = None

    def list(self) -> Iterator[ListingEntry]:
        """Yield the feed's entries as they are now; see Connector.

        A feed that is no well-formed XML is read as far as it can be, with a problem
        ``feed_malformed`` beside its entries.
        """
        page = self._read()
        feed = read_json_feed(page) if is_json_feed(page) else read_xml_feed(page)
        entries = tuple(keyed(feed.entries))
        self._entries = {one.key: one for one in entries}
        enclosed: dict[str, Item] = {}
        for one in entries:
            yield self._item(one, page.url, feed)
            for enclosure in one.entry.enclosures:
                if (item := self._enclosed(one, enclosure, page.url)) is not None:
                    # Of versions with one enclosure, the newest tells its state.
                    enclosed[item.source_key] = item
        for key, item in enclosed.items():
            # Some other entry's guid may be the very key.
            clear = f"{key}#file" if key in self._entries else key
            yield item.model_copy(update={"source_key": clear})
        yield from self._problems(feed)

    def fetch(self, item: Item) -> Fetched:
        """Return the article, the enclosure or the entry's own content; see Connector."""
        if item.fetch_uri.startswith(self._entry_address("")):
            return self._own_content(item)
        if item.fetch_uri.startswith("file:"):
            data = self._read_mirrored(item)
            return Fetched(data, item.media_type, item.fingerprint)
        page = self._web.get(item.fetch_uri)
        return Fetched(page.data, page.content_type, item.fingerprint)

    def _read(self) -> WebPage:
        """Read the feed itself."""
        limit = self._source.max_item_bytes
        try:
            if self._file is None:
                return self._web.get(self._address)
            with listing(self._source.address):
                size = self._file.info(self._file.path)["size"]
                if size > limit:
                    raise too_large(self._shown, size, limit)
                return WebPage(self._address, self._file.read(self._file.path), None)
        except ItemError as error:
            code = "source_missing" if error.code == "item_unavailable" else error.code
            raise ConfigurationError(code, f"The feed cannot be had: {error}") from error

    def _problems(self, feed: Feed) -> Iterator[ListingProblem]:
        address = self._shown
        for number, problem in enumerate(feed.entry_problems, start=1):
            yield ListingProblem(
                source_key=f"{address}#problem={number}",
                code="entry_malformed",
                message=f"{address}: {problem}, so it was left out. Have the feed mended.",
            )
        if feed.fault:
            yield ListingProblem(
                source_key=address,
                code="feed_malformed",
                message=f"{address}: the feed is no well-formed XML ({feed.fault}). "
                f"{len(feed.entries)} entries were read; others may be missing or cut. Have it "
                "mended.",
            )

    def _item(self, one: KeyedEntry, base: str, feed: Feed) -> Item:
        entry = one.entry
        own_address = self._entry_address(one.key)
        link = absolute(base, entry.link) if entry.link else None
        fetch_uri, media_type = own_address, _OWN_TYPE
        if link and self._source.follow_links:
            fetch_uri, media_type = self._target(link)
        return self._described(
            Item(
                source_id=self._source.id,
                source_key=one.key,
                document_key=one.document_key,
                uri=citable(link) if link else own_address,
                fetch_uri=fetch_uri,
                fingerprint="",
                media_type=media_type,
                title=entry.title or None,
                effective_from=entry.date,
                licence_id=self._source.licence,
                confidentiality=self._source.access.confidentiality,
                client_id=self._source.access.client_id,
                options=options_of(self._source),
                warnings=tuple(self._warnings(one, feed)),
            ),
            one.state,
        )

    def _enclosed(self, one: KeyedEntry, enclosure: Enclosure, base: str) -> Item | None:
        """Return an enclosed document as an item; None for what is none, or is the article."""
        if not self._source.follow_links or not is_document(enclosure):
            return None
        address = absolute(base, enclosure.url)
        if one.entry.link and address == absolute(base, one.entry.link):
            return None
        key = f"{one.document_key}#enclosure={citable(enclosure.url)}"
        return self._described(
            Item(
                source_id=self._source.id,
                source_key=key,
                document_key=key,
                uri=citable(address),
                fetch_uri=self._mirror.uri(address) or address,
                fingerprint="",
                media_type=enclosure.media_type or None,
                title=enclosure.title or one.entry.title or None,
                effective_from=one.entry.date,
                licence_id=self._source.licence,
                confidentiality=self._source.access.confidentiality,
                client_id=self._source.access.client_id,
                options=options_of(self._source),
                warnings=tuple(_date_warning(one)),
            ),
            enclosure_state(one, enclosure),
        )

    def _described(self, item: Item, state: str) -> Item:
        return item.model_copy(update={"fingerprint": fingerprint(state, item, self._licence)})

    def _target(self, link: str) -> tuple[str, str | None]:
        """Return where an article's bytes are, and their media type as far as it is known."""
        copy = self._mirror.uri(link)
        if copy is None:
            return link, None
        return copy, _PAGE_TYPES.guess_type(copy)[0] or "text/html"

    def _warnings(self, one: KeyedEntry, feed: Feed) -> Iterator[ExtractionWarning]:
        yield from _date_warning(one)
        if feed.encoding_note:
            yield ExtractionWarning(code="feed_encoding_unsure", message=feed.encoding_note)
        for flaw in one.entry.flaws:
            yield ExtractionWarning(
                code="entry_field_unreadable", message=f"In the feed, the entry's {flaw}."
            )
        for enclosure in one.entry.enclosures:
            if not is_picture(enclosure) and not (
                self._source.follow_links and is_document(enclosure)
            ):
                kind = (enclosure.media_type or "of an unknown kind")[:_SHOWN]
                address = public_url(enclosure.url)[:_SHOWN]
                yield ExtractionWarning(
                    code="enclosure_not_read",
                    message=f"The entry comes with {address} ({kind}), which is not read.",
                )

    def _entry_address(self, key: str) -> str:
        return f"{public_url(self._address)}#entry={quote(key, safe='')}"

    def _own_content(self, item: Item) -> Fetched:
        if self._entries is None:
            with passing():
                for _ in self.list():
                    pass
        one = (self._entries or {}).get(item.source_key)
        if one is None:
            raise unavailable(item.source_key, "the feed no longer has this entry")
        mark = fingerprint(one.state, item, self._licence)
        entry = one.entry
        page = entry_page(entry.title or None, entry.author, entry.content)
        return Fetched(page, _OWN_TYPE, mark)

    def _read_mirrored(self, item: Item) -> bytes:
        path = Path(unquote(urlsplit(item.fetch_uri).path))
        if not self._mirror.holds(path):
            raise refused(item.uri, f"{path} is outside the folders that the source names")
        try:
            size = path.stat().st_size
            if size > self._source.max_item_bytes:
                raise too_large(item.source_key, size, self._source.max_item_bytes)
            return path.read_bytes()
        except OSError as error:
            raise unavailable(item.source_key, error) from error


def _date_warning(one: KeyedEntry) -> Iterator[ExtractionWarning]:
    text = one.entry.date_text
    if text and one.entry.date is None:
        yield ExtractionWarning(
            code="date_unreadable",
            message=f"The feed gives the date {text[:_SHOWN]!r}, which names no certain instant, "
            "so the day of receipt stands in for it.",
        )

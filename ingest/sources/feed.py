"""RSS and Atom feeds, with the article pages that their entries link to."""

from __future__ import annotations

import io
import mimetypes
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote, unquote, urljoin, urlsplit
from xml.sax import SAXException, SAXParseException

import feedparser  # type: ignore[import-untyped]  # feedparser ships no types

from ingest.configuration import Configuration
from ingest.errors import ConfigurationError, ItemError
from ingest.sources.base import Fetched, fingerprint, options_of
from ingest.sources.credentials import CredentialLookup
from ingest.sources.dates import feed_date
from ingest.sources.entry_html import clean, entry_content, entry_page, plain_title
from ingest.sources.location import Location, listing, passing, too_large, unavailable
from ingest.sources.mirror import Mirror
from ingest.sources.web import WebPage, WebReader, refused
from schemas.base import sha256_text
from schemas.identity import encode_parts
from schemas.source import FeedSource, Item, ListingEntry, ListingProblem

_NEVER = datetime.min.replace(tzinfo=UTC)
# The built-in table alone, so that a machine's /etc/mime.types changes no fingerprint.
_PAGE_TYPES = mimetypes.MimeTypes()


@dataclass(frozen=True, slots=True)
class _Entry:
    key: str
    state: str
    title: str | None
    link: str | None
    date: datetime | None
    content: str


class FeedConnector:
    """Lists a feed's entries; each is an item.

    An entry goes by its guid or id, else by its link, else by a hash of title and date. Different
    entries of one key are versions of one document, the oldest under the key itself, each later
    one under the key, "#" and the start of its hash. Its state is the SHA-256 of what the feed
    says; a linked page that changes while its entry doesn't is not fetched again.
    """

    def __init__(
        self,
        source: FeedSource,
        configuration: Configuration,
        *,
        credentials: CredentialLookup,
        cache: Path | None,
    ) -> None:
        del credentials, cache
        self._source = source
        self._licence = configuration.licences[source.licence]
        self._file: Location | None = None
        self._address = source.address
        own_folder: Path | None = None
        if not _is_web(source.address):
            self._file = Location(source.address, configuration.base)
            self._address = self._file.uri(self._file.path)
            own_folder = Path(self._file.path).parent
        self._mirror = Mirror(source.mirror, configuration.base, own_folder)
        self._web = WebReader(
            timeout_seconds=source.timeout_seconds,
            max_bytes=source.max_item_bytes,
            own_host=urlsplit(source.address).hostname if self._file is None else None,
        )
        self._entries: dict[str, _Entry] | None = None

    def list(self) -> Iterator[ListingEntry]:
        """Yield the feed's entries as they are now; see Connector.

        A feed that is no well-formed XML is read as far as it can be, with a problem
        ``feed_malformed`` beside its entries.
        """
        page = self._read()
        parsed = _parse(page)
        fault = _xml_fault(parsed)
        if not parsed["entries"] and (fault or not parsed.get("version")):
            raise _unreadable(page.url, f" ({fault})" if fault else "")
        entries = [self._entry(entry, page.url) for entry in parsed["entries"]]
        self._entries = dict(_keyed(entries))
        for key, entry in self._entries.items():
            yield self._item(key, entry)
        if fault:
            yield ListingProblem(
                source_key=self._source.address,
                code="feed_malformed",
                message=f"{self._source.address}: the feed is no well-formed XML ({fault}). "
                f"{len(entries)} entries were read; others may be missing or cut. Have it mended.",
            )

    def fetch(self, item: Item) -> Fetched:
        """Return the article, or the entry's own content; see Connector."""
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
                    raise too_large(self._source.address, size, limit)
                return WebPage(self._address, self._file.read(self._file.path), None)
        except ItemError as error:
            code = "source_missing" if error.code == "item_unavailable" else error.code
            raise ConfigurationError(code, f"The feed cannot be had: {error}") from error

    def _entry(self, entry: dict[str, Any], base: str) -> _Entry:
        guid = clean(entry.get("id")).strip()
        link = clean(entry.get("link")).strip()
        if link == guid and entry.get("guidislink") and not _is_web(guid):
            # RSS 2.0 takes a guid for an address unless it says otherwise, which many forget.
            link = ""
        # Read past feedparser, which gives "updated" the value of "published" where it is missing.
        published = clean(dict.get(entry, "published"))
        updated = clean(dict.get(entry, "updated"))
        title = clean(entry.get("title"))
        content = entry_content(entry)
        key = guid or link
        return _Entry(
            key=key or f"sha256:{sha256_text(encode_parts(title, published))}",
            state=sha256_text(
                encode_parts(title, link, published, updated, clean(entry.get("summary")), content)
            ),
            title=plain_title(entry),
            link=_absolute(base, link) if link else None,
            date=feed_date(published or updated),
            content=content,
        )

    def _item(self, key: str, entry: _Entry) -> Item:
        source = self._source
        own_address = self._entry_address(key)
        fetch_uri = own_address
        media_type: str | None = "text/html"
        if entry.link and source.follow_links:
            copy = self._mirror.uri(entry.link)
            fetch_uri = copy or entry.link
            media_type = _PAGE_TYPES.guess_type(copy)[0] or "text/html" if copy else None
        item = Item(
            source_id=source.id,
            source_key=key,
            document_key=entry.key,
            uri=entry.link or own_address,
            fetch_uri=fetch_uri,
            fingerprint="",
            media_type=media_type,
            title=entry.title,
            effective_from=entry.date,
            licence_id=source.licence,
            confidentiality=source.access.confidentiality,
            client_id=source.access.client_id,
            options=options_of(source),
        )
        mark = fingerprint(entry.state, item, self._licence)
        return item.model_copy(update={"fingerprint": mark})

    def _entry_address(self, key: str) -> str:
        return f"{self._address}#entry={quote(key, safe='')}"

    def _own_content(self, item: Item) -> Fetched:
        if self._entries is None:
            with passing():
                for _ in self.list():
                    pass
        entry = (self._entries or {}).get(item.source_key)
        if entry is None:
            raise unavailable(item.source_key, "the feed no longer has this entry")
        mark = fingerprint(entry.state, item, self._licence)
        return Fetched(entry_page(entry.title, entry.content), "text/html", mark)

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


def _parse(page: WebPage) -> Mapping[str, Any]:
    # Without "content-location", feedparser leaves relative addresses as they are. With it, it also
    # resolves guids that aren't addresses at all, and mangles the address of a file.
    headers = {"content-type": page.content_type} if page.content_type else {}
    try:
        # As a stream: feedparser would take a short text for a file name or an address.
        return cast(
            Mapping[str, Any],
            feedparser.parse(io.BytesIO(page.data), response_headers=headers),
        )
    except Exception as error:
        # Of damaged feeds, feedparser 6.0.14 raises on a few in a hundred: a character reference
        # past the last code point, an end tag without its start, an encoding's name in bytes.
        raise _unreadable(page.url, f" ({type(error).__name__}: {error})") from error


def _unreadable(address: str, reason: str) -> ConfigurationError:
    return ConfigurationError(
        "feed_unreadable",
        f"{address}: it is no RSS or Atom feed{reason}. Correct the address, or have the feed "
        "mended.",
    )


def _xml_fault(parsed: Mapping[str, Any]) -> str | None:
    """Return where and why the strict parser gave up, if it did."""
    error = parsed.get("bozo_exception")
    if isinstance(error, SAXParseException):
        return f"line {error.getLineNumber()}: {error.getMessage()}"
    return str(error) if isinstance(error, SAXException) else None


def _is_web(address: str) -> bool:
    return address.lower().startswith(("http://", "https://"))


def _absolute(base: str, link: str) -> str:
    try:
        return urljoin(base, link)
    except ValueError:  # such as a "[" without its "]": the address is refused when it is fetched
        return link


def _keyed(entries: Iterable[_Entry]) -> Iterator[tuple[str, _Entry]]:
    """Give each entry a key of its own; entries that are the same in all count once."""
    by_key: dict[str, dict[str, _Entry]] = defaultdict(dict)
    for entry in entries:
        by_key[entry.key].setdefault(entry.state, entry)
    for key, versions in by_key.items():
        for number, entry in enumerate(sorted(versions.values(), key=lambda e: e.date or _NEVER)):
            yield (f"{key}#{entry.state[:16]}" if number else key), entry

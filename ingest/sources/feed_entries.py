"""What a feed says, whatever its format: entries, each with a lasting key and a state."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from ingest.errors import ConfigurationError
from ingest.sources.dates import feed_date
from ingest.sources.entry_html import gist, one_line
from ingest.sources.links import citable
from ingest.sources.web import public_url
from schemas.base import sha256_text
from schemas.identity import encode_parts

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A file that an entry comes with."""

    url: str
    """As the feed gives it."""
    media_type: str
    """As the feed declares it, in small letters; "" where it does not say."""
    length: str
    title: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry, with "" for what it does not say."""

    guid: str
    link: str
    """As the feed gives it: a relative one starts where the feed is."""
    title: str
    """On one line, without markup."""
    author: str
    published: str
    """As the feed gives it, and so is ``updated``."""
    updated: str
    content: str
    """HTML; the summary where there is no content."""
    summary: str
    enclosures: tuple[Enclosure, ...] = ()
    flaws: tuple[str, ...] = ()
    """What in it could not be read."""

    @property
    def date_text(self) -> str:
        """The date that the entry is in force from, as the feed gives it."""
        return one_line(self.published or self.updated)

    @property
    def date(self) -> datetime | None:
        """The instant that the entry is in force from; None where it is not certain."""
        return feed_date(self.date_text)


@dataclass(frozen=True, slots=True)
class KeyedEntry:
    """An entry as an item of its source."""

    key: str
    """No other entry of the feed has it."""
    document_key: str
    """Entries that share it are versions of one document."""
    state: str
    """SHA-256 of what the entry says."""
    entry: Entry


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed as far as it could be read."""

    entries: list[Entry]
    fault: str | None = None
    """Why a part of it could not be read, with the place; None where all of it was."""
    entry_problems: tuple[str, ...] = ()
    """Entries that are none, one sentence for each."""
    encoding_note: str | None = None
    """Why the letters may be wrong."""


def unreadable(address: str, reason: str = "") -> ConfigurationError:
    """Return the error for what is no feed."""
    return ConfigurationError(
        "feed_unreadable",
        f"{public_url(address)}: it is no RSS, Atom or JSON feed{reason}. Correct the address, or "
        "have the feed mended.",
    )


def keyed(entries: Iterable[Entry]) -> Iterator[KeyedEntry]:
    """Give each entry a key of its own; entries that say the same count once.

    An entry goes by its guid or id, else by its link, else by the hash of title and date; by link
    and hash where the link holds a secret or a signature. Different entries of one of these are
    versions of one document, from old to new: the oldest under the key itself, each later one under
    the key, "#" and the start of its hash.
    """
    by_document: dict[str, dict[str, Entry]] = defaultdict(dict)
    for entry in entries:
        by_document[_document_key(entry)].setdefault(_state(entry), entry)
    taken: set[str] = set()
    for document_key, versions in by_document.items():
        ordered = sorted(versions.items(), key=lambda found: found[1].date or _NEVER)
        for number, (state, entry) in enumerate(ordered):
            key = f"{document_key}#{state[:16]}" if number else document_key
            while key in taken:  # one entry's guid is another one's key
                key = f"{key}#{state[:16]}"
            taken.add(key)
            yield KeyedEntry(key, document_key, state, entry)


def enclosure_state(keyed_entry: KeyedEntry, enclosure: Enclosure) -> str:
    """Return what changes when an enclosure may have."""
    entry = keyed_entry.entry
    return sha256_text(
        encode_parts(
            citable(enclosure.url),
            enclosure.media_type,
            enclosure.length,
            _instant(entry.published),
            _instant(entry.updated),
        )
    )


def _document_key(entry: Entry) -> str:
    if entry.guid:
        return entry.guid
    if entry.link and public_url(entry.link) == entry.link:
        return citable(entry.link)
    said = (entry.title, _instant(entry.published))
    if not entry.link and not any(said):
        said = ("", gist(entry.content))
    digest = sha256_text(encode_parts(*said))
    # What such a link shows of itself may be the same for all entries.
    return f"{citable(entry.link)}#{digest[:16]}" if entry.link else f"sha256:{digest}"


def _state(entry: Entry) -> str:
    """Return the SHA-256 of what the entry says.

    Not in it: white space, markup, pictures, and parameters of links that follow a reader.
    """
    return sha256_text(
        encode_parts(
            entry.title,
            entry.author,
            citable(entry.link),
            _instant(entry.published),
            _instant(entry.updated),
            gist(entry.summary),
            gist(entry.content),
        )
    )


def _instant(text: str) -> str:
    """Return a date in one form for all ways to write it, or its text where it names none."""
    instant = feed_date(text)
    return instant.isoformat() if instant else one_line(text)

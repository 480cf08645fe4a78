"""RSS 0.90 to 2.0 and Atom 0.3 and 1.0, by feedparser."""

from __future__ import annotations

import codecs
import io
import re
from collections.abc import Mapping
from typing import Any, cast
from xml.parsers import expat
from xml.sax import SAXException, SAXParseException

import feedparser  # type: ignore[import-untyped]  # feedparser ships no types

from ingest.errors import ConfigurationError
from ingest.sources.entry_html import clean, one_line, paragraphs, plain_text
from ingest.sources.feed_entries import Enclosure, Entry, Feed, unreadable
from ingest.sources.links import is_web
from ingest.sources.web import WebPage, public_url

_LONGEST_ENTITY = 1_000
_NAMED_REFERENCE = re.compile(r"[&%](?!(?:amp|lt|gt|quot|apos);)\w[\w.-]*;")
_DECLARED = re.compile(rb"^\s*<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.:-]+)", re.IGNORECASE)
_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
# feedparser takes the mark away itself, so the order of the bytes is part of the name.
_BOMS = {
    codecs.BOM_UTF8: "utf-8",
    # UTF-32's little-endian BOM begins with UTF-16's, so it is asked for first.
    codecs.BOM_UTF32_LE: "utf-32le",
    codecs.BOM_UTF32_BE: "utf-32be",
    codecs.BOM_UTF16_LE: "utf-16le",
    codecs.BOM_UTF16_BE: "utf-16be",
}
_ONE_BYTE = re.compile(r"ascii|iso8859|cp125\d|latin|koi8|mac", re.IGNORECASE)
_LAST_RESORTS = ("windows-1252", "iso-8859-2")
"""What feedparser takes where nothing declared can be right."""


def read_xml_feed(page: WebPage) -> Feed:
    """Read a feed in XML, as far as it is one.

    Raises:
        ConfigurationError: ``feed_unreadable``, or ``feed_unsafe`` if it declares entities that
            read other files or grow.
    """
    _check_entities(page)
    encoding, note = _encoding(page)
    parsed = _parse(page, encoding)
    fault = _fault(parsed)
    if not parsed["entries"] and (fault or not parsed.get("version")):
        raise unreadable(page.url, f" ({fault})" if fault else "")
    if note is None and parsed.get("encoding") in _LAST_RESORTS:
        used = codecs.lookup(parsed["encoding"]).name
        if used != _known(encoding or "utf-8"):
            note = (
                f"The feed is not in the encoding that it declares ({encoding or 'utf-8'}); it "
                f"was read as {parsed['encoding']}."
            )
    return Feed([_entry(entry) for entry in parsed["entries"]], fault, encoding_note=note)


class _PrologEnds(Exception):  # noqa: N818  # nothing is wrong
    pass


def _check_entities(page: WebPage) -> None:
    """Refuse a feed that declares an entity which reads another file, or holds others.

    feedparser would leave them out, and the text with them. A DTD that is elsewhere (RSS 0.91
    names one) is not read at all.
    """

    def declared(
        name: str, is_parameter: bool, value: str | None, base: Any, system: str | None, *rest: Any
    ) -> None:
        del base, rest
        if value is None and is_parameter:
            return
        if value is None:
            raise _unsafe(page.url, name, f"reads {system!r}")
        if len(value) > _LONGEST_ENTITY or _NAMED_REFERENCE.search(value):
            raise _unsafe(page.url, name, "is long, or made of other entities")

    def element(*_: Any) -> None:
        raise _PrologEnds

    parser = expat.ParserCreate()
    parser.EntityDeclHandler = declared
    parser.StartElementHandler = element
    try:
        parser.Parse(page.data, True)
    except (_PrologEnds, expat.ExpatError, ValueError, LookupError):
        # Whatever else is wrong with it is feedparser's to find.
        return


def _unsafe(address: str, name: str, reason: str) -> ConfigurationError:
    return ConfigurationError(
        "feed_unsafe",
        f"{public_url(address)}: its entity {clean(name)!r} {reason}, as attacks on XML readers "
        "do. Nothing was read. Look at who serves the feed, or take the declaration out.",
    )


def _encoding(page: WebPage) -> tuple[str | None, str | None]:
    """Return the encoding that counts, and a note where that is not the declared one.

    A byte order mark comes first, then the server, then the XML declaration (RFC 7303 §3). Bytes
    that are UTF-8 beyond ASCII are hardly ever a text in an encoding of one byte a character.
    """
    data = page.data
    for mark, name in _BOMS.items():
        if data.startswith(mark):
            return name, None
    in_header = _CHARSET.search(page.content_type or "")
    in_file = _DECLARED.search(data[:1024])
    declared = (
        in_header[1] if in_header else in_file[1].decode("ascii", "replace") if in_file else None
    )
    if declared is None or not _ONE_BYTE.search(_known(declared)) or data.isascii():
        return declared, None
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return declared, None
    return "utf-8", f"The feed says that its encoding is {declared}, but it is UTF-8."


def _known(encoding: str) -> str:
    try:
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        return encoding


def _parse(page: WebPage, encoding: str | None) -> Mapping[str, Any]:
    # Without "content-location", feedparser leaves relative addresses as they are. With it, it also
    # resolves guids that aren't addresses at all, and mangles the address of a file.
    headers = {"content-type": "application/xml" + (f"; charset={encoding}" if encoding else "")}
    try:
        # As a stream: feedparser would take a short text for a file name or an address.
        return cast(
            Mapping[str, Any],
            feedparser.parse(io.BytesIO(page.data), response_headers=headers),
        )
    except Exception as error:
        # Of damaged feeds, feedparser 6.0.14 raises on a few in a hundred: a character reference
        # past the last code point, an end tag without its start, an encoding's name in bytes.
        raise unreadable(page.url, f" ({type(error).__name__}: {error})") from error


def _fault(parsed: Mapping[str, Any]) -> str | None:
    """Return where and why the strict parser gave up, if it did."""
    error = parsed.get("bozo_exception")
    if isinstance(error, SAXParseException):
        return f"line {error.getLineNumber()}: {error.getMessage()}"
    return str(error) if isinstance(error, SAXException) else None


def _entry(entry: Mapping[str, Any]) -> Entry:
    guid = clean(entry.get("id")).strip()
    link = clean(entry.get("link")).strip()
    if link == guid and entry.get("guidislink") and not is_web(guid):
        # RSS 2.0 takes a guid for an address unless it says otherwise, which many forget.
        link = ""
    # FeedBurner's links lead through its own counter.
    link = clean(entry.get("feedburner_origlink")).strip() or link
    parts = entry.get("content") or []
    # Atom may keep the content elsewhere (RFC 4287 §4.1.3.2).
    link = link or next((clean(part["src"]).strip() for part in parts if part.get("src")), "")
    summary = _as_html(entry.get("summary_detail") or {})
    return Entry(
        guid=guid,
        link=link,
        title=_title(entry),
        author=one_line(clean(entry.get("author"))),
        # Read past feedparser, which gives "updated" the value of "published" where it is missing.
        published=clean(dict.get(cast(dict[str, Any], entry), "published")),
        updated=clean(dict.get(cast(dict[str, Any], entry), "updated")),
        content="\n".join(_as_html(part) for part in parts) or summary,
        summary=summary,
        enclosures=tuple(_enclosures(entry)),
    )


def _title(entry: Mapping[str, Any]) -> str:
    title = clean(entry.get("title"))
    detail = entry.get("title_detail") or {}
    return one_line(title) if detail.get("type") == "text/plain" else plain_text(title)


def _as_html(part: Mapping[str, Any]) -> str:
    value = clean(part.get("value"))
    return paragraphs(value) if part.get("type") == "text/plain" else value


def _enclosures(entry: Mapping[str, Any]) -> list[Enclosure]:
    return [
        Enclosure(
            url=clean(one.get("href") or one.get("url")).strip(),
            media_type=clean(one.get("type")).partition(";")[0].strip().lower(),
            length=clean(one.get("length")).strip(),
            title=one_line(clean(one.get("title"))),
        )
        for one in entry.get("enclosures") or []
        if one.get("href") or one.get("url")
    ]

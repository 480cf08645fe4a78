"""JSON Feed 1.0 and 1.1 (https://www.jsonfeed.org/version/1.1/)."""

from __future__ import annotations

import json
from typing import Any

from ingest.sources.entry_html import clean, one_line, paragraphs
from ingest.sources.feed_entries import Enclosure, Entry, Feed, unreadable
from ingest.sources.web import WebPage

_VERSION = "jsonfeed.org/version/"


def is_json_feed(page: WebPage) -> bool:
    """Tell whether a page is to be read as JSON: by its beginning, else by what it is called."""
    start = page.data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    declared = (page.content_type or "").partition(";")[0].strip().lower()
    if start in (b"{", b"<"):
        return start == b"{"
    return declared in ("application/feed+json", "application/json")


def read_json_feed(page: WebPage) -> Feed:
    """Read a JSON Feed.

    What has the wrong type is left out and named, entry by entry; a number stands for its text in
    an id, as version 1.1 says.

    Raises:
        ConfigurationError: ``feed_unreadable``.
    """
    try:
        data = json.loads(page.data)
    except (ValueError, RecursionError) as error:
        raise unreadable(page.url, f" ({type(error).__name__}: {error})") from error
    if not isinstance(data, dict) or _VERSION not in str(data.get("version")):
        raise unreadable(page.url, ' (a JSON Feed names itself in "version")')
    items = data.get("items")
    if not isinstance(items, list):
        raise unreadable(page.url, ' (its "items" are no list)')
    entries: list[Entry] = []
    problems: list[str] = []
    everyone = _Fields(data, []).authors()
    for number, item in enumerate(items, start=1):
        if isinstance(item, dict):
            entries.append(_entry(item, everyone))
        else:
            problems.append(f"item {number} is no object but {_kind(item)}")
    return Feed(entries, entry_problems=tuple(problems))


def _entry(item: dict[str, Any], everyone: str) -> Entry:
    flaws: list[str] = []
    fields = _Fields(item, flaws)
    summary = paragraphs(fields.text("summary"))
    content = fields.text("content_html") or paragraphs(fields.text("content_text")) or summary
    return Entry(
        guid=fields.text("id", number=True).strip(),
        link=(fields.text("url") or fields.text("external_url")).strip(),
        title=one_line(fields.text("title")),
        author=fields.authors() or everyone,
        published=fields.text("date_published"),
        updated=fields.text("date_modified"),
        content=content,
        summary=summary,
        enclosures=fields.attachments(),
        flaws=tuple(flaws),
    )


class _Fields:
    """The fields of an object; those of a wrong type are noted and count as missing."""

    def __init__(self, item: dict[str, Any], flaws: list[str]) -> None:
        self._item = item
        self._flaws = flaws

    def text(self, name: str, *, number: bool = False) -> str:
        value = self._item.get(name)
        if value is None:
            return ""
        if isinstance(value, str):
            return clean(value)
        if number and isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
        self._flaws.append(f"{name} is no text but {_kind(value)}")
        return ""

    def objects(self, name: str) -> list[_Fields]:
        value = self._item.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            self._flaws.append(f"{name} is no list but {_kind(value)}")
            return []
        found = [_Fields(one, self._flaws) for one in value if isinstance(one, dict)]
        if len(found) < len(value):
            self._flaws.append(f"{name} has {len(value) - len(found)} that are no objects")
        return found

    def authors(self) -> str:
        """Return the names; version 1.0 has one ``author``."""
        people = self.objects("authors")
        if not people and isinstance(self._item.get("author"), dict):
            people = [_Fields(self._item["author"], self._flaws)]
        names = (one_line(person.text("name")) for person in people)
        return ", ".join(name for name in names if name)

    def attachments(self) -> tuple[Enclosure, ...]:
        found = []
        for one in self.objects("attachments"):
            size = one._item.get("size_in_bytes")
            enclosure = Enclosure(
                url=one.text("url").strip(),
                media_type=one.text("mime_type").strip().lower(),
                length="" if size is None else str(size),
                title=one_line(one.text("title")),
            )
            if enclosure.url:
                found.append(enclosure)
        return tuple(found)


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a text" if isinstance(value, str) else "a number")

"""A feed's entry as text: its title without markup, and its own content as a page."""

from __future__ import annotations

import html
from collections.abc import Mapping
from html.parser import HTMLParser
from typing import Any


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []

    def handle_data(self, data: str) -> None:
        """Keep the text between tags."""
        self.parts.append(data)


def clean(text: object) -> str:
    """Return ``text`` without what UTF-8 and databases cannot hold: lone surrogates and NUL.

    Feeds hold them as character references; feedparser's lenient parser lets them through.
    """
    return str(text or "").encode("utf-8", "replace").decode().replace("\0", "")


def plain_title(entry: Mapping[str, Any]) -> str | None:
    """Return the entry's title on one line, without markup; None if it has none."""
    detail = entry.get("title_detail") or {}
    title = clean(entry.get("title"))
    if detail.get("type") != "text/plain":
        parser = _Text()
        parser.feed(title)
        parser.close()
        title = "".join(parser.parts)
    return " ".join(title.split()) or None


def entry_content(entry: Mapping[str, Any]) -> str:
    """Return the entry's content as HTML, or its summary if it has no content."""
    parts = entry.get("content") or [entry.get("summary_detail") or {}]
    return "\n".join(_as_html(part) for part in parts)


def entry_page(title: str | None, content: str) -> bytes:
    """Wrap an entry's own content as a page; the same entry always gives the same bytes."""
    name = html.escape(title or "", quote=False)
    heading = f"<h1>{name}</h1>\n" if name else ""
    return (
        f'<!DOCTYPE html>\n<html>\n<head><meta charset="utf-8"><title>{name}</title></head>\n'
        f"<body><article>\n{heading}{content}\n</article></body>\n</html>\n"
    ).encode()


def _as_html(part: Mapping[str, Any]) -> str:
    value = clean(part.get("value"))
    if part.get("type") != "text/plain":
        return value
    paragraphs = (" ".join(paragraph.split()) for paragraph in value.split("\n\n"))
    return "\n".join(f"<p>{html.escape(text, quote=False)}</p>" for text in paragraphs if text)

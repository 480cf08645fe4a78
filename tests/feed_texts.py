"""Feeds as texts, and connectors that read them from a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from source_kit import Whole, connector

from schemas.source import Item


def rss(*items: str, head: str = '<?xml version="1.0"?>') -> str:
    return f'{head}<rss version="2.0"><channel>{"".join(items)}</channel></rss>'


def item(**fields: str) -> str:
    return "<item>" + "".join(f"<{k}>{v}</{k}>" for k, v in fields.items()) + "</item>"


def json_feed(*items: object, **top: object) -> bytes:
    given = {"version": "https://jsonfeed.org/version/1.1", "title": "T", **top, "items": items}
    return json.dumps(given).encode()


def feed(base: Path, data: str | bytes, **source: Any) -> Whole:
    (base / "feed.xml").write_bytes(data.encode() if isinstance(data, str) else data)
    return connector(base, **{"connector": "feed", "address": "feed.xml", **source})


def items(base: Path, data: str | bytes, **source: Any) -> tuple[Item, ...]:
    return feed(base, data, **source).list().items


def content(base: Path, data: str | bytes) -> str:
    """Return the own content of a feed's first entry."""
    source = feed(base, data, follow_links=False)
    return source.fetch(source.list().items[0]).data.decode()


def codes(one: Item) -> list[str]:
    return [warning.code for warning in one.warnings]

"""The pages of a portal's listing: what each of their entries says, and where the next page is."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from email.message import Message
from typing import Any, Protocol
from urllib.parse import urljoin

import jmespath  # type: ignore[import-untyped]  # jmespath ships no types
import lxml.html  # type: ignore[import-untyped]  # lxml ships no types
from cssselect import SelectorError
from jmespath.exceptions import JMESPathError  # type: ignore[import-untyped]
from lxml.cssselect import CSSSelector  # type: ignore[import-untyped]
from lxml.etree import LxmlError  # type: ignore[import-untyped]

from ingest.errors import ConfigurationError
from ingest.sources.base import UnlistableError
from ingest.sources.entry_html import clean, one_line
from ingest.sources.web import public_url, web_address
from schemas.base import sha256_text
from schemas.source import PortalSource

_SHOWN = 200
"""Characters of a link that a message repeats."""
_NO_DOCUMENT = frozenset({"mailto:", "tel:", "javascript:", "data:"})


class ExpressionError(ConfigurationError):
    """An expression of a portal source that is none."""

    def __init__(self, place: tuple[str, ...], fault: str) -> None:
        """Say what is wrong with the value of a key of the source."""
        super().__init__("expression_invalid", f"{'.'.join(place)} {fault}. Correct it.")
        self.place = place
        self.fault = fault


class UnreadablePageError(Exception):
    """A page that is not the listing that the configuration describes; the text says why."""


@dataclass(frozen=True, slots=True)
class PortalEntry:
    """What a listing says of one document; None for each thing that it does not say."""

    url: str
    """Absolute, as it is to be asked."""
    key: str | None
    gist: str
    """Hash of the whole entry, without signatures, which change while it says the same."""
    whole: str
    """Hash of the whole entry as it stands."""
    said: dict[str, str] = field(default_factory=dict)
    """Other fields, by their names in PortalFields."""


@dataclass(frozen=True, slots=True)
class Fault:
    """An entry that says something that cannot be used."""

    key: str | None
    error: UnlistableError


@dataclass(frozen=True, slots=True)
class ListingPage:
    """What a page says."""

    entries: list[PortalEntry | Fault]
    next: str | None
    """Absolute URL."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Links that lead to no document, by kind."""


class PageReader(Protocol):
    """Reads pages of one kind of listing."""

    def read(self, url: str, data: bytes, content_type: str | None) -> ListingPage:
        """Return what the page at ``url`` says.

        Raises:
            UnreadablePageError: it is not such a listing.
        """
        ...


class JsonPages:
    """Pages in JSON, read by JMESPath."""

    def __init__(self, source: PortalSource) -> None:
        """Prepare the source's expressions.

        Raises:
            ExpressionError: one of them is none.
        """
        self._entries = _expression(("entries",), source.entries)
        self._next = _expression(("next",), source.next) if source.next else None
        paths = source.fields.model_dump(exclude_none=True)
        self._fields = {name: _expression(("fields", name), path) for name, path in paths.items()}

    def read(self, url: str, data: bytes, content_type: str | None) -> ListingPage:
        """Return what the page says; see PageReader."""
        del content_type  # JSON is in UTF-8, UTF-16 or UTF-32, and tells which by itself
        try:
            page = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise UnreadablePageError(f"it is no JSON ({error})") from error
        found = _found(self._entries, page)
        if not isinstance(found, list):
            raise UnreadablePageError(f"`entries` finds {_kind(found)} in it where a list is meant")
        following = _found(self._next, page) if self._next else None
        if following is not None and not isinstance(following, str):
            raise UnreadablePageError(f"`next` finds {_kind(following)} where a URL is meant")
        return ListingPage(
            [self._entry(url, entry) for entry in found],
            _absolute(url, following) if following else None,
        )

    def _entry(self, url: str, entry: Any) -> PortalEntry | Fault:
        key = None
        said: dict[str, str] = {}
        try:
            for name in sorted(self._fields, key=lambda name: name != "key"):
                if (text := _text(name, _found(self._fields[name], entry))) is not None:
                    said[name] = text
                key = said.get("key")
            if "key" in self._fields and key is None:
                raise UnlistableError("key_missing", "the entry has no value for `fields.key`")
            if "url" not in said:
                raise UnlistableError("entry_invalid", "the entry has no value for `fields.url`")
            target = document_url(url, said.pop("url"))
        except UnlistableError as error:
            return Fault(key, error)
        except UnreadablePageError as error:
            return Fault(key, UnlistableError("entry_invalid", str(error)))
        said.pop("key", None)
        return PortalEntry(target, key, _hash(_public(entry)), _hash(entry), said)


class HtmlPages:
    """Pages in HTML, read by CSS selectors."""

    def __init__(self, source: PortalSource) -> None:
        """Prepare the source's selectors.

        Raises:
            ExpressionError: one of them is none.
        """
        self._links = _selector(("links",), source.links)
        self._next = _selector(("next",), source.next) if source.next else None

    def read(self, url: str, data: bytes, content_type: str | None) -> ListingPage:
        """Return what the page says; see PageReader."""
        try:
            parser = lxml.html.HTMLParser(encoding=_charset(content_type))
            page = lxml.html.document_fromstring(data, parser=parser)
        except (LxmlError, ValueError, LookupError) as error:
            raise UnreadablePageError(f"it is no HTML ({error})") from error
        base = _absolute(url, next(iter(page.xpath("//base/@href")), "") or url)
        following = [_link(element) for element in (self._next(page) if self._next else [])]
        left_out: Counter[str] = Counter()
        titles: dict[str, str] = {}
        faults: list[Fault] = []
        for element in self._links(page):
            link = _link(element)
            if link in following:
                continue
            if kind := _no_document(link):
                left_out[kind] += 1
                continue
            try:
                target = document_url(base, link)
            except UnlistableError as error:
                faults.append(Fault(None, error))
                continue
            if target != document_url(url, url):
                titles[target] = titles.get(target) or _title(element)
        entries = [
            PortalEntry(
                target,
                None,
                _hash([public_url(target), title]),
                _hash(target),
                {"title": title} if title else {},
            )
            for target, title in titles.items()
        ]
        return ListingPage(
            [*entries, *faults],
            _absolute(base, following[0]) if following and following[0] else None,
            left_out,
        )


def page_reader(source: PortalSource) -> PageReader:
    """Return what reads the pages of a portal's listing.

    Raises:
        ExpressionError: one of the source's expressions is none.
    """
    return JsonPages(source) if source.listing == "json" else HtmlPages(source)


def document_url(base: str, link: str) -> str:
    """Return the address of a document as it is to be asked.

    Raises:
        UnlistableError: ``link_refused``: it is no http or https address.
    """
    link = clean(link).strip()
    try:
        return str(web_address(link, base))
    except ValueError as error:
        raise UnlistableError(
            "link_refused", f"{public_url(one_line(link))[:_SHOWN]!r} is not read, since {error}"
        ) from None


def _absolute(base: str, link: str) -> str:
    try:
        return urljoin(base, clean(link).strip())
    except ValueError:
        return link


# --- JSON ---------------------------------------------------------------------------------------


def _expression(place: tuple[str, ...], path: str) -> Any:
    try:
        return jmespath.compile(path)
    except JMESPathError as error:
        reason = str(error).splitlines()[0]
        raise ExpressionError(place, f"is {path!r}, which is no JMESPath: {reason}") from error


def _found(expression: Any, value: Any) -> Any:
    try:
        return expression.search(value)
    except JMESPathError as error:
        raise UnreadablePageError(f"an expression does not fit it ({error})") from error


def _text(name: str, value: Any) -> str | None:
    """Return a scalar as text on one line, None where there is none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return json.dumps(value)
    if value is not None and not isinstance(value, str):
        raise UnlistableError(
            "entry_invalid", f"`fields.{name}` finds {_kind(value)} where text is meant"
        )
    return one_line(clean(value)) or None


def _kind(value: Any) -> str:
    if value is None:
        return "nothing"
    return {bool: "a truth value", dict: "an object", list: "a list", str: "a text"}.get(
        type(value), "a number"
    )


def _public(value: Any) -> Any:
    """Return JSON with every URL in it as its public form."""
    if isinstance(value, str):
        return public_url(value)
    if isinstance(value, list):
        return [_public(part) for part in value]
    if isinstance(value, dict):
        return {name: _public(part) for name, part in value.items()}
    return value


def _hash(value: Any) -> str:
    return sha256_text(json.dumps(value, sort_keys=True))


# --- HTML ---------------------------------------------------------------------------------------


def _selector(place: tuple[str, ...], css: str) -> Any:
    try:
        return CSSSelector(css, translator="html")
    except (SelectorError, LxmlError) as error:  # lxml's: it is none that XPath can say
        raise ExpressionError(place, f"is {css!r}, which is no CSS selector: {error}") from error


def _link(element: lxml.html.HtmlElement) -> str:
    """Return where an element leads, or the first link in it."""
    href = element.get("href")
    if href is None:
        href = next(iter(element.xpath(".//a/@href")), "")
    return clean(href).strip()


def _no_document(link: str) -> str | None:
    """Return the kind of a link that leads to no document."""
    if not link:
        return "without an address"
    if link.startswith("#"):
        return "to a place on the page"
    scheme = link.partition(":")[0].lower() + ":"
    return scheme if scheme in _NO_DOCUMENT else None


def _title(element: lxml.html.HtmlElement) -> str:
    texts = (element.text_content(), element.get("title"), element.get("aria-label"))
    return next(filter(None, (one_line(clean(text)) for text in texts)), "")


def _charset(content_type: str | None) -> str | None:
    header = Message()
    header["Content-Type"] = content_type or ""
    return header.get_content_charset()

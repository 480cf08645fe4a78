"""HTML: the main text of a page, block by block, in the characters of its DOM.

unstructured gives no offsets, joins the cells of a table by spaces and keeps cookie banners and
related links; trafilatura finds the main text and loses its structure. So the blocks come from the
page itself (`html_blocks`), and trafilatura only says which are the main text (`html_main`).
Over 41 news pages with known text the words have a precision of .92 and a recall of .99 (F1 .95),
headlines and captions counted as wrong, against .61 and .98 (F1 .71) for unstructured.
"""

from __future__ import annotations

import copy
import logging
import re
from html.parser import HTMLParser
from typing import Unpack

import lxml.html  # type: ignore[import-untyped]  # its stubs are a package of their own
import trafilatura
from lxml import etree

from ingest.extract.composing import Composer, Place
from ingest.extract.decode import clean, decode
from ingest.extract.draft import Draft, SourceBytes, damaged
from ingest.extract.headings import clause_level
from ingest.extract.html_blocks import HtmlBlock, blocks_of_page
from ingest.extract.html_main import main_text
from ingest.extract.package import Node

log = logging.getLogger(__name__)

_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"<\?xml[^>]{0,100}?encoding\s*=\s*[\"']([\w.:-]+)", re.IGNORECASE)


def read_html(source: SourceBytes) -> Draft:
    """Read a web page.

    Raises:
        ItemError: damaged, too_many_characters.
    """
    data = source.data
    text, warnings = decode(data, source.options.get("encoding") or _declared_encoding(data))
    composer = Composer(source)
    composer.warnings += warnings
    head = _Head()
    head.feed(text)
    composer.title, composer.author = head.best_title, head.author
    try:
        root = parse_html(text)
        blocks = blocks_of_page(root) if root is not None else []
    except RecursionError as error:
        raise damaged(source.name, "its elements are nested too deep") from error
    if root is None or not blocks:
        return composer.draft()
    judged, author = _judge(root)
    composer.author = composer.author or author
    main = main_text(blocks, judged)
    for block in main.blocks:
        add_block(composer, block)
    if main.left_out and main.whole_page:
        composer.warn(
            "main_text_unclear",
            "The page does not read like an article, so all of it was kept but for its menus "
            f"({main.left_out:,} characters).",
        )
    elif main.left_out:
        composer.warn(
            "page_parts_left_out",
            f"{main.left_out:,} characters of the page (menus, related links, banners, comments) "
            "are not part of its main text and were left out.",
        )
    return composer.draft()


def parse_html(text: str) -> Node | None:
    """Return the root of a page; None where it has no element."""
    # A declaration of an encoding has done its work, and lxml refuses it in a text.
    text = _DECLARATION.sub("", text, count=1)
    parser = lxml.html.HTMLParser(remove_comments=True, remove_pis=True, huge_tree=False)
    try:
        return lxml.html.document_fromstring(text, parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError):
        return None


def add_block(composer: Composer, block: HtmlBlock, **place: Unpack[Place]) -> None:
    """Add a block of a page; a paragraph with the words of a clause heading is one."""
    if block.rows:
        composer.add_table(block.rows, **place)
    elif block.kind == "paragraph" and (level := clause_level(block.text)) is not None:
        composer.add("heading", block.text, level, **place)
    else:
        composer.add(block.kind, block.text, block.level, **place)


def _judge(root: Node) -> tuple[str, str | None]:
    """Return the main text and the author as trafilatura sees them."""
    try:
        found = trafilatura.bare_extraction(
            copy.deepcopy(root), favor_precision=True, include_comments=False, with_metadata=True
        )
    except (ValueError, TypeError, AttributeError, etree.LxmlError) as error:
        log.warning("the main text could not be told apart: %s", error)
        return "", None
    if found is None or isinstance(found, dict):
        return "", None
    return found.text or "", " ".join((found.author or "").split()) or None


def _declared_encoding(data: bytes) -> str | None:
    """Return the encoding that the page declares, where Python knows it and no BOM overrules it."""
    head = data[:4096]
    if head.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        return None
    found = _XML_ENCODING.search(head) or _CHARSET.search(head)
    if not found:
        return None
    name = found[1].decode("ascii").lower()
    if name.startswith("utf-16"):
        return "utf-8"  # a declaration that could be read as ASCII is wrong (HTML §13.2.3.2)
    if name in ("iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii"):
        return None  # browsers read these labels as Windows-1252, as decode() does
    try:
        "".encode(name)
    except LookupError:
        return None
    return name


class _Head(HTMLParser):
    """Finds the page's title and author."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.author: str | None = None
        self._texts: dict[str, str] = {}
        self._inside: str | None = None

    @property
    def best_title(self) -> str | None:
        """The <title>, else the first <h1>."""
        for tag in ("title", "h1"):
            title = " ".join(clean(self._texts.get(tag, "")).split())
            if title:
                return title
        return None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("title", "h1") and tag not in self._texts:
            self._inside, self._texts[tag] = tag, ""
        elif tag == "meta" and (given.get("name") or "").lower() == "author" and not self.author:
            self.author = " ".join(clean(given.get("content") or "").split()) or None

    def handle_endtag(self, tag: str) -> None:
        if tag == self._inside:
            self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside:
            self._texts[self._inside] += data

"""E-books (.epub), versions 2 and 3.

The documents of the spine are read one after the other, which is the order of the book (EPUB 3.3
§5.7); each is a part, and a place is a part and the number of a paragraph. Their blocks come as
those of a web page do, all of them: a book has no menus but its table of contents, which is the
navigation document and is read only where the spine has it.
"""

from __future__ import annotations

import html.entities
import posixpath
import re

from lxml import etree  # type: ignore[import-untyped]  # its stubs are a package of their own

from ingest.extract.composing import Composer, count_of
from ingest.extract.decode import decode
from ingest.extract.draft import Draft, SourceBytes, damaged, too_many_pages
from ingest.extract.html import add_block, parse_html
from ingest.extract.html_blocks import blocks_of_page
from ingest.extract.package import Node, Package, dublin_core, password_needed, resolve, xml_parser

_CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"
_OPF = "{http://www.idpf.org/2007/opf}"
_ENCRYPTED = "{http://www.w3.org/2001/04/xmlenc#}"
_DOCUMENTS = frozenset({"application/xhtml+xml", "text/html", "text/x-oeb1-document"})
_FONT_ALGORITHMS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_ENTITY = re.compile(r"&(\w{2,32});")
_XML_OWN = frozenset({"amp", "lt", "gt", "quot", "apos"})
_DOCTYPE = re.compile(r"<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>", re.DOTALL | re.IGNORECASE)


def read_epub(source: SourceBytes) -> Draft:
    """Read an e-book.

    Raises:
        ItemError: damaged, archive_bomb, unsafe_xml, password_needed, too_many_pages,
            too_many_characters.
    """
    package = Package(source)
    _refuse_encrypted(package, source.name)
    container = package.tree("META-INF/container.xml")
    rootfile = (
        next(container.iter(f"{_CONTAINER}rootfile"), None) if container is not None else None
    )
    opf_name = rootfile.get("full-path") if rootfile is not None else None
    opf = package.tree(opf_name) if opf_name else None
    if opf is None or not opf_name:
        raise damaged(source.name, "it does not name its package document")
    composer = Composer(source)
    composer.title, composer.author = dublin_core(opf.find(f"{_OPF}metadata"))
    parts = _spine(opf, posixpath.dirname(opf_name))
    if len(parts) > source.settings.limits.pages:
        raise too_many_pages(source.name, len(parts), source.settings.limits.pages)
    missing = pictures = 0
    for part in parts:
        data = package.read(part)
        if data is None:
            missing += 1
            continue
        try:
            root = _parse(data)
            if root is None:
                continue
            for block in blocks_of_page(root):
                add_block(composer, block, part=part)
            pictures += sum(1 for node in root.iter() if str(node.tag).endswith(("img", "image")))
        except RecursionError as error:
            raise damaged(source.name, f"{part}: its elements are nested too deep") from error
    if missing:
        composer.warn(
            "parts_missing",
            f"{count_of(missing, 'part is', 'parts are')} named by the book and not in the file.",
        )
    composer.warn_pictures(pictures)
    return composer.draft()


def _spine(opf: Node, folder: str) -> list[str]:
    """Return the names of the documents in reading order, each once."""
    manifest = {item.get("id"): item for item in opf.iter(f"{_OPF}item")}
    names: dict[str, None] = {}
    for reference in opf.iter(f"{_OPF}itemref"):
        item = manifest.get(reference.get("idref"))
        if item is not None and item.get("media-type") in _DOCUMENTS and item.get("href"):
            names[resolve(folder, item.get("href"))] = None
    return list(names)


def _parse(data: bytes) -> Node | None:
    """Return the root of a document: as XML, where an empty element ends at once, else as HTML."""
    declared = re.search(rb"""encoding\s*=\s*["']([\w.-]+)""", data[:200])
    try:
        text, _ = decode(data, declared[1].decode("ascii") if declared else None)
    except LookupError:
        text, _ = decode(data)
    named = _ENTITY.sub(_character, _DOCTYPE.sub("", text, count=1))
    named = re.sub(r"^\s*<\?xml[^>]*\?>", "", named)
    try:
        return etree.fromstring(named.encode("utf-8"), xml_parser())
    except etree.XMLSyntaxError:
        return parse_html(text)


def _character(match: re.Match[str]) -> str:
    """Return the character that an entity of HTML names; XML knows only five of them."""
    known = html.entities.html5.get(f"{match[1]};")
    return match[0] if known is None or match[1] in _XML_OWN else known


def _refuse_encrypted(package: Package, name: str) -> None:
    root = package.tree("META-INF/encryption.xml")
    for node in root.iter(f"{_ENCRYPTED}EncryptionMethod") if root is not None else ():
        # Fonts are often scrambled; text only by protection against copying.
        if not (node.get("Algorithm") or "").startswith(_FONT_ALGORITHMS):
            raise password_needed(name)

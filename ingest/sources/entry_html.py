"""A feed's entry as text: its title without markup, its own content as a page, and what it says."""

from __future__ import annotations

import html
from html.parser import HTMLParser

from ingest.sources.links import citable

_UNSEEN = frozenset({"script", "style"})


class _Text(HTMLParser):
    """Gathers the text between tags, and where links lead."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.links: list[str] = []
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note where a link leads."""
        self._unseen += tag in _UNSEEN
        if tag == "a":
            self.links += [value for name, value in attrs if name == "href" and value]

    def handle_endtag(self, tag: str) -> None:
        """Come back to what is seen."""
        if tag in _UNSEEN and self._unseen:
            self._unseen -= 1

    def handle_data(self, data: str) -> None:
        """Keep the text between tags."""
        if not self._unseen:
            self.parts.append(data)


def clean(text: object) -> str:
    """Return ``text`` without what UTF-8 and databases cannot hold: lone surrogates and NUL.

    Feeds hold them as character references; feedparser's lenient parser lets them through.
    """
    return str(text or "").encode("utf-8", "replace").decode().replace("\0", "")


def one_line(text: str) -> str:
    """Return ``text`` with each run of white space as one space."""
    return " ".join(text.split())


def plain_text(markup: str) -> str:
    """Return the text of a piece of HTML on one line."""
    return one_line("".join(_read(markup).parts))


def gist(markup: str) -> str:
    """Return what a piece of HTML says: its text, and where its links lead.

    White space, markup, pictures and parameters that follow a reader are not in it: they change
    while the entry says the same.
    """
    read = _read(markup)
    links = (citable(link.strip()) for link in read.links)
    return "\n".join([one_line(" ".join(read.parts)), *links])


def paragraphs(text: str) -> str:
    """Return plain text as HTML, one paragraph for each run of lines."""
    pieces = (one_line(paragraph) for paragraph in text.split("\n\n"))
    return "\n".join(f"<p>{html.escape(piece, quote=False)}</p>" for piece in pieces if piece)


def entry_page(title: str | None, author: str, content: str) -> bytes:
    """Wrap an entry's own content as a page; the same entry always gives the same bytes."""
    name = html.escape(title or "", quote=False)
    heading = f"<h1>{name}</h1>\n" if name else ""
    by = f'<meta name="author" content="{html.escape(author)}">' if author else ""
    return (
        f'<!DOCTYPE html>\n<html>\n<head><meta charset="utf-8"><title>{name}</title>{by}</head>\n'
        f"<body><article>\n{heading}{content}\n</article></body>\n</html>\n"
    ).encode()


def _read(markup: str) -> _Text:
    parser = _Text()
    try:
        parser.feed(markup)
        parser.close()
    except AssertionError:  # the standard library's answer to a damaged "<!["
        parser.parts = [markup]
    return parser

"""Local copies of web pages, named by the pages' URLs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Mirror:
    """Folders that stand for the start of URLs, and the folder of a feed that is itself a file."""

    def __init__(self, folders: Mapping[str, str], base: Path, own_folder: Path | None) -> None:
        self._folders = {prefix: base / folder for prefix, folder in folders.items()}
        self._own_folder = own_folder

    def uri(self, url: str) -> str | None:
        """Return the file URI of the page's copy, or None if no folder stands for its URL.

        The longest prefix counts; it has to end where a part of the path does. A URL that ends
        with "/" has its copy in index.html; a query is part of the file's name, as wget saves it.
        """
        page = url.partition("#")[0]
        for prefix in sorted(self._folders, key=len, reverse=True):
            rest = page[len(prefix) :]
            if page.startswith(prefix) and (prefix.endswith("/") or rest[:1] in ("", "/", "?")):
                parts = urlsplit("/" + rest.lstrip("/"))
                name = unquote(parts.path).lstrip("/")
                if not name or name.endswith("/"):
                    name += "index.html"
                if parts.query:
                    name += f"?{parts.query}"
                return (self._folders[prefix] / name).absolute().as_uri()
        return None

    def holds(self, path: Path) -> bool:
        """Tell whether ``path`` is really in one of the folders, with all links followed."""
        folders = [*self._folders.values(), *([self._own_folder] if self._own_folder else [])]
        try:
            target = path.resolve()
        except ValueError:  # a NUL in the name
            return False
        return any(target.is_relative_to(folder.resolve()) for folder in folders)

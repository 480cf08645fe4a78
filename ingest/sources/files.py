"""Folders of files: licensed reports, a drop folder of scanned contracts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import regex  # type: ignore[import-untyped]  # its stubs are a package of their own
from fsspec.utils import glob_translate  # type: ignore[import-untyped]  # fsspec ships no types

from ingest.configuration import Configuration
from ingest.errors import RetriableError
from ingest.sources.base import (
    Fetched,
    UnlistableError,
    fingerprint,
    options_of,
    resolve_access,
)
from ingest.sources.credentials import CredentialLookup, credentials_of
from ingest.sources.dates import effective_date
from ingest.sources.location import Location, listing, too_large, unavailable
from ingest.sources.manifest import Manifest, key_of, read_manifest
from ingest.sources.terms_file import MAX_BYTES, SUFFIX, read_terms
from schemas.document import ExtractionWarning
from schemas.licence import Terms, narrowed
from schemas.source import FilesSource, Item, ListingEntry, ListingProblem


class FilesConnector:
    """Lists a folder and its folders; hidden files and folders are no items.

    A file's state is its ETag where the store has one, else its size and the time of its last
    change. Folders are walked here, since fsspec's own walk leaves out a subfolder that it cannot
    read, which would look like a deletion.
    """

    def __init__(
        self,
        source: FilesSource,
        configuration: Configuration,
        *,
        credentials: CredentialLookup,
        cache: Path | None,
    ) -> None:
        del cache
        self._source = source
        self._licences = configuration.licences
        self._folder = Location(
            source.address,
            configuration.base,
            credentials_of(source, credentials),
            source.storage_options,
        )
        self._pattern = re.compile(glob_translate(source.pattern))
        self._name_pattern = regex.compile(source.name_pattern) if source.name_pattern else None

    def list(self) -> Iterator[ListingEntry]:
        """Yield the files that are in the folder now; see Connector.

        Problems are ``manifest_file_missing``, ``manifest_duplicate``, ``ragged_row`` (in the
        manifest), ``licence_unknown``, ``date_invalid``, ``access_invalid``, ``client_missing``,
        ``terms_invalid``, ``terms_file_missing`` (of terms without their file),
        ``link_not_followed``, ``not_a_file``, ``item_forbidden``, ``name_not_unicode``,
        ``name_empty`` and ``name_duplicate``.
        """
        with listing(self._source.address):
            if self._folder.keeps_folders and not self._folder.is_folder():
                raise FileNotFoundError("there is no such folder")
            manifest = self._manifest()
            items: dict[str, Item] = {}
            faults = dict(manifest.faults)
            seen: set[str] = set()
            terms: dict[str, str] = {}
            others: set[str] = set()
            for path, info in [*self._walk(terms, others)]:
                key = self._key(path)
                try:
                    key.encode()
                    if key in seen:
                        raise UnlistableError(
                            "name_duplicate", "another file has this name, composed differently"
                        )
                    seen.add(key)
                    self._check_kind(path, info)
                    if key not in faults:
                        row = manifest.rows.get(key, {})
                        items[key] = self._item(path, key, info, row, terms.get(key))
                except UnicodeEncodeError:
                    key = os.fsencode(key).decode("utf-8", "backslashreplace")
                    faults[key] = UnlistableError(
                        "name_not_unicode", "its name is not in UTF-8; rename it"
                    )
                except UnlistableError as error:
                    faults[key] = error
                    items.pop(key, None)
                except FileNotFoundError:
                    seen.discard(key)  # deleted since its folder was read
                except PermissionError as error:
                    faults[key] = UnlistableError("item_forbidden", f"it may not be seen: {error}")
        for key in manifest.rows.keys() - seen:
            faults[key] = UnlistableError(
                "manifest_file_missing",
                f"{self._source.manifest} names it, but it is not in the folder, or does not match "
                f"the pattern {self._source.pattern!r}",
            )
        for key in terms.keys() - seen - others:
            faults[f"{key}{SUFFIX}"] = UnlistableError(
                "terms_file_missing", "the file whose terms it has is not in the folder"
            )
        for key in sorted(items, key=_in_natural_order):
            yield items[key]
        for key in sorted(faults, key=_in_natural_order):
            yield ListingProblem(
                source_key=key,
                code=faults[key].code,
                message=f"{self._source.address}, {key}: {faults[key].message}.",
            )

    def fetch(self, item: Item) -> Fetched:
        """Return the file's bytes; see Connector."""
        path = self._folder.path_of(item.fetch_uri)
        limit = self._source.max_item_bytes
        try:
            info = self._folder.info(path)
            size = info.get("size")
            if size is not None and size > limit:
                raise too_large(item.source_key, size, limit)
            before = self._folder.state(path, info)
            if size is None:
                data = self._folder.read_up_to(path, limit)
                if len(data) > limit:
                    raise too_large(item.source_key, len(data), limit)
            else:
                data = self._folder.read(path)
            after = self._folder.state(path)
        except OSError as error:
            if not self._is_there():
                # The whole folder is gone for the moment, which says nothing about this file.
                raise RetriableError(
                    "source_unreachable",
                    f"{self._source.address}: the folder cannot be seen. It is tried again; check "
                    "that it is mounted.",
                ) from error
            raise unavailable(item.source_key, error) from error
        if before != after:
            raise RetriableError(
                "source_changing",
                f"{item.source_key}: it changed while it was read. It is tried again.",
            )
        licence = self._licences.get(item.licence_id)
        if licence is None:
            raise unavailable(item.source_key, f"licence {item.licence_id!r} left the registry")
        mark = fingerprint(after, item, narrowed(licence, item.terms))
        return Fetched(data, None, mark)

    def _is_there(self) -> bool:
        try:
            return self._folder.is_folder()
        except PermissionError:
            return False

    def _manifest(self) -> Manifest:
        if self._source.manifest is None:
            return Manifest({}, {})
        path = f"{self._folder.path}/{self._source.manifest}"
        name = f"{self._source.address}/{self._source.manifest}"
        return read_manifest(self._folder, path, name)

    def _walk(
        self, terms: dict[str, str], others: set[str]
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield path and description of what is in the folder and matches the pattern.

        Links to folders are yielded too if the pattern reaches into folders. The paths of files
        with terms go into ``terms``, by the key of the file that they are about, and the keys of
        files that do not match go into ``others``.
        """
        waiting = [self._folder.path]
        while waiting:
            folder = waiting.pop()
            try:
                entries = self._folder.entries(folder)
            except FileNotFoundError:
                if folder == self._folder.path:
                    raise
                continue  # deleted since the folder above was read
            for info in entries:
                path: str = info["name"].rstrip("/")
                if path == folder:
                    yield f"{path}/", info
                    continue
                if path.rpartition("/")[2].startswith("."):
                    continue
                if path.endswith(SUFFIX) and info["type"] != "directory":
                    terms[self._key(path.removesuffix(SUFFIX))] = path
                elif info["type"] == "directory":
                    waiting.append(path)
                elif self._is_wanted(path) or (
                    info.get("islink") and Path(path).is_dir() and "/" in self._source.pattern
                ):
                    yield path, info
                else:
                    others.add(self._key(path))

    def _is_wanted(self, path: str) -> bool:
        key = self._key(path)
        if self._source.manifest and key == key_of(self._source.manifest):
            return False
        return self._pattern.match(key) is not None

    def _key(self, path: str) -> str:
        return key_of(self._folder.name_in(path))

    def _check_kind(self, path: str, info: dict[str, Any]) -> None:
        """Refuse what is no file, and links that lead out of the folder.

        Such a link would put a file under the terms and the access rule of a folder that it is not
        in; one to a folder could lead in a circle.
        """
        if path.endswith("/"):
            raise UnlistableError(
                "name_empty",
                "there are objects below it in whose names two slashes meet; rename them",
            )
        if info.get("islink"):
            target = Path(path).resolve()
            if not target.is_file() or not target.is_relative_to(Path(self._folder.path).resolve()):
                raise UnlistableError(
                    "link_not_followed",
                    f"it is a link to {target}, which is no file in the source's folder; put the "
                    "file itself here, or make a source of that folder",
                )
        elif info["type"] != "file":
            raise UnlistableError("not_a_file", "it is a link, a device, a socket or a pipe")

    def _item(
        self,
        path: str,
        key: str,
        info: dict[str, Any],
        row: dict[str, str],
        terms_path: str | None,
    ) -> Item:
        source = self._source
        said = self._said_by_name(key) | row
        licence_id = said.get("licence", source.licence)
        licence = self._licences.get(licence_id)
        if licence is None:
            raise UnlistableError(
                "licence_unknown",
                f"its licence {licence_id!r} is not in the registry, which has "
                f"{', '.join(sorted(self._licences))}; add it, or correct the manifest",
            )
        date = said.get("effective_from")
        try:
            effective_from = effective_date(date) if date else None
        except ValueError as error:
            raise UnlistableError("date_invalid", f"effective_from: {error}") from None
        if (withdrawn := _YES_OR_NO.get(said.get("withdrawn", "no").lower())) is None:
            raise UnlistableError(
                "withdrawn_invalid",
                f"withdrawn is {said['withdrawn']!r}; write yes or no in the manifest",
            )
        confidentiality, client_id = resolve_access(
            source.access, said.get("confidentiality", ""), said.get("client_id", "")
        )
        terms: Terms | None = None
        warnings: tuple[ExtractionWarning, ...] = ()
        if terms_path is not None:
            terms, warnings = read_terms(self._terms_text(terms_path), licence)
        uri = self._folder.uri(path)
        item = Item(
            source_id=source.id,
            source_key=key,
            document_key=said.get("document", key),
            uri=uri,
            fetch_uri=uri,
            fingerprint="",
            size=info.get("size"),
            title=said.get("title"),
            version_label=said.get("version_label"),
            effective_from=effective_from,
            withdrawn=withdrawn,
            licence_id=licence_id,
            terms=terms,
            warnings=warnings,
            confidentiality=confidentiality,
            client_id=client_id,
            options=options_of(source),
        )
        mark = fingerprint(self._folder.state(path, info), item, narrowed(licence, terms))
        return item.model_copy(update={"fingerprint": mark})

    def _terms_text(self, path: str) -> bytes:
        # Without its terms the file would be shown under the wider licence of its source.
        try:
            if self._folder.info(path)["type"] != "file":
                raise FileNotFoundError(f"{path} is no file")
            return self._folder.read_up_to(path, MAX_BYTES)
        except OSError as error:
            raise UnlistableError(
                "terms_invalid", f"its own terms ({SUFFIX}) cannot be read: {error}"
            ) from error

    def _said_by_name(self, key: str) -> dict[str, str]:
        if self._name_pattern is None:
            return {}
        try:
            match = self._name_pattern.search(key, timeout=_SECONDS)
        except TimeoutError as error:
            raise UnlistableError(
                "name_pattern_timeout",
                f"the source's name_pattern took over {_SECONDS:.0f} seconds on its name. Simplify "
                "it: parts that are optional or repeated should not match the same text.",
            ) from error
        if match is None:
            return {}
        return {name: value.strip() for name, value in match.groupdict("").items() if value.strip()}


_SECONDS = 5.0
"""For the name pattern on one name: it may take for ever on a name that it half fits."""
_YES_OR_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def _in_natural_order(key: str) -> tuple[tuple[str | int, ...], str]:
    """Sort v2 before v10. Splitting alternates text and number, so like is compared with like."""
    parts = re.split(r"([0-9]+)", key)
    return tuple(int(part) if index % 2 else part for index, part in enumerate(parts)), key

"""Extractions by the bytes that they were made from."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable

from ingest.artifacts import Artifacts
from ingest.errors import FatalError

_FOLDER = "extractions"
_HASH_LENGTH = 64
_IMAGE = re.compile(rb'"image_sha256":\s*"([0-9a-f]{64})"')
_ATTACHMENT = re.compile(rb'"sha256":\s*"([0-9a-f]{64})"')
"""A text may hold the same characters, but then its quotation marks are escaped."""


def images_in(data: bytes) -> set[str]:
    """Return the SHA-256 of each recognised image that a JSON text names."""
    return {digest.decode() for digest in _IMAGE.findall(data)}


class Extractions:
    """What is in the artifact store's folder of extractions, as it was when this was made."""

    def __init__(self, artifacts: Artifacts) -> None:
        self._artifacts = artifacts
        self._paths: defaultdict[str, list[str]] = defaultdict(list)
        for path in artifacts.list(_FOLDER):
            self._paths[path.rpartition("/")[2][:_HASH_LENGTH]].append(path)

    def of(self, sha256s: Iterable[str]) -> list[str]:
        """Return the paths of the extractions of these bytes, in whatever way they were read."""
        return [path for digest in sorted(sha256s) for path in self._paths.get(digest, ())]

    def of_others(self, sha256s: Collection[str]) -> list[str]:
        """Return the paths of the extractions of all other bytes."""
        return self.of(self._paths.keys() - set(sha256s))

    def images(self, paths: Iterable[str]) -> set[str]:
        """Return the SHA-256 of each image that was recognised for these extractions."""
        return {digest for path in paths for digest in images_in(self._content(path))}

    def attachments(self, paths: Iterable[str]) -> set[str]:
        """Return the SHA-256 of each file inside the documents of these extractions."""
        found: set[str] = set()
        for path in paths:
            found |= {digest.decode() for digest in _ATTACHMENT.findall(self._content(path))}
        return found

    def _content(self, path: str) -> bytes:
        """Return an extraction's JSON; nothing of one that is damaged."""
        try:
            return self._artifacts.read_content(path)
        except FatalError as error:
            if error.code != "artifact_damaged":
                raise
            return b""

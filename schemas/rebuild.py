"""Rebuilds of the index: what was filled, what could not be, and whether readers were turned."""

from __future__ import annotations

from schemas.base import Model, UtcDatetime


class Filled(Model):
    """What a part of the documents took."""

    documents: int = 0
    """Documents of which something was missing or stale in the new collection."""
    versions: int = 0
    points: int = 0
    embedded: int = 0
    """Texts that went through the embedding model now."""
    failed: tuple[str, ...] = ()
    """Versions that could not be loaded or proved, and why, in sentences for people."""

    def __add__(self, other: Filled) -> Filled:
        return Filled(
            documents=self.documents + other.documents,
            versions=self.versions + other.versions,
            points=self.points + other.points,
            embedded=self.embedded + other.embedded,
            failed=(*self.failed, *other.failed),
        )


class RebuildShard(Model):
    """A part of the documents, as one task fills them."""

    first: str
    last: str
    """Ids of the first and the last document, in the order of ids; both belong to it."""


class RebuildReport(Model):
    """What a rebuild did, and where it stands."""

    rebuild_id: int
    collection: str
    former: str | None
    switched_at: UtcDatetime | None
    """None while readers still use the former collection."""
    former_until: UtcDatetime | None
    """From then on the former collection may be dropped."""
    versions: int
    points: int
    """What the new collection has, whoever filled it when."""
    filled: Filled
    """What was done now."""

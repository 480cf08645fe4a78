"""Backfills: which stored versions are worked on again, what that takes, and what it did."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, computed_field, model_validator

from schemas.base import Model, UtcDatetime


class BackfillRequest(Model):
    """Which versions to bring up to date, and why. All of what is given has to hold."""

    documents: tuple[str, ...] = ()
    """Ids of documents; all of them where it is empty."""
    sources: tuple[str, ...] = ()
    """Ids of sources; all of them where it is empty."""
    effective_from: UtcDatetime | None = None
    effective_until: UtcDatetime | None = None
    """Versions whose effective date lies in ``[effective_from, effective_until)``, by what is held
    now; None leaves that end open."""
    reason: Annotated[str, Field(min_length=1)]
    """Kept with the run."""
    dry_run: bool = False
    """Only say what would be done."""

    @model_validator(mode="after")
    def _window_is_not_empty(self) -> BackfillRequest:
        first, last = self.effective_from, self.effective_until
        if first is not None and last is not None and first >= last:
            raise ValueError(
                f"the window is empty: {first.isoformat()} is not before {last.isoformat()}"
            )
        return self


class Work(Model):
    """What bringing versions up to date takes, or took."""

    refetched: int = 0
    """Versions whose bytes the vault has lost, and that are fetched again."""
    reread: int = 0
    """Versions that are extracted again, because how they are read has changed."""
    pages_recognised: int = 0
    """Pages with words from OCR in what is reread, those among them whose words are in the cache.
    It is known only afterwards: planned is the number of the last reading."""
    points_new: int = 0
    embedded: int = 0
    """Texts that go through the embedding model; those of reread versions are planned at most."""
    points_patched: int = 0
    """Points that take other terms or metadata and keep their vectors."""
    points_redated: int = 0
    """Points that take other dates; nothing else of them changes."""
    points_deleted: int = 0
    """Points that no version has any more."""

    @property
    def is_none(self) -> bool:
        """True if there is nothing to do."""
        return not any(dict(self).values())


class VersionWork(Work):
    """What one version takes."""

    doc_id: str
    version: int
    source_id: str
    source_key: str
    title: str
    reasons: tuple[str, ...] = ()
    """Why, in sentences for people."""

    @property
    def is_none(self) -> bool:
        """True if there is nothing to do."""
        return not any(getattr(self, name) for name in Work.model_fields)


class BackfillPlan(Model):
    """What a backfill would do."""

    run_id: str
    request: BackfillRequest
    versions_looked_at: int
    work: tuple[VersionWork, ...] = ()
    """Only versions that need something."""
    skipped: tuple[str, ...] = ()
    """Versions that cannot be worked on again, and why, in sentences for people."""

    @computed_field  # type: ignore[prop-decorator]  # pydantic's documented use of property
    @property
    def total(self) -> Work:
        """All that is to be done."""
        return Work(
            **{name: sum(getattr(one, name) for one in self.work) for name in Work.model_fields}
        )


class BackfillResult(Model):
    """What a backfill did."""

    run_id: str
    done: Work
    documents: tuple[str, ...] = ()
    """Documents of which something changed for readers."""

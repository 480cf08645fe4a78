"""Profiles: what a batch holds, in counts, and the figures that come of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import pandas as pd

from ingest.quality.contract import may_be_none
from ingest.quality.results import GateResult
from schemas.payload import Payload
from schemas.quality import BatchProfile

NULLABLE = tuple(
    name
    for name in Payload.model_fields
    # Empty until a version is published, and in every chunk at the gate.
    if may_be_none(name) and name != "published_at"
)


def profile_batch(
    frame: pd.DataFrame | None, result: GateResult | None, *, items: int, refused: int
) -> BatchProfile:
    """Count what is in a batch.

    Args:
        frame: of the batch's chunks; None where no document got as far.
        result: what the gate found in it.
        items: items of the batch, and files inside them.
        refused: those of them that are in quarantine by now.
    """
    if frame is None or result is None:
        return BatchProfile(items=items, refused=refused)
    paged = frame[frame["has_pages"].fillna(False).astype(bool)]
    versions = paged.drop_duplicates(["doc_id", "version"])
    confidence = frame["ocr_confidence"].dropna()
    languages = frame["language"].dropna().value_counts()
    return BatchProfile(
        items=items,
        refused=refused,
        chunks=len(frame),
        paged_chunks=len(paged),
        pages=int(versions["page_count"].sum()),
        recognised=len(confidence),
        confidence=float(confidence.sum()),
        languages={str(name): int(count) for name, count in languages.items()},
        missing={name: int(frame[name].isna().sum()) for name in NULLABLE},
        warnings=sum(check.failed_rows for check in result.checks if check.severity == "warning"),
    )


def merge(profiles: Iterable[BatchProfile]) -> BatchProfile:
    """Return the profile of several batches together."""
    counts: Counter[str] = Counter()
    nested: dict[str, Counter[str]] = {"languages": Counter(), "missing": Counter()}
    for profile in profiles:
        for name, value in profile:
            if name in nested:
                nested[name].update(value)
            else:
                counts[name] += value
    return BatchProfile.model_validate({**counts, **nested})


def figures(profile: BatchProfile, mix: Mapping[str, float]) -> dict[str, float]:
    """Return the means and shares of what was counted, by metric; none of what is not there.

    Args:
        profile: of a source's batches.
        mix: mean share of each language in earlier runs; empty where there were none.
    """
    if not profile.chunks:
        return {}
    found: dict[str, float] = {"warnings_per_chunk": profile.warnings / profile.chunks}
    if profile.pages:
        found["chunks_per_page"] = profile.paged_chunks / profile.pages
    if profile.recognised:
        found["ocr_confidence"] = profile.confidence / profile.recognised
    for name, count in profile.missing.items():
        found[f"null_rate.{name}"] = count / profile.chunks
    if known := sum(profile.languages.values()):
        shares = {name: count / known for name, count in profile.languages.items()}
        found.update({f"language.{name}": share for name, share in shares.items()})
        if mix:
            found["language_distance"] = total_variation(shares, mix)
    return found


def total_variation(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Return half the sum of the differences: 0 for the same shares, 1 for none in common."""
    return sum(abs(one.get(key, 0) - other.get(key, 0)) for key in one.keys() | other.keys()) / 2

"""Renames: an item of a new key that has the bytes of one that is gone is the same document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from schemas.run import Batch, FetchedItem


def take_renames(batch: Batch, fetched: Iterable[FetchedItem]) -> list[FetchedItem]:
    """Give newcomers that were renamed the document that they were before.

    That is so where exactly one newcomer and exactly one item that is gone have the same bytes.
    """
    before = {one.doc_sha256: one for one in batch.departed}
    had = Counter(one.doc_sha256 for one in batch.departed)
    fetched = list(fetched)
    have = Counter(one.doc_sha256 for one in fetched if one.planned.is_newcomer)
    taken: list[FetchedItem] = []
    for item in fetched:
        digest = item.doc_sha256
        if item.planned.is_newcomer and had[digest] == have[digest] == 1:
            known = {"doc_id": before[digest].doc_id, "renamed_from": before[digest].source_key}
            planned = item.planned.model_copy(update=known)
            taken.append(item.model_copy(update={"planned": planned}))
        else:
            taken.append(item)
    return taken

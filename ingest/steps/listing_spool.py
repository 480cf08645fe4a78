"""What a listing leaves to do, on disk until the listing is over and batches can be made of it."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from pathlib import PurePosixPath
from types import TracebackType
from typing import Self

from more_itertools import chunked
from natsort import natsort_key

from schemas.base import OPEN_END
from schemas.run import PlannedItem
from schemas.source import Item

_BYTES_PER_PAGE = 50_000
_PAGES_PER_SCAN_BYTE = 1 / 25_000
_SCAN_SUFFIXES = {".tif", ".tiff", ".png", ".jpg", ".jpeg"}
_AT_ONCE = 500
_MOST_ALIKE = 1_000
"""Newcomers of one size that are put into one batch to be told apart by their bytes."""

_SCHEMA = """
CREATE TABLE work (
    place INTEGER PRIMARY KEY, doc_id TEXT, together TEXT, cost INTEGER,
    newcomer BOOLEAN, size INTEGER, planned TEXT
);
CREATE INDEX work_doc_id ON work (doc_id);
CREATE INDEX work_together ON work (together, place);
CREATE INDEX work_newcomer ON work (size) WHERE newcomer;
CREATE TABLE again (source_key TEXT);
"""


class Spool:
    """New and changed items, and the keys of those that are listed again, in a temporary file.

    The file has no name: it goes when the spool is closed or the process dies.
    """

    def __init__(self) -> None:
        self._disk = sqlite3.connect("", isolation_level=None)
        self._disk.execute("PRAGMA journal_mode = OFF")
        self._disk.executescript(_SCHEMA)
        self._disk.execute("BEGIN")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._disk.close()

    def add(self, work: Iterable[PlannedItem]) -> None:
        """Take in items to work on, in the order of the listing."""
        self._disk.executemany(
            "INSERT INTO work (doc_id, together, cost, newcomer, size, planned) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (
                (
                    planned.doc_id,
                    planned.doc_id,
                    _cost(planned.item),
                    planned.is_newcomer,
                    planned.item.size,
                    planned.model_dump_json(),
                )
                for planned in work
            ),
        )

    def add_listed_again(self, keys: Iterable[str]) -> None:
        """Take in keys that the listing before did not have, or had as members."""
        self._disk.executemany("INSERT INTO again VALUES (?)", ((key,) for key in keys))

    def listed_again(self) -> Iterator[list[str]]:
        """Yield those keys, a part at a time."""
        rows = self._disk.execute("SELECT source_key FROM again")
        yield from chunked((key for (key,) in rows), _AT_ONCE)

    def documents_among(self, doc_ids: Collection[str]) -> set[str]:
        """Return which of these documents have an item to work on."""
        found: set[str] = set()
        for batch in chunked(sorted(doc_ids), _AT_ONCE):
            marks = ", ".join("?" * len(batch))
            query = f"SELECT DISTINCT doc_id FROM work WHERE doc_id IN ({marks})"  # noqa: S608
            found |= {doc_id for (doc_id,) in self._disk.execute(query, batch)}
        return found

    def has_newcomers(self) -> bool:
        """Tell whether an item may be one that was renamed."""
        found = self._disk.execute("SELECT 1 FROM work WHERE newcomer LIMIT 1")
        return found.fetchone() is not None

    def keep_alike_together(self, sizes: Collection[int]) -> set[int]:
        """Have the newcomers of each size in one batch, where their bytes can be compared.

        Where the source does not tell every newcomer's size, all of them are kept together. Too
        many for one batch are not.

        Args:
            sizes: in bytes, of the items that they may have been before.

        Returns:
            The sizes for which that was done, and that some newcomer has.
        """
        untold = self._disk.execute(
            "SELECT count(*), count(*) FILTER (WHERE size IS NULL) FROM work WHERE newcomer"
        ).fetchone()
        if untold[1]:
            if untold[0] > _MOST_ALIKE:
                return set()
            self._put_together("alike", "newcomer", ())
            return set(sizes)
        found: set[int] = set()
        for size in sorted(sizes):
            alike = "newcomer AND size = ?"
            query = f"SELECT count(*) FROM work WHERE {alike}"  # noqa: S608
            if 0 < self._disk.execute(query, (size,)).fetchone()[0] <= _MOST_ALIKE:
                self._put_together(f"size {size}", alike, (size,))
                found.add(size)
        return found

    def _put_together(self, name: str, condition: str, values: tuple[int, ...]) -> None:
        documents = f"SELECT doc_id FROM work WHERE {condition}"  # noqa: S608
        self._disk.execute(
            f"UPDATE work SET together = ? WHERE doc_id IN ({documents})",  # noqa: S608
            (name, *values),
        )

    def batches(self, budget: int) -> Iterator[list[PlannedItem]]:
        """Group items to about ``budget`` pages, the versions of one document always together.

        Versions stand in the order of their effective dates, so that numbers follow time as far as
        the source knows it.
        """
        batch: list[PlannedItem] = []
        cost = 0
        for more, items in self._groups():
            if batch and cost + more > budget:
                yield batch
                batch, cost = [], 0
            batch.extend(items)
            cost += more
        if batch:
            yield batch

    def _groups(self) -> Iterator[tuple[int, list[PlannedItem]]]:
        """Yield cost and items of what has to stay together, in the order of the listing."""
        rows = self._disk.execute(
            # A cross join, for SQLite then looks each group's items up in the index.
            "SELECT together, cost, planned FROM "
            "(SELECT together AS name, min(place) AS first FROM work GROUP BY name ORDER BY first) "
            "CROSS JOIN work ON together = name ORDER BY first, place"
        )
        for _, group in groupby(rows, key=itemgetter(0)):
            documents: dict[str, list[PlannedItem]] = defaultdict(list)
            cost = 0
            for _, more, text in group:
                planned = PlannedItem.model_validate_json(text)
                documents[planned.doc_id].append(planned)
                cost += more
            yield cost, [one for items in documents.values() for one in sorted(items, key=_order)]


def _order(planned: PlannedItem) -> tuple[object, ...]:
    item = planned.item
    return item.effective_from or OPEN_END, natsort_key(item.version_label or ""), item.source_key


def _cost(item: Item) -> int:
    """Estimate an item's pages, from what a listing can tell without a download."""
    if item.size is None:
        return 1
    if PurePosixPath(item.source_key).suffix.lower() in _SCAN_SUFFIXES:
        return max(1, round(item.size * _PAGES_PER_SCAN_BYTE))
    return max(1, item.size // _BYTES_PER_PAGE)

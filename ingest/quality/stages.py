"""Items and versions at the gate: a row each, and what must be so of them (guarantees 2 to 9).

What is said of chunks is in :mod:`ingest.quality.suites`; of points, in :mod:`ingest.audit`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import NamedTuple

import great_expectations as gx
import pandas as pd
from great_expectations.expectations.core.expect_column_pair_values_a_to_be_greater_than_b import (
    ExpectColumnPairValuesAToBeGreaterThanB,
)
from great_expectations.expectations.core.expect_column_values_to_be_between import (
    ExpectColumnValuesToBeBetween,
)
from great_expectations.expectations.core.expect_column_values_to_be_in_set import (
    ExpectColumnValuesToBeInSet,
)
from great_expectations.expectations.core.expect_column_values_to_match_regex import (
    ExpectColumnValuesToMatchRegex,
)
from great_expectations.expectations.expectation import Expectation

from ingest.catalog.records import VersionRecord
from ingest.quality.contract import LICENCE_REVIEWER, NOT_BLANK, about
from ingest.quality.expectations import ExpectIntervalsToBeDisjoint
from ingest.quality.results import CheckStage
from schemas.base import BEGINNING, OPEN_END
from schemas.document import Extraction
from schemas.run import ExtractedVersion

_IN_FORCE = ("published", "discarded")


class StageFrame(NamedTuple):
    """What of a batch one suite judges, beside its chunks."""

    stage: CheckStage
    frame: pd.DataFrame
    suite: gx.ExpectationSuite
    name: str
    """Column that names a row to people."""


@dataclass(frozen=True, slots=True)
class ItemRow:
    """An item, as its source lists it, with the version that was made of it."""

    doc_id: str
    version: int
    source_key: str
    uri: str
    licence_id: str
    client_named: bool
    """Whether its client is named, if it is confidential to one."""
    size: int
    effective_from: datetime | None


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version, and what reading it and the catalogue say."""

    doc_id: str
    version: int
    name: str
    text_length: int
    body_end: int
    chunks: int
    page_count: int
    pages_in_order: bool
    """Whether its pages are numbered 1, 2, 3…"""
    smallest_side: float
    """Points of the shortest side of any page; 1 where there are no pages."""
    flagged_share: float
    """Share of its pages whose recognition is flagged."""
    effective_basis: str
    intervals: tuple[tuple[datetime, datetime], ...]
    """Effective intervals of the document's versions that are published and not withdrawn."""


def item_row(version: ExtractedVersion) -> ItemRow:
    """Return what is judged of the item that ``version`` was made of."""
    fetched = version.fetched
    item = fetched.planned.item
    return ItemRow(
        doc_id=fetched.planned.doc_id,
        version=version.version,
        source_key=item.source_key,
        uri=item.uri,
        licence_id=item.licence_id,
        client_named=item.confidentiality != "client" or bool(item.client_id),
        size=fetched.size,
        effective_from=item.effective_from,
    )


def version_row(
    version: ExtractedVersion, chunks: int, extraction: Extraction, known: Sequence[VersionRecord]
) -> VersionRow:
    """Return what is judged of a version.

    Args:
        version: the version.
        chunks: how many it has.
        extraction: its text and pages.
        known: all versions of its document that the catalogue has.
    """
    pages = extraction.pages
    flagged = sum(any(one.flagged for one in page.recognitions) for page in pages)
    planned = version.fetched.planned
    return VersionRow(
        doc_id=planned.doc_id,
        version=version.version,
        name=planned.item.source_key,
        text_length=len(extraction.text),
        body_end=extraction.body_end,
        chunks=chunks,
        page_count=len(pages),
        pages_in_order=[page.number for page in pages] == list(range(1, len(pages) + 1)),
        smallest_side=min((min(page.width, page.height) for page in pages), default=1.0),
        flagged_share=flagged / len(pages) if pages else 0.0,
        effective_basis=version.effective_basis,
        intervals=tuple(
            (record.effective_from, record.effective_until)
            for record in known
            if record.state in _IN_FORCE
        ),
    )


def item_frame(rows: Iterable[ItemRow], licences: Collection[str]) -> StageFrame:
    """Return the items to be judged; ``licences`` are the ids in the registry."""
    frame = pd.DataFrame([asdict(row) for row in rows])
    dates = [None if pd.isna(value) else value for value in frame["effective_from"]]
    frame["effective_from"] = pd.Series(dates, dtype="datetime64[us, UTC]")
    return StageFrame("items", frame, item_suite(licences), "source_key")


def version_frame(rows: Iterable[VersionRow]) -> StageFrame:
    """Return the versions to be judged."""
    return StageFrame(
        "versions", pd.DataFrame([asdict(row) for row in rows]), version_suite(), "name"
    )


def item_suite(licences: Collection[str]) -> gx.ExpectationSuite:
    """Return what must be so of each item of a batch."""
    return _suite("items", _items(licences))


def version_suite() -> gx.ExpectationSuite:
    """Return what must be so of each version of a batch."""
    return _suite("versions", _versions())


def _suite(name: str, expectations: Iterator[Expectation]) -> gx.ExpectationSuite:
    declared = list(expectations)
    return gx.ExpectationSuite(
        name=name, expectations=declared, meta={"expected_count": len(declared)}
    )


def _items(licences: Collection[str]) -> Iterator[Expectation]:
    yield ExpectColumnValuesToMatchRegex(
        column="source_key",
        regex=NOT_BLANK,
        **about("item_key_blank", "Each item must have a key.", guarantee=4),
    )
    yield ExpectColumnValuesToMatchRegex(
        column="uri",
        regex=NOT_BLANK,
        **about("item_address_blank", "Each item must have an address.", guarantee=11),
    )
    yield ExpectColumnValuesToBeInSet(
        column="licence_id",
        value_set=sorted(licences),
        **about(
            "item_licence_unknown",
            "Each item's licence must be in the registry.",
            guarantee=6,
            owner=LICENCE_REVIEWER,
        ),
    )
    yield ExpectColumnValuesToBeInSet(
        column="client_named",
        value_set=[True],
        **about(
            "item_client_missing",
            "An item that is confidential to a client must name the client.",
            guarantee=6,
            owner=LICENCE_REVIEWER,
        ),
    )
    yield ExpectColumnValuesToBeBetween(
        column="size",
        min_value=1,
        **about("item_empty", "An item must have bytes.", guarantee=11),
    )
    yield ExpectColumnValuesToBeBetween(
        column="effective_from",
        min_value=BEGINNING,
        max_value=OPEN_END,
        **about(
            "item_date_out_of_range",
            f"An item's date must lie between {BEGINNING:%Y-%m-%d} and {OPEN_END:%Y-%m-%d}.",
            guarantee=5,
        ),
    )


def _versions() -> Iterator[Expectation]:
    yield ExpectColumnPairValuesAToBeGreaterThanB(
        column_A="text_length",
        column_B="body_end",
        or_equal=True,
        **about("body_past_end", "A version's body must end inside its text.", guarantee=1),
    )
    yield ExpectColumnValuesToBeBetween(
        column="chunks",
        min_value=1,
        **about("version_without_chunks", "A version must have a chunk.", guarantee=1),
    )
    yield ExpectColumnValuesToBeInSet(
        column="pages_in_order",
        value_set=[True],
        **about("pages_not_counted", "Pages must be numbered from 1, without gaps.", guarantee=3),
    )
    yield ExpectColumnValuesToBeBetween(
        column="smallest_side",
        min_value=0,
        strict_min=True,
        **about("page_without_size", "Each page must have a width and a height.", guarantee=2),
    )
    yield ExpectIntervalsToBeDisjoint(
        column_list=["doc_id", "intervals"],
        **about(
            "intervals_overlap",
            "Of a document one version at most must be in force at any instant.",
            guarantee=5,
        ),
    )
    yield ExpectColumnValuesToBeBetween(
        column="flagged_share",
        max_value=0.5,
        **about(
            "pages_mostly_flagged",
            "On at least half of the pages recognition should have found all text, and be sure.",
            guarantee=9,
            severity="warning",
        ),
    )
    yield ExpectColumnValuesToBeInSet(
        column="effective_basis",
        value_set=["source", "metadata", "text", "correction"],
        **about(
            "effective_date_unknown",
            "It should be known from when a version holds; the date of receipt stands in.",
            guarantee=5,
            severity="info",
            owner=LICENCE_REVIEWER,
        ),
    )

"""The suite: what every batch of chunks must show before any of it is loaded.

What the payload's declaration says of single fields is in :mod:`ingest.quality.contract`; here is
what the guarantees say of chunks, versions and the batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import great_expectations as gx
from great_expectations.expectations.core.expect_column_pair_values_a_to_be_greater_than_b import (
    ExpectColumnPairValuesAToBeGreaterThanB,
)
from great_expectations.expectations.core.expect_column_pair_values_to_be_equal import (
    ExpectColumnPairValuesToBeEqual,
)
from great_expectations.expectations.core.expect_column_values_to_be_between import (
    ExpectColumnValuesToBeBetween,
)
from great_expectations.expectations.core.expect_column_values_to_be_in_set import (
    ExpectColumnValuesToBeInSet,
)
from great_expectations.expectations.core.expect_column_values_to_be_null import (
    ExpectColumnValuesToBeNull,
)
from great_expectations.expectations.core.expect_column_values_to_be_unique import (
    ExpectColumnValuesToBeUnique,
)
from great_expectations.expectations.core.expect_column_values_to_match_regex import (
    ExpectColumnValuesToMatchRegex,
)
from great_expectations.expectations.core.expect_column_values_to_not_be_null import (
    ExpectColumnValuesToNotBeNull,
)
from great_expectations.expectations.core.expect_column_values_to_not_match_regex import (
    ExpectColumnValuesToNotMatchRegex,
)
from great_expectations.expectations.expectation import Expectation
from great_expectations.expectations.row_conditions import Column

from ingest.quality import expectations as own
from ingest.quality.contract import (
    NOT_BLANK,
    RETRIEVAL_ENGINEER,
    about,
    contract_expectations,
    equals,
)
from ingest.quality.terms import date_expectations, term_expectations
from ingest.settings import GateSettings

UUID = r"^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"
"""RFC 9562 §4, in lower case."""
UUID5 = UUID.replace("[1-8]", "5")

VERSION_FIELDS = (
    "doc_sha256",
    "effective_from",
    "effective_until",
    "licence_id",
    "attribution_required",
    "display_allowed",
    "confidentiality",
    "client_id",
    "title",
    "source_id",
    "source_key",
    "embedding_model",
    "pipeline_version",
)
"""What belongs to a version, so that all its chunks must say the same."""


def chunk_suite(settings: GateSettings, now: datetime) -> gx.ExpectationSuite:
    """Return the suite for a batch that is checked at ``now``, an instant with an offset.

    The suite's meta holds ``expected_count``, so that the gate notices if some got lost.
    """
    if now.tzinfo is None:
        raise ValueError(f"{now.isoformat()} has no offset from UTC")
    declared = [
        *contract_expectations(),
        *_identity(),
        *_offsets(),
        *_pages(),
        *date_expectations(now),
        *term_expectations(now),
        *_model(),
        *_legibility(settings),
    ]
    # add_expectation() would look for the suite in the store of some context; there is none yet.
    return gx.ExpectationSuite(
        name="chunks", expectations=declared, meta={"expected_count": len(declared)}
    )


_PAGED = equals("has_pages", True)
_UNPAGED = equals("has_pages", False)


def _identity() -> Iterator[Expectation]:
    """Ids: of the right kind, and one for each chunk (guarantee 4)."""
    yield ExpectColumnValuesToBeUnique(
        column="chunk_id",
        **about("chunk_id_repeated", "Each chunk must have an id of its own.", guarantee=4),
    )
    yield ExpectColumnValuesToMatchRegex(
        column="chunk_id",
        regex=UUID5,
        **about("chunk_id_malformed", "A chunk's id must be a UUIDv5.", guarantee=4),
    )
    yield ExpectColumnValuesToMatchRegex(
        column="doc_id",
        regex=UUID,
        **about("doc_id_malformed", "A document's id must be a UUID.", guarantee=4),
    )
    yield ExpectColumnPairValuesToBeEqual(
        column_A="text_sha256",
        column_B="actual_sha256",
        ignore_row_if="neither",
        **about("text_sha256_wrong", "text_sha256 must be the SHA-256 of the text.", guarantee=11),
    )
    yield own.ExpectChunksOfVersionToAgree(
        column_list=["doc_id", "version", *VERSION_FIELDS],
        **about(
            "version_disagrees",
            "The chunks of a version must agree on its bytes, dates, title and terms.",
            guarantee=4,
        ),
    )


def _offsets() -> Iterator[Expectation]:
    """Offsets: exact, increasing, leaving nothing out (guarantee 1)."""
    yield own.ExpectChunkTextToEqualVersionSlice(
        column_list=["char_start", "char_end", "version_length", "text", "source_slice"],
        **about(
            "offsets_inexact",
            "A chunk's text must be the slice of its version's text at its offsets.",
            guarantee=1,
        ),
    )
    yield own.ExpectStartsToIncreaseWithinVersion(
        column_list=["doc_id", "version", "char_start"],
        **about(
            "starts_not_increasing",
            "Each chunk must start behind the one before it in its version.",
            guarantee=1,
        ),
    )
    yield ExpectColumnValuesToBeBetween(
        column="uncovered",
        max_value=0,
        **about(
            "text_uncovered",
            "Every non-blank character of the body must be in at least one chunk.",
            guarantee=1,
        ),
    )


def _pages() -> Iterator[Expectation]:
    """Pages and boxes of paged rows; none of either elsewhere (guarantees 2 and 3)."""
    yield own.ExpectFieldsToBePresent(
        column_list=["page_first", "page_last"],
        row_condition=_PAGED,
        **about("page_missing", "A chunk of a paged document must have its pages.", guarantee=3),
    )
    yield ExpectColumnValuesToBeBetween(
        column="page_first",
        min_value=1,
        **about("page_first_out_of_range", "Pages must be counted from 1.", guarantee=3),
    )
    for lower, upper, code, description in (
        ("page_first", "page_last", "pages_backwards", "The first page must not follow the last."),
        ("page_last", "page_count", "page_past_end", "The last page must exist in the document."),
    ):
        yield ExpectColumnPairValuesAToBeGreaterThanB(
            column_A=upper,
            column_B=lower,
            or_equal=True,
            row_condition=_PAGED,
            ignore_row_if="either_value_is_missing",
            **about(code, description, guarantee=3),
        )
    for end in ("first", "last"):
        yield ExpectColumnPairValuesToBeEqual(
            column_A=f"page_{end}",
            column_B=f"box_page_{end}",
            row_condition=_PAGED,
            ignore_row_if="either_value_is_missing",
            **about(
                f"page_{end}_unlike_boxes",
                f"The {end} page must be that of the {end} box.",
                guarantee=3,
            ),
        )
    for column in ("page_first", "page_last"):
        yield ExpectColumnValuesToBeNull(
            column=column,
            row_condition=_UNPAGED,
            **about(
                f"{column}_made_up", "A format without pages must have no page number.", guarantee=3
            ),
        )
    yield own.ExpectBoxesToLieInsidePages(
        column_list=[
            "box_min_x",
            "box_min_y",
            "box_overrun_x",
            "box_overrun_y",
            "boxes_on_unknown_pages",
            "box_min_width",
            "box_min_height",
        ],
        row_condition=_PAGED,
        **about(
            "boxes_outside_page",
            "A chunk of a paged document must have boxes, each with an area, inside its page.",
            guarantee=2,
        ),
    )
    yield ExpectColumnValuesToBeBetween(
        column="box_count",
        max_value=0,
        row_condition=_UNPAGED,
        **about("boxes_made_up", "A format without pages must have no boxes.", guarantee=2),
    )
    yield ExpectColumnValuesToBeInSet(
        column="words_cover",
        value_set=[True],
        row_condition=_PAGED,
        **about(
            "words_missing",
            "Every non-blank character of a paged chunk must belong to a word with a box.",
            guarantee=2,
        ),
    )
    yield ExpectColumnValuesToNotBeNull(
        column="locator",
        row_condition=_UNPAGED,
        **about(
            "locator_missing",
            "A chunk without pages should say where it is: a row, a paragraph or a link.",
            guarantee=11,
            severity="warning",
        ),
    )


def _model() -> Iterator[Expectation]:
    """What the embedding model would cut (guarantee 9)."""
    yield ExpectColumnPairValuesAToBeGreaterThanB(
        column_A="token_limit",
        column_B="tokens",
        or_equal=True,
        ignore_row_if="neither",
        **about(
            "tokens_over_limit",
            "A chunk's tokens must fit the embedding model, which cuts the rest without a word.",
            guarantee=9,
        ),
    )
    yield ExpectColumnValuesToBeBetween(
        column="tokens",
        min_value=1,
        **about("tokens_out_of_range", "A chunk must have at least one token.", guarantee=9),
    )


def _legibility(settings: GateSettings) -> Iterator[Expectation]:
    """Whether there is text, and whether it can be trusted and read."""
    yield ExpectColumnValuesToMatchRegex(
        column="text",
        regex=NOT_BLANK,
        **about("text_blank", "A chunk's text must not be blank.", guarantee=9),
    )
    yield ExpectColumnValuesToNotMatchRegex(
        column="text",
        regex="[\x00\ufffd]",
        **about(
            "text_damaged",
            "The text should hold no NUL and no replacement character (U+FFFD).",
            guarantee=9,
            severity="warning",
        ),
    )
    yield ExpectColumnValuesToMatchRegex(
        column="title",
        regex=NOT_BLANK,
        **about(
            "title_blank",
            "The document should have a title to be cited by.",
            severity="warning",
            owner=RETRIEVAL_ENGINEER,
        ),
    )
    yield ExpectColumnValuesToNotBeNull(
        column="ocr_confidence",
        row_condition=Column("text_source").is_in(["ocr", "mixed"]),
        **about(
            "ocr_confidence_missing",
            "Recognised text should carry the engine's confidence.",
            guarantee=9,
            severity="warning",
        ),
    )
    yield ExpectColumnValuesToBeBetween(
        column="ocr_confidence",
        min_value=settings.min_ocr_confidence,
        **about(
            "ocr_confidence_low",
            f"Recognised text should have a confidence of {settings.min_ocr_confidence:g} or more.",
            guarantee=9,
            severity="warning",
        ),
    )
    yield ExpectColumnValuesToBeInSet(
        column="page_flagged",
        value_set=[False],
        row_condition=_PAGED,
        **about(
            "page_flagged",
            "The page should be one on which recognition found all text, and was sure of it.",
            guarantee=9,
            severity="warning",
        ),
    )
    yield ExpectColumnValuesToNotBeNull(
        column="language",
        **about(
            "language_unknown",
            "The language should be known, so that readers can filter by it.",
            severity="info",
            owner=RETRIEVAL_ENGINEER,
        ),
    )

"""What a batch must show of its dates, licences and access (guarantees 5, 6 and 8)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from great_expectations.expectations.core.expect_column_pair_values_a_to_be_greater_than_b import (
    ExpectColumnPairValuesAToBeGreaterThanB,
)
from great_expectations.expectations.core.expect_column_values_to_be_between import (
    ExpectColumnValuesToBeBetween,
)
from great_expectations.expectations.core.expect_column_values_to_be_null import (
    ExpectColumnValuesToBeNull,
)
from great_expectations.expectations.core.expect_column_values_to_match_regex import (
    ExpectColumnValuesToMatchRegex,
)
from great_expectations.expectations.core.expect_column_values_to_not_be_null import (
    ExpectColumnValuesToNotBeNull,
)
from great_expectations.expectations.expectation import Expectation

from ingest.quality.contract import (
    LICENCE_REVIEWER,
    NOT_BLANK,
    about,
    equals,
)
from ingest.quality.frame import PAYLOAD_COLUMNS
from schemas.base import OPEN_END

EARLIEST = datetime(1900, 1, 1, tzinfo=UTC)
"""Documents in force earlier than this are, as far as we have seen, misread dates."""


def date_expectations(now: datetime) -> Iterator[Expectation]:
    """Dates: instants that documents can have (guarantee 5), and none published yet (8)."""
    for name, kind in PAYLOAD_COLUMNS.items():
        if kind == "instant":
            yield ExpectColumnValuesToBeBetween(
                column=name,
                min_value=EARLIEST,
                max_value=OPEN_END,
                **about(
                    f"{name}_out_of_range",
                    f"{name} must lie between {EARLIEST:%Y-%m-%d} and {OPEN_END:%Y-%m-%d}.",
                    guarantee=5,
                ),
            )
    yield ExpectColumnPairValuesAToBeGreaterThanB(
        column_A="effective_until",
        column_B="effective_from",
        or_equal=True,
        ignore_row_if="neither",
        **about(
            "effective_backwards",
            "The effective interval must not end before it begins.",
            guarantee=5,
        ),
    )
    yield ExpectColumnValuesToBeNull(
        column="published_at",
        **about(
            "published_before_gate",
            "No reader may see a chunk before its version is published whole.",
            guarantee=8,
        ),
    )
    yield ExpectColumnValuesToBeBetween(
        column="effective_from",
        max_value=now,
        **about(
            "not_yet_effective",
            "The version should be in force: default filters leave out what is not yet.",
            guarantee=5,
            severity="info",
        ),
    )


def term_expectations(now: datetime) -> Iterator[Expectation]:
    """Licence and access: there, whole and valid (guarantee 6)."""
    for column, name, condition, description in (
        ("licence_id", "licence", None, "Every chunk must name its licence."),
        (
            "attribution_text",
            "attribution",
            equals("attribution_required", True),
            "Where attribution is required its text must be there.",
        ),
        (
            "client_id",
            "client",
            equals("confidentiality", "client"),
            "What is confidential to a client must name the client.",
        ),
    ):
        # Two expectations, since GX asks nothing of nulls but whether they may be there.
        yield ExpectColumnValuesToNotBeNull(
            column=column,
            row_condition=condition,
            **about(f"{name}_missing", description, guarantee=6, owner=LICENCE_REVIEWER),
        )
        yield ExpectColumnValuesToMatchRegex(
            column=column,
            regex=NOT_BLANK,
            row_condition=condition,
            **about(f"{name}_blank", description, guarantee=6, owner=LICENCE_REVIEWER),
        )
    yield ExpectColumnValuesToBeBetween(
        column="licence_valid_from",
        max_value=now,
        **about(
            "licence_not_yet",
            "The licence should have begun: readers get nothing under one before that.",
            guarantee=6,
            severity="info",
            owner=LICENCE_REVIEWER,
        ),
    )
    yield ExpectColumnValuesToBeBetween(
        column="licence_valid_until",
        min_value=now,
        strict_min=True,
        **about(
            "licence_expired",
            "The licence should be valid: readers get nothing under an expired one.",
            guarantee=6,
            severity="warning",
            owner=LICENCE_REVIEWER,
        ),
    )

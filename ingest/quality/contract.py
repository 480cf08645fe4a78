"""Expectations derived from the payload's declaration: sets, ranges, shapes, what may be empty.

A field that :class:`schemas.payload.Payload` gains is judged here without a line more.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType
from typing import Any, Literal, get_args, get_origin

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
from great_expectations.expectations.row_conditions import Column, ComparisonCondition

from ingest.quality.expectations import ExpectFieldsToBePresent
from ingest.quality.results import Severity
from schemas.payload import Payload

DATA_ENGINEER = "data engineer"
LICENCE_REVIEWER = "licence reviewer"
RETRIEVAL_ENGINEER = "retrieval engineer"

NOT_BLANK = r"\S"

_WORDS = (("min_value", "at least"), ("max_value", "at most"))


def equals(column: str, value: bool | str) -> ComparisonCondition:
    """Return the condition that limits an expectation to rows with ``value`` in ``column``."""
    return Column(column) == value


def about(
    code: str,
    description: str,
    *,
    guarantee: int | None = None,
    severity: Severity = "critical",
    owner: str = DATA_ENGINEER,
) -> dict[str, Any]:
    """Return the arguments that every expectation shares.

    Args:
        code: stable name, for the quarantine and for dashboards; one for each expectation.
        description: what must be so, as a sentence.
        guarantee: number of the guarantee that it stands for.
        severity: critical keeps the document out; the others are counted.
        owner: who mends what it finds.
    """
    return {
        "description": description,
        "severity": severity,
        "meta": {"code": code, "owner": owner, "guarantee": guarantee},
    }


def contract_expectations() -> Iterator[Expectation]:
    """Yield what the payload's declaration says of single fields."""
    yield ExpectColumnValuesToBeInSet(
        column="contract_problems",
        value_set=[""],
        **about("contract_broken", "A payload must keep its contract, field by field."),
    )
    required = [name for name in Payload.model_fields if not may_be_none(name)]
    yield ExpectFieldsToBePresent(
        column_list=[name for name in required if name != "licence_id"],
        **about("field_missing", "A payload must have all its required fields."),
    )
    for name, info in Payload.model_fields.items():
        if get_origin(info.annotation) is Literal:
            values = list(get_args(info.annotation))
            yield ExpectColumnValuesToBeInSet(
                column=name,
                value_set=values,
                **about(f"{name}_unknown", f"{name} must be one of {', '.join(values)}."),
            )
        if limits := _limits(info.metadata):
            bounds = " and ".join(f"{word} {limits[key]}" for key, word in _WORDS if key in limits)
            yield ExpectColumnValuesToBeBetween(
                column=name,
                **limits,
                **about(f"{name}_out_of_range", f"{name} must be {bounds}."),
            )
        for pattern in filter(None, (getattr(item, "pattern", None) for item in info.metadata)):
            yield ExpectColumnValuesToMatchRegex(
                column=name,
                regex=pattern,
                **about(f"{name}_malformed", f"{name} must match {pattern}.", guarantee=11),
            )


def _limits(metadata: list[Any]) -> dict[str, Any]:
    """Return the bounds that a field's ``Field(ge=…, le=…)`` declares, as GX calls them."""
    named = {"ge": "min_value", "le": "max_value"}
    return {
        named[name]: getattr(item, name)
        for item in metadata
        for name in named
        if hasattr(item, name)
    }


def may_be_none(field: str) -> bool:
    """Tell whether a payload may lack a value in the field."""
    return NoneType in get_args(Payload.model_fields[field].annotation)

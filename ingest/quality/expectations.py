"""Expectations of our own: what Great Expectations has no words for.

Each has a condition, a plain function that is true for the rows that are right and works on whole
columns. Importing this module registers them: a suite that is read from a file without it loses
them silently, which the gate finds by counting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import pairwise
from types import new_class
from typing import Any, ClassVar, Literal

import pandas as pd
from great_expectations.execution_engine.pandas_execution_engine import PandasExecutionEngine
from great_expectations.expectations.expectation import MulticolumnMapExpectation
from great_expectations.expectations.metrics.map_metric_provider import (
    multicolumn_map_metric_provider,
)
from great_expectations.expectations.metrics.map_metric_provider.multicolumn_condition_partial import (  # noqa: E501  # the module's name alone fills the line
    multicolumn_condition_partial,
)

_RowsProvider = multicolumn_map_metric_provider.MulticolumnMapMetricProvider

BOX_TOLERANCE = 0.01
"""Points by which a box may leave its page: rounding, far below the thinnest printed line."""

Flags = Any
"""A pandas Series of bool, one a row; pandas' own types can't say more of nullable columns."""

Condition = Callable[[pd.DataFrame], Flags]

_DOMAIN = (
    "batch_id",
    "table",
    "column_list",
    "row_condition",
    "condition_parser",
    "ignore_row_if",
)


def _metric(name: str) -> Callable[[Condition], Condition]:
    """Register the decorated condition as the metric ``name`` of several columns."""

    def register(condition: Condition) -> Condition:
        def evaluate(_provider: type, columns: pd.DataFrame, **_: Any) -> Flags:
            return condition(columns)

        def fill(body: dict[str, Any]) -> None:
            body["condition_metric_name"] = name
            body["condition_domain_keys"] = _DOMAIN
            body["_pandas"] = multicolumn_condition_partial(engine=PandasExecutionEngine)(evaluate)

        new_class(condition.__name__, (_RowsProvider,), exec_body=fill)
        return condition

    return register


class _RowsExpectation(MulticolumnMapExpectation):
    """Judges every row, whatever is missing in it."""

    ignore_row_if: Literal["all_values_are_missing", "any_value_is_missing", "never"] = "never"
    success_keys: ClassVar[tuple[str, ...]] = ("mostly",)
    args_keys: ClassVar[tuple[str, ...]] = ("column_list",)


@_metric("multicolumn_values.muniment_present")
def _all_present(columns: pd.DataFrame) -> Flags:
    return columns.notna().all(axis="columns")


class ExpectFieldsToBePresent(_RowsExpectation):
    """Expect a value in each of the columns, in each row."""

    map_metric = "multicolumn_values.muniment_present"


@_metric("multicolumn_values.muniment_version_slice")
def _equals_slice(columns: pd.DataFrame) -> Flags:
    start, end, length, text, source_slice = (columns[name] for name in columns.columns)
    # A slice equals the text with wrong offsets too where they count from the end or pass it.
    return (
        (text == source_slice)
        & (start >= 0).fillna(False)
        & (end <= length).fillna(False)
        & (end - start == text.map(len, na_action="ignore")).fillna(False)
    )


class ExpectChunkTextToEqualVersionSlice(_RowsExpectation):
    """Expect a chunk's text to be the slice of its version's text at its offsets (guarantee 1).

    Columns in this order: start, end, length of the version's text, text, slice.
    """

    map_metric = "multicolumn_values.muniment_version_slice"


@_metric("multicolumn_values.muniment_starts_increase")
def _starts_increase(columns: pd.DataFrame) -> Flags:
    doc_id, version, start = columns.columns
    steps = columns.groupby([doc_id, version], sort=False, dropna=False)[start].diff()
    # The first chunk of a version has no step.
    return columns[start].notna() & (steps.isna() | (steps > 0).fillna(False))


class ExpectStartsToIncreaseWithinVersion(_RowsExpectation):
    """Expect each chunk to start behind the one before it in its version (guarantee 1).

    Slice equality alone is not enough: text that repeats passes it with wrong offsets. Columns in
    this order: document id, version, start.
    """

    map_metric = "multicolumn_values.muniment_starts_increase"


@_metric("multicolumn_values.muniment_boxes_inside")
def _boxes_inside(columns: pd.DataFrame) -> Flags:
    min_x, min_y, overrun_x, overrun_y, unknown, min_width, min_height = (
        columns[name] for name in columns.columns
    )
    inside = (
        (min_x >= -BOX_TOLERANCE)
        & (min_y >= -BOX_TOLERANCE)
        & (overrun_x <= BOX_TOLERANCE)
        & (overrun_y <= BOX_TOLERANCE)
        & (unknown == 0)
        & (min_width > 0)
        & (min_height > 0)
    )
    return inside.fillna(False)


class ExpectBoxesToLieInsidePages(_RowsExpectation):
    """Expect boxes with an area, inside displayed pages of known size (guarantee 2).

    Columns in this order: smallest x and y, largest overrun to the right and below (points), number
    of boxes on pages of unknown size, smallest width and height. A row without boxes fails.
    """

    map_metric = "multicolumn_values.muniment_boxes_inside"


@_metric("multicolumn_values.muniment_version_agrees")
def _version_agrees(columns: pd.DataFrame) -> Flags:
    doc_id, version, *fields = columns.columns
    groups = columns.groupby([doc_id, version], sort=False, dropna=False)[fields]
    return (groups.transform("nunique", dropna=False) == 1).all(axis="columns")


class ExpectChunksOfVersionToAgree(_RowsExpectation):
    """Expect what belongs to the version to be the same in all its chunks.

    Columns in this order: document id, version, and those that must agree.
    """

    map_metric = "multicolumn_values.muniment_version_agrees"


@_metric("multicolumn_values.muniment_intervals_disjoint")
def _intervals_disjoint(columns: pd.DataFrame) -> Flags:
    return columns.iloc[:, 1].map(_are_disjoint)


def _are_disjoint(intervals: Sequence[tuple[datetime, datetime]]) -> bool:
    # An empty interval covers no instant, so it overlaps none.
    held = sorted(interval for interval in intervals if interval[0] < interval[1])
    return all(one[1] <= other[0] for one, other in pairwise(held))


class ExpectIntervalsToBeDisjoint(_RowsExpectation):
    """Expect half-open intervals ``[from, until)`` that share no instant (guarantee 5).

    Columns in this order: document id, and a tuple of the document's intervals, in any order.
    """

    map_metric = "multicolumn_values.muniment_intervals_disjoint"

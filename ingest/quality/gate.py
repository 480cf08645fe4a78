"""The gate: Great Expectations over a batch, so that it can't pass without having looked.

Great Expectations calls a suite without expectations a success, and an empty frame, and a suite
that lost the classes it was written with. Each of these raises here.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import great_expectations as gx
import pandas as pd
from great_expectations.core import ExpectationValidationResult
from great_expectations.core.result_format import ResultFormatUnion
from great_expectations.data_context.types.base import (
    DataContextConfig,
    InMemoryStoreBackendDefaults,
    ProgressBarsConfig,
)
from great_expectations.datasource.fluent.interfaces import Batch
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

from ingest.errors import DataQualityError
from ingest.quality import values
from ingest.quality.records import payload_problems
from ingest.quality.results import (
    ExpectationCheck,
    FailedVersion,
    GateFailure,
    GateResult,
    Severity,
)
from ingest.quality.stages import StageFrame
from ingest.quality.suites import chunk_suite
from ingest.quality.thresholds import Rules
from ingest.settings import GateSettings

__all__ = ["ExpectationCheck", "GateFailure", "GateResult", "check", "payload_problems"]

_EXAMPLES = 5
_EXAMPLE_ROWS = 100
_EXAMPLE_COLUMNS = 5
_EXAMPLE_CHARACTERS = 40
_SEVERITIES: tuple[Severity, ...] = ("critical", "warning", "info")

_COUNTS: ResultFormatUnion = {"result_format": "BASIC", "exclude_unexpected_values": True}
# Without index columns the list holds the frame's own index: rows are found even where their ids
# are missing or repeated. Values are left out, because GX stops listing them after 200.
_ROWS: ResultFormatUnion = {
    "result_format": "COMPLETE",
    "exclude_unexpected_values": True,
    "return_unexpected_index_query": False,
}


def check(
    frame: pd.DataFrame,
    settings: GateSettings,
    now: datetime,
    suite: gx.ExpectationSuite | None = None,
    rules: Rules | None = None,
    others: Sequence[StageFrame] = (),
) -> GateResult:
    """Check a batch that :func:`ingest.quality.frame.build_frame` made.

    Failing rows are in the result, each of them; whether the batch goes on is for the caller to
    say (:meth:`GateResult.raise_if_stopped`). ``rules`` are the installation's own for the batch's
    source; ``others`` are its items and versions.

    Raises:
        DataQualityError: nothing was checked, or not what was meant to be: ``gate_empty_batch``,
            ``gate_empty_suite``, ``gate_lost_expectations``, ``gate_expectation_error``,
            ``gate_checked_nothing``; or a failing row names no document that could be kept out
            (``gate_no_document``).
    """
    if frame.empty:
        raise DataQualityError(
            "gate_empty_batch",
            "The quality gate got a batch without chunks, so it checked nothing. Look at what the "
            "chunk step made of the batch.",
        )
    rules = rules or Rules()
    frame = frame.reset_index(drop=True)
    chunks = StageFrame("chunks", frame, suite or chunk_suite(settings, now), "chunk_id")
    sizes = Counter(zip(frame["doc_id"], frame["version"], strict=True))
    checks: list[ExpectationCheck] = []
    failures: list[GateFailure] = []
    for rows in (*others, chunks):
        more_checks, more_failures = _judge(rows, rules, sizes)
        checks += more_checks
        failures += more_failures
    return GateResult(
        checked_rows=len(frame),
        checked_documents=frame["doc_id"].nunique(dropna=False),
        checks=tuple(checks),
        failures=tuple(sorted(failures, key=lambda failure: _SEVERITIES.index(failure.severity))),
        stop_share=settings.stop_share,
        stop_min_documents=settings.stop_min_documents,
    )


def _judge(
    rows: StageFrame, rules: Rules, sizes: Mapping[Any, int]
) -> tuple[list[ExpectationCheck], list[GateFailure]]:
    """Apply a suite to its rows; ``sizes`` has the number of each version's chunks."""
    frame = rows.frame
    batch = _batch(frame)
    results = _validate(batch, rows.suite)
    checks = [_check(result, rows, rules) for result in results]
    if not any(one.checked_rows for one in checks):
        raise DataQualityError(
            "gate_checked_nothing",
            f"None of the gate's {len(checks)} expectations of {rows.stage} applied to any of the "
            f"batch's {len(frame)} rows. Correct their row conditions in ingest/quality.",
        )
    failures = [
        _failure(rows, one, _failing_rows(batch, result, len(frame)), rules, sizes)
        for one, result in zip(checks, results, strict=True)
        if not result.success
    ]
    return checks, failures


def _batch(frame: pd.DataFrame) -> Batch:
    """Hand the frame to a context that lives in memory and says nothing."""
    config = DataContextConfig(
        store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
        progress_bars=ProgressBarsConfig(globally=False),
        analytics_enabled=False,
    )
    context = gx.get_context(mode="ephemeral", project_config=config)
    asset = context.data_sources.add_pandas("muniment").add_dataframe_asset("chunks")
    definition = asset.add_batch_definition_whole_dataframe("batch")
    return definition.get_batch(batch_parameters={"dataframe": frame})


def _validate(batch: Batch, suite: gx.ExpectationSuite) -> list[ExpectationValidationResult]:
    """Apply the suite, whole; the results come in the suite's order."""
    _refuse_incomplete(suite)
    with _quiet():
        results = batch.validate(suite, result_format=_COUNTS).results
    if len(results) != len(suite.expectations):
        raise _lost(len(suite.expectations), len(results))
    for result in results:
        _refuse_error(result)
    order = [_code(expectation.configuration) for expectation in suite.expectations]
    return sorted(results, key=lambda result: order.index(_code(_config(result))))


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep to itself what pandas has to say of the calls that GX makes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.Pandas4Warning)
        yield


def _refuse_incomplete(suite: gx.ExpectationSuite) -> None:
    if not suite.expectations:
        raise DataQualityError(
            "gate_empty_suite",
            f"The suite {suite.name!r} holds no expectation, so it would pass anything. Use "
            "ingest.quality.suites.chunk_suite, or add expectations to it.",
        )
    expected = (suite.meta or {}).get("expected_count", len(suite.expectations))
    if len(suite.expectations) != expected:
        raise _lost(expected, len(suite.expectations))


def _lost(declared: int, left: int) -> DataQualityError:
    return DataQualityError(
        "gate_lost_expectations",
        f"The suite declared {declared} expectations and {left} are left. Great Expectations drops "
        "those whose class is not imported: import ingest.quality.expectations before the suite "
        "is read.",
    )


def _refuse_error(result: ExpectationValidationResult) -> None:
    """Raise if the expectation could not be evaluated, which GX reports as any other failure."""
    info = result.exception_info or {}
    # One record, or, where a metric failed, one for each metric under its id.
    records = [info] if "raised_exception" in info else list(info.values())
    for record in records:
        if record.get("raised_exception"):
            raise DataQualityError(
                "gate_expectation_error",
                f"The expectation {_code(_config(result))!r} could not be evaluated: "
                f"{values.inert(str(record.get('exception_message')), 300)}. Nothing of the batch "
                "was let through. Correct the suite, or the frame's column that it reads.",
            )


def _config(result: ExpectationValidationResult) -> ExpectationConfiguration:
    assert result.expectation_config is not None  # noqa: S101  # set by every validation
    return result.expectation_config


def _code(config: ExpectationConfiguration) -> str:
    return str((config.meta or {}).get("code") or config.type)


def _columns(config: ExpectationConfiguration) -> tuple[str, ...]:
    kwargs = config.kwargs
    single = (kwargs[key] for key in ("column", "column_A", "column_B") if key in kwargs)
    return (*single, *kwargs.get("column_list", ()))


def _check(result: ExpectationValidationResult, of: StageFrame, rules: Rules) -> ExpectationCheck:
    rows = len(of.frame)
    config = _config(result)
    meta = config.meta or {}
    own = rules.expectation(_code(config))
    counts = result.result
    checked = counts.get("element_count", rows) - counts.get("missing_count", 0)
    return ExpectationCheck(
        code=_code(config),
        expectation=config.type,
        columns=_columns(config),
        severity=own.severity or config.severity.value,
        description=config.description or config.type,
        guarantee=meta.get("guarantee"),
        owner=own.owner or meta.get("owner"),
        stage=of.stage,
        checked_rows=int(checked),
        failed_rows=0 if result.success else int(counts.get("unexpected_count", rows)),
    )


def _failing_rows(batch: Batch, result: ExpectationValidationResult, rows: int) -> list[int]:
    """Return the positions of all rows that fail: the expectation is evaluated again for them."""
    with _quiet():
        again = batch.validate(_config(result).to_domain_obj(), result_format=_ROWS)
    _refuse_error(again)
    # An expectation of the table as a whole names no row: then it's every row's failure.
    return [int(row) for row in again.result.get("unexpected_index_list") or range(rows)]


def _failure(
    of: StageFrame,
    one: ExpectationCheck,
    rows: list[int],
    rules: Rules,
    sizes: Mapping[Any, int],
) -> GateFailure:
    failing = of.frame.iloc[rows]
    nameless = failing[["doc_id", "version"]].isna().any(axis="columns")
    if one.severity == "critical" and nameless.any():
        raise DataQualityError(
            "gate_no_document",
            f"{int(nameless.sum())} {of.stage} fail {one.code!r} and name no document and version, "
            "so nothing could be kept back for them. The batch is stopped; correct the chunk step.",
        )
    versions = Counter(zip(failing["doc_id"], failing["version"], strict=True))
    return GateFailure(
        code=one.code,
        expectation=one.expectation,
        column=", ".join(one.columns),
        severity=one.severity,
        description=one.description,
        guarantee=one.guarantee,
        stage=of.stage,
        chunk_ids=tuple(failing[of.name].fillna("missing").astype(str)),
        versions=tuple(
            FailedVersion(
                doc_id=str(doc_id),
                version=int(version),
                chunks=chunks,
                of_chunks=sizes[doc_id, version] if of.stage == "chunks" else 1,
            )
            for (doc_id, version), chunks in versions.items()
            if not pd.isna(version)
        ),
        limit=rules.expectation(one.code).limit,
        examples=tuple(_examples(failing, one.columns)),
    )


def _examples(failing: pd.DataFrame, columns: tuple[str, ...]) -> Iterator[str]:
    """Yield what the first failing rows hold in the columns, each different one once."""
    seen: set[str] = set()
    for _, row in failing.head(_EXAMPLE_ROWS).iterrows():
        wanted = [name for name in columns if name in row.index]
        if len(wanted) > _EXAMPLE_COLUMNS:
            missing = [name for name in wanted if pd.isna(row[name])]
            wanted = (missing or wanted)[:_EXAMPLE_COLUMNS]
        limit = 2 * _EXAMPLE_CHARACTERS if len(wanted) == 1 else _EXAMPLE_CHARACTERS
        cells = [None if pd.isna(row[name]) else row[name] for name in wanted]
        shown = [values.show(cell, limit) for cell in cells]
        if len(wanted) == 1:
            example = shown[0]
        else:
            example = ", ".join(f"{n} {v}" for n, v in zip(wanted, shown, strict=True))
        if example not in seen:
            seen.add(example)
            yield example
        if len(seen) == _EXAMPLES:
            return

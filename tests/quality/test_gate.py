from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import great_expectations as gx
import pandas as pd
import pytest
from great_expectations.expectations.core import (
    ExpectColumnMeanToBeBetween,
    ExpectColumnValuesToBeBetween,
    ExpectColumnValuesToBeInSet,
)
from great_expectations.expectations.row_conditions import Column
from quality.batches import NOW, SETTINGS, document, frame_of

from ingest.errors import DataQualityError
from ingest.quality.gate import GateResult, check, payload_problems
from ingest.quality.suites import chunk_suite
from ingest.settings import GateSettings
from schemas.identity import document_id

ROOT = Path(__file__).parents[2]


def many(documents: int, chunks: int = 4) -> pd.DataFrame:
    return frame_of(*(document(number, chunks=chunks) for number in range(documents)))


def suite_of(*expectations: Any, **meta: Any) -> gx.ExpectationSuite:
    return gx.ExpectationSuite(name="test", expectations=list(expectations), meta=meta)


def refusal(frame: pd.DataFrame, suite: gx.ExpectationSuite | None = None) -> DataQualityError:
    with pytest.raises(DataQualityError) as caught:
        check(frame, SETTINGS, NOW, suite)
    return caught.value


# --- what could pass unseen ----------------------------------------------------------------------


def test_a_suite_that_lost_an_expectation_fails() -> None:
    suite = chunk_suite(SETTINGS, NOW)
    del suite.expectations[3]
    error = refusal(many(1), suite)
    assert error.code == "gate_lost_expectations"
    declared = suite.meta["expected_count"]
    assert f"declared {declared} expectations and {declared - 1} are left" in error.message


def test_a_suite_read_without_its_classes_fails() -> None:
    stored = chunk_suite(SETTINGS, NOW).to_json_dict()
    for one in stored["expectations"]:
        one["type"] = one["type"].replace("expect_boxes_to_lie", "expect_crates_to_lie")
    loaded = gx.ExpectationSuite(**stored)
    assert len(loaded.expectations) == stored["meta"]["expected_count"] - 1, "GX says nothing"
    assert refusal(many(1), loaded).code == "gate_lost_expectations"


def test_an_expectation_that_raises_is_not_taken_for_a_failing_row() -> None:
    frame = many(1).drop(columns="tokens")
    error = refusal(frame)
    assert error.code == "gate_expectation_error"
    assert "tokens" in error.message


def test_naive_dates_in_a_frame_stop_the_gate() -> None:
    frame = many(1)
    frame["effective_from"] = frame["effective_from"].dt.tz_localize(None)
    assert refusal(frame).code == "gate_expectation_error"


def test_a_suite_whose_conditions_let_no_row_in_has_checked_nothing() -> None:
    nowhere = ExpectColumnValuesToBeBetween(
        column="tokens", max_value=1, row_condition=Column("source_id") == "nowhere"
    )
    assert refusal(many(1), suite_of(nowhere)).code == "gate_checked_nothing"


@pytest.mark.parametrize("column", ["doc_id", "version"])
def test_a_failing_row_that_names_no_document_stops_the_batch(column: str) -> None:
    frame = many(1)
    frame.loc[1, column] = None
    assert refusal(frame).code == "gate_no_document"


def test_an_expectation_of_the_whole_table_fails_for_each_of_its_rows() -> None:
    frame = many(2)
    mean = ExpectColumnMeanToBeBetween(column="tokens", max_value=1, severity="critical")
    (failure,) = check(frame, SETTINGS, NOW, suite_of(mean)).failures
    assert failure.chunk_ids == tuple(frame["chunk_id"])


def test_an_index_of_the_frame_s_own_does_not_confuse_the_rows() -> None:
    frame = many(2)
    frame.loc[5, "tokens"] = 300
    shuffled = frame.set_index(pd.Index([7, 7, 7, 7, 0, 1, 2, 3], name="odd"))
    (failure,) = check(shuffled, SETTINGS, NOW).failures
    assert failure.chunk_ids == (frame["chunk_id"][5],)


def test_the_frame_is_left_as_it_was() -> None:
    frame = many(1)
    before = frame.copy(deep=True)
    check(frame, SETTINGS, NOW)
    pd.testing.assert_frame_equal(frame, before)


# --- what a result says --------------------------------------------------------------------------


def two_bad_documents() -> GateResult:
    frame = many(6)
    frame.loc[0, "tokens"] = 300
    frame.loc[[1, 2, 4], "licence_id"] = None
    frame.loc[9, "language"] = None
    return check(frame, SETTINGS, NOW)


def test_failing_documents_and_versions_have_their_reasons() -> None:
    result = two_bad_documents()
    first, second = (document_id("contracts", f"contract {number}") for number in (0, 1))
    codes = ["version_disagrees", "licence_missing", "tokens_over_limit"]
    assert result.failed_documents == {first: codes, second: codes[:2]}
    assert result.failed_versions[first, 1][1:] == [
        "licence_missing in 2 chunks (every chunk must name its licence)",
        "tokens_over_limit in 1 chunk (a chunk's tokens must fit the embedding model, which cuts "
        "the rest without a word)",
    ]
    assert list(result.failed_versions) == [(first, 1), (second, 1)]
    assert not result.passed
    assert result.warnings == {"language_unknown": 1}


def test_warnings_alone_pass() -> None:
    frame = many(1)
    frame["title"] = " "
    result = check(frame, SETTINGS, NOW)
    assert result.passed
    assert result.failed_documents == {}
    assert result.warnings == {"title_blank": 4}
    result.raise_if_stopped()


def test_failures_come_the_gravest_first_and_checks_in_the_suite_s_order() -> None:
    result = two_bad_documents()
    severities = [failure.severity for failure in result.failures]
    assert severities == sorted(severities, key=("critical", "warning", "info").index)
    suite = chunk_suite(SETTINGS, NOW)
    codes = [one.configuration.meta["code"] for one in suite.expectations]
    assert [one.code for one in result.checks] == codes
    assert result.checked_expectations == len(codes)


def test_checks_count_the_rows_that_they_judged() -> None:
    frame = frame_of(document(0), document(1, chunks=3, paged=False))
    frame.loc[0, "ocr_confidence"] = 88.0
    rows = {one.code: one.checked_rows for one in check(frame, SETTINGS, NOW).checks}
    assert rows["offsets_inexact"] == 7
    assert rows["page_missing"] == rows["boxes_outside_page"] == rows["words_missing"] == 4
    assert rows["boxes_made_up"] == 3
    assert rows["ocr_confidence_low"] == 1
    assert rows["client_missing"] == 0


def test_a_result_survives_json_and_pickle() -> None:
    result = two_bad_documents()
    assert GateResult.model_validate_json(result.model_dump_json()) == result
    assert pickle.loads(pickle.dumps(result)) == result  # noqa: S301  # our own bytes


def test_examples_are_few_short_different_and_inert() -> None:
    frame = many(10)
    for row in range(len(frame)):
        frame.loc[row, "title"] = "  " if row < 8 else f"<script>alert({row})</script>" * 50
    frame["title"] = frame["title"].map(lambda title: title if title.strip() else "\x1b[31m")
    banned = ExpectColumnValuesToBeInSet(column="title", value_set=["nothing"])
    (failure,) = check(frame, SETTINGS, NOW, suite_of(banned)).failures
    assert len(failure.examples) == len(set(failure.examples)) == 5
    assert failure.examples[0] == '"\\u001b[31m"'
    assert failure.examples[1].startswith('"\\u003cscript\\u003ealert(8)')
    for example in failure.examples:
        assert example.isprintable()
        assert not set("<>") & set(example)
        assert len(example) < 200


@pytest.mark.parametrize(
    ("documents", "failing", "share", "minimum", "stopped"),
    [
        (10, 5, 0.5, 5, False),
        (10, 6, 0.5, 5, True),
        (6, 4, 0.5, 5, False),
        (2, 1, 0.1, 1, True),
        (2, 0, 0.1, 1, False),
        (5, 5, 1.0, 5, False),
    ],
)
def test_a_batch_stops_past_a_share_of_documents_and_a_number(
    documents: int, failing: int, share: float, minimum: int, stopped: bool
) -> None:
    frame = many(documents)
    frame.loc[[number * 4 for number in range(failing)], "tokens"] = 300
    settings = GateSettings(stop_share=share, stop_min_documents=minimum)
    result = check(frame, settings, NOW)
    assert len(result.failed_documents) == failing
    assert result.stopped is stopped


def test_a_stopped_batch_says_why_and_what_to_do() -> None:
    frame = many(6)
    frame["tokens"] = 300
    frame.loc[:3, "licence_id"] = None
    result = check(frame, SETTINGS, NOW)
    with pytest.raises(DataQualityError) as caught:
        result.raise_if_stopped()
    assert caught.value.code == "gate_stopped"
    message = caught.value.message
    assert message.startswith("6 of the batch's 6 documents fail the quality gate")
    assert "tokens_over_limit in 6 documents, 24 chunks" in message
    assert message.index("tokens_over_limit") < message.index("licence_missing in 1 document,")
    assert "run again" in message


def test_the_threshold_for_recognised_text_is_the_setting_s() -> None:
    frame = many(1)
    frame.loc[0, ["text_source", "ocr_confidence"]] = ["ocr", 70.0]
    assert check(frame, GateSettings(min_ocr_confidence=60), NOW).warnings == {}
    low = check(frame, GateSettings(min_ocr_confidence=80), NOW)
    assert low.warnings == {"ocr_confidence_low": 1}
    assert low.passed


def test_record_checks_are_part_of_the_gate() -> None:
    assert payload_problems({}) != []


# --- what it costs others ------------------------------------------------------------------------

_QUIET = """
import socket, sys
def no_network(*args, **kwargs):
    raise AssertionError("the gate called out")
socket.socket.connect = socket.getaddrinfo = no_network
sys.path.insert(0, "tests")
from quality.batches import NOW, SETTINGS, document, frame_of
from ingest.quality.gate import check
frame = frame_of(document())
frame.loc[0, "tokens"] = 300
assert len(check(frame, SETTINGS, NOW).failures) == 1
"""


def run_python(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HOME": str(folder)}
    environment.pop("GX_ANALYTICS_ENABLED", None)
    return subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:ingest", "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=environment,
        check=False,
    )


def test_the_gate_writes_nothing_and_calls_nobody(tmp_path: Path) -> None:
    done = run_python(_QUIET, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("module", ["", ".results", ".records", ".report", ".values"])
def test_what_others_import_does_not_bring_great_expectations(module: str, tmp_path: Path) -> None:
    code = (
        f"import ingest.quality{module}, sys; "
        "print(sorted({'great_expectations', 'pandas', 'torch'} & set(sys.modules)))"
    )
    done = run_python(code, tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr

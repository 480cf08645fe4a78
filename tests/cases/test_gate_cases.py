"""Field cases of the quality gate: what passed elsewhere without having been looked at."""

from __future__ import annotations

import math

import great_expectations as gx
import pandas as pd
import pytest
from points import payload
from quality.batches import NOW, SETTINGS, document, frame_of

from ingest.errors import DataQualityError
from ingest.quality.gate import check
from ingest.quality.records import payload_problems


def many(documents: int, chunks: int = 4) -> pd.DataFrame:
    return frame_of(*(document(number, chunks=chunks) for number in range(documents)))


def refusal(frame: pd.DataFrame, suite: gx.ExpectationSuite | None = None) -> DataQualityError:
    with pytest.raises(DataQualityError) as caught:
        check(frame, SETTINGS, NOW, suite)
    return caught.value


def test_empty_gate_an_empty_frame_fails() -> None:
    error = refusal(many(1).iloc[:0])
    assert error.code == "gate_empty_batch"
    assert refusal(pd.DataFrame()).code == "gate_empty_batch"


def test_empty_gate_an_empty_suite_fails() -> None:
    assert (
        refusal(many(1), gx.ExpectationSuite(name="test", expectations=[])).code
        == "gate_empty_suite"
    )


def test_empty_gate_a_licence_that_is_missing_everywhere_fails_everywhere() -> None:
    frame = many(6)
    frame["licence_id"] = None
    result = check(frame, SETTINGS, NOW)
    (failure,) = result.critical
    assert failure.code == "licence_missing"
    assert failure.chunk_ids == tuple(frame["chunk_id"])
    assert result.stopped


def test_empty_gate_500_bad_rows_are_500_chunk_ids() -> None:
    frame = many(3, chunks=300)
    bad = list(range(150, 650))
    frame.loc[bad, "tokens"] = 300
    (failure,) = check(frame, SETTINGS, NOW).failures
    assert failure.chunk_ids == tuple(frame["chunk_id"][bad])
    assert [failed.chunks for failed in failure.versions] == [150, 300, 50]


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("effective_from", "31/01/2024", "'31/01/2024' is not an RFC 3339 date-time"),
        ("effective_from", "2024-01-31T10:00:00", "'2024-01-31T10:00:00' is not an RFC 3339"),
        ("effective_until", "2024-01-31", "'2024-01-31' is not an RFC 3339 date-time"),
        ("retired_at", 1_706_700_000, "1706700000 is not an RFC 3339 date-time"),
        ("ocr_confidence", math.nan, "finite number, not nan"),
        ("ocr_confidence", "NaN", "finite number, not 'NaN'"),
        ("ocr_confidence", 101, "less than or equal to 100, not 101"),
        ("page_first", math.nan, "not nan"),
        ("char_start", math.inf, "not inf"),
        ("licence_id", None, "valid string, not None"),
        ("confidentiality", "secret", "'public', 'internal' or 'client', not 'secret'"),
        ("doc_sha256", "0" * 63, "should match pattern"),
    ],
)
def test_bad_payload_is_refused_in_a_sentence(field: str, value: object, reason: str) -> None:
    problems = payload_problems({**payload().to_point(), field: value})
    assert any(p.startswith(f"{field} is refused: ") and reason in p for p in problems), problems

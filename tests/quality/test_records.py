"""Field case bad-payload: NaN, a day-first date and a time without zone are refused before load."""

from __future__ import annotations

import math
from typing import Any

import pytest
from points import payload

from ingest.quality.records import payload_problems


def test_a_payload_that_keeps_the_contract_has_no_problems_as_objects_or_as_json() -> None:
    record = payload()
    assert payload_problems(record.model_dump()) == []
    assert payload_problems(record.to_point()) == []


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


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"attribution_required": True, "attribution_text": " "}, "attribution_text is empty"),
        ({"confidentiality": "client"}, "client_id is empty"),
        ({"effective_until": "2023-01-01T00:00:00Z"}, "effective interval runs backwards"),
        ({"char_end": 99}, "do not span the text"),
    ],
)
def test_fields_that_contradict_each_other_are_refused(
    changes: dict[str, Any], reason: str
) -> None:
    (problem,) = payload_problems({**payload().to_point(), **changes})
    assert problem.startswith("The payload is refused: ")
    assert reason in problem


def test_missing_and_unknown_fields_are_named() -> None:
    record = payload().to_point()
    del record["title"]
    problems = payload_problems({**record, "<b>colour": "red"})
    assert sorted(problems) == [
        "\\u003cb\\u003ecolour is not a field of the payload.",
        "title is missing.",
    ]


def test_a_problem_shows_no_markup_and_no_flood() -> None:
    (problem,) = payload_problems({**payload().to_point(), "language": ["<script>"] * 1000})
    assert "<" not in problem
    assert len(problem) < 400

"""What the gate says of payloads that break the contract."""

from __future__ import annotations

from typing import Any

import pytest
from points import payload

from ingest.quality.records import payload_problems


def test_a_payload_that_keeps_the_contract_has_no_problems_as_objects_or_as_json() -> None:
    record = payload()
    assert payload_problems(record.model_dump()) == []
    assert payload_problems(record.to_point()) == []


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

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from quality.batches import NOW, SETTINGS, document, frame_of

from ingest.errors import ConfigurationError
from ingest.quality.gate import check
from ingest.quality.metric_rules import METRICS
from ingest.quality.thresholds import Thresholds, read_thresholds
from schemas.base import sha256_text


def rules(source_id: str = "reports", **given: Any) -> Any:
    return Thresholds.model_validate(given).of(source_id)


def damaged(number: int, chunks: int) -> Any:
    """A document of which the first chunk holds a replacement character."""
    rows = document(number, chunks=chunks)
    text = rows[0].payload.text
    wrong = text[:-2] + "\ufffd "
    whole = rows[0].version_text.replace(text, wrong)
    payload = rows[0].payload.model_copy(update={"text": wrong, "text_sha256": sha256_text(wrong)})
    rows[0] = replace(rows[0], payload=payload)
    return [replace(row, version_text=whole) for row in rows]


def test_severity_and_owner_may_be_set() -> None:
    frame = frame_of(damaged(1, 4), document(2))
    own = rules(expectations={"text_damaged": {"severity": "critical", "owner": "scanning desk"}})
    result = check(frame, SETTINGS, NOW, rules=own)
    assert [failure.code for failure in result.critical] == ["text_damaged"]
    assert len(result.failed_versions) == 1
    assert {one.owner for one in result.checks if one.code == "text_damaged"} == {"scanning desk"}
    assert check(frame, SETTINGS, NOW).passed


def test_up_to_its_limit_a_version_is_let_through() -> None:
    frame = frame_of(damaged(1, 2), damaged(2, 10))
    own = rules(expectations={"text_damaged": {"severity": "critical", "limit": 0.1}})
    result = check(frame, SETTINGS, NOW, rules=own)
    assert [key[0] for key in result.failed_versions] == [document(1)[0].payload.doc_id]


def test_what_is_set_for_a_source_comes_first() -> None:
    given: dict[str, Any] = {
        "metrics": {"null_rate": {"z": 9, "action": "stop"}, "null_rate.title": {"z": 8}},
        "sources": {"a": {"metrics": {"null_rate": {"action": "none"}}}},
    }
    everywhere, own = rules("b", **given), rules("a", **given)
    assert (everywhere.metric("null_rate.client_id").z, everywhere.metric("null_rate.title").z) == (
        9,
        8,
    )
    assert everywhere.may_stop
    assert not own.may_stop
    assert own.metric("null_rate.title").action == "none"
    assert own.metric("listed") == METRICS["listed"].rule


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"expectations": {"no_such": {"severity": "info"}}}, "no such expectation"),
        ({"metrics": {"no_such": {"z": 1}}}, "no such metric"),
        ({"sources": {"a": {"metrics": {"no_such": {}}}}}, "sources.a.metrics.no_such"),
        ({"metrics": {"listed": {"z": 0}}}, "greater than 0"),
        ({"metrics": {"listed": {"zz": 1}}}, "Extra inputs"),
        ({"expectations": {"offsets_inexact": {"severity": "warning"}}}, "guarantee 1"),
        ({"expectations": {"boxes_outside_page": {"limit": 0.2}}}, "guarantee 2"),
        ({"expectations": {"text_damaged": {"limit": 0.2}}}, "for critical expectations"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    tmp_path: Path, given: dict[str, Any], said: str
) -> None:
    file = tmp_path / "thresholds.yaml"
    file.write_text(yaml.safe_dump(given))
    with pytest.raises(ConfigurationError, match=said) as caught:
        read_thresholds(file)
    assert caught.value.code == "thresholds_invalid"
    assert f"{file}:" in caught.value.message

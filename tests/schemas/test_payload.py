"""The payload: what it refuses, and what is derived from it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from schemas.base import OPEN_END
from schemas.payload import MUTABLE_FIELDS, Payload, payload_indexes
from schemas.reference import payload_table
from schemas.version import HeldInterval

ROOT = Path(__file__).parents[2]


def whole_payload(**changes: Any) -> dict[str, Any]:
    return {
        "text": "Notice of 30 days.",
        "chunk_id": "5b1ef9d2-40fb-5a4b-9d6c-0a5c9b2f5a11",
        "doc_id": "2f0b5d8e-9f19-5a6f-8f9e-5b7c3c7c7b10",
        "title": "Master services agreement",
        "source_id": "vendor-contracts",
        "source_kind": "contract",
        "source_uri": "file:///contracts/msa.pdf",
        "source_key": "msa.pdf",
        "version": 2,
        "version_label": "2.0",
        "effective_from": "2026-02-01T00:00:00Z",
        "effective_basis": "text",
        "effective_evidence": {
            "rule": "effective as of",
            "quote": "effective as of 1 February 2026",
            "char_start": 100,
            "char_end": 131,
            "page": 1,
        },
        "page_first": 3,
        "page_last": 3,
        "page_label": None,
        "boxes": [{"page": 3, "x0": 72, "y0": 80, "x1": 200, "y1": 92}],
        "char_start": 10,
        "char_end": 28,
        "section": ["7. Termination"],
        "element_kinds": ["paragraph"],
        "locator": None,
        "licence_id": "vendor-contracts",
        "attribution_required": False,
        "attribution_text": None,
        "display_allowed": True,
        "max_quote_chars": None,
        "redistribution_allowed": False,
        "allowed_uses": ["retrieval", "generation"],
        "territories": ["*"],
        "confidentiality": "internal",
        "client_id": None,
        "text_source": "ocr",
        "ocr_confidence": 93.5,
        "language": "en",
        "doc_sha256": "0" * 64,
        "text_sha256": "1" * 64,
        "pipeline_version": "0.1.0",
        "embedding_model": "m",
        "run_id": "r",
        **changes,
    }


def test_dates_are_written_in_utc_and_open_ends_as_a_real_date() -> None:
    point = Payload.model_validate(
        whole_payload(effective_from="2026-02-01T01:00:00+01:00")
    ).to_point()
    assert point["effective_from"] == "2026-02-01T00:00:00Z"
    assert point["effective_until"] == "9999-12-31T00:00:00Z"
    assert point["published_at"] is None


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("effective_from", "31/01/2024"),
        ("effective_from", "2024-01-31"),
        ("effective_from", "2024-01-31T00:00:00"),
        ("effective_from", 1706659200),
        ("ocr_confidence", float("nan")),
        ("ocr_confidence", 101),
        ("version", 0),
        ("doc_sha256", "abc"),
        ("char_end", 29),
        ("source_kind", "blog"),
        ("surprise", 1),
    ],
)
def test_a_wrong_value_is_refused(field: str, value: object) -> None:
    with pytest.raises(ValidationError):
        Payload.model_validate(whole_payload(**{field: value}))


@pytest.mark.parametrize(
    "changes",
    [
        {"attribution_required": True},
        {"attribution_required": True, "attribution_text": "  "},
        {"confidentiality": "client"},
        {"effective_until": "2026-01-31T00:00:00Z"},
    ],
)
def test_terms_that_contradict_each_other_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Payload.model_validate(whole_payload(**changes))


def test_a_version_replaced_on_its_first_day_has_an_empty_interval() -> None:
    payload = Payload.model_validate(whole_payload(effective_until="2026-02-01T00:00:00Z"))
    assert payload.effective_from == payload.effective_until


def test_a_point_read_back_is_the_same_payload() -> None:
    payload = Payload.model_validate(whole_payload())
    assert Payload.model_validate(payload.to_point()) == payload
    assert payload.retired_at == OPEN_END


def test_every_indexed_and_mutable_field_is_a_field() -> None:
    lists = {name for name in payload_indexes() if "[]." in name}
    assert set(payload_indexes()) - lists <= set(Payload.model_fields)
    assert lists == {f"interval_history[].{part}" for part in HeldInterval.model_fields}
    assert set(Payload.model_fields) >= MUTABLE_FIELDS


def test_the_documentation_shows_the_table_that_the_model_gives() -> None:
    page = (ROOT / "docs" / "payload.md").read_text(encoding="utf-8")
    shown = page.split("<!-- table: payload -->\n")[1].split("<!-- end -->")[0]
    assert shown == payload_table()


def test_every_field_is_explained() -> None:
    assert [row for row in payload_table().splitlines() if row.endswith("|  |")] == []

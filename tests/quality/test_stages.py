from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from quality.batches import NOW, SETTINGS, document, frame_of

import ingest.audit
from ingest.quality.catalogue import catalogue
from ingest.quality.gate import check
from ingest.quality.results import GateResult
from ingest.quality.stages import ItemRow, VersionRow, item_frame, version_frame
from schemas.base import OPEN_END

DOCUMENT = document(1)[0].payload
JAN, FEB, MAR = (datetime(2026, month, 1, tzinfo=UTC) for month in (1, 2, 3))
ITEM = ItemRow(
    doc_id=DOCUMENT.doc_id,
    version=DOCUMENT.version,
    source_key="a.pdf",
    uri="file:///a.pdf",
    licence_id="open",
    client_named=True,
    size=10,
    effective_from=None,
)
VERSION = VersionRow(
    doc_id=DOCUMENT.doc_id,
    version=DOCUMENT.version,
    name="a.pdf",
    text_length=100,
    body_end=90,
    chunks=4,
    page_count=4,
    pages_in_order=True,
    smallest_side=595.0,
    flagged_share=0.0,
    effective_basis="source",
    intervals=((JAN, FEB), (FEB, FEB), (FEB, OPEN_END)),
)


def judged(item: ItemRow = ITEM, version: VersionRow = VERSION) -> GateResult:
    others = (item_frame([item], ["open"]), version_frame([version]))
    return check(frame_of(document(1)), SETTINGS, NOW, others=others)


def test_what_is_right_passes_in_all_stages() -> None:
    result = judged()
    assert result.passed
    assert {one.stage for one in result.checks} == {"items", "versions", "chunks"}
    assert len({one.code for one in result.checks}) == len(result.checks)


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("item_key_blank", {"source_key": " "}),
        ("item_address_blank", {"uri": ""}),
        ("item_licence_unknown", {"licence_id": "gone-2019"}),
        ("item_client_missing", {"client_named": False}),
        ("item_empty", {"size": 0}),
        ("item_date_out_of_range", {"effective_from": datetime(1066, 1, 1, tzinfo=UTC)}),
    ],
)
def test_an_item_that_is_wrong_is_kept_out(code: str, changes: dict[str, Any]) -> None:
    result = judged(item=replace(ITEM, **changes))
    assert [failure.code for failure in result.critical] == [code]
    assert list(result.failed_versions) == [(DOCUMENT.doc_id, DOCUMENT.version)]
    [reason] = result.failed_versions[DOCUMENT.doc_id, DOCUMENT.version]
    assert reason.startswith(f"{code} (")


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("body_past_end", {"body_end": 101}),
        ("version_without_chunks", {"chunks": 0}),
        ("pages_not_counted", {"pages_in_order": False}),
        ("page_without_size", {"smallest_side": 0.0}),
        ("intervals_overlap", {"intervals": ((JAN, MAR), (FEB, OPEN_END))}),
    ],
)
def test_a_version_that_is_wrong_is_kept_out(code: str, changes: dict[str, Any]) -> None:
    result = judged(version=replace(VERSION, **changes))
    assert [(failure.code, failure.chunk_ids) for failure in result.critical] == [
        (code, ("a.pdf",))
    ]
    assert list(result.failed_versions) == [(DOCUMENT.doc_id, DOCUMENT.version)]


def test_what_is_only_odd_is_counted() -> None:
    result = judged(version=replace(VERSION, flagged_share=0.6, effective_basis="receipt"))
    assert result.passed
    assert result.warnings == {"pages_mostly_flagged": 1, "effective_date_unknown": 1}


def test_the_catalogue_has_every_code_once_with_an_owner() -> None:
    entries = catalogue(SETTINGS)
    assert len({(entry.stage, entry.code) for entry in entries}) == len(entries)
    assert all(entry.owner and entry.description.endswith(".") for entry in entries)
    assert {entry.stage for entry in entries} == {"items", "versions", "chunks", "points"}


def test_the_catalogue_has_what_the_audit_finds() -> None:
    source = Path(ingest.audit.__file__).read_text("utf-8")
    complaints = re.findall(r'yield \(?\s*"([a-z_]+)"', source)
    findings = re.findall(r'AuditFinding\(\w+, "([a-z_]+)"', source)
    known = {entry.code for entry in catalogue(SETTINGS) if entry.stage == "points"}
    assert {*complaints, *findings} == known - {"vault_missing", "vault_damaged"}

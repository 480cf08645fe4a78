"""The audit: silent on what is right, and loud on each way a point can be wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from paged import Case, extraction_of, lines_of, make_case, make_pdf, point_at
from points import CHUNKER, PIPELINE, payload, utc

from ingest.audit import Evidence, audit_version, check_point, chunker_version
from schemas.base import sha256_bytes, sha256_text
from schemas.document import Extraction
from schemas.payload import MUTABLE_FIELDS

Points = dict[str, dict[str, Any]]


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return make_case(tmp_path)


def audited(case: Case, points: Points | None = None) -> set[tuple[str | None, str]]:
    """Return which point was found wrong, and the code."""
    points = case.in_index() if points is None else points
    found = audit_version(points, case.points, case.extraction, case.vault)
    assert all(finding.message for finding in found)
    return {(finding.chunk_id, finding.code) for finding in found}


def test_a_right_version_has_no_findings(case: Case) -> None:
    assert audited(case) == set()


def test_what_publishing_and_retirement_change_is_no_finding(case: Case) -> None:
    before, points, changed = case.in_index(), case.in_index(), set()
    for point in points.values():
        point.update(
            effective_from="2025-01-01T00:00:00Z",
            effective_until="2025-06-01T00:00:00Z",
            effective_basis="correction",
            effective_evidence=None,
            published_at="2025-02-01T00:00:00Z",
            recorded_at="2025-02-01T00:00:00Z",
            interval_history=[],
            retired_at="2025-03-01T00:00:00Z",
            run_id="another",
        )
        changed |= {name for name in point if point[name] != before[point["chunk_id"]][name]}
    assert changed | {"effective_evidence", "interval_history"} == MUTABLE_FIELDS
    assert audited(case, points) == set()


def change(**fields: Any) -> Callable[[dict[str, Any]], None]:
    return lambda point: point.update(fields)


def move_box(point: dict[str, Any]) -> None:
    point["boxes"][0]["x0"] += 0.5


def move_box_out(point: dict[str, Any]) -> None:
    point["boxes"][0]["x1"] += 1000


def put_box_on_another_page(point: dict[str, Any]) -> None:
    point["boxes"][0]["page"] = 2


def put_box_on_no_page(point: dict[str, Any]) -> None:
    point["boxes"][0]["page"] = 9


def drop_box(point: dict[str, Any]) -> None:
    point["boxes"].pop()


def swap_boxes(point: dict[str, Any]) -> None:
    point["boxes"].reverse()


def change_a_character(point: dict[str, Any]) -> None:
    point["text"] = point["text"].replace("fourteen", "fourteem")


def change_a_character_and_its_hash(point: dict[str, Any]) -> None:
    change_a_character(point)
    point["text_sha256"] = sha256_text(point["text"])


def shift_offsets(point: dict[str, Any]) -> None:
    point["char_start"] += 1
    point["char_end"] += 1


TAMPERING = [
    pytest.param(change_a_character, {"text_differs", "text_hash"}, id="text, one character"),
    pytest.param(
        change_a_character_and_its_hash,
        {"text_differs", "identity_differs"},
        id="text and its hash",
    ),
    pytest.param(shift_offsets, {"text_differs", "identity_differs"}, id="offsets shifted by one"),
    pytest.param(change(text_sha256="a" * 64), {"text_hash", "identity_differs"}, id="hash"),
    pytest.param(move_box, {"box_differs"}, id="box moved by half a point"),
    pytest.param(move_box_out, {"box_differs", "box_outside"}, id="box outside the page"),
    pytest.param(put_box_on_another_page, {"box_differs"}, id="box on another page"),
    pytest.param(put_box_on_no_page, {"box_differs", "box_outside"}, id="box on no page"),
    pytest.param(drop_box, {"box_differs"}, id="box missing"),
    pytest.param(swap_boxes, {"box_differs"}, id="boxes in another order"),
    pytest.param(change(page_first=2), {"page_differs"}, id="first page"),
    pytest.param(change(page_last=1), {"page_differs"}, id="last page"),
    pytest.param(change(page_first=None, page_last=None), {"page_differs"}, id="no page"),
    pytest.param(change(page_label="iv"), {"page_label"}, id="page label"),
    pytest.param(change(doc_id="another"), {"identity_differs"}, id="document"),
    pytest.param(change(version=2), {"identity_differs"}, id="version"),
    pytest.param(change(doc_sha256="b" * 64), {"source_differs"}, id="source bytes"),
    pytest.param(
        change(pipeline_version="0.1.0+extract.3.chunk.8"), {"identity_differs"}, id="chunker"
    ),
    pytest.param(change(licence_id="other"), set(), id="licence"),
    pytest.param(change(confidentiality="public"), set(), id="confidentiality"),
    pytest.param(change(ocr_confidence=50.0), set(), id="confidence"),
    pytest.param(change(section=[]), set(), id="section"),
    pytest.param(change(unheard="of"), {"payload_invalid"}, id="unknown field"),
    pytest.param(lambda point: point.pop("title"), {"payload_invalid"}, id="field missing"),
    pytest.param(change(char_start=-1), {"payload_invalid"}, id="negative offset"),
    pytest.param(
        change(effective_from="2025-01-01"), {"payload_invalid"}, id="date without an offset"
    ),
]


@pytest.mark.parametrize(("tamper", "codes"), TAMPERING)
def test_a_point_that_was_tampered_with_is_found_and_named(
    case: Case, tamper: Callable[[dict[str, Any]], None], codes: set[str]
) -> None:
    points = case.in_index()
    tamper(points[case.passage.chunk_id])
    found = audited(case, points)
    assert {chunk_id for chunk_id, _ in found} == {case.passage.chunk_id}
    assert codes <= {code for _, code in found}
    # A date is mutable, so that it isn't compared with what was loaded; it's invalid all the same.
    if points[case.passage.chunk_id]["effective_from"].endswith("Z"):
        assert "payload_differs" in {code for _, code in found}


@pytest.mark.parametrize(("tamper", "codes"), TAMPERING)
def test_tampering_shows_without_knowing_what_was_loaded(
    case: Case, tamper: Callable[[dict[str, Any]], None], codes: set[str]
) -> None:
    """Guarantee 11 holds from the point alone: what is expected may carry the same fault."""
    points = case.in_index()
    tamper(points[case.passage.chunk_id])
    found = audit_version(points, [], case.extraction, case.vault)
    here = {finding.code for finding in found if finding.chunk_id == case.passage.chunk_id}
    assert codes | {"point_unexpected"} == here


def test_a_missing_point_is_found(case: Case) -> None:
    points = case.in_index()
    del points[case.passage.chunk_id]
    assert audited(case, points) == {(case.passage.chunk_id, "point_missing")}


def test_a_point_too_many_is_found_even_if_it_is_right_in_itself(case: Case) -> None:
    extra = case.points.pop(1)
    points = {**case.in_index(), extra.chunk_id: extra.to_point()}
    assert audited(case, points) == {(extra.chunk_id, "point_unexpected")}


def test_two_points_that_changed_places_are_found(case: Case) -> None:
    one, other, _ = case.points
    points = case.in_index()
    points[one.chunk_id], points[other.chunk_id] = points[other.chunk_id], points[one.chunk_id]
    assert {
        (one.chunk_id, "identity_differs"),
        (other.chunk_id, "identity_differs"),
        (one.chunk_id, "payload_differs"),
        (other.chunk_id, "payload_differs"),
    } <= audited(case, points)


def test_a_flipped_byte_in_the_vault_is_found_once_a_version(case: Case) -> None:
    path = case.stored_file()
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert audited(case) == {(None, "vault_damaged")}


def test_source_bytes_that_are_gone_are_found(case: Case) -> None:
    case.stored_file().unlink()
    assert audited(case) == {(None, "vault_missing")}


def test_an_extraction_of_other_bytes_is_found_on_every_point(case: Case) -> None:
    other = case.vault.put(b"other bytes")
    case.extraction = case.extraction.model_copy(update={"doc_sha256": other})
    assert audited(case) == {(point.chunk_id, "source_differs") for point in case.points}


def test_a_character_that_no_word_holds_is_found(case: Case) -> None:
    words = case.extraction.words
    lost = next(
        word
        for word in words
        if case.extraction.text[word.char_start : word.char_end] == "fourteen"
    )
    kept = tuple(word for word in words if word is not lost)
    case.extraction = case.extraction.model_copy(update={"words": kept})
    assert (case.passage.chunk_id, "no_word") in audited(case)


def test_a_word_that_is_half_inside_counts_whole() -> None:
    """A chunk may end inside a very long word; its box is still the word's."""
    data = make_pdf(lines_of("Incomprehensibilities", "end"))
    extraction = extraction_of(data)
    point = point_at(extraction, 2, 9)
    assert list(check_point(point.chunk_id, point.to_point(), Evidence(extraction))) == []


def without_pages(text: str) -> Extraction:
    return Extraction(
        media_type="text/csv",
        extractor_version="3",
        doc_sha256=sha256_bytes(text.encode()),
        text=text,
        body_end=len(text),
    )


def test_a_format_without_pages_is_proved_by_text_alone(case: Case) -> None:
    text = "Renewal agreed in May. 😀 Call back."
    case.vault.put(text.encode())
    case.extraction = without_pages(text)
    case.points = [payload(text[:23], doc_sha256=sha256_bytes(text.encode()))]
    assert audited(case) == set()
    points = case.in_index()
    (point,) = points.values()
    point.update(page_first=1, page_last=1, boxes=[{"page": 1, "x0": 0, "y0": 0, "x1": 9, "y1": 9}])
    assert {"page_differs", "box_differs", "box_outside"} <= {c for _, c in audited(case, points)}


def test_a_number_whose_last_bit_a_server_rounded_is_the_same_number(case: Case) -> None:
    confidence = 93.12345678901234
    case.points[1] = case.points[1].model_copy(update={"ocr_confidence": confidence})
    points = case.in_index()
    points[case.passage.chunk_id]["ocr_confidence"] = confidence * (1 + 2**-52)
    assert points[case.passage.chunk_id]["ocr_confidence"] != confidence
    assert audited(case, points) == set()
    points[case.passage.chunk_id]["ocr_confidence"] = confidence + 0.001
    assert audited(case, points) == {(case.passage.chunk_id, "payload_differs")}


def test_the_chunkers_version_is_read_from_the_pipelines() -> None:
    assert chunker_version(PIPELINE) == CHUNKER
    assert chunker_version("0.1.0+extract.2.chunk.3-beta.1") == "3-beta.1"
    assert chunker_version("0.1.0") == ""


def test_findings_come_in_the_same_order_each_time(case: Case) -> None:
    points = {point.chunk_id: payload(effective_from=utc(2024)).to_point() for point in case.points}
    runs = [
        audit_version(dict(order), case.points, case.extraction, case.vault)
        for order in (points.items(), reversed(points.items()))
    ]
    assert runs[0] == runs[1]

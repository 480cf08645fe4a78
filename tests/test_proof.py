"""The proof: the chain from one point to its source bytes, link by link."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from paged import Case, make_case
from points import payload

from ingest.errors import ItemError
from ingest.proof import Proof, prove
from schemas.document import Extraction

LETTER = "Dear Sir,\n\nwe confirm the order & await delivery.\n\nYours\n"


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return make_case(tmp_path)


STEPS = ["source bytes", "identity", "text", "offsets", "words", "pages", "boxes", "picture"]


def proof_of(case: Case, **changes: Any) -> Proof:
    point = {**case.passage.to_point(), **changes}
    return prove(point, vault=case.vault, extraction=case.extraction)[0]


def failed(proof: Proof) -> set[str]:
    return {step.name for step in proof.steps if not step.ok}


def test_every_link_of_a_right_point_holds(case: Case) -> None:
    proof, pictures = prove(case.passage.to_point(), vault=case.vault, extraction=case.extraction)
    assert proof.proved
    assert [step.name for step in proof.steps] == STEPS
    assert all(step.detail for step in proof.steps)
    assert proof.text == case.passage.text
    assert proof.size == len(case.data)
    assert (proof.page_first, proof.page_last) == (1, 2)
    assert [picture.suffix for picture in pictures] == ["-p1", "-p2"]


def test_a_proof_is_json_and_tells_whether_it_holds(case: Case) -> None:
    told = proof_of(case).model_dump(mode="json")
    assert told["proved"] is True
    assert told["effective_until"] == "9999-12-31T00:00:00Z"
    assert told["boxes"][0].keys() == {"page", "x0", "y0", "x1", "y1"}


def test_a_format_without_pages_is_proved_too(case: Case) -> None:
    sha256 = case.vault.put(LETTER.encode())
    extraction = Extraction(
        media_type="text/plain", extractor_version="1", doc_sha256=sha256, text=LETTER, body_end=9
    )
    point = payload(LETTER[11:30], char_start=11, doc_sha256=sha256)
    proof, pictures = prove(point.to_point(), vault=case.vault, extraction=extraction)
    assert proof.proved, failed(proof)
    assert len(pictures) == 1


@pytest.mark.parametrize(
    ("changes", "steps"),
    [
        ({"text_sha256": "a" * 64}, {"identity", "text"}),
        ({"version": 3}, {"identity"}),
        ({"page_last": 1}, {"pages"}),
        ({"boxes": []}, {"boxes", "picture"}),
        ({"doc_sha256": "b" * 64}, {"source bytes", "identity"}),
    ],
)
def test_the_link_that_does_not_hold_is_named(
    case: Case, changes: dict[str, Any], steps: set[str]
) -> None:
    proof = proof_of(case, **changes)
    assert not proof.proved
    assert failed(proof) == steps


def test_changed_source_bytes_fail_the_first_link_and_nothing_is_drawn(case: Case) -> None:
    path = case.stored_file()
    path.chmod(0o644)
    path.write_bytes(path.read_bytes() + b"\n")
    proof, pictures = prove(case.passage.to_point(), vault=case.vault, extraction=case.extraction)
    assert failed(proof) == {"source bytes"}
    assert proof.size is None
    assert pictures == []


def test_a_point_without_a_valid_payload_names_no_passage(case: Case) -> None:
    with pytest.raises(ItemError, match="char_start"):
        proof_of(case, char_start=-4)

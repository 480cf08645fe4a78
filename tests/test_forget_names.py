"""Telling who mentions a document, and taking it out of what steps wrote."""

from __future__ import annotations

from typing import Any

import pytest

from ingest.erasure.names import Names

DOC = "6f1f2c9e-0a34-5b8e-9c1f-3d7f0a9b1c2d"
OTHER = "7f1f2c9e-0a34-5b8e-9c1f-3d7f0a9b1c2d"
CHUNK = "8f1f2c9e-0a34-5b8e-9c1f-3d7f0a9b1c2d"
SHA = "ab" * 32


def names(**changes: Any) -> Names:
    given: dict[str, Any] = {
        "doc_ids": [DOC],
        "keys": [("src", "folder/heron.pdf"), ("src", "17")],
        "uris": ["file:///in/folder/heron.pdf"],
        "sha256s": [SHA],
        "chunk_ids": [CHUNK],
    }
    return Names(**given | changes)


def planned(doc_id: str = DOC, key: str = "folder/heron.pdf") -> dict[str, Any]:
    return {
        "item": {
            "source_id": "src",
            "source_key": key,
            "document_key": key,
            "uri": f"file:///in/{key}",
            "fingerprint": "size 7",
            "effective_from": "2026-01-01T00:00:00Z",
            "title": "A deed",
            "confidentiality": "client",
            "client_id": "acme",
            "terms": {"attribution_text": "Heron"},
            "options": {"columns": ["heron"]},
        },
        "doc_id": doc_id,
        "change": "new",
    }


@pytest.mark.parametrize(
    "text",
    [
        "folder/heron.pdf",
        "fetch: folder/heron.pdf: not found",
        "as in 'folder/heron.pdf', again",
        "17",
        "17: no text was found",
        "chunk: 17: no text was found",
        f"extractions/ab/{SHA}-0123.json.zst",
        f"{CHUNK}: offsets do not span the text",
    ],
)
def test_a_message_that_mentions_it(text: str) -> None:
    assert names().mentions(text, message=True)


@pytest.mark.parametrize("text", ["17 chunks failed", "page 17", "other.pdf: damaged", DOC, ""])
def test_a_message_that_does_not(text: str) -> None:
    assert not names().mentions(text, message=True)


def test_many_names_are_looked_for_as_words() -> None:
    many = names(keys=[("src", f"records/{number:05}") for number in range(2_000)])
    assert many.mentions("fetch: records/01999: not found", message=True)
    assert many.mentions("as in 'records/00007', again")
    assert not many.mentions("records/02000: not found", message=True)


def test_what_is_about_it_keeps_its_form_and_its_number() -> None:
    other = planned(OTHER, "other.pdf")
    batch = {"run_id": "r", "batch_id": "b", "source_id": "src", "items": [planned(), other]}
    cleaned = names().cleaned(batch)
    assert cleaned["items"][1] == other
    assert cleaned["items"][0] == {
        "item": {
            "source_id": "src",
            "source_key": "erased",
            "document_key": "erased",
            "uri": "erased",
            "fingerprint": "erased",
            "effective_from": "2026-01-01T00:00:00Z",
            "title": "erased",
            "confidentiality": "client",
            "client_id": "erased",
            "terms": None,
            "options": {},
        },
        "doc_id": DOC,
        "change": "new",
    }
    assert names().cleaned(cleaned) == cleaned


def test_a_version_is_about_it_however_deep_its_item_lies() -> None:
    version = {
        "extracted": {
            "fetched": {"planned": planned(), "doc_sha256": SHA, "size": 7},
            "title": "A deed",
            "warnings": [{"code": "x", "message": "the heron"}],
        },
        "payloads_uri": "chunks/x",
        "chunks": 3,
    }
    (cleaned,) = names().cleaned({"chunked": [version]})["chunked"]
    assert cleaned["extracted"]["fetched"]["doc_sha256"] == "0" * 64
    assert cleaned["extracted"]["warnings"] == []
    assert cleaned["chunks"] == 3
    assert "heron" not in repr(cleaned)
    assert names().cleaned({"passed": [version]}) == {"passed": []}


def test_lists_of_keys_lose_it_and_lists_of_ids_do_not() -> None:
    plan = {"gone": ["17", "18", "folder/heron.pdf"], "retire": [DOC], "failed": []}
    assert names().cleaned(plan) == {"gone": ["18"], "retire": [DOC], "failed": []}


def test_examples_of_a_failing_expectation_go_with_the_passages() -> None:
    failure = {
        "code": "x",
        "chunk_ids": [CHUNK, "other"],
        "versions": [{"doc_id": DOC, "version": 1, "chunks": 1}],
        "examples": ["a text of it"],
    }
    cleaned = names().cleaned({"failures": [failure]})["failures"][0]
    assert cleaned["chunk_ids"] == ["other"]
    assert cleaned["examples"] == []
    others = {**failure, "versions": [{"doc_id": OTHER, "version": 1, "chunks": 1}]}
    assert names().cleaned(others)["examples"] == ["a text of it"]


@pytest.mark.parametrize("key", ["17", "folder/heron.pdf"])
def test_an_item_of_another_source_with_the_same_key_stays(key: str) -> None:
    item = {"source_id": "other", "source_key": key, "document_key": key, "version_label": "17"}
    assert names().cleaned(item) == item
    assert names().cleaned({"item": item, "doc_id": OTHER}) == {"item": item, "doc_id": OTHER}


def test_a_problem_of_the_listing_loses_its_key() -> None:
    problem = {"source_key": "17", "code": "no_text", "message": "17: it is empty"}
    assert names().cleaned({"failed": [problem]}) == {
        "failed": [{"source_key": "erased", "code": "no_text", "message": "erased"}]
    }


def test_ids_of_runs_and_batches_stay() -> None:
    value = {"run_id": "folder/heron.pdf", "batch_id": "17"}
    assert names().cleaned(value) == value

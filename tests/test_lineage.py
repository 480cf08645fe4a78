"""Lineage: events say what was read and written, and where each field comes from."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from workspace import Workspace

from ingest import lineage
from schemas.payload import Payload

SPEC = os.environ.get("MUNIMENT_TEST_OPENLINEAGE_SPEC")


def test_each_field_of_the_payload_comes_from_somewhere() -> None:
    groups = (lineage.FROM_BYTES, lineage.FROM_LISTING, lineage.FROM_REGISTRY, lineage.MADE_HERE)
    named = [name for group in groups for name in group]
    assert sorted(named) == sorted(Payload.model_fields)


@pytest.fixture
def sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Run on a source that is there and one that is not; return the events that were sent."""
    out = tmp_path / "events.jsonl"
    transport = {"type": "file", "log_file_path": str(out), "append": True}
    for name, value in transport.items():
        monkeypatch.setenv(f"OPENLINEAGE__TRANSPORT__{name.upper()}", str(value).lower())
    ws = Workspace(tmp_path / "ws")
    ws.add_source("reports")
    ws.add_source("missing", address="nowhere")
    ws.write("reports/a.txt", "A report on prices.")
    ws.run()
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_a_run_says_what_it_read_and_wrote(sent: list[dict[str, Any]]) -> None:
    by_job = {(one["job"]["name"], one["eventType"]): one for one in sent}
    assert set(by_job) == {
        ("ingest.reports", "START"),
        ("ingest.reports", "COMPLETE"),
        ("ingest.missing", "START"),
        ("ingest.missing", "FAIL"),
    }
    assert "errorMessage" in by_job["ingest.missing", "FAIL"]["run"]["facets"]
    done = by_job["ingest.reports", "COMPLETE"]
    assert done["run"]["runId"] == by_job["ingest.reports", "START"]["run"]["runId"]
    source, registry = done["inputs"]
    assert source["inputFacets"]["dataQualityMetrics"]["rowCount"] == 1
    assert registry["name"].endswith("licences.yaml")
    vault, collection = done["outputs"]
    assert vault["name"].endswith("vault")
    assert collection["outputFacets"]["outputStatistics"]["rowCount"] == 1
    facets = collection["facets"]
    assert [one["name"] for one in facets["schema"]["fields"]] == list(Payload.model_fields)
    [text] = facets["columnLineage"]["fields"]["text"]["inputFields"]
    assert (text["namespace"], text["name"]) == (source["namespace"], source["name"])
    [credit] = facets["columnLineage"]["fields"]["attribution_text"]["inputFields"]
    assert credit["name"] == registry["name"]
    found = source["inputFacets"]["dataQualityAssertions"]["assertions"]
    checks = {one["assertion"]: one for one in found}
    assert checks["offsets_inexact"]["success"] is True
    assert "A report on prices" not in json.dumps(sent)


@pytest.mark.skipif(SPEC is None, reason="MUNIMENT_TEST_OPENLINEAGE_SPEC names no copy of the spec")
def test_the_events_are_valid_against_the_specification(sent: list[dict[str, Any]]) -> None:
    schemas = {}
    for path in Path(str(SPEC)).rglob("*.json"):
        if "tests" not in path.parts:
            schema = json.loads(path.read_text())
            if "$id" in schema:
                schemas[schema["$id"]] = schema
    registry: Registry[Any] = Registry().with_resources(
        (name, Resource.from_contents(schema)) for name, schema in schemas.items()
    )
    facets = 0
    for event in sent:
        base = next(name for name in schemas if name.endswith("OpenLineage.json"))
        reference = {"$ref": f"{base}#/$defs/RunEvent"}
        Draft202012Validator(reference, registry=registry).validate(event)
        for owner in (event["run"], event["job"], *event["inputs"], *event["outputs"]):
            for kind in ("facets", "inputFacets", "outputFacets"):
                for facet in owner.get(kind, {}).values():
                    address, _, part = facet["_schemaURL"].partition("#")
                    file = address.rpartition("/")[2]
                    known = next(one for one in schemas if one.endswith(f"/{file}"))
                    whole = {"$ref": f"{known}#{part}"}
                    Draft202012Validator(whole, registry=registry).validate(facet)
                    facets += 1
    assert facets > 10


def test_nothing_is_sent_where_nobody_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("OPENLINEAGE"):
            monkeypatch.delenv(name)
    assert not lineage.is_wanted()
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:1")
    assert lineage.is_wanted()
    monkeypatch.setenv("OPENLINEAGE_DISABLED", "true")
    assert not lineage.is_wanted()


def test_a_run_does_not_fail_because_nobody_takes_its_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:1")
    ws = Workspace(tmp_path)
    ws.add_source("reports")
    ws.write("reports/a.txt", "A report on prices.")
    assert ws.run().balanced
    assert "Lineage could not be sent" in caplog.text


def test_an_address_is_named_without_its_secrets() -> None:
    assert lineage._place("https://user:pw@example.org/feed?key=1") == (
        "https://example.org",
        "/feed",
    )
    assert lineage._place("s3://bucket/reports") == ("s3://bucket", "/reports")
    assert lineage._place("/data/reports") == ("file", "/data/reports")

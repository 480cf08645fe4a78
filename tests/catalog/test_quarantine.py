from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO
from typing import Any

from ingest.catalog import Catalog
from ingest.quarantine_export import write_csv, write_json_lines
from schemas.identity import document_id
from schemas.run import Refusal

DOC_ID = document_id("reports", "a.pdf")


def refuse(
    catalog: Catalog,
    run_id: str = "run-1",
    *,
    stored: int | None = None,
    code: str = "damaged",
    key: str = "a.pdf",
    message: str = "It is damaged.",
) -> None:
    refusal = Refusal(
        source_id="reports",
        source_key=key,
        doc_id=DOC_ID,
        stage="extract",
        code=code,
        message=message,
        stored=stored,
    )
    catalog.record_refused(refusal, run_id=run_id, pipeline_version="1", level="document")


def test_stored_versions_of_an_item_have_entries_of_their_own(catalog: Catalog) -> None:
    for run_id in ("run-1", "run-2"):
        for stored in (None, 1, 2):
            refuse(catalog, run_id, stored=stored)
    entries = catalog.quarantine()
    assert [(one.version, one.times_seen) for one in entries] == [(None, 2), (1, 2), (2, 2)]


def test_publishing_closes_what_it_is_about(catalog: Catalog, helper: Any) -> None:
    helper.register()
    first = helper.published(sha="a")
    second = helper.published(sha="b")
    for stored in (None, first.version, second.version):
        helper.refuse(stored=stored, fingerprint=None)
    helper.publish(first, fingerprint=None)  # worked on again from what is stored
    assert [one.version for one in catalog.quarantine()] == [None, second.version]
    helper.publish(second)  # as its source lists it
    assert catalog.quarantine() == []


def test_retrying_a_stored_version_leaves_what_is_listed_alone(
    catalog: Catalog, helper: Any
) -> None:
    helper.register()
    version = helper.published()
    helper.refuse(stored=version.version, fingerprint=None)
    before = helper.dump()
    catalog.retry_quarantine(catalog.quarantine()[0].id)
    assert helper.dump() == before


def test_entries_are_picked_by_all_that_is_given(catalog: Catalog) -> None:
    refuse(catalog)
    refuse(catalog, code="no_text", key="b.pdf")
    assert [one.source_key for one in catalog.quarantine(code="no_text")] == ["b.pdf"]
    assert catalog.quarantine(code="no_text", stage="gate") == []
    assert len(catalog.quarantine(stage="extract", source_id="reports")) == 2
    seen = catalog.quarantine()[0].first_seen
    assert catalog.quarantine(before=seen) == []
    assert len(catalog.quarantine(before=seen + timedelta(seconds=1))) == 2
    assert catalog.quarantine("dismissed") == []


def test_only_what_was_looked_at_is_closed_when_it_can_be_listed_again(catalog: Catalog) -> None:
    for key in ("a", "b", "c"):
        refusal = Refusal(
            source_id="crm",
            source_key=key,
            doc_id=None,
            stage="plan",
            code="ragged_row",
            message="It has too many cells.",
        )
        catalog.record_refused(refusal, run_id="run-1", pipeline_version="1", level="item")
    still = {("b", "ragged_row")}
    assert catalog.close_listing_problems("crm", still, {"a", "b"}) == 1
    assert [one.source_key for one in catalog.quarantine()] == ["b", "c"]


def test_what_is_exported_is_whole_and_no_formula(catalog: Catalog) -> None:
    refuse(catalog, key="=1+1.pdf", message='She said "no",\nand left.')
    [entry] = catalog.quarantine()
    table, lines = StringIO(), StringIO()
    write_csv([entry], table)
    write_json_lines([entry], lines)
    header, _, rest = table.getvalue().partition("\n")
    assert header.startswith("id,source_id,source_key,doc_id,version,")
    assert ",'=1+1.pdf," in rest
    assert '"She said ""no"",\nand left."' in rest
    assert json.loads(lines.getvalue()) == entry.model_dump(mode="json")

from __future__ import annotations

from typing import Any

import pytest

from ingest.catalog import Catalog
from ingest.errors import ItemError
from schemas.base import OPEN_END


def test_items_of_one_source_only(catalog: Catalog, helper: Any) -> None:
    helper.register("doc-1", "contracts")
    helper.register("doc-2", "news")
    helper.published("a.pdf")
    helper.published("b.pdf", doc_id="doc-2")
    assert set(catalog.known_items("contracts")) == {"a.pdf"}
    assert set(catalog.known_items("news")) == {"b.pdf"}
    assert catalog.known_items("crm") == {}


def test_seen_is_noted_for_many_items(catalog: Catalog, helper: Any, clock: Any) -> None:
    helper.register()
    for number in range(3):
        helper.published(f"{number}.pdf", effective_from=helper.day(number + 1))
    clock.tick()
    keys = [f"{number}.pdf" for number in range(2_000)]
    catalog.seen("contracts", [*keys[:2], *keys[3:]], "run-2")
    rows = {row[1]: row for row in helper.dump()["items"]}
    assert set(rows) == {"0.pdf", "1.pdf", "2.pdf"}
    assert rows["0.pdf"][-2:] == rows["1.pdf"][-2:] == (clock.now, "run-2")
    assert rows["2.pdf"][-1] == "run-1"
    before = helper.dump()
    catalog.seen("contracts", [*keys[:2], *keys[3:]], "run-2")
    catalog.seen("contracts", [], "run-3")
    assert helper.dump() == before


def test_retire_and_restore(catalog: Catalog, helper: Any, clock: Any) -> None:
    helper.register()
    helper.published("a.pdf", "a")
    helper.published("b.pdf", "b", effective_from=helper.day(2))
    helper.reserve("c.pdf", "c")
    retired_at = clock.now
    assert catalog.retire("doc-1", retired_at) == 2
    assert catalog.retire("doc-1", clock.tick()) == 0
    found = catalog.versions("doc-1")
    assert [version.retired_at for version in found] == [retired_at, retired_at, OPEN_END]
    assert catalog.restore("doc-1") == 2
    assert catalog.restore("doc-1") == 0
    assert {version.retired_at for version in catalog.versions("doc-1")} == {OPEN_END}


def test_a_gone_item_waits_for_its_document_to_be_restored(catalog: Catalog, helper: Any) -> None:
    """A crash between the listing and the restoring must not leave the document retired."""
    helper.register()
    helper.published("a.pdf", "a")
    helper.published("b.pdf", "b", effective_from=helper.day(2))
    catalog.mark_gone("contracts", ["a.pdf", "b.pdf"])
    catalog.mark_gone("contracts", ["a.pdf", "b.pdf"])
    catalog.seen("contracts", ["a.pdf"], "run-2")
    assert catalog.known_items("contracts")["a.pdf"].state == "gone"
    catalog.restore("doc-1")
    known = catalog.known_items("contracts")
    assert known["a.pdf"].state == "indexed"
    assert known["b.pdf"].state == "gone"


def test_a_restored_item_that_was_refused_is_still_in_quarantine(
    catalog: Catalog, helper: Any
) -> None:
    helper.register()
    helper.published("a.pdf")
    helper.refuse(source_key="a.pdf")
    helper.refuse(source_key="never.pdf")
    helper.published("fine.pdf", effective_from=helper.day(2))
    keys = ["a.pdf", "never.pdf", "fine.pdf"]
    catalog.mark_gone("contracts", keys)
    catalog.seen("contracts", keys, "run-2")
    catalog.restore("doc-1")
    assert {key: item.state for key, item in catalog.known_items("contracts").items()} == {
        "a.pdf": "quarantined",
        "never.pdf": "quarantined",
        "fine.pdf": "indexed",
    }


def test_publishing_brings_a_gone_item_back(catalog: Catalog, helper: Any, clock: Any) -> None:
    helper.register()
    record = helper.published()
    catalog.retire("doc-1", clock.now)
    catalog.mark_gone("contracts", ["a.pdf"])
    helper.publish(record)
    assert catalog.known_items("contracts")["a.pdf"].state == "indexed"
    found = catalog.version("doc-1", 1)
    assert found is not None
    assert found.retired_at == OPEN_END


def test_a_refused_item_is_known_in_its_state(catalog: Catalog, helper: Any) -> None:
    helper.refuse()
    (item,) = catalog.known_items("contracts").values()
    assert item.state == "quarantined"
    assert item.fingerprint == "a.pdf@x"
    assert item.version is None
    assert item.doc_sha256 is None
    assert item.doc_id == "doc-1"
    assert catalog.open_quarantine_keys("contracts") == {"a.pdf"}
    assert catalog.open_quarantine_keys("news") == set()


def test_a_refusal_keeps_what_is_indexed(catalog: Catalog, helper: Any) -> None:
    helper.register()
    helper.published()
    before = catalog.known_items("contracts")["a.pdf"]
    catalog.record_refused(
        helper.refusal(doc_id="doc-9", fingerprint="a.pdf@y"), "run-2", "0.2.0", "document"
    )
    after = catalog.known_items("contracts")["a.pdf"]
    # The pipeline's version changes too: the plan tries a refused item again for a newer one.
    assert after == before.model_copy(
        update={
            "fingerprint": "a.pdf@y",
            "state": "quarantined",
            "pipeline_version": "0.2.0",
            "run_id": "run-2",
        }
    )


def test_a_refusal_without_fingerprint_leaves_the_item_to_the_next_run(
    catalog: Catalog, helper: Any
) -> None:
    helper.refuse(fingerprint=None)
    assert catalog.known_items("contracts") == {}
    helper.register()
    helper.published()
    before = catalog.known_items("contracts")
    helper.refuse(fingerprint=None)
    assert catalog.known_items("contracts") == before


def test_a_refusal_without_document(catalog: Catalog, helper: Any) -> None:
    helper.refuse(doc_id=None, source_key="?")
    assert catalog.known_items("contracts") == {}
    helper.refuse()
    helper.refuse(doc_id=None, fingerprint="a.pdf@y")
    item = catalog.known_items("contracts")["a.pdf"]
    assert (item.doc_id, item.fingerprint) == ("doc-1", "a.pdf@y")
    assert [entry.doc_id for entry in catalog.quarantine()] == [None, "doc-1"]


def test_a_refusal_abandons_the_staged_version_of_its_item(catalog: Catalog, helper: Any) -> None:
    helper.register()
    helper.published("a.pdf", "a")
    helper.reserve("a.pdf", "b")
    helper.reserve("c.pdf", "c")
    helper.refuse()
    assert [version.state for version in catalog.versions("doc-1")] == [
        "published",
        "abandoned",
        "staged",
    ]


def test_entries_are_counted_once_a_run(catalog: Catalog, helper: Any, clock: Any) -> None:
    helper.refuse("run-1")
    first_seen = clock.now
    clock.tick()
    helper.refuse("run-1", message="Said otherwise.")
    (entry,) = catalog.quarantine()
    assert entry.times_seen == 1
    assert entry.last_seen == first_seen
    assert entry.message == "Said otherwise."
    clock.tick()
    helper.refuse("run-2")
    (entry,) = catalog.quarantine()
    assert entry.times_seen == 2
    assert (entry.first_run, entry.last_run) == ("run-1", "run-2")
    assert (entry.first_seen, entry.last_seen) == (first_seen, clock.now)
    assert entry.level == "document"
    assert entry.stage == "extract"
    assert entry.evidence == {"page": "1"}


def test_recording_again_in_the_same_run_changes_nothing(helper: Any) -> None:
    helper.register()
    helper.reserve()
    helper.refuse()
    before = helper.dump()
    helper.refuse()
    assert helper.dump() == before


def test_entries_differ_by_item_and_reason(catalog: Catalog, helper: Any) -> None:
    helper.refuse(code="encrypted")
    helper.refuse(code="too_large")
    helper.refuse(source_key="b.pdf")
    helper.refuse(source_id="news")
    assert len(catalog.quarantine()) == 4
    assert len(catalog.quarantine(source_id="contracts")) == 3


def test_retrying_makes_the_next_run_work_on_the_item(catalog: Catalog, helper: Any) -> None:
    helper.refuse()
    (entry,) = catalog.quarantine()
    for _ in range(2):
        assert catalog.retry_quarantine(entry.id) == entry
        assert catalog.known_items("contracts")["a.pdf"].fingerprint is None
        assert catalog.quarantine() == [entry]
    helper.refuse()
    assert catalog.known_items("contracts")["a.pdf"].fingerprint == "a.pdf@x"


def test_dismissing_takes_the_entry_off_the_list(catalog: Catalog, helper: Any) -> None:
    helper.refuse()
    (entry,) = catalog.quarantine()
    for _ in range(2):
        dismissed = catalog.dismiss_quarantine(entry.id, "Meant to be empty.")
        assert dismissed.state == "dismissed"
        assert dismissed.dismiss_reason == "Meant to be empty."
    assert catalog.quarantine() == []
    assert catalog.quarantine("dismissed") == catalog.quarantine(None) == [dismissed]
    assert catalog.quarantine_entry(entry.id) == dismissed
    # The item's state is still known, so that the next run doesn't bring the entry back.
    assert catalog.known_items("contracts")["a.pdf"].fingerprint == "a.pdf@x"
    helper.refuse("run-2", fingerprint="a.pdf@y")
    assert len(catalog.quarantine()) == 1


def test_a_closed_entry_stays_closed(catalog: Catalog, helper: Any) -> None:
    helper.register()
    helper.refuse()
    (entry,) = catalog.quarantine()
    helper.published()
    assert catalog.dismiss_quarantine(entry.id, "Late.").state == "closed"


def test_an_unknown_entry(catalog: Catalog) -> None:
    for call in (
        catalog.quarantine_entry,
        catalog.retry_quarantine,
        lambda number: catalog.dismiss_quarantine(number, "?"),
    ):
        with pytest.raises(ItemError, match="muniment quarantine list") as caught:
            call(987)
        assert caught.value.code == "quarantine_unknown"

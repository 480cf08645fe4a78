from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from sqlalchemy.exc import StatementError

from ingest.catalog import Catalog
from ingest.catalog import versions as versions_module
from ingest.errors import FatalError, RetriableError
from schemas.base import OPEN_END


def test_registering_again_takes_the_title_alone(catalog: Catalog, clock: Any) -> None:
    catalog.register_document("doc-1", "s", "k", "Old")
    first = catalog.document("doc-1")
    clock.tick()
    catalog.register_document("doc-1", "s", "k", "New")
    assert first is not None
    assert catalog.document("doc-1") == first.model_copy(update={"title": "New"})
    assert catalog.document("doc-2") is None


def test_documents_by_source(catalog: Catalog, helper: Any) -> None:
    helper.register("doc-2", "b")
    helper.register("doc-1", "a")
    assert [document.doc_id for document in catalog.documents()] == ["doc-1", "doc-2"]
    assert [document.doc_id for document in catalog.documents("b")] == ["doc-2"]
    assert catalog.documents("c") == []


def test_numbers_count_up_from_one(helper: Any) -> None:
    helper.register()
    assert [helper.reserve(sha=sha).version for sha in "abc"] == [1, 2, 3]
    helper.register("doc-2")
    assert helper.reserve(doc_id="doc-2").version == 1


def test_a_new_version_is_staged(catalog: Catalog, helper: Any) -> None:
    helper.register()
    record = helper.reserve()
    assert record.state == "staged"
    assert record.published_at is None
    assert record.payloads_uri is None
    assert record.chunk_count == 0
    assert record.effective_until == record.retired_at == OPEN_END
    assert catalog.version("doc-1", 1) == record
    assert catalog.versions("doc-1") == [record]
    assert catalog.version("doc-1", 2) is None
    assert catalog.versions("doc-2") == []


def test_a_version_needs_its_document(helper: Any) -> None:
    with pytest.raises(FatalError, match="MUNIMENT_CATALOG_URL") as caught:
        helper.reserve(doc_id="nobody")
    assert caught.value.code == "catalog_document_unknown"


def test_reserving_again_gives_the_staged_version(helper: Any, clock: Any) -> None:
    helper.register()
    first = helper.reserve(effective_from=clock.now, effective_basis="receipt")
    later = clock.tick(days=1)
    again = helper.reserve(
        effective_from=later,
        effective_basis="receipt",
        received_at=later,
        title="Better title",
        run_id="run-2",
    )
    assert again == first.model_copy(update={"title": "Better title", "run_id": "run-2"})


def test_a_date_that_the_source_gives_now_counts(helper: Any, clock: Any) -> None:
    helper.register()
    helper.reserve(effective_from=clock.now, effective_basis="receipt")
    again = helper.reserve(effective_from=helper.day(7))
    assert again.effective_from == helper.day(7)
    assert again.effective_basis == "source"


def test_a_date_that_the_source_no_longer_gives_becomes_the_receipt(
    helper: Any, clock: Any
) -> None:
    helper.register()
    first = helper.reserve(effective_from=helper.day(7))
    again = helper.reserve(effective_from=clock.tick(), effective_basis="receipt")
    assert again.version == first.version
    assert again.effective_from == first.received_at
    assert again.effective_basis == "receipt"


def test_the_same_bytes_of_another_item_are_another_version(helper: Any) -> None:
    helper.register()
    assert helper.reserve("a.pdf").version == 1
    assert helper.reserve("b.pdf").version == 2


def test_changed_metadata_of_a_published_version_keep_its_number(
    catalog: Catalog, helper: Any, clock: Any
) -> None:
    helper.register()
    first = helper.published()
    clock.tick()
    again = helper.reserve(licence_id="other", effective_from=helper.day(5))
    assert again == first.model_copy(
        update={"licence_id": "other", "effective_from": helper.day(5)}
    )
    helper.publish(again)
    found = catalog.version("doc-1", 1)
    assert found is not None
    assert found.published_at == first.published_at


def test_a_published_version_whose_date_moves_past_its_end_is_never_backwards(
    catalog: Catalog, helper: Any
) -> None:
    helper.register()
    helper.published("a.pdf", "a", effective_from=helper.day(1))
    helper.published("b.pdf", "b", effective_from=helper.day(2))
    moved = helper.reserve("a.pdf", "a", effective_from=helper.day(9))
    assert moved.effective_from == moved.effective_until == helper.day(9)
    assert catalog.version("doc-1", 1).effective_from == helper.day(1)
    helper.publish(moved)
    first, second = catalog.versions("doc-1")
    assert (first.effective_from, first.effective_until) == (helper.day(9), OPEN_END)
    assert (second.effective_from, second.effective_until) == (helper.day(2), helper.day(9))


def test_refused_metadata_of_a_published_version_is_forgotten(
    catalog: Catalog, helper: Any
) -> None:
    helper.register()
    before = helper.published("a.pdf", "a", effective_from=helper.day(1))
    helper.reserve("a.pdf", "a", effective_from=helper.day(9))
    helper.refuse(source_key="a.pdf")
    helper.publish(before)
    assert catalog.version("doc-1", 1).effective_from == helper.day(1)


def test_bytes_that_come_back_after_others_are_a_new_version(helper: Any) -> None:
    helper.register()
    helper.published(sha="a")
    helper.published(sha="b", effective_from=helper.day(2))
    assert helper.reserve(sha="a", effective_from=helper.day(3)).version == 3


def test_an_abandoned_number_is_not_given_again(helper: Any) -> None:
    helper.register()
    helper.reserve()
    helper.refuse()
    assert helper.reserve().version == 2


@pytest.mark.parametrize("same", [True, False])
def test_reserving_in_many_threads(catalog: Catalog, helper: Any, same: bool) -> None:
    helper.register()
    with ThreadPoolExecutor(8) as threads:
        numbers = list(
            threads.map(
                lambda n: helper.reserve("a.pdf" if same else f"{n}.pdf").version, range(24)
            )
        )
    assert sorted(numbers) == ([1] * 24 if same else list(range(1, 25)))


def test_reserving_is_safe_without_the_lock_too(
    catalog_url: str, helper: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lock on the document spares retries; it is the key that keeps numbers apart."""
    helper.register()
    monkeypatch.setattr(versions_module, "lock_document", lambda session, doc_id: None)
    conflicts = 0
    reserve_once = Catalog._reserve

    def counting(self: Catalog, *args: Any) -> Any:
        nonlocal conflicts
        try:
            return reserve_once(self, *args)
        except RetriableError:
            conflicts += 1
            raise

    monkeypatch.setattr(Catalog, "_reserve", counting)
    with ThreadPoolExecutor(4) as threads:
        numbers = list(threads.map(lambda n: helper.reserve(f"{n}.pdf").version, range(24)))
    assert sorted(numbers) == list(range(1, 25))
    if catalog_url.startswith("postgresql"):
        assert conflicts  # or the test shows nothing


def test_publishing_closes_the_older_interval(catalog: Catalog, helper: Any, clock: Any) -> None:
    helper.register()
    helper.published(sha="a", effective_from=helper.day(1))
    clock.tick()
    helper.published(sha="b", effective_from=helper.day(10))
    first, second = catalog.versions("doc-1")
    assert (first.effective_from, first.effective_until) == (helper.day(1), helper.day(10))
    assert (second.effective_from, second.effective_until) == (helper.day(10), OPEN_END)
    assert first.state == second.state == "published"


def test_a_version_that_arrives_late_takes_its_place(catalog: Catalog, helper: Any) -> None:
    helper.register()
    helper.published("new.pdf", "a", effective_from=helper.day(20))
    helper.published("old.pdf", "b", effective_from=helper.day(1))
    new, old = catalog.versions("doc-1")
    assert (old.effective_from, old.effective_until) == (helper.day(1), helper.day(20))
    assert new.effective_until == OPEN_END


def test_history_tells_what_was_believed_when(catalog: Catalog, helper: Any, clock: Any) -> None:
    helper.register()
    one = clock.now
    helper.published(sha="a", effective_from=helper.day(1))
    two = clock.tick()
    helper.published(sha="b", effective_from=helper.day(10))

    def believed(at: datetime) -> dict[int, tuple[datetime, datetime]]:
        return {
            version: (entry.effective_from, entry.effective_until)
            for version, history in catalog.interval_history("doc-1").items()
            for entry in history
            if entry.recorded_at <= at < entry.superseded_at
        }

    assert believed(one - timedelta(seconds=1)) == {}
    assert believed(one) == {1: (helper.day(1), OPEN_END)}
    assert believed(two) == {
        1: (helper.day(1), helper.day(10)),
        2: (helper.day(10), OPEN_END),
    }
    assert _held(catalog) == 3


def _held(catalog: Catalog) -> int:
    return sum(len(held) for held in catalog.interval_history("doc-1").values())


def test_history_has_rows_only_for_what_changed(catalog: Catalog, helper: Any, clock: Any) -> None:
    helper.register()
    for number, sha in enumerate("abcd", start=1):
        helper.published(f"{sha}.pdf", sha, effective_from=helper.day(number))
        clock.tick()
    assert _held(catalog) == 1 + 2 + 2 + 2


def test_history_bears_a_clock_that_goes_back(catalog: Catalog, helper: Any, clock: Any) -> None:
    helper.register()
    helper.published(sha="a", effective_from=helper.day(1))
    clock.tick(days=-1)
    helper.published(sha="b", effective_from=helper.day(10))
    entries = [entry for held in catalog.interval_history("doc-1").values() for entry in held]
    assert len(entries) == 3
    for entry in entries:
        assert entry.recorded_at <= entry.superseded_at


def test_publishing_again_changes_nothing(helper: Any, clock: Any) -> None:
    helper.register()
    first = helper.published(sha="a")
    second = helper.published(sha="b", effective_from=helper.day(10))
    before = helper.dump()
    at = clock.now
    clock.tick()
    helper.publish(second, published_at=at)
    assert helper.dump() == before
    assert first.version == 1


def test_publishing_makes_the_item_known(catalog: Catalog, helper: Any) -> None:
    helper.register()
    helper.published()
    (item,) = catalog.known_items("contracts").values()
    assert item.state == "indexed"
    assert (item.doc_id, item.version, item.doc_sha256) == ("doc-1", 1, helper.sha("a"))
    assert item.fingerprint == "a.pdf@a"
    assert item.pipeline_version == helper.pipeline_version


def test_publishing_closes_open_entries_of_the_item_alone(catalog: Catalog, helper: Any) -> None:
    helper.register()
    helper.refuse(code="encrypted")
    helper.refuse(code="too_large")
    helper.refuse(source_key="b.pdf")
    helper.published()
    assert [entry.source_key for entry in catalog.quarantine()] == ["b.pdf"]
    assert len(catalog.quarantine("closed")) == 2


def test_a_refused_version_cannot_be_published(helper: Any) -> None:
    helper.register()
    record = helper.reserve()
    helper.refuse()
    with pytest.raises(FatalError) as caught:
        helper.publish(record)
    assert caught.value.code == "catalog_version_abandoned"


def test_instants_are_in_utc_whatever_zone_they_came_in(
    catalog_url: str, catalog: Catalog, helper: Any
) -> None:
    helper.register()
    tokyo = timezone(timedelta(hours=9))
    record = helper.reserve(
        effective_from=datetime(2026, 1, 1, 5, tzinfo=tokyo),
        received_at=datetime(2026, 1, 1, 9, 0, 0, 123456, tzinfo=tokyo),
    )
    url = catalog_url
    if url.startswith("postgresql"):
        url += "?options=-c%20TimeZone%3DAsia/Tokyo"
    elsewhere = Catalog(url)
    assert elsewhere.version("doc-1", 1) == record
    assert record.effective_from.isoformat() == "2025-12-31T20:00:00+00:00"
    assert record.received_at.isoformat() == "2026-01-01T00:00:00.123456+00:00"
    assert record.retired_at == OPEN_END
    elsewhere.close()
    with pytest.raises(StatementError, match="offset"):
        catalog.retire("doc-1", datetime(2026, 1, 1))  # noqa: DTZ001  # refused, as it should be


def test_text_that_databases_cannot_store(catalog: Catalog, helper: Any) -> None:
    catalog.register_document("doc-1", "contracts", "k", "NUL \x00 and half a pair \ud83d")
    document = catalog.document("doc-1")
    assert document is not None
    assert document.title == "NUL \ufffd and half a pair \ufffd"
    helper.refuse(message="bad \x00", evidence={"bytes\x00": "\x00\x01"})
    (entry,) = catalog.quarantine()
    assert entry.message == "bad \ufffd"
    assert entry.evidence == {"bytes\ufffd": "\ufffd\x01"}

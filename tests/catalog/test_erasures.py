"""Erasures in the catalogue: tombstones, receipts, and rows that leave nothing behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import text

from ingest.catalog import Catalog
from ingest.errors import ItemError
from schemas.base import sha256_text
from schemas.run import Ledger, LedgerLine

SECRET = "the heron by the mill"


def begin(catalog: Catalog, doc_id: str = "doc-1", **changes: Any) -> int:
    values: dict[str, Any] = {
        "tombstones": [],
        "lasting": True,
        "work": {"documents": [doc_id]},
    } | changes
    return catalog.begin_erasure("document", doc_id, "asked for", **values)


def test_nothing_is_forgotten_at_first(catalog: Catalog) -> None:
    assert not catalog.forgotten(["doc-1"], ["acme"])
    assert catalog.erasures() == []


def test_a_document_is_forgotten_from_the_moment_its_erasure_begins(catalog: Catalog) -> None:
    begin(catalog)
    assert catalog.forgotten(["doc-1", "doc-2"], []).doc_ids == {"doc-1"}


def test_a_client_is_known_by_the_hash_of_its_id_alone(catalog: Catalog, helper: Any) -> None:
    catalog.begin_erasure(
        "client", sha256_text("acme"), "asked for", tombstones=["doc-7"], lasting=True, work={}
    )
    found = catalog.forgotten(["doc-7", "doc-8"], ["acme", "bolt"])
    assert found.doc_ids == {"doc-7"}
    assert found.client_ids == {"acme"}
    assert "acme" not in repr(helper.dump())


def test_what_its_source_may_bring_again_is_not_kept_out(catalog: Catalog) -> None:
    begin(catalog, lasting=False)
    assert not catalog.forgotten(["doc-1"], [])


def test_lifting_lets_everything_of_the_request_in_again(catalog: Catalog) -> None:
    number = begin(catalog, tombstones=["doc-2"])
    other = begin(catalog, "doc-3")
    assert catalog.forgotten(["doc-1", "doc-2", "doc-3"], []).doc_ids == {"doc-1", "doc-2", "doc-3"}
    assert not catalog.lift_erasure(number).lasting
    assert catalog.forgotten(["doc-1", "doc-2", "doc-3"], []).doc_ids == {"doc-3"}
    assert catalog.erasure(other).lasting


def test_a_finished_erasure_has_its_receipt(catalog: Catalog, clock: Any) -> None:
    number = begin(catalog, tombstones=["doc-2"])
    (before,) = catalog.erasures()
    assert before.finished_at is None
    assert before.receipt == {"work": {"documents": ["doc-1"]}}
    at = clock.tick()
    catalog.finish_erasure(number, {"complete": True}, at)
    (after,) = catalog.erasures()
    assert (after.finished_at, after.receipt) == (at, {"complete": True})
    assert catalog.forgotten(["doc-2"], []).doc_ids == {"doc-2"}


def test_a_number_that_is_none_is_refused(catalog: Catalog) -> None:
    number = begin(catalog, tombstones=["doc-2"])
    for wrong in (number + 1, 999):
        with pytest.raises(ItemError, match="no erasure"):
            catalog.erasure(wrong)


def test_rows_of_a_document_go_and_those_of_others_stay(catalog: Catalog, helper: Any) -> None:
    for doc_id, key in (("doc-1", f"{SECRET}.pdf"), ("doc-2", "other.pdf")):
        helper.register(doc_id)
        helper.published(key, doc_id=doc_id, client_id="acme" if doc_id == "doc-1" else None)
        helper.refuse(source_key=key, doc_id=doc_id, message=f"{key}: it is encrypted.")
    kept = {name: [row for row in rows if "doc-2" in row] for name, rows in helper.dump().items()}
    assert catalog.documents_of_client("acme") == {"doc-1"}
    known = catalog.known_of(["doc-1"])
    assert ("contracts", f"{SECRET}.pdf") in known.keys
    assert known.sha256s == {helper.sha("a")}
    assert known.rows == 5  # document, version, interval, item, quarantine entry
    catalog.erase_rows({"doc-1"}, known.keys, lambda value: value)
    assert {
        name: [row for row in rows if "doc-2" in row] for name, rows in helper.dump().items()
    } == kept
    assert "doc-1" not in repr(helper.dump())
    assert SECRET not in repr(helper.dump())
    assert catalog.rows_of({"doc-1"}) == 0


def test_entries_without_a_document_go_by_their_key(catalog: Catalog, helper: Any) -> None:
    helper.refuse(doc_id=None, source_key=SECRET)
    helper.refuse(doc_id=None, source_key=SECRET, source_id="elsewhere")
    catalog.erase_rows({"doc-1"}, {("contracts", SECRET)}, lambda value: value)
    assert [entry.source_id for entry in catalog.quarantine()] == ["elsewhere"]


def test_ledgers_and_messages_lose_the_names(catalog: Catalog, helper: Any, clock: Any) -> None:
    line = LedgerLine(source_id="contracts", error=f"fetch: {SECRET}: not found")
    ledger = Ledger(run_id="run-1", started_at=clock.now, finished_at=clock.now, lines=(line,))
    catalog.start_run("run-1", clock.now)
    catalog.finish_run("run-1", ledger)
    helper.refuse(doc_id="doc-9", message=f"b.pdf: as {SECRET}")

    def cleaned(value: object) -> object:
        match value:
            case str():
                return "erased" if SECRET in value else value
            case dict():
                return {name: cleaned(entry) for name, entry in value.items()}
            case list():
                return [cleaned(entry) for entry in value]
        return value

    catalog.erase_rows({"doc-1"}, set(), cleaned)
    assert SECRET not in repr(helper.dump())
    last = catalog.last_run()
    assert last is not None
    assert last.lines[0].error == "erased"


def test_bytes_that_another_document_has_are_told(catalog: Catalog, helper: Any) -> None:
    for doc_id in ("doc-1", "doc-2"):
        helper.register(doc_id)
    helper.published("one.pdf", "a", doc_id="doc-1")
    helper.published("two.pdf", "b", doc_id="doc-1")
    helper.published("three.pdf", "b", doc_id="doc-2")
    shas = {helper.sha("a"), helper.sha("b")}
    assert catalog.bytes_of_others(shas, {"doc-1"}) == {helper.sha("b")}
    assert catalog.bytes_of_others(shas, {"doc-1", "doc-2"}) == set()


def test_members_are_inside_their_container(catalog: Catalog, helper: Any) -> None:
    helper.register("doc-1")
    helper.published("mail.eml", doc_id="doc-1")
    catalog.note_members(
        "contracts",
        "mail.eml",
        {"mail.eml!/a.txt": "doc-2", "mail.eml!/b.zip!/c.txt": "doc-3"},
        waiting=[],
        pipeline_version="1",
        run_id="run-1",
    )
    assert catalog.inside({"doc-1"}) == {"doc-2", "doc-3"}
    assert catalog.inside({"doc-2"}) == set()
    found = catalog.containers_of({"doc-1", "doc-2"})
    assert {doc_id: (one.source_key, one.doc_id) for doc_id, one in found.items()} == {
        "doc-2": ("mail.eml", "doc-1")
    }
    assert catalog.has_refused_members()
    assert catalog.unknown({"doc-1", "doc-3", "doc-4"}) == {"doc-4"}


def test_a_document_is_gone_with_the_last_of_its_items(catalog: Catalog, helper: Any) -> None:
    helper.register("doc-1")
    helper.published("one.pdf", "a", doc_id="doc-1")
    helper.published("two.pdf", "b", doc_id="doc-1")
    catalog.mark_gone("contracts", ["one.pdf"])
    assert catalog.gone_documents("contracts") == set()
    catalog.mark_gone("contracts", ["two.pdf"])
    assert catalog.gone_documents("contracts") == {"doc-1"}
    assert catalog.gone_documents("elsewhere") == set()


def test_a_run_is_open_until_it_or_a_later_one_has_ended(catalog: Catalog, clock: Any) -> None:
    catalog.start_run("run-1", clock.now)
    assert set(catalog.open_runs()) == {"run-1"}
    catalog.start_run("run-2", clock.tick())
    assert set(catalog.open_runs()) == {"run-1", "run-2"}
    catalog.finish_run("run-2", Ledger(run_id="run-2", started_at=clock.now))
    assert catalog.open_runs() == {}
    catalog.start_run("run-3", clock.tick())
    assert set(catalog.open_runs()) == {"run-3"}


def test_embeddings_go_by_text_whatever_the_model(catalog: Catalog) -> None:
    vector = np.ones(3, np.float32)
    texts = {letter * 64: vector for letter in "ab"}
    for model in ("one", "two"):
        catalog.store_embeddings(model, texts)
    assert catalog.embedded_texts(texts) == set(texts)
    assert catalog.erase_embeddings({"a" * 64}) == 2
    assert catalog.embedded_texts(texts) == {"b" * 64}


def test_compacting_leaves_no_deleted_row_in_the_file(
    catalog: Catalog, helper: Any, catalog_url: str
) -> None:
    helper.register("doc-1")
    helper.published(f"{SECRET}.pdf", doc_id="doc-1")
    with catalog.engine.connect() as connection:
        if catalog.engine.dialect.name == "postgresql":
            before = connection.execute(text("SELECT pg_relation_filenode('versions')")).scalar()
    catalog.erase_rows({"doc-1"}, catalog.known_of({"doc-1"}).keys, lambda value: value)
    catalog.compact()
    if catalog.engine.dialect.name == "postgresql":
        with catalog.engine.connect() as connection:
            after = connection.execute(text("SELECT pg_relation_filenode('versions')")).scalar()
        assert before != after  # the table was written anew
        return
    file = Path(catalog_url.removeprefix("sqlite:///"))
    for path in file.parent.glob(f"{file.name}*"):
        assert SECRET.encode() not in path.read_bytes(), path

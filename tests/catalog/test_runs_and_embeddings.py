from __future__ import annotations

import struct
from datetime import datetime
from typing import Any

import numpy as np
import pytest

from ingest.catalog import Catalog
from ingest.catalog.models import EmbeddingRow
from ingest.errors import FatalError
from schemas.run import Ledger, LedgerLine


def ledger(run_id: str, started_at: datetime, **changes: Any) -> Ledger:
    line = LedgerLine(source_id="contracts", listed=1, new=1, published=1)
    return Ledger(run_id=run_id, started_at=started_at, lines=(line,), **changes)


def test_starting_again_keeps_the_first_start(catalog: Catalog, clock: Any) -> None:
    first = clock.now
    assert catalog.start_run("run-1", first) == first
    assert catalog.start_run("run-1", clock.tick()) == first
    (run,) = catalog.runs(10)
    assert (run.run_id, run.started_at) == ("run-1", first)
    assert run.finished_at is None
    assert run.ledger is None
    assert catalog.last_run() is None


def test_the_last_run_is_the_one_that_started_last_with_a_ledger(
    catalog: Catalog, clock: Any
) -> None:
    ledgers = []
    for run_id in ("run-1", "run-2"):
        started_at = catalog.start_run(run_id, clock.tick())
        ledgers.append(ledger(run_id, started_at, finished_at=clock.tick()))
        catalog.finish_run(run_id, ledgers[-1])
    catalog.start_run("run-3", clock.tick())
    last = catalog.last_run()
    assert last == ledgers[1]
    assert last is not None
    assert last.balanced
    assert [run.run_id for run in catalog.runs(2)] == ["run-3", "run-2"]
    assert [run.ledger for run in catalog.runs(5)] == [None, ledgers[1], ledgers[0]]


def test_finishing_again_keeps_the_later_ledger(catalog: Catalog, helper: Any, clock: Any) -> None:
    catalog.start_run("run-1", clock.now)
    catalog.finish_run("run-1", ledger("run-1", clock.now))
    before = helper.dump()
    finished_at = clock.now
    clock.tick()
    catalog.finish_run("run-1", ledger("run-1", finished_at))
    assert helper.dump() == before
    catalog.finish_run("run-1", ledger("run-1", finished_at, alerts=("NUL \x00",)))
    last = catalog.last_run()
    assert last is not None
    assert last.alerts == ("NUL \ufffd",)
    (run,) = catalog.runs(1)
    assert run.finished_at == finished_at


def test_a_run_that_was_never_started_can_be_finished(catalog: Catalog, clock: Any) -> None:
    given = ledger("run-1", clock.now)
    catalog.finish_run("run-1", given)
    assert catalog.last_run() == given
    with pytest.raises(ValueError, match="run-2"):
        catalog.finish_run("run-2", given)


def digest(number: int) -> str:
    return f"{number:064x}"


def test_embeddings_come_back_bit_for_bit(catalog: Catalog) -> None:
    rng = np.random.default_rng(7)
    vectors = {digest(n): rng.standard_normal(384).astype(np.float32) for n in range(1_201)}
    catalog.store_embeddings("model-a", vectors)
    found = catalog.embeddings("model-a", [*vectors, digest(99_999)])
    assert found.keys() == vectors.keys()
    for name, vector in vectors.items():
        assert found[name].dtype == np.float32
        assert np.array_equal(found[name], vector)
        found[name] += 1  # its own copy, not the database driver's bytes
    assert catalog.embeddings("model-b", vectors) == {}
    assert catalog.embeddings("model-a", []) == {}
    catalog.store_embeddings("model-a", {})


def test_a_text_keeps_its_first_vector(catalog: Catalog, helper: Any) -> None:
    catalog.store_embeddings("m", {digest(1): np.array([1, 2], np.float32)})
    before = helper.dump()
    catalog.store_embeddings("m", {digest(1): np.array([3, 4], np.float32)})
    assert helper.dump() == before


def test_vectors_are_stored_little_endian(catalog: Catalog, helper: Any) -> None:
    given = np.array([1.5, -2.25], dtype=">f8")[::-1]
    catalog.store_embeddings("m", {digest(1): given})
    assert helper.dump()["embeddings"] == [("m", digest(1), 2, struct.pack("<2f", -2.25, 1.5))]


@pytest.mark.parametrize("bad", [[1.0, np.nan], [np.inf], [[1.0]], []])
def test_vectors_that_are_none_are_refused(catalog: Catalog, helper: Any, bad: list[Any]) -> None:
    before = helper.dump()
    good = np.array([1], np.float32)
    with pytest.raises(ValueError, match="finite"):
        catalog.store_embeddings("m", {digest(1): good, digest(2): np.array(bad, np.float32)})
    assert helper.dump() == before


def test_a_damaged_vector_is_reported(catalog: Catalog) -> None:
    catalog.store_embeddings("m", {digest(1): np.array([1, 2], np.float32)})
    with catalog.engine.begin() as connection:
        connection.execute(EmbeddingRow.__table__.update().values(vector=b"\x00\x01"))
    with pytest.raises(FatalError) as caught:
        catalog.embeddings("m", [digest(1)])
    assert caught.value.code == "catalog_damaged"

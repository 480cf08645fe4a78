"""Backfills: planned without a change, done as planned, and nothing asked of the sources."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from workspace import Workspace

from attribution.filters import default_filter
from ingest.backfill.run import plan_backfill, run_backfill
from ingest.embedding import Embedder
from ingest.errors import ConfigurationError, ItemError
from ingest.pipeline import open_catalog, open_index
from schemas.backfill import BackfillPlan, BackfillRequest, BackfillResult, Work
from schemas.base import utc_now

HEAD = "file,document,version_label,effective_from\n"
CLAUSE = "The notice period of the agreement is {} days, and it is given in writing.\n"


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    """A contract in three versions, the third of which is listed alone."""
    ws = Workspace(tmp_path)
    ws.licences.append({"id": "other", "name": "Other", "attribution_required": False})
    ws.add_source("contracts", kind="contract", manifest="terms.csv", retire_unlisted=False)
    for number, year in ((1, 2020), (2, 2022), (3, 2024)):
        ws.write("contracts/msa.txt", CLAUSE.format(number * 10))
        ws.write("contracts/terms.csv", f"{HEAD}msa.txt,msa,{number}.0,{year}-01-01\n")
        assert ws.run().balanced
    return ws


def doc_id(ws: Workspace) -> str:
    [document] = open_catalog(ws.settings).document_ids()
    return document


def request(**asked: Any) -> BackfillRequest:
    return BackfillRequest(**{"reason": "test", **asked})


def dry(ws: Workspace, **asked: Any) -> BackfillPlan:
    before = ws.points()
    plan, refs = plan_backfill(ws.pipeline(), request(dry_run=True, **asked))
    assert refs == []
    assert ws.points() == before
    return plan


def real(ws: Workspace, **asked: Any) -> tuple[BackfillPlan, BackfillResult]:
    plan, result, ledger = run_backfill(ws.pipeline(), request(**asked))
    assert ledger.balanced or not ledger.lines
    return plan, result


def in_force(ws: Workspace, at: datetime) -> list[str]:
    with open_index(ws.settings, Embedder(ws.settings.embedding_model)) as index:
        return sorted(p["version_label"] for _, p in index.scroll(default_filter(at=at)))


def test_what_is_up_to_date_needs_nothing(ws: Workspace) -> None:
    plan = dry(ws)
    assert (plan.versions_looked_at, plan.work, plan.skipped) == (3, (), ())
    before = ws.points()
    _, result = real(ws)
    assert result.done == Work()
    assert ws.points() == before


def test_former_versions_take_the_terms_that_the_licence_has_now(ws: Workspace) -> None:
    ws.licences[0]["attribution_required"] = True
    ws.licences[0]["attribution_text"] = "By permission of Corvane"
    ws.save()
    plan = dry(ws)
    assert plan.total == Work(points_patched=3)
    _, result = real(ws)
    assert result.done == plan.total
    assert result.documents == (doc_id(ws),)
    assert {p["attribution_text"] for p in ws.points().values()} == {"By permission of Corvane"}
    assert dry(ws).work == ()


def test_a_former_version_stands_under_the_licence_that_its_item_has_now(ws: Workspace) -> None:
    ws.sources[0]["licence"] = "other"
    ws.save()
    assert ws.run().balanced  # the listed state alone
    assert sorted(p["licence_id"] for p in ws.points().values()) == ["open", "open", "other"]
    plan, result = real(ws)
    assert result.done == plan.total == Work(points_patched=2)
    assert {p["licence_id"] for p in ws.points().values()} == {"other"}
    # And the nightly run has nothing to do after it.
    assert ws.run().lines[0].changed == 0


def test_another_chunker_replaces_the_points_of_every_version(ws: Workspace) -> None:
    text = "".join(CLAUSE.format(n) for n in range(40))
    ws.write("contracts/msa.txt", text)
    ws.write("contracts/terms.csv", HEAD + "msa.txt,msa,4.0,2026-01-01\n")
    ws.run()
    smaller = ws.settings.model_copy(
        update={"chunking": ws.settings.chunking.model_copy(update={"max_tokens": 64})}
    )
    ws.settings = smaller
    plan = dry(ws)
    assert plan.total.points_new > 2
    assert plan.total.embedded == plan.total.points_new
    assert plan.total.points_deleted >= 1
    now = in_force(ws, utc_now())
    _, result = real(ws)
    assert result.done == plan.total
    assert set(now) == set(in_force(ws, utc_now())) == {"4.0"}
    assert dry(ws).work == ()


def test_bytes_that_the_vault_lost_are_fetched_again_if_the_source_has_them(ws: Workspace) -> None:
    shutil.rmtree(ws.settings.home / "vault")
    ws.licences[0]["name"] = "Open, renamed"
    ws.save()
    plan = dry(ws)
    assert (plan.total.refetched, len(plan.work)) == (3, 3)
    _, result = real(ws)
    assert result.done.refetched == 1  # the source has the third alone
    entries = open_catalog(ws.settings).quarantine()
    lost = [(entry.code, entry.version) for entry in entries]
    assert lost == [("version_bytes_lost", 1), ("version_bytes_lost", 2)]
    assert in_force(ws, datetime(2021, 1, 1, tzinfo=UTC)) == ["1.0"]


def test_a_backfill_asks_nothing_of_the_source(ws: Workspace) -> None:
    shutil.rmtree(ws.folder / "contracts")
    ws.licences[0]["attribution_required"] = True
    ws.licences[0]["attribution_text"] = "Credit"
    ws.save()
    plan, result = real(ws)
    assert result.done == plan.total == Work(points_patched=3)


@pytest.mark.parametrize(
    ("asked", "count"),
    [
        ({}, 3),
        ({"sources": ("contracts",)}, 3),
        ({"effective_from": datetime(2022, 1, 1, tzinfo=UTC)}, 2),
        ({"effective_until": datetime(2022, 1, 1, tzinfo=UTC)}, 1),
        (
            {
                "effective_from": datetime(2021, 1, 1, tzinfo=UTC),
                "effective_until": datetime(2023, 1, 1, tzinfo=UTC),
            },
            1,
        ),
    ],
)
def test_only_what_is_asked_for_is_looked_at(
    ws: Workspace, asked: dict[str, Any], count: int
) -> None:
    assert dry(ws, **asked).versions_looked_at == count


def test_what_there_is_not_is_named(ws: Workspace) -> None:
    with pytest.raises(ConfigurationError, match="unknown"):
        plan_backfill(ws.pipeline(), request(sources=("unknown",)))
    with pytest.raises(ItemError, match="muniment versions list"):
        plan_backfill(ws.pipeline(), request(documents=("unknown",)))
    with pytest.raises(ValueError, match="window is empty"):
        request(effective_from=utc_now(), effective_until=utc_now())


def test_dates_that_were_changed_behind_the_catalogue_s_back_are_put_right(ws: Workspace) -> None:
    before = ws.points()
    with open_index(ws.settings, Embedder(ws.settings.embedding_model)) as index:
        harmed = next(iter(before))
        wrong = {"effective_until": "9999-12-31T00:00:00Z", "retired_at": "2020-01-01T00:00:00Z"}
        index._client.set_payload(index.collection, wrong, points=[harmed], wait=True)
    plan, result = real(ws)
    assert result.done == plan.total == Work(points_redated=1)
    times = {i: {**p, "run_id": ""} for i, p in ws.points().items()}
    assert times == {i: {**p, "run_id": ""} for i, p in before.items()}

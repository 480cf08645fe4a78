"""Rebuilds: the same index in a new collection, without reading, fetching or losing anything."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import models
from small_model import small_model
from workspace import Workspace, scan

from attribution.filters import as_published, default_filter
from ingest.catalog import Catalog
from ingest.embedding import Embedder
from ingest.errors import ConfigurationError, FatalError, ItemError
from ingest.index import VectorIndex
from ingest.pipeline import open_catalog, open_index
from ingest.rebuild.run import (
    abandon,
    begin,
    drop_former,
    fill_shard,
    rebuild_index,
    shards,
    under_way,
)
from ingest.rebuild.run import switch as switch_to
from schemas.base import utc_now
from schemas.rebuild import RebuildReport

HEAD = "file,document,version_label,effective_from\n"
CLAUSE = "The notice period of the agreement is {} days, and it is given in writing.\n"


def written(folder: Path) -> Workspace:
    """A contract in three versions, one withdrawn; a scan; a document that has left."""
    ws = Workspace(folder)
    ws.add_source("contracts", kind="contract", manifest="terms.csv", retire_unlisted=False)
    for number, year in ((1, 2020), (2, 2022), (3, 2024)):
        ws.write("contracts/msa.txt", CLAUSE.format(number * 10) * number)
        ws.write("contracts/terms.csv", f"{HEAD}msa.txt,msa,{number}.0,{year}-01-01\n")
        assert ws.run().balanced
    ws.add_source("reports")
    ws.write("reports/scan.pdf", scan("The delivery is due within thirty days of the order."))
    for name in ("stays", "more", "gone"):
        ws.write(f"reports/{name}.txt", f"This is the report that {name}, for a while.")
    assert ws.run().balanced
    (ws.folder / "reports/gone.txt").unlink()
    assert ws.run().balanced
    catalog = open_catalog(ws.settings)
    [document] = catalog.documents("contracts")
    catalog.withdraw(document.doc_id, 2, reason="unsigned", at=utc_now())
    assert ws.run().balanced
    return ws


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return written(tmp_path_factory.mktemp("made"))


@pytest.fixture
def ws(made: Workspace, tmp_path: Path) -> Workspace:
    shutil.copytree(made.folder, tmp_path / "ws")
    ws = Workspace(tmp_path / "ws")
    ws.sources, ws.licences = made.sources, list(made.licences)
    for path in (ws.folder / "reports").iterdir():
        shutil.copystat(made.folder / "reports" / path.name, path)
    return ws


def rebuilt(ws: Workspace, reason: str = "test") -> RebuildReport:
    return rebuild_index(ws.pipeline(), reason)


def said(ws: Workspace) -> dict[str, dict[str, Any]]:
    """What the points say, but for the run that wrote them; null is as good as nothing."""
    return {
        point: {n: value for n, value in payload.items() if n != "run_id" and value is not None}
        for point, payload in ws.points().items()
    }


def collections(ws: Workspace) -> tuple[str | None, set[str]]:
    """Return the collection that readers use, and all there are."""
    with open_index(ws.settings, Embedder(ws.settings.embedding_model)) as index:
        client, _ = index.raw()
        return index.aliased(), {one.name for one in client.get_collections().collections}


def smaller(ws: Workspace) -> None:
    chunking = ws.settings.chunking.model_copy(update={"max_tokens": 24, "min_tokens": 4})
    ws.settings = ws.settings.model_copy(update={"chunking": chunking})


def found(ws: Workspace, **asked: Any) -> list[str]:
    with open_index(ws.settings, Embedder(ws.settings.embedding_model)) as index:
        return sorted(p["source_key"] for _, p in index.scroll(default_filter(**asked)))


@pytest.fixture
def nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise AssertionError("a rebuild reads nothing anew")

    monkeypatch.setattr("ingest.steps.readings.extract_all", refuse)
    monkeypatch.setattr("ingest.pipeline.Pipeline.connector", refuse)


@pytest.mark.usefixtures("nothing_is_read")
def test_the_new_collection_says_what_the_former_one_said(ws: Workspace) -> None:
    before, former = said(ws), collections(ws)[0]
    assert former is not None
    report = rebuilt(ws)
    assert report.switched_at is not None
    assert report.former == former
    assert (report.versions, report.points) == (7, len(before))
    assert (report.filled.points, report.filled.embedded) == (len(before), 0)
    assert said(ws) == before
    assert collections(ws) == (f"{former}-r2", {former, f"{former}-r2"})


def test_runs_go_on_in_the_new_collection(ws: Workspace) -> None:
    rebuilt(ws)
    line = ws.run().lines
    assert [one.changed + one.new + one.retired for one in line] == [0, 0]
    ws.write("reports/new.txt", "A report that came after the rebuild.")
    assert ws.run().balanced
    assert "new.txt" in found(ws)
    rebuilt(ws, "once more")
    alias, there = collections(ws)
    assert alias is not None
    assert alias.endswith("-r3")
    assert len(there) == 3
    assert "new.txt" in found(ws)


@pytest.mark.usefixtures("nothing_is_read")
def test_another_chunker_takes_effect_at_the_turn_and_not_before(ws: Workspace) -> None:
    before = said(ws)
    told = datetime(2100, 1, 1, tzinfo=UTC)
    smaller(ws)
    pipeline = ws.pipeline()
    rebuild = begin(pipeline, "smaller chunks")
    for shard in shards(pipeline):
        fill_shard(pipeline, rebuild, shard)
    assert said(ws) == before
    report = switch_to(pipeline, rebuild)
    after = said(ws)
    assert len(after) == report.points > len(before)
    assert {p["version"] for p in after.values()} == {1, 2, 3}
    with open_index(ws.settings, Embedder(ws.settings.embedding_model)) as index:
        assert index.count(as_published(told)) > 0
    # What the catalogue holds of chunks is that of the new collection.
    catalog = open_catalog(ws.settings)
    counts = [one.chunk_count for d in catalog.document_ids() for one in catalog.versions(d)]
    assert sum(counts) == report.points


def test_a_new_embedding_model_has_the_runs_wait_until_readers_are_turned(
    ws: Workspace, tmp_path: Path
) -> None:
    before, embedded = said(ws), ws.settings.embedding_model
    model = str(small_model(tmp_path / "model"))
    ws.settings = ws.settings.model_copy(update={"embedding_model": model})
    with pytest.raises(ConfigurationError, match="muniment rebuild run") as refused:
        ws.points()
    assert refused.value.code == "alias_elsewhere"
    report = rebuilt(ws)
    assert collections(ws) == (report.collection, {report.former, report.collection})
    assert report.filled.embedded == report.points == len(before)
    assert {point.pop("embedding_model") for point in said(ws).values()} == {model}
    assert ws.run().balanced
    assert "stays.txt" in found(ws)
    # And back, for which nothing is embedded.
    ws.settings = ws.settings.model_copy(update={"embedding_model": embedded})
    back = rebuilt(ws)
    assert (back.filled.points, back.filled.embedded) == (len(before), 0)
    assert said(ws) == before


@pytest.mark.usefixtures("nothing_is_read")
def test_what_changes_meanwhile_is_in_the_new_collection_too(ws: Workspace) -> None:
    pipeline = ws.pipeline()
    rebuild = begin(pipeline, "test")
    for shard in shards(pipeline):
        fill_shard(pipeline, rebuild, shard)
    catalog = open_catalog(ws.settings)
    [document] = catalog.documents("contracts")
    reports = {one.document_key: one.doc_id for one in catalog.documents("reports")}
    at = datetime(2025, 5, 1, tzinfo=UTC)
    catalog.correct(document.doc_id, 3, at, reason="clause 14", at=utc_now())
    catalog.discard(document.doc_id, 1, at=utc_now())
    catalog.retire(reports["more.txt"], utc_now())
    report = switch_to(pipeline, rebuild)
    assert report.filled.documents == 2
    assert report.versions == 6
    shown = {p["version"]: p["effective_from"] for p in said(ws).values() if p["version"] > 1}
    assert shown[3] == "2025-05-01T00:00:00Z"
    assert not [p for p in said(ws).values() if p["source_key"] == "msa.txt" and p["version"] == 1]


def test_a_version_that_cannot_be_proved_keeps_readers_where_they_are(ws: Workspace) -> None:
    before, former = said(ws), collections(ws)[0]
    catalog = open_catalog(ws.settings)
    [document] = catalog.documents("contracts")
    sha256 = catalog.versions(document.doc_id)[0].doc_sha256
    [path] = [one for one in (ws.settings.home / "vault").rglob("*") if sha256 in one.name]
    kept = path.read_bytes()
    path.chmod(0o600)
    path.write_bytes(b"other bytes")
    report = rebuilt(ws)
    assert report.switched_at is None
    assert report.versions == 6
    [failed] = report.filled.failed
    assert failed.startswith("contracts: msa.txt version 1: ")
    assert (said(ws), collections(ws)[0]) == (before, former)
    assert ws.cli("rebuild", "run", "--reason", "again").returncode == ItemError.exit_status
    path.write_bytes(kept)
    again = rebuilt(ws)
    assert again.switched_at is not None
    assert again.filled.versions == 1
    assert said(ws) == before


def test_points_of_a_document_that_was_erased_meanwhile_go(ws: Workspace) -> None:
    pipeline = ws.pipeline()
    rebuild = begin(pipeline, "test")
    for shard in shards(pipeline):
        fill_shard(pipeline, rebuild, shard)
    reports = {d.document_key: d.doc_id for d in open_catalog(ws.settings).documents("reports")}
    stray = next(p for p in ws.points().values() if p["source_key"] == "stays.txt")
    done = ws.cli("forget", "--doc", reports["stays.txt"], "--reason", "asked", "--yes")
    assert done.returncode == 0, done.stderr + done.stdout
    # As if it had been filled just when it was erased.
    with open_index(
        ws.settings, Embedder(ws.settings.embedding_model), collection=rebuild.collection
    ) as index:
        client, _ = index.raw()
        assert index.count() == 6
        vector = [1.0] * Embedder(ws.settings.embedding_model).dimension
        point = models.PointStruct(id=stray["chunk_id"], vector=vector, payload=stray)
        client.upsert(rebuild.collection, [point])
    report = switch_to(pipeline, rebuild)
    assert report.switched_at is not None
    assert len(ws.points()) == report.points == 6


def test_points_that_are_lost_keep_readers_where_they_are(ws: Workspace) -> None:
    former = collections(ws)[0]
    pipeline = ws.pipeline()
    rebuild = begin(pipeline, "test")
    for shard in shards(pipeline):
        fill_shard(pipeline, rebuild, shard)
    with open_index(
        ws.settings, Embedder(ws.settings.embedding_model), collection=rebuild.collection
    ) as index:
        index.delete([next(iter(dict(index.scroll())))])
    with pytest.raises(FatalError, match="6 points and was given 7") as refused:
        switch_to(pipeline, rebuild)
    assert refused.value.code == "rebuild_incomplete"
    assert collections(ws)[0] == former
    abandon(pipeline, under_way(pipeline))
    assert collections(ws) == (former, {former})
    with pytest.raises(ItemError, match="No rebuild is under way"):
        under_way(pipeline)
    assert rebuilt(ws).switched_at is not None


class Crash(BaseException):
    """Nothing that the pipeline could catch."""


def crashing(function: Callable[..., Any], call: int) -> Callable[..., Any]:
    seen = 0

    def crash(*args: Any, **kwargs: Any) -> Any:
        nonlocal seen
        seen += 1
        if seen == call:
            raise Crash
        return function(*args, **kwargs)

    return crash


@pytest.mark.parametrize(
    ("owner", "name", "call"),
    [
        (Catalog, "begin_rebuild", 1),
        (VectorIndex, "prepare", 1),
        (VectorIndex, "upsert", 1),
        (VectorIndex, "upsert", 4),
        (Catalog, "note_rebuilt", 1),
        (Catalog, "note_rebuilt", 3),
        (Catalog, "switch_rebuild", 1),
        (VectorIndex, "ensure", 1),
        (VectorIndex, "_point_alias", 1),
    ],
)
def test_a_rebuild_that_was_killed_goes_on_to_the_same_end(
    ws: Workspace, owner: type, name: str, call: int
) -> None:
    before = said(ws)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, crashing(getattr(owner, name), call))
        with pytest.raises(Crash):
            rebuilt(ws)
    assert said(ws) == before  # readers, and the next run, find everything
    if open_catalog(ws.settings).rebuild_under_way(ws.settings.qdrant.alias) is not None:
        rebuilt(ws)
    assert ws.run().balanced
    assert said(ws) == before
    alias, _ = collections(ws)
    assert alias is not None
    current = open_catalog(ws.settings).current_rebuild(ws.settings.qdrant.alias)
    assert current is None or alias == current.collection
    if current is None:
        rebuilt(ws)
        assert said(ws) == before


def test_a_run_that_has_loaded_when_readers_are_turned_loads_and_proves_again(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws.write("reports/late.txt", "A report that was loaded just before the turn.")
    for stage in ("audit", "publish"):
        real = getattr(__import__(f"ingest.steps.{stage}", fromlist=[stage]), stage)
        turned: list[RebuildReport] = []

        def turning(*args: Any, real: Any = real, turned: Any = turned) -> Any:
            if not turned:
                turned.append(rebuilt(ws))
            return real(*args)

        monkeypatch.setattr(f"ingest.steps.{stage}.{stage}", turning)
        ws.write("reports/late.txt", f"A report that was loaded just before the turn: {stage}.")
        ledger = ws.run()
        assert ledger.balanced
        assert turned
        assert ws.quarantine() == []
        texts = {p["text"] for p in ws.points().values()}
        assert f"A report that was loaded just before the turn: {stage}." in texts
        monkeypatch.undo()


def test_the_former_collection_goes_when_its_time_is_up(ws: Workspace) -> None:
    former = collections(ws)[0]
    rebuilt(ws)
    assert drop_former(ws.pipeline()) == []
    ws.settings = ws.settings.model_copy(
        update={"qdrant": ws.settings.qdrant.model_copy(update={"former_days": 0})}
    )
    second = rebuilt(ws)
    assert second.former_until is not None
    assert second.former_until <= utc_now() + timedelta(seconds=1)
    assert drop_former(ws.pipeline()) == [second.former]
    assert collections(ws) == (second.collection, {former, second.collection})
    assert drop_former(ws.pipeline()) == []


def test_the_command_line_says_what_it_did(ws: Workspace) -> None:
    done = ws.cli("rebuild", "run", "--reason", "new disks")
    assert done.returncode == 0, done.stderr
    assert "7 points of 7 versions" in done.stdout
    assert "Readers were turned to it" in done.stdout
    [one] = ws.cli_json("rebuild", "list", "--json")
    assert (one["state"], one["reason"]) == ("switched", "new disks")
    assert ws.cli("rebuild", "abandon").returncode == ItemError.exit_status

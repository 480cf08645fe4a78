"""Forgetting: what was planted is found nowhere afterwards, and all else is as it was."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from forgetting import HERON, LYNX, OTTER, SHARED, copy_of, doc, holders, make, rows
from qdrant_client import models
from workspace import Workspace

from ingest import operations
from ingest.artifacts import Artifacts
from ingest.catalog import traces
from ingest.erasure import erase as erase_module
from ingest.erasure.erase import erase_client, erase_documents, preview, resume
from ingest.errors import FatalError, ItemError, RetriableError
from ingest.pipeline import open_catalog, progress_path
from ingest.progress import ProgressEvent, ProgressFile, ProgressReader
from ingest.vault import Vault
from schemas.base import sha256_text, utc_now

DEED = doc("reports", "heron-deed.pdf")
TORN = doc("reports", "heron-torn.pdf")
SCAN = doc("contracts", "heron-scan.pdf")
MAIL = doc("mails", "lynx-mail.eml")
TERMS = doc("mails", "lynx-mail.eml!/lynx-terms.pdf")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    ws = make(tmp_path_factory.mktemp("made"))
    for chunk_id in ws.points():
        operations.prove(ws.settings, chunk_id, None)
    log = ws.settings.home / "logs" / "run-1.log"
    log.parent.mkdir()
    log.write_text("[plan] reports/x: fine\n[fetch] heron-deed.pdf: slow\n[plan] done\n")
    events = ProgressFile(progress_path(ws.settings.home, "run-1"))
    for detail in ("stays.txt", "heron-deed.pdf", 'heron-torn.pdf: it is "damaged"'):
        events.emit(
            ProgressEvent(
                run_id="run-1", stage="fetch", source_id="reports", state="advanced", detail=detail
            )
        )
    web = ws.settings.home / "cache" / "web" / "reports"
    web.mkdir(parents=True)
    (web / "page").write_text(HERON)
    return ws


@pytest.fixture
def ws(made: Workspace, tmp_path: Path) -> Workspace:
    return copy_of(made, tmp_path)


def of_document(ws: Workspace, doc_id: str) -> list[str]:
    return [chunk_id for chunk_id, point in ws.points().items() if point["doc_id"] == doc_id]


def check_all_else(ws: Workspace, gone: set[str], before: dict[str, dict[str, Any]]) -> None:
    """All other points are as they were, and each is proved."""
    after = ws.points()
    assert after == {key: point for key, point in before.items() if point["doc_id"] not in gone}
    assert after
    for chunk_id in after:
        assert operations.prove(ws.settings, chunk_id, None).proved


def test_what_was_planted_is_found_before(ws: Workspace) -> None:
    """The search itself must be able to find something in each kind of place."""
    found = holders(ws.settings.home, "heron", HERON[:30])
    for place in (
        "artifacts/chunks/",
        "artifacts/extractions/",
        "artifacts/runs/",
        "cache/ocr/",
        "cache/web/",
        "catalog.db",
        "logs/",
        "progress/",
        "qdrant/",
        "reports/",
        "vault/",
    ):
        assert any(path.startswith(place) for path in found), place


def test_a_document_is_forgotten_everywhere(ws: Workspace) -> None:
    before = ws.points()
    chunks = of_document(ws, DEED)
    receipt = erase_documents(ws.pipeline(), [DEED, TORN, SCAN], "asked for")
    assert receipt.complete
    home = ws.settings.home
    assert holders(home, HERON, HERON[:30], "heron", *chunks) == set()
    assert rows(ws) == {doc_id for doc_id in rows(ws) if doc_id not in (DEED, TORN, SCAN)}
    for chunk_id in chunks:
        for ask in (operations.show, lambda s, c: operations.prove(s, c, None)):
            with pytest.raises(ItemError, match="Nothing has the id"):
                ask(ws.settings, chunk_id)
    with pytest.raises(ItemError, match="Nothing has the id"):
        operations.show(ws.settings, DEED)
    hits = operations.search(ws.settings, HERON, at=None, client_id=None, limit=50)
    assert not {hit.payload["doc_id"] for hit in hits} & {DEED, TORN, SCAN}
    assert ws.quarantine() == [("lynx-mail.eml!/lynx-broken.pdf", "no_text")]
    check_all_else(ws, {DEED, TORN, SCAN}, before)


def test_the_receipt_says_what_was_where_and_no_name(ws: Workspace) -> None:
    expected = preview(ws.pipeline(), [DEED, TORN, SCAN], None, "asked for")
    receipt = erase_documents(ws.pipeline(), [DEED, TORN, SCAN], "asked for")
    assert receipt.erased == expected.erased
    assert set(receipt.documents) == {DEED, TORN, SCAN}
    assert receipt.erased["vault"] == len(receipt.sha256s) == 4  # two versions, torn, scanned
    assert receipt.erased["index"] == 3
    assert receipt.erased["extractions"] == 3
    assert receipt.erased["proofs"] >= 3
    assert receipt.erased["ocr_cache"] == 1
    assert all(receipt.erased.values()), receipt.erased
    assert receipt.left is not None
    assert not any(receipt.left.values())
    text = receipt.model_dump_json()
    for word in ("heron", "Heron", HERON, "crowns"):
        assert word not in text
    (record,) = open_catalog(ws.settings).erasures()
    assert record.receipt == receipt.model_dump(mode="json", round_trip=True)


def test_a_preview_changes_nothing(ws: Workspace) -> None:
    def state() -> dict[str, bytes]:
        home = ws.settings.home
        return {
            str(path.relative_to(home)): path.read_bytes()
            for path in home.rglob("*")
            if path.is_file() and not path.name.startswith("catalog.db") and path.suffix != ".lock"
        }

    before, rows_before = state(), rows(ws)
    assert preview(ws.pipeline(), [MAIL], None, "asked for").members == 2
    assert state() == before
    assert rows(ws) == rows_before
    assert open_catalog(ws.settings).erasures() == []


def test_bytes_that_another_document_has_stay_until_it_goes_too(ws: Workspace) -> None:
    one, other = doc("reports", "shared-a.txt"), doc("reports", "shared-b.txt")
    digest = sha256_text(f"{SHARED}.")
    before = ws.points()
    receipt = erase_documents(ws.pipeline(), [one], "asked for")
    assert (receipt.erased["vault"], receipt.erased["embeddings"]) == (0, 0)
    assert [stayed.sha256 for stayed in receipt.stayed] == [digest]
    assert holders(ws.settings.home, "shared-a") == set()
    check_all_else(ws, {one}, before)
    receipt = erase_documents(ws.pipeline(), [other], "asked for")
    assert (receipt.erased["vault"], receipt.erased["embeddings"]) == (1, 1)
    assert receipt.stayed == ()
    assert holders(ws.settings.home, SHARED, "shared-b", digest) == {"catalog.db"}  # the receipt


def test_a_container_goes_with_all_that_is_inside(ws: Workspace) -> None:
    before = ws.points()
    receipt = erase_documents(ws.pipeline(), [MAIL], "asked for")
    assert receipt.members == 2
    assert len(receipt.documents) == 3
    assert receipt.erased["vault"] == 3
    assert holders(ws.settings.home, LYNX, LYNX[:20], "lynx") == set()
    check_all_else(ws, set(receipt.documents), before)


def test_a_member_cannot_be_forgotten_without_its_container(ws: Workspace) -> None:
    with pytest.raises(ItemError, match=f"lies inside lynx-mail.eml.*--doc {MAIL}") as raised:
        erase_documents(ws.pipeline(), [TERMS], "asked for")
    assert raised.value.code == "inside_container"
    assert len(of_document(ws, TERMS)) == 1
    assert TERMS in erase_documents(ws.pipeline(), [TERMS, MAIL], "asked for").documents


def test_collections_of_earlier_releases_are_cleared_and_those_of_others_are_not(
    ws: Workspace,
) -> None:
    names = ("muniment-v1-old-model", "muniment-vendors-v1-model")
    chunk_id = of_document(ws, DEED)[0]
    with ws.pipeline().index() as index:
        client, _ = index.raw()
        for name in names:
            client.create_collection(
                name, models.VectorParams(size=2, distance=models.Distance.COSINE)
            )
            payload = {"doc_id": DEED, "text": HERON}
            client.upsert(
                name, [models.PointStruct(id=chunk_id, vector=[1.0, 0.0], payload=payload)]
            )
    receipt = erase_documents(ws.pipeline(), [DEED], "asked for")
    assert receipt.complete
    with ws.pipeline().index() as index:
        client, _ = index.raw()
        assert [client.count(name).count for name in names] == [0, 1]


def test_a_client_is_forgotten_with_all_its_records(ws: Workspace) -> None:
    before = ws.points()
    receipt = erase_client(ws.pipeline(), "acme", "contract ended")
    assert receipt.subject == sha256_text("acme")
    assert len(receipt.documents) == 2
    assert holders(ws.settings.home, OTTER, OTTER[:20], "ada-bellweather", "acme") == set()
    check_all_else(ws, set(receipt.documents), before)
    with pytest.raises(ItemError, match="No document of client 'acme'"):
        erase_client(ws.pipeline(), "acme", "again")


def test_an_unknown_document_is_refused(ws: Workspace) -> None:
    with pytest.raises(ItemError, match="There is no document nothing"):
        erase_documents(ws.pipeline(), [DEED, "nothing"], "asked for")
    assert open_catalog(ws.settings).erasures() == []


def test_nothing_is_erased_under_a_run(ws: Workspace) -> None:
    catalog = open_catalog(ws.settings)
    catalog.start_run("run-elsewhere", utc_now())
    with pytest.raises(RetriableError, match="run-elsewhere began at") as raised:
        erase_documents(ws.pipeline(), [DEED], "asked for")
    assert raised.value.code == "run_open"
    assert catalog.erasures() == []
    assert erase_documents(ws.pipeline("run-elsewhere"), [DEED], "its own").complete


class Killed(BaseException):
    """The process ends here."""


def dying(step: Callable[[Any], None], *, halfway: bool) -> Callable[[Any], None]:
    def wrapped(job: Any) -> None:
        if not halfway:
            step(job)
        raise Killed

    return wrapped


@pytest.mark.parametrize("number", range(len(erase_module.STEPS)))
@pytest.mark.parametrize("done", [False, True])
def test_killed_at_any_step_and_resumed_the_end_is_the_same(
    number: int, done: bool, ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ws.points()
    steps = list(erase_module.STEPS)
    steps[number] = dying(steps[number], halfway=not done)
    with monkeypatch.context() as patched:
        patched.setattr(erase_module, "STEPS", tuple(steps))
        with pytest.raises(Killed):
            erase_documents(ws.pipeline(), [DEED, TORN, SCAN], "asked for")
    (record,) = open_catalog(ws.settings).erasures()
    assert record.finished_at is None
    if number or done:
        assert of_document(ws, DEED) == []  # out of the index before anything else
    else:
        assert operations.prove(ws.settings, of_document(ws, DEED)[0], None).proved
    (receipt,) = resume(ws.pipeline())
    assert receipt.complete
    assert (receipt.erased["vault"], receipt.erased["index"]) == (4, 3)
    assert holders(ws.settings.home, HERON, HERON[:30], "heron") == set()
    check_all_else(ws, {DEED, TORN, SCAN}, before)
    assert resume(ws.pipeline()) == []


@pytest.mark.parametrize("place", ["vault", "artifacts", "catalog"])
def test_killed_within_a_step_and_resumed(
    place: str, ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, name = {
        "vault": (Vault, "erase"),
        "artifacts": (Artifacts, "remove"),
        "catalog": (traces, "change"),
    }[place]
    calls = 0

    def dying_at_the_second(function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == 2:
                raise Killed
            return function(*args, **kwargs)

        return wrapped

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, dying_at_the_second(getattr(owner, name)))
        with pytest.raises(Killed):
            erase_documents(ws.pipeline(), [DEED, TORN, SCAN], "asked for")
    (receipt,) = resume(ws.pipeline())
    assert receipt.complete
    assert holders(ws.settings.home, HERON, HERON[:30], "heron") == set()


def test_what_is_found_again_keeps_the_erasure_open(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        steps = tuple(step for step in erase_module.STEPS if step.__name__ != "_vault")
        patched.setattr(erase_module, "STEPS", steps)
        with pytest.raises(FatalError, match="4 in vault") as raised:
            erase_documents(ws.pipeline(), [DEED, TORN, SCAN], "asked for")
    assert raised.value.code == "not_erased"
    (receipt,) = resume(ws.pipeline())
    assert receipt.complete


def test_lines_of_progress_and_logs_are_written_over_in_place(ws: Workspace) -> None:
    home = ws.settings.home
    paths = [progress_path(home, "run-1"), home / "logs" / "run-1.log"]
    sizes = [path.stat().st_size for path in paths]
    receipt = erase_documents(ws.pipeline(), [DEED, TORN], "asked for")
    assert receipt.erased["progress_and_logs"] == 2
    assert [path.stat().st_size for path in paths] == sizes
    stays, *gone = ProgressReader(paths[0]).new_events()
    assert stays.detail == "stays.txt"
    assert all(set(event.detail) == {"x"} for event in gone)
    assert paths[1].read_text().splitlines()[::2] == ["[plan] reports/x: fine", "[plan] done"]


def test_other_documents_keep_their_files_of_runs(ws: Workspace) -> None:
    artifacts = ws.pipeline().artifacts
    stays = doc("reports", "stays.txt")

    def mentions() -> int:
        paths = artifacts.list("runs")
        return sum(artifacts.read_content(path).decode().count(stays) for path in paths)

    before = mentions()
    erase_documents(ws.pipeline(), [DEED], "asked for")
    assert mentions() == before > 0
    for path in artifacts.list("runs"):
        json.loads(artifacts.read_content(path))


def test_a_scan_of_a_document_that_was_never_read_to_its_end(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pages may be in the OCR cache although no extraction names them."""
    artifacts = ws.pipeline().artifacts
    paths = [
        path
        for path in artifacts.list("extractions")
        if HERON in artifacts.read_content(path).decode()
        and "image_sha256" in str(artifacts.read_content(path))
    ]
    assert paths
    for path in paths:
        artifacts.remove(path)
    receipt = erase_documents(ws.pipeline(), [SCAN], "asked for")
    assert receipt.erased["ocr_cache"] == 1
    assert len(list((ws.settings.home / "cache" / "ocr").rglob("*.zst"))) == 1

"""Files made to hurt: each costs one entry in quarantine with its reason, never the run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import hostile
import pytest
from workspace import Workspace, pdf

from ingest.pipeline import open_catalog

GOOD = "Either party may terminate this agreement by notice of ninety days in writing."
LIMITS = {
    "seconds": 20,
    "memory_bytes": 2 * 1024**3,
    "members": 50,
    "member_bytes": 64 * 1024**2,
    "nesting": 2,
}
REFUSED: dict[str, tuple[Callable[[], bytes], set[str]]] = {
    "entities.docx": (hostile.entity_bomb, {"damaged"}),
    "outside.docx": (hostile.outside_entity, {"unsafe_xml"}),
    "inflating.docx": (hostile.inflating_document, {"archive_bomb"}),
    "claiming.png": (lambda: hostile.claiming_png(200_000, 200_000), {"image_too_large"}),
    "lying.png": (lambda: hostile.claiming_png(20_000, 2_000), {"damaged", "no_text"}),
    "wide.png": (lambda: hostile.wide_png(200_000, 100), {"no_text"}),
    "pages.pdf": (lambda: hostile.pdf_of_pages(50_000), {"too_many_pages"}),
    "claimed.pdf": (
        lambda: hostile.pdf_of_pages(1, claimed=2**31 - 1),
        {"damaged"},
    ),
    "stream.pdf": (
        hostile.stream_bomb,
        {"extraction_out_of_memory", "extraction_timed_out", "extraction_cpu_time", "no_text"},
    ),
    "many.zip": (
        lambda: hostile.zipped({f"{n}.txt": GOOD.encode() for n in range(60)}),
        {"too_many_members"},
    ),
    "large.zip!/a.txt": (
        lambda: hostile.zipped({"a.txt": b" " * (80 * 1024**2)}),
        {"archive_bomb"},
    ),
    "sum.zip": (
        lambda: hostile.zipped({f"{n}.txt": b"Words. " * 1_500_000 for n in range(7)}),
        {"members_too_large"},
    ),
}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    workspace = Workspace(
        tmp_path_factory.mktemp("hostile"),
        extraction={
            "layout": False,
            "workers": 2,
            "ocr_second_engine": "none",
            "limits": LIMITS,
        },
        gate={"stop_share": 1.0},
    )
    workspace.add_source("hostile")
    for name, (make, _) in REFUSED.items():
        workspace.write(f"hostile/{name.partition('!/')[0]}", make())
    workspace.write("hostile/good.pdf", pdf(GOOD))
    workspace.write("hostile/escaping.zip", hostile.escaping_archive(GOOD.encode()))
    workspace.write("hostile/nested.zip", hostile.nested_archives(5, GOOD.encode()))
    ledger = workspace.run()
    assert ledger.balanced, ledger
    return workspace


@pytest.mark.parametrize("name", REFUSED)
def test_it_costs_one_entry_with_its_reason(name: str, outcome: Workspace) -> None:
    entries = [e for e in open_catalog(outcome.settings).quarantine() if e.source_key == name]
    assert [entry.code for entry in entries if entry.code in REFUSED[name][1]], entries
    assert len(entries) == 1
    assert name.partition("!/")[2] in entries[0].message
    assert name.partition("!/")[0] in entries[0].message


def test_the_good_document_beside_them_is_indexed(outcome: Workspace) -> None:
    assert "good.pdf" in {payload["source_key"] for payload in outcome.points().values()}


def test_members_are_never_written_where_they_want_to_be(outcome: Workspace) -> None:
    keys = {payload["source_key"] for payload in outcome.points().values()}
    assert {key for key in keys if key.startswith("escaping")} == {"escaping.zip!/kept.txt"}
    assert not Path("/tmp/absolute.txt").exists()  # noqa: S108 - where the archive wants it
    assert not list(outcome.folder.parent.rglob("escaped.txt"))


def test_nesting_ends_where_the_limit_is(outcome: Workspace) -> None:
    codes = {key: code for key, code in outcome.quarantine() if key.startswith("nested.zip")}
    assert set(codes.values()) == {"nesting_too_deep"}


def test_nothing_of_the_machine_is_read(outcome: Workspace) -> None:
    texts = "\n".join(payload["text"] for payload in outcome.points().values())
    assert "root:" not in texts

"""A real run over sources with planted defects: each is found, kept out, shown, mended, closed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command import call, call_json
from quality.defects import CHUNKS, FILES, IN_LINES, IN_TABLE, faulty_build, mend, plant
from workspace import Workspace

from ingest.catalog.records import QuarantineRecord
from ingest.pipeline import open_catalog
from schemas.run import Ledger

GATE = {
    ("contracts", "faint.pdf"): "ocr_confidence_low",
    ("old", "report.txt"): "licence_expired",
    **{("contracts", f"{code}.pdf"): code for code in CHUNKS},
    **{("reports", file.key): file.code for file in FILES if file.stage == "gate"},
}
OTHERS = {
    **{("reports", file.key): file.code for file in FILES if file.stage != "gate"},
    **{("crm", key): code for key, code in IN_TABLE.items()},
    **{("notes", key): code for key, code in IN_LINES.items()},
}


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, Ledger]:
    site = plant(tmp_path_factory.mktemp("planted"))
    with faulty_build():
        return site, site.run()


def entries(site: Workspace, state: Any = "open") -> dict[tuple[str, str], QuarantineRecord]:
    found = open_catalog(site.settings).quarantine(state)
    by_item = {(entry.source_id, entry.source_key): entry for entry in found}
    assert len(by_item) == len(found)
    return by_item


def test_there_are_more_than_thirty_defects_of_many_kinds() -> None:
    assert len(GATE) + len(OTHERS) >= 30
    assert len({*GATE.values(), *OTHERS.values()}) >= 30


def test_each_is_in_quarantine_for_its_own_reason_and_nothing_else_is(
    planted: tuple[Workspace, Ledger],
) -> None:
    site, ledger = planted
    assert ledger.balanced, ledger
    found = entries(site)
    assert found.keys() == {*GATE, *OTHERS}
    assert {key: found[key].code for key in OTHERS} == OTHERS
    assert {found[key].code for key in GATE} == {"gate_failed"}
    for key, code in GATE.items():
        assert f"{code} in " in found[key].message, (key, found[key].message)
    for file in FILES:
        assert found["reports", file.key].stage == file.stage
    sound = {point["source_key"] for point in site.points().values()}
    assert sound == {"good.txt", "sound.pdf", "n1", "j1"}


def test_the_gate_names_the_chunks_and_draws_them(
    planted: tuple[Workspace, Ledger], tmp_path: Path
) -> None:
    site, _ = planted
    entry = entries(site)["contracts", "text_sha256_wrong.pdf"]
    shown = call_json(
        site, "quarantine", "show", str(entry.id), "--pictures", str(tmp_path / "pictures")
    )
    [chunk] = shown["failed_chunks"]
    assert chunk["codes"] == ["text_sha256_wrong"]
    assert chunk["page_first"] == 1
    assert "Contract of text_sha256_wrong" in chunk["text"]
    assert shown["pictures"]
    assert all(Path(path).read_bytes().startswith(b"\x89PNG") for path in shown["pictures"])


def test_entries_can_be_picked_and_exported(
    planted: tuple[Workspace, Ledger], tmp_path: Path
) -> None:
    site, _ = planted
    listed = call_json(site, "quarantine", "list", "--source", "crm", "--code", "date_invalid")
    assert sorted(entry["source_key"] for entry in listed) == ["n5", "n6", "n7"]
    assert len(call_json(site, "quarantine", "list", "--stage", "gate")) == len(GATE)
    assert call_json(site, "quarantine", "list", "--older-than", "1") == []
    out = tmp_path / "entries.csv"
    assert call(site, "quarantine", "export", "--out", str(out)).exit_code == 0
    assert len(out.read_text().splitlines()) == 1 + len(GATE) + len(OTHERS)
    lines = call(site, "quarantine", "export", "--format", "jsonl", "--source", "crm").stdout
    assert len(lines.splitlines()) == len(IN_TABLE)


def test_what_is_not_mended_stays_and_is_counted_again(planted: tuple[Workspace, Ledger]) -> None:
    site, _ = planted
    before = entries(site)["reports", "cut.pdf"]
    result = call(site, "quarantine", "retry", str(before.id), "--now")
    assert result.exit_code == 4
    assert "still refused" in result.stdout
    after = entries(site)["reports", "cut.pdf"]
    assert (after.id, after.times_seen) == (before.id, before.times_seen + 1)


def test_once_mended_all_pass_and_their_entries_are_closed(
    planted: tuple[Workspace, Ledger],
) -> None:
    site, _ = planted
    numbers = {entry.id for entry in entries(site).values()}
    mend(site)
    result = call_json(site, "quarantine", "retry", *map(str, numbers), "--now")
    assert result["left"] == [], [
        (one.source_key, one.code, one.message) for one in entries(site).values()
    ]
    assert set(result["closed"]) == numbers
    assert entries(site) == {}
    ledger = site.run()
    assert ledger.balanced
    assert sum(line.new + line.changed for line in ledger.lines) == 0

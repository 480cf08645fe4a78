from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from command import call, call_json
from workspace import Workspace, pdf

from ingest.quality.replay import ReplayedRun, replay
from ingest.quality.thresholds import Thresholds


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Two nights: one with a document whose text is damaged, one with nothing new."""
    site = Workspace(tmp_path_factory.mktemp("site"))
    site.add_source("notes")
    site.write("notes/good.txt", "The notice period is thirty days.\n")
    site.write("notes/bad.txt", "The notice period is \ufffd\ufffd days.\n")
    site.write("notes/paged.pdf", pdf("Clause one. Payment is due within ten days."))
    assert site.run().balanced
    assert site.run().balanced
    return site


def replayed(site: Workspace, **thresholds: object) -> list[ReplayedRun]:
    given = Thresholds.model_validate(thresholds)
    return replay(site.pipeline(), site.settings, given, 10)


def test_the_same_thresholds_change_nothing(site: Workspace) -> None:
    idle, first = replayed(site)
    assert first.then == first.now
    assert first.then.warnings == 1
    assert idle.then.warnings == 0


def test_a_stricter_severity_says_what_it_would_have_kept_out(site: Workspace) -> None:
    _, first = replayed(site, expectations={"text_damaged": {"severity": "critical"}})
    [version] = first.newly_kept_out
    assert (version.source_id, version.codes) == ("notes", ("text_damaged",))
    assert first.now.warnings == 0
    assert first.newly_let_through == ()


def test_what_is_set_for_another_source_changes_nothing(site: Workspace) -> None:
    given = {"other": {"expectations": {"text_damaged": {"severity": "critical"}}}}
    _, first = replayed(site, sources=given)
    assert first.newly_kept_out == ()


def test_bands_are_made_anew(site: Workspace) -> None:
    rule = {"min_runs": 1, "floor": 0.01, "relative_floor": 0, "z": 1, "action": "stop"}
    idle, first = replayed(site, metrics={"listed": rule})
    assert first.now.outside == ()  # nothing came before it
    assert idle.now.outside == ()  # the same number as the night before
    assert idle.then.outside == ()


def test_the_command_prints_both(site: Workspace, tmp_path: Path) -> None:
    file = tmp_path / "strict.yaml"
    file.write_text(yaml.safe_dump({"expectations": {"text_damaged": {"severity": "critical"}}}))
    shown = call(site, "quality", "replay", "--thresholds", str(file), "--runs", "2")
    assert shown.exit_code == 0, shown.stderr
    assert "0 → 1" in shown.stdout
    assert "would be kept out (text_damaged)" in shown.stdout.replace("\n", " ")
    idle, first = call_json(site, "quality", "replay", "--thresholds", str(file))
    assert len(first["now"]["kept_out"]) == 1
    assert idle["now"]["kept_out"] == []
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("expectations: {nothing: {}}\n")
    refused = call(site, "quality", "replay", "--thresholds", str(wrong))
    assert refused.exit_code == 3
    assert "nothing" in refused.stderr


def test_the_commands_that_list(site: Workspace) -> None:
    checks = call_json(site, "quality", "list")
    assert {"code": "offsets_inexact", "stage": "chunks", "severity": "critical"}.items() <= next(
        one for one in checks if one["code"] == "offsets_inexact"
    ).items()
    assert all(one["owner"] for one in checks)
    metrics = call_json(site, "quality", "metrics", "--source", "notes")
    assert [(one["name"], one["value"], one["state"]) for one in metrics] == [
        ("listed", 3.0, "learning")
    ]

"""docs/quality.md against what it documents."""

from __future__ import annotations

import re
from pathlib import Path

from ingest.quality.metric_rules import METRICS, MetricRule
from ingest.quality.thresholds import read_thresholds
from ingest.quarantine_cli import quarantine_app

TEXT = (Path(__file__).parents[2] / "docs" / "quality.md").read_text("utf-8")
SIDES = {"both sides": "both", "both": "both", "above": "high", "below": "low"}


def test_the_example_of_thresholds_is_valid(tmp_path: Path) -> None:
    [example] = re.findall(r"```yaml\n(.*?)```", TEXT, flags=re.S)
    file = tmp_path / "thresholds.yaml"
    file.write_text(example)
    thresholds = read_thresholds(file)
    assert thresholds.of("").metric("chunks_per_page").action == "stop"
    assert thresholds.of("vendor-contracts").metric("null_rate.client_id").z == 6


def test_every_metric_is_documented_with_its_rule() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| [^|]+ \| ([^|]+) \|([^|]*)\|$", TEXT, flags=re.M)
    documented = {name.partition(".")[0]: (side, least) for name, side, least in rows}
    assert documented.keys() == METRICS.keys()
    for name, kind in METRICS.items():
        side, least = documented[name]
        if kind.rule.action == "none":
            assert side == "not"
            continue
        assert SIDES[side] == kind.rule.side, name
        numbers = [float(number) for number in re.findall(r"[\d.]+", least)]
        expected = [kind.rule.floor]
        if kind.rule.relative_floor:
            expected.append(kind.rule.relative_floor * 100)
        assert numbers == expected, name


def test_the_numbers_of_the_band_are_the_default_ones() -> None:
    rule = MetricRule()
    text = " ".join(TEXT.split())
    assert f"last {rule.runs} values, plus and minus {rule.z} robust" in text
    assert rule.min_runs == 5
    assert "fewer than five values" in text


def test_every_command_is_documented() -> None:
    commands = {command.name for command in quarantine_app.registered_commands}
    assert commands == set(re.findall(r"`muniment quarantine (\w+)", TEXT))

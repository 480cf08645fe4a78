"""Thresholds: an installation's own severities, limits, owners and bands, from a YAML file."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from ingest.errors import ConfigurationError
from ingest.quality.metric_rules import METRICS, Action, MetricRule, Side, family
from ingest.quality.results import Severity
from ingest.settings import GateSettings
from ingest.yaml_file import Fault, Place, YamlFileError, read_yaml
from schemas.base import Model

__all__ = ["MetricRule", "Rules", "Thresholds", "load_thresholds", "read_thresholds"]


class ExpectationOverride(Model):
    """What is set of one expectation."""

    severity: Severity | None = None
    limit: Annotated[float, Field(ge=0, lt=1)] | None = None
    """Share of a version's chunks that may fail a critical expectation before it is kept out."""
    owner: Annotated[str, Field(min_length=1)] | None = None


class MetricOverride(Model):
    """What is set of one metric, or of a family; the rest is as :data:`METRICS` has it."""

    action: Action | None = None
    z: Annotated[float, Field(gt=0)] | None = None
    floor: Annotated[float, Field(ge=0)] | None = None
    relative_floor: Annotated[float, Field(ge=0)] | None = None
    side: Side | None = None
    runs: Annotated[int, Field(ge=1, le=365)] | None = None
    min_runs: Annotated[int, Field(ge=1)] | None = None
    min_chunks: Annotated[int, Field(ge=0)] | None = None


class SourceThresholds(Model):
    """What is set for one source, before what is set for all."""

    expectations: dict[str, ExpectationOverride] = Field(default_factory=dict)
    """By code."""
    metrics: dict[str, MetricOverride] = Field(default_factory=dict)
    """By name; a family's name stands for all in it."""


class Thresholds(SourceThresholds):
    """The file."""

    sources: dict[str, SourceThresholds] = Field(default_factory=dict)
    """By the source's id."""

    def of(self, source_id: str) -> Rules:
        """Return what holds for a source; for an empty id, for all of them together."""
        own = self.sources.get(source_id, SourceThresholds())
        return Rules((self, own))


class Rules:
    """What holds for one source: the later layer wins, key by key."""

    def __init__(self, layers: tuple[SourceThresholds, ...] = ()) -> None:
        self._layers = layers

    def expectation(self, code: str) -> ExpectationOverride:
        """Return what is set of the expectation ``code``."""
        found = (layer.expectations.get(code) for layer in self._layers)
        return ExpectationOverride.model_validate(_joined(found))

    def metric(self, name: str) -> MetricRule:
        """Return the rule of a metric."""
        keys = dict.fromkeys((family(name), name))
        found = [layer.metrics.get(key) for layer in self._layers for key in keys]
        return METRICS[family(name)].rule.model_copy(update=_joined(found))

    @property
    def may_stop(self) -> bool:
        """Whether any metric is set to stop."""
        named = {name for layer in self._layers for name in layer.metrics}
        return any(self.metric(name).action == "stop" for name in {*METRICS, *named})


def _joined(layers: Any) -> dict[str, Any]:
    joined: dict[str, Any] = {}
    for layer in layers:
        if layer is not None:
            joined.update(layer.model_dump(exclude_none=True))
    return joined


def load_thresholds(settings: GateSettings) -> Thresholds:
    """Return what the installation's file sets; nothing where there is no file.

    Raises:
        ConfigurationError: ``thresholds_invalid``.
    """
    if settings.thresholds_file is None:
        return Thresholds()
    return read_thresholds(settings.thresholds_file)


def read_thresholds(path: Path) -> Thresholds:
    """Read and check a file of thresholds.

    Raises:
        ConfigurationError: ``thresholds_invalid``; the message lists all that is wrong, each with
            its line.
    """
    try:
        file = read_yaml(path)
    except YamlFileError as error:
        raise _invalid(error.faults) from error
    try:
        thresholds = Thresholds.model_validate(file.data)
    except ValidationError as error:
        raise _invalid([file.fault(e["loc"], e["msg"]) for e in error.errors()]) from error
    faults = list(_unknown((), thresholds))
    for source_id, of_source in thresholds.sources.items():
        faults += _unknown(("sources", source_id), of_source)
    if faults:
        raise _invalid([file.fault(place, message) for place, message in faults])
    return thresholds


def _unknown(place: Place, given: SourceThresholds) -> list[tuple[Place, str]]:
    """Return what is named that there is not, and what would weaken a guarantee."""
    faults: list[tuple[Place, str]] = []
    known = _expectations()
    for code, override in given.expectations.items():
        where = (*place, "expectations", code)
        if code not in known:
            faults.append((where, "there is no such expectation; see: muniment quality list"))
            continue
        severity, guarantee = known[code]
        if severity != "critical" and override.limit is not None and override.severity is None:
            faults.append((where, "a limit is for critical expectations; set severity as well"))
        weaker = override.severity not in (None, "critical") or override.limit
        if severity == "critical" and guarantee is not None and weaker:
            message = f"it stands for guarantee {guarantee}, which cannot be weakened"
            faults.append((where, message))
    faults += [
        ((*place, "metrics", name), f"there is no such metric; there are {', '.join(METRICS)}")
        for name in given.metrics
        if family(name) not in METRICS
    ]
    return faults


@cache
def _expectations() -> dict[str, tuple[Severity, int | None]]:
    # Great Expectations takes long to import, and most installations set no thresholds.
    from ingest.quality.catalogue import catalogue

    checks = catalogue(GateSettings())
    return {one.code: (one.severity, one.guarantee) for one in checks if one.stage != "points"}


def _invalid(faults: Any) -> ConfigurationError:
    listed: list[Fault] = list(faults)
    lines = "\n".join(str(fault) for fault in listed)
    return ConfigurationError(
        "thresholds_invalid",
        f"{lines}\nCorrect the file that MUNIMENT_GATE__THRESHOLDS_FILE or --thresholds names.",
    )

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from sqlalchemy.exc import IntegrityError

from ingest.catalog import Catalog
from schemas.quality import Metric


def keep(
    catalog: Catalog, night: int, value: float, state: str = "ok", name: str = "listed"
) -> str:
    run_id = f"run-{night:02}"
    catalog.start_run(run_id, datetime(2026, 5, night, tzinfo=UTC))
    metric = {"source_id": "a", "name": name, "value": value, "state": state}
    catalog.store_metrics(run_id, [Metric.model_validate(metric)])
    return run_id


def test_history_is_of_earlier_runs_the_latest_first(catalog: Catalog) -> None:
    for night in (3, 1, 2, 9):
        keep(catalog, night, float(night))
    catalog.start_run("now", datetime(2026, 5, 5, tzinfo=UTC))
    history = catalog.metric_history("a", "now", 20)
    assert list(history["listed"].items()) == [("run-03", 3.0), ("run-02", 2.0), ("run-01", 1.0)]
    assert list(catalog.metric_history("a", "now", 2)["listed"]) == ["run-03", "run-02"]
    assert catalog.metric_history("other", "now", 20) == {}


def test_history_counts_runs_by_metric_and_leaves_out_what_stopped(catalog: Catalog) -> None:
    keep(catalog, 1, 1.0, name="chunks")
    for night in (2, 3, 4):
        keep(catalog, night, 5.0)
    keep(catalog, 5, 900.0, state="stop")
    catalog.start_run("now", datetime(2026, 5, 9, tzinfo=UTC))
    history = catalog.metric_history("a", "now", 2)
    assert history == {"chunks": {"run-01": 1.0}, "listed": {"run-04": 5.0, "run-03": 5.0}}


def test_the_run_itself_is_no_history_and_is_kept_once(catalog: Catalog) -> None:
    run_id = keep(catalog, 1, 1.0)
    keep(catalog, 1, 2.0)
    assert [metric.value for metric in catalog.metrics(run_id)] == [2.0]
    assert catalog.metric_history("a", run_id, 20) == {}


def test_a_band_is_kept_with_its_value(catalog: Catalog) -> None:
    catalog.start_run("run", datetime(2026, 5, 1, tzinfo=UTC))
    given = [
        Metric(source_id="", name="chunks", value=7.0, low=1.5, high=None, state="ok"),
        Metric(source_id="a", name="chunks", value=7.0, low=8.0, high=9.0, state="warn"),
    ]
    catalog.store_metrics("run", given)
    assert catalog.metrics("run") == given


def test_only_the_four_states_are_kept(catalog: Catalog) -> None:
    catalog.start_run("run", datetime(2026, 5, 1, tzinfo=UTC))
    wrong = Metric.model_construct(
        source_id="", name="chunks", value=7.0, low=None, high=None, state="odd"
    )
    with pytest.raises(IntegrityError):
        catalog.store_metrics("run", [wrong])

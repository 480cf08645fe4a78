from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from quality.batches import NOW, SETTINGS, document, frame_of
from workspace import Workspace, pdf

from ingest.catalog import Catalog
from ingest.errors import ConfigurationError
from ingest.pipeline import open_catalog
from ingest.quality.gate import check
from ingest.quality.profile import NULLABLE, figures, merge, profile_batch, total_variation
from schemas.quality import BatchProfile, Metric
from schemas.run import Ledger

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def profile_of(*documents: Any, **counts: int) -> BatchProfile:
    frame = frame_of(*documents)
    given = {"items": len(documents), "refused": 0, **counts}
    return profile_batch(frame, check(frame, SETTINGS, NOW), **given)


def test_a_profile_counts_what_is_there() -> None:
    scanned = document(1, chunks=2, text_source="ocr", ocr_confidence=50.0, language="de")
    plain = document(2, chunks=3, paged=False, language=None)
    found = profile_of(scanned, plain)
    assert (found.chunks, found.paged_chunks, found.pages) == (5, 2, 2)
    assert (found.recognised, found.confidence) == (2, 100.0)
    assert found.languages == {"de": 2}
    assert found.missing["language"] == 3
    assert found.missing["ocr_confidence"] == 3
    assert set(found.missing) == set(NULLABLE)
    assert found.warnings == 2  # ocr_confidence_low


def test_figures_are_means_and_shares() -> None:
    found = figures(profile_of(document(1, chunks=4, language="en")), {"en": 0.5, "de": 0.5})
    assert found["chunks_per_page"] == 1
    assert found["language.en"] == 1
    assert found["language_distance"] == 0.5
    assert found["null_rate.language"] == 0
    assert found["null_rate.ocr_confidence"] == 1
    assert "ocr_confidence" not in found


def test_what_is_not_there_has_no_figure() -> None:
    assert figures(profile_batch(None, None, items=3, refused=3), {}) == {}


def test_profiles_add_up() -> None:
    parts = [profile_of(document(1)), profile_of(document(2, language="de"))]
    assert merge(parts) == profile_of(document(1), document(2, language="de"))
    assert merge([]) == BatchProfile()


def test_total_variation() -> None:
    assert total_variation({"en": 1}, {"en": 1}) == 0
    assert total_variation({"en": 1}, {"de": 1}) == 1
    assert total_variation({"en": 0.7, "de": 0.3}, {"en": 0.6, "de": 0.4}) == pytest.approx(0.1)


class Site(Workspace):
    """One source of PDFs, with earlier nights in the catalogue."""

    def __init__(
        self, folder: Path, *, documents: int, rules: dict[str, Any] | None = None
    ) -> None:
        gate = {}
        if rules is not None:
            folder.joinpath("thresholds.yaml").write_text(yaml.safe_dump(rules))
            gate["thresholds_file"] = folder / "thresholds.yaml"
        super().__init__(folder, gate=gate)
        self.add_source("reports")
        for number in range(documents):
            text = f"Report {number}. The rate rose by {number} per cent in the year."
            self.write(f"reports/{number}.pdf", pdf(text))

    def nights(self, **values: float) -> Catalog:
        """Pretend that there were ten nights with these values."""
        catalog = open_catalog(self.settings)
        for night in range(10):
            catalog.start_run(f"night-{night}", BEGIN + timedelta(days=night))
            kept = [
                Metric(source_id="reports", name=name.replace("__", "."), value=value, state="ok")
                for name, value in values.items()
            ]
            catalog.store_metrics(f"night-{night}", kept)
        return catalog


def measured(catalog: Catalog, ledger: Ledger, source_id: str = "reports") -> dict[str, Metric]:
    return {one.name: one for one in catalog.metrics(ledger.run_id) if one.source_id == source_id}


def test_a_run_keeps_its_metrics_and_an_idle_one_its_listing(tmp_path: Path) -> None:
    site = Site(tmp_path, documents=2)
    first = site.run()
    catalog = open_catalog(site.settings)
    found = measured(catalog, first)
    assert found["listed"].value == 2
    assert found["changed"].value == 2
    assert found["chunks"].value == 2
    assert found["chunks_per_page"].value == 1
    assert found["quarantined_share"].value == 0
    assert found["null_rate.client_id"].value == 1
    assert {one.state for one in found.values()} == {"learning"}
    whole = measured(catalog, first, "")
    assert {name: one.value for name, one in whole.items()} == {
        name: one.value for name, one in found.items()
    }
    assert list(measured(catalog, site.run())) == ["listed"]


def test_outside_its_band_a_metric_is_an_alert_and_what_is_usual_is_none(tmp_path: Path) -> None:
    site = Site(tmp_path, documents=2)
    catalog = site.nights(listed=2, chunks_per_page=8)
    ledger = site.run()
    found = measured(catalog, ledger)
    assert found["listed"].state == "ok"
    assert found["chunks_per_page"].state == "warn"
    assert found["chunks_per_page"].low == pytest.approx(8 - 3.5 * 0.8)
    [alert] = ledger.alerts
    assert "chunks_per_page of source reports is 1; in earlier runs it was 5.2 to 10.8" in alert
    assert len(site.points()) == 2  # a warning keeps nothing out


def test_a_listing_out_of_its_band_stops_the_source_before_anything_is_loaded(
    tmp_path: Path,
) -> None:
    rules = {"sources": {"reports": {"metrics": {"listed": {"action": "stop"}}}}}
    site = Site(tmp_path, documents=2, rules=rules)
    catalog = site.nights(listed=100)
    ledger = site.run()
    assert site.points() == {}
    assert ledger.lines[0].stopped_in == ("gate",)
    assert "listed of source reports is 2" in str(ledger.lines[0].error)
    assert {code for _, code in site.quarantine()} == {"gate_unlike_history"}
    assert measured(catalog, ledger)["listed"].state == "stop"
    # What stopped is no history, so it does not come to be usual; what is set decides.
    assert site.run().lines[0].stopped_in == ("gate",)
    tmp_path.joinpath("thresholds.yaml").write_text("metrics: {listed: {action: warn}}")
    again = site.run()
    assert again.balanced
    assert again.lines[0].published == 2
    assert site.quarantine() == []


def test_shares_stop_once_enough_chunks_came(tmp_path: Path) -> None:
    rules = {"metrics": {"chunks_per_page": {"action": "stop", "min_chunks": 2}}}
    site = Site(tmp_path, documents=2, rules=rules)
    site.nights(chunks_per_page=8)
    assert site.run().lines[0].stopped_in == ("gate",)
    rules["metrics"]["chunks_per_page"]["min_chunks"] = 3
    tmp_path.joinpath("thresholds.yaml").write_text(yaml.safe_dump(rules))
    assert site.run().lines[0].published == 2


def test_a_wrong_file_of_thresholds_stops_the_run_before_it_starts(tmp_path: Path) -> None:
    site = Site(tmp_path, documents=1, rules={"metrics": {"listet": {}}})
    with pytest.raises(ConfigurationError, match=r"thresholds.yaml:2: metrics.listet") as caught:
        site.run()
    assert caught.value.code == "thresholds_invalid"
    assert open_catalog(site.settings).runs() == []

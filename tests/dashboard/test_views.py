"""The catalogue's views hold the same figures as the pages."""

from __future__ import annotations

import json
import re
from pathlib import Path

from fastapi.testclient import TestClient
from sqlalchemy import text
from workspace import Workspace

import dashboard
from dashboard.app import create_app
from dashboard.queries import quarantine_counts, totals
from ingest.pipeline import open_catalog

GRAFANA = Path(dashboard.__file__).parent / "grafana.json"


def rows(installation: Workspace, query: str) -> list[tuple[object, ...]]:
    with open_catalog(installation.settings).engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def test_views_hold_the_figures_of_the_pages(installation: Workspace) -> None:
    catalog = open_catalog(installation.settings)
    held = "SELECT SUM(documents), SUM(versions), SUM(points) FROM "
    published = tuple(totals(catalog).values())
    assert rows(installation, f"{held} view_sources") == [published]
    assert rows(installation, f"{held} view_licences") == [published]
    waiting = sum(row["entries"] for row in quarantine_counts(catalog))
    counted = rows(installation, "SELECT COALESCE(SUM(entries), 0) FROM view_quarantine")
    assert counted == [(waiting,)]
    [(incidents,)] = rows(installation, "SELECT COUNT(*) FROM view_incidents")
    assert incidents == len(catalog.incidents()) > 0
    run = catalog.runs(1)[0].run_id
    measured = rows(
        installation,
        f"SELECT source_id, name, value FROM view_metrics WHERE run_id = '{run}' "
        "ORDER BY source_id, name",
    )
    assert measured == [(one.source_id, one.name, one.value) for one in catalog.metrics(run)]
    assert measured


def test_grafana_asks_for_figures_that_there_are(installation: Workspace) -> None:
    given = TestClient(create_app(installation.settings)).get("/metrics").text
    there = set(re.findall(r"^# TYPE (\w+)", given, re.MULTILINE))
    drawn = json.loads(GRAFANA.read_text("utf-8"))
    queries = [target["expr"] for panel in drawn["panels"] for target in panel["targets"]]
    asked = {name for query in queries for name in re.findall(r"\bmuniment_\w+", query)}
    assert asked
    assert asked <= there
    assert len({panel["id"] for panel in drawn["panels"]}) == len(drawn["panels"])

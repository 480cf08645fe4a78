"""The pages: what they say, what they refuse, and that nothing of a document becomes markup."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest
from fastapi.testclient import TestClient
from workspace import Workspace

from dashboard.app import NAVIGATION, create_app
from dashboard.tables import Column, Table
from ingest.pipeline import open_catalog

TOKEN = "let-me"


def document(ws: Workspace, key: str) -> str:
    catalog = open_catalog(ws.settings)
    return next(d.doc_id for d in catalog.documents() if d.document_key == key)


def entry(ws: Workspace) -> int:
    entries = open_catalog(ws.settings).quarantine(source_id="contracts")
    return next(one.id for one in entries if one.source_key == "broken.pdf")


def page(client: TestClient, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status, answer.text
    assert "<script" not in answer.text
    assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    return answer.text


@pytest.mark.parametrize("address", [address for address, _ in NAVIGATION])
def test_each_page_says_where_it_is(client: TestClient, address: str) -> None:
    html = page(client, address)
    assert html.count('aria-current="page"') == 1
    assert html.count("<h1>") == 1


def test_tonight_says_what_ran_and_what_waits(client: TestClient) -> None:
    html = page(client, "/")
    assert "not balanced" in html
    assert "run incomplete" in html
    assert "damaged" in html
    assert "/quarantine?source=contracts&amp;code=damaged" in html


def test_sources_say_how_fresh_they_are(client: TestClient) -> None:
    html = page(client, "/sources")
    assert "state-ok" in html
    assert "state-failed" in html


def test_quality_shows_metrics_with_charts_and_their_figures(client: TestClient) -> None:
    html = page(client, "/quality?source=contracts")
    [name, *_] = re.findall(r'/charts/(\w+)\.svg\?source=contracts"', html)
    chart = client.get(f"/charts/{name}.svg?source=contracts")
    assert chart.headers["Content-Type"] == "image/svg+xml"
    assert "sandbox" in chart.headers["Content-Security-Policy"]
    assert "<script" not in chart.text
    assert not re.search(r"(href=\"|src=\"|url\(|@import\s*)[\"']?https?:", chart.text)
    assert "Band from" in page(client, f"/quality/{name}?source=contracts")


def test_quarantine_is_filtered_and_shown_with_its_evidence(
    client: TestClient, installation: Workspace
) -> None:
    assert "broken.pdf" in page(client, "/quarantine?source=contracts&code=damaged")
    assert "No entry is like that." in page(client, "/quarantine?state=closed")
    html = page(client, f"/quarantine/{entry(installation)}")
    assert "broken.pdf" in html
    assert "Let the next run try it again" in html


def test_only_who_has_the_token_may_act(client: TestClient, installation: Workspace) -> None:
    form = {"token": TOKEN, "reason": "a broken copy"}
    number = entry(installation)
    place = f"/quarantine/{number}"
    for refused in (
        client.post(f"{place}/dismiss", data={**form, "token": "guess"}),
        client.post(f"{place}/dismiss", data={"reason": "r"}),
        client.post(f"{place}/dismiss", data=form, headers={"Origin": "https://evil.test"}),
    ):
        assert refused.status_code == 403
    assert client.post(f"{place}/dismiss", data={"token": TOKEN}).status_code == 422
    assert open_catalog(installation.settings).quarantine_entry(number).state == "open"
    done = client.post(f"{place}/retry", data=form, follow_redirects=False)
    assert (done.status_code, done.headers["Location"]) == (303, place)
    closed = installation.settings.model_copy(
        update={"dashboard": installation.settings.dashboard.model_copy(update={"token": None})}
    )
    reader = TestClient(create_app(closed))
    assert reader.post(f"{place}/retry", data=form).status_code == 403
    assert f"muniment quarantine retry {number}" in page(reader, place)


def test_documents_are_found_and_their_versions_shown_on_both_axes(
    client: TestClient, installation: Workspace
) -> None:
    assert "Agreement" in page(client, "/documents?q=agreement")
    assert "No document is like that." in page(client, "/documents?q=100%25")
    html = page(client, f"/documents/{document(installation, 'msa')}")
    assert "Version 1: in force from 2023-04-01" in html
    assert html.count("<rect") == 3  # the first one told alone, or both as they were told


def test_the_viewer_draws_the_passages_and_proves_the_chosen_one(
    client: TestClient, installation: Workspace
) -> None:
    address = f"/documents/{document(installation, 'msa')}/versions/2"
    html = page(client, address)
    [chunk, *_] = re.findall(r"chunk=([0-9a-f-]{36})", html)
    chosen = page(client, f"{address}?page=1&chunk={chunk}")
    assert "proved</span>" in chosen
    assert "not proved" not in chosen
    assert "To be credited: By permission" in chosen
    assert "20 days of notice" in chosen
    picture = client.get(f"{address}/pages/1.png")
    assert picture.content.startswith(b"\x89PNG")
    found = client.get(f"/chunks/{chunk}", follow_redirects=False)
    assert found.headers["Location"] == f"{address}?chunk={chunk}"


def test_what_may_not_be_displayed_is_not(client: TestClient, installation: Workspace) -> None:
    address = f"/documents/{document(installation, 'secret.pdf')}/versions/1"
    html = page(client, address)
    assert "does not allow" in html
    [chunk, *_] = re.findall(r"chunk=([0-9a-f-]{36})", html)
    chosen = page(client, f"{address}?chunk={chunk}")
    for text in (html, chosen, client.get(f"{address}?csv=passages").text):
        assert "herons" not in text
    assert "To be credited: © Heron" in chosen
    assert client.get(f"{address}/pages/1.png").status_code == 404


def test_licences_and_backfills(client: TestClient) -> None:
    assert "closed" in page(client, "/licences")
    html = page(client, "/backfills")
    assert "licence renewed" in html
    assert "state-ok" in html


@pytest.mark.parametrize(
    "address",
    [
        "/documents/nothing",
        "/documents/nothing/versions/1",
        "/documents/..%2f..%2fetc/versions/1/pages/1.png",
        "/chunks/nothing",
        "/quarantine/999",
        "/?csv=nothing",
        "/static/..%2fapp.py",
    ],
)
def test_what_is_not_there_is_said(client: TestClient, address: str) -> None:
    assert client.get(address).status_code == 404


def test_each_table_is_given_as_csv(client: TestClient) -> None:
    html = page(client, "/sources")
    [address] = re.findall(r'class="csv" href="([^"]+)"', html)
    answer = client.get(address)
    assert answer.headers["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert [row["Source"] for row in rows] == ["contracts", "reports"]
    assert rows[0]["Last listed"].endswith("Z")


def test_a_cell_is_no_formula() -> None:
    table = Table("t", "T", (Column("a", "A"),), [{"a": "=1+1"}, {"a": -5}])
    assert table.csv().split() == ["A", "'=1+1", "-5"]


def test_prometheus_reads_the_same_figures(client: TestClient) -> None:
    text = client.get("/metrics").text
    assert 'muniment_quarantine_open{code="damaged",source="contracts"}' in text
    assert 'muniment_incident_open{kind="run_incomplete",subject="reports"} 1.0' in text
    assert "muniment_last_run_balanced 0.0" in text
    assert "muniment_documents 2.0" in text


def test_other_names_of_this_machine_are_refused(installation: Workspace) -> None:
    app = create_app(installation.settings, hosts=("127.0.0.1",))
    assert TestClient(app, base_url="http://127.0.0.1").get("/").status_code == 200
    assert TestClient(app, base_url="http://evil.test").get("/").status_code == 400


def test_an_installation_without_a_run_has_all_pages(tmp_path: Any) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("reports")
    client = TestClient(create_app(ws.settings))
    for address in (*(address for address, _ in NAVIGATION), "/metrics"):
        assert client.get(address).status_code == 200

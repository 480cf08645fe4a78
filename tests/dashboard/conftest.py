"""One installation for all pages, made by a real run, with everything that a page can show."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Thread

import pytest
import uvicorn
from fastapi.testclient import TestClient
from pydantic import SecretStr
from workspace import Workspace, pdf

from dashboard.app import create_app
from ingest.alerts.watch import watch
from ingest.backfill.run import run_backfill
from ingest.pipeline import open_catalog
from ingest.settings import DashboardSettings
from schemas.backfill import BackfillRequest
from schemas.base import utc_now

TOKEN = "let-me"
SCRIPT = "<script>document.title = 'owned'</script>"
HEAD = "file,document,title,version_label,effective_from\n"
CLAUSE = "7.1 Notice. Either party ends the agreement with {} days of notice in writing."


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    ws = Workspace(
        tmp_path_factory.mktemp("dashboard"), dashboard=DashboardSettings(token=SecretStr(TOKEN))
    )
    ws.licences.append(
        {
            "id": "closed",
            "name": "Closed",
            "attribution_required": True,
            "attribution_text": "© Heron",
            "display_allowed": False,
        }
    )
    ws.add_source("contracts", kind="contract", manifest="terms.csv")
    ws.add_source("reports", licence="closed")
    rows = HEAD
    for number, year in ((1, 2023), (2, 2025)):
        ws.write(f"contracts/{number}.pdf", pdf(CLAUSE.format(number * 10), "Signed in Oslo."))
        rows += f'{number}.pdf,msa,"Agreement {SCRIPT}",{number}.0,{year}-04-01\n'
    ws.write("contracts/terms.csv", rows)
    for name in ("broken", "dismissed"):
        ws.write(f"contracts/{name}.pdf", pdf(f"cut short: {name}")[:200])
    ws.write("reports/secret.pdf", pdf("The price of herons is nine crowns."))
    assert ws.run().balanced
    catalog = open_catalog(ws.settings)
    [msa] = [one for one in catalog.documents("contracts") if one.document_key == "msa"]
    ws.licences[0]["attribution_text"] = "By permission"
    ws.licences[0]["attribution_required"] = True
    ws.save()
    run_backfill(ws.pipeline(), BackfillRequest(reason="licence renewed"))
    (ws.folder / "reports").rename(ws.folder / "away")
    assert not ws.run().balanced
    (ws.folder / "away").rename(ws.folder / "reports")
    watch(ws.pipeline(), utc_now())
    assert catalog.document(msa.doc_id) is not None
    return ws


@pytest.fixture
def client(installation: Workspace) -> TestClient:
    return TestClient(create_app(installation.settings), raise_server_exceptions=True)


@pytest.fixture(scope="session")
def served(installation: Workspace) -> Iterator[str]:
    """Serve the installation on a port of this machine."""
    app = create_app(installation.settings, hosts=("127.0.0.1",))
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning"))
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join(timeout=10)

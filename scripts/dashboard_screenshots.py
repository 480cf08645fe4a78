"""Make the pictures of docs/dashboard.md: run the examples, serve them, look (needs Chromium)."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from threading import Thread

import uvicorn
from playwright.sync_api import sync_playwright

from dashboard.app import create_app
from ingest.pipeline import Pipeline, open_catalog
from ingest.runner import new_run_id, run_all
from ingest.settings import load_settings

OUT = Path(__file__).parents[1] / "docs" / "images"


def main() -> int:
    """Write the pictures; return 1 if there is no Chromium."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.stderr.write("There is no Chromium on this machine: install it, then try again.\n")
        return 1
    with tempfile.TemporaryDirectory() as home:
        settings = load_settings(home=Path(home))
        pipeline = Pipeline(settings, new_run_id())
        run_all(pipeline, [source.id for source in pipeline.configuration.sources])
        contract = open_catalog(settings).documents("vendor-contracts")[0].doc_id
        config = uvicorn.Config(create_app(settings), port=0, log_level="warning")
        server = uvicorn.Server(config)
        Thread(target=server.run, daemon=True).start()
        while not server.started:
            pass
        port = server.servers[0].sockets[0].getsockname()[1]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            OUT.mkdir(exist_ok=True)
            page.goto(f"http://127.0.0.1:{port}/")
            page.screenshot(path=OUT / "dashboard-tonight.png")
            page.goto(f"http://127.0.0.1:{port}/documents/{contract}/versions/1")
            page.locator("a.mark").nth(1).click()
            page.wait_for_selector("#passage")
            page.wait_for_load_state("networkidle")
            page.screenshot(path=OUT / "dashboard-viewer.png")
            browser.close()
        server.should_exit = True
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The pages in a real browser: nothing of a document runs, nothing is fetched from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from chromium import chromium
from playwright.sync_api import Page, sync_playwright
from workspace import Workspace

from dashboard.app import NAVIGATION
from ingest.pipeline import open_catalog


@pytest.fixture(scope="module")
def browser_page(served: str) -> Iterator[Page]:
    path = chromium()
    if path is None:
        pytest.skip("no Chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        context = browser.new_context(base_url=served, viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.set_default_timeout(60_000)
        yield page
        browser.close()


@pytest.fixture
def page(browser_page: Page, served: str) -> Iterator[Page]:
    """A page whose complaints and requests are watched."""
    wrong: list[str] = []

    def asked(request: object) -> None:
        url = str(getattr(request, "url", ""))
        if not url.startswith(served):
            wrong.append(f"asked {url}")

    def said(message: object) -> None:
        if getattr(message, "type", "") in ("error", "warning"):
            wrong.append(str(getattr(message, "text", "")))

    browser_page.on("request", asked)
    browser_page.on("console", said)
    yield browser_page
    browser_page.remove_listener("request", asked)
    browser_page.remove_listener("console", said)
    assert wrong == []


def contract(installation: Workspace) -> str:
    catalog = open_catalog(installation.settings)
    return next(d.doc_id for d in catalog.documents() if d.document_key == "msa")


@pytest.mark.parametrize("address", [address for address, _ in NAVIGATION])
def test_each_page_shows_itself_and_fits_a_telephone(page: Page, address: str) -> None:
    page.goto(address)
    assert page.locator("h1").inner_text()
    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 900})
        inner = page.evaluate("document.documentElement.scrollWidth")
        assert inner <= width, address
    page.set_viewport_size({"width": 1280, "height": 900})


def test_a_title_that_is_a_script_is_a_text(page: Page, installation: Workspace) -> None:
    doc_id = contract(installation)
    for address in ("/documents", f"/documents/{doc_id}", f"/documents/{doc_id}/versions/1"):
        page.goto(address)
        assert "<script>" in page.locator("main").inner_text()
        assert page.title() != "owned"


def test_a_passage_is_chosen_on_the_page_by_mouse_and_keyboard(
    page: Page, installation: Workspace
) -> None:
    page.goto(f"/documents/{contract(installation)}/versions/2")
    page.locator("a.mark").first.click()
    page.wait_for_selector("#passage")
    assert page.locator(".steps li.ok").count() >= 6
    assert page.locator("a.mark.chosen").count() == 1
    # The boxes lie on the picture of the page, and inside it.
    frame = page.locator("svg.page").bounding_box()
    box = page.locator("a.mark.chosen rect").first.bounding_box()
    assert frame is not None
    assert box is not None
    assert frame["x"] <= box["x"]
    assert box["x"] + box["width"] <= frame["x"] + frame["width"]
    assert frame["y"] <= box["y"]
    page.goto("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_the_chart_is_drawn(page: Page) -> None:
    page.goto("/quality?source=contracts")
    picture = page.locator("figure img").first
    picture.scroll_into_view_if_needed()
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.querySelector('figure img').naturalWidth") > 0


def test_a_person_dismisses_an_entry(page: Page, installation: Workspace) -> None:
    entries = open_catalog(installation.settings).quarantine(source_id="contracts")
    [number] = [one.id for one in entries if one.source_key == "dismissed.pdf"]
    page.goto(f"/quarantine/{number}")
    form = page.locator("form[action$='/dismiss']")
    form.locator("input[name=token]").fill("let-me")
    form.locator("input[name=reason]").fill("a broken copy")
    form.locator("button").click()
    page.wait_for_selector(".state-dismissed")
    assert "a broken copy" in page.locator("main").inner_text()
    assert open_catalog(installation.settings).quarantine_entry(number).state == "dismissed"

"""Who may look and act: by a form's token, or as a user of the application that hosts the pages."""

from __future__ import annotations

import pytest
from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.testclient import TestClient
from workspace import Workspace

from dashboard.access import UserAccess
from dashboard.app import NAVIGATION, create_app
from ingest.embedding import Embedder
from ingest.pipeline import open_index

HERE = {"Origin": "http://testserver"}
RETRY = "/muniment/quarantine/1/retry"


@pytest.fixture(scope="module")
def hosted(installation: Workspace) -> TestClient:
    """The dashboard under the path of another application, with that one's users."""

    def user(request: Request, who: str = "") -> None:
        if not who:
            raise HTTPException(401)
        request.state.may_act = who == "editor"

    host = FastAPI()
    app = create_app(installation.settings, access=UserAccess(), dependencies=[Depends(user)])
    host.mount("/muniment", app)
    return TestClient(host, follow_redirects=False)


@pytest.mark.parametrize("place", ["/", "/sources", "/metrics", "/quarantine/1", "/chunks/x"])
def test_no_page_is_shown_to_a_stranger(hosted: TestClient, place: str) -> None:
    assert hosted.get(f"/muniment{place}").status_code == 401
    assert hosted.post(RETRY).status_code == 401


def test_every_link_stays_under_the_path(hosted: TestClient) -> None:
    page = hosted.get("/muniment/sources?who=reader").text
    assert 'href="/muniment/sources"' in page
    assert 'href="/muniment/static/style.css"' in page
    assert 'href="/muniment/sources?who=reader&amp;csv=sources"' in page
    assert 'href="/sources' not in page
    assert hosted.get("/muniment/static/style.css").status_code == 200


def test_a_reader_is_given_no_form_and_may_not_act(hosted: TestClient) -> None:
    assert "<form" not in hosted.get("/muniment/quarantine/1?who=reader").text
    assert hosted.post(f"{RETRY}?who=reader", headers=HERE).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://evil.test"},
        {"Origin": "null"},
        {**HERE, "Sec-Fetch-Site": "cross-site"},
        {**HERE, "Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_form_of_another_site_does_nothing(hosted: TestClient, headers: dict[str, str]) -> None:
    assert hosted.post(f"{RETRY}?who=editor", headers=headers).status_code == 403


@pytest.mark.parametrize("headers", [HERE, {"Sec-Fetch-Site": "same-origin"}])
def test_an_editor_acts_without_a_token(hosted: TestClient, headers: dict[str, str]) -> None:
    done = hosted.post(f"{RETRY}?who=editor", headers=headers)
    assert done.status_code == 303
    assert done.headers["Location"] == "/muniment/quarantine/1"


def test_an_index_that_is_in_use_is_said_to_be(installation: Workspace) -> None:
    client = TestClient(create_app(installation.settings))
    embedder = Embedder(installation.settings.embedding_model)
    with open_index(installation.settings, embedder) as index:
        index.ensure()
        answer = client.get("/chunks/any")
        assert answer.status_code == 503
        assert "index_locked" in answer.text
        for address, _ in NAVIGATION:  # no other page needs it
            assert client.get(address).status_code == 200


def test_there_are_two_things_to_do(installation: Workspace) -> None:
    client = TestClient(create_app(installation.settings))
    given = {"token": "let-me"}
    assert client.post("/quarantine/1/delete", data=given).status_code == 422
    assert client.get("/quarantine/1/retry").status_code == 405

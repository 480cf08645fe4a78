"""The dashboard inside an Airflow of its own: who is not known there sees nothing."""

from __future__ import annotations

import json
from pathlib import Path

from airflow_kit import in_airflow

SCRIPT = """
    import json, sys
    from airflow import plugins_manager
    from dashboard.plugin import MunimentPlugin
    light = not {"pygal", "pymupdf", "torch", "dashboard.app"} & sys.modules.keys()
    from airflow.utils.db import initdb
    initdb()
    apps, _ = plugins_manager.get_fastapi_plugins()
    from airflow.api_fastapi.app import create_app, get_auth_manager
    from fastapi.testclient import TestClient
    answers = {}
    with TestClient(create_app(apps="core"), follow_redirects=False) as client:
        for place in ("/muniment/", "/muniment/metrics", "/muniment/documents"):
            answers[place] = client.get(place).status_code
        from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
        for role in ("VIEWER", "USER"):
            user = SimpleAuthManagerUser(username=role.lower(), role=role)
            headers = {"Authorization": "Bearer " + get_auth_manager().generate_jwt(user)}
            answers[role] = client.get("/muniment/", headers=headers).status_code
            form = {**headers, "Origin": "http://testserver"}
            post = client.post("/muniment/quarantine/1/retry", headers=form)
            answers[role + " acts"] = post.status_code
        page = client.get("/muniment/", headers=headers)
        answers["linked"] = 'href="/muniment/sources"' in page.text
        answers["style"] = client.get("/muniment/static/style.css").status_code
    print(json.dumps({
        "light": light,
        "apps": [one["name"] for one in apps],
        "views": [view["url_route"] for view in MunimentPlugin.external_views],
        "answers": answers,
    }))
"""


def test_airflow_shows_it_to_whom_it_knows(tmp_path: Path) -> None:
    told = json.loads(in_airflow(tmp_path, SCRIPT).splitlines()[-1])
    assert told == {
        "light": True,
        "apps": ["Muniment"],
        "views": ["muniment"],
        "answers": {
            "/muniment/": 401,
            "/muniment/metrics": 401,
            "/muniment/documents": 401,
            "VIEWER": 200,
            "VIEWER acts": 403,
            "USER": 200,
            "USER acts": 404,  # there is no such entry
            "linked": True,
            "style": 200,
        },
    }

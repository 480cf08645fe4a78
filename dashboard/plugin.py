"""The dashboard as a page of Airflow's own navigation.

Airflow loads this module in each of its processes, so that all but names is imported when the first
page is asked for. Who may read ``nightly_ingest`` may read here; who may edit it may act.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.plugins_manager import AirflowPlugin

if TYPE_CHECKING:
    from fastapi import FastAPI

PREFIX = "/muniment"
_DAG = "nightly_ingest"


class _WhenAsked:
    """The app, made by the first request."""

    def __init__(self) -> None:
        self._app: FastAPI | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if self._app is None:
            self._app = _app()
        await self._app(scope, receive, send)


def _app() -> FastAPI:
    # Airflow does not ask for a session before the app of a plugin: the app has to.
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.models.resource_details import DagDetails
    from airflow.api_fastapi.core_api.security import get_user, requires_access_dag
    from fastapi import Depends, Request

    from dashboard.access import UserAccess
    from dashboard.app import create_app
    from ingest.settings import load_settings

    def note_rights(request: Request, user: Any = Depends(get_user)) -> None:  # noqa: B008
        request.state.may_act = get_auth_manager().is_authorized_dag(
            method="PUT", user=user, details=DagDetails(id=_DAG)
        )

    # What is a string in the annotations is looked up among a module's names, not a function's.
    note_rights.__annotations__["request"] = Request
    reads = requires_access_dag("GET", param_dag_id=_DAG)
    return create_app(
        load_settings(), access=UserAccess(), dependencies=[Depends(reads), Depends(note_rights)]
    )


class MunimentPlugin(AirflowPlugin):
    """Tells Airflow of the dashboard."""

    name = "muniment"
    fastapi_apps = [{"app": _WhenAsked(), "url_prefix": PREFIX, "name": "Muniment"}]  # noqa: RUF012
    external_views = [  # noqa: RUF012
        {
            "name": "Muniment",
            "href": f"{PREFIX}/",
            "destination": "nav",
            "url_route": "muniment",
            "nav_top_level": True,
        }
    ]

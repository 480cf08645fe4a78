"""muniment dashboard: serve the pages."""

from __future__ import annotations

import ipaddress
from typing import Annotated

import typer

from ingest.cli_common import console, reports_errors, settings_of

_LOCAL = ("127.0.0.1", "localhost", "[::1]")


@reports_errors
def dashboard(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535)] = 8321,
) -> None:
    """Serve the dashboard: what ran, what waits for a person, where a passage comes from.

    Whoever can reach it reads what is stored, confidential documents too: it listens on this
    machine alone unless told otherwise.
    """
    import uvicorn

    from dashboard.app import create_app

    hosts = (*_LOCAL, host) if _is_local(host) else ("*",)
    app = create_app(settings_of(context), hosts=hosts)
    console.print(f"http://{host}:{port}/ (end with Ctrl-C)")
    uvicorn.run(app, host=host, port=port, log_level="warning")


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

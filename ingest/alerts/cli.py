"""muniment alerts: what a person should know of, and whether telling works."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from ingest.cli_common import Json, console, print_json, reports_errors, settings_of
from ingest.errors import ConfigurationError, FatalError
from schemas.incident import IncidentRecord

alerts_app = typer.Typer(
    help="Look at incidents, and at who is told of them.", no_args_is_help=True
)


@alerts_app.command("list")
@reports_errors
def list_incidents(
    context: typer.Context,
    closed: Annotated[bool, typer.Option("--all", help="Those that are over, too.")] = False,
    as_json: Json = False,
) -> None:
    """List the incidents that are open."""
    from ingest.pipeline import open_catalog

    _show(open_catalog(settings_of(context)).incidents(only_open=not closed), as_json)


@alerts_app.command("check")
@reports_errors
def check(context: typer.Context, as_json: Json = False) -> None:
    """Look for what is late, stale or ending, tell what is new, and list what is open."""
    from ingest.alerts.watch import watch
    from ingest.pipeline import Pipeline
    from ingest.runner import new_run_id
    from schemas.base import utc_now

    _show(watch(Pipeline(settings_of(context), new_run_id()), utc_now()), as_json)


@alerts_app.command("test")
@reports_errors
def test(context: typer.Context) -> None:
    """Send a message that says that it is a test."""
    from ingest.alerts.telling import check_addresses, send

    settings = settings_of(context).alerts
    check_addresses(settings)
    if not settings.urls:
        raise ConfigurationError(
            "alert_address", "Nobody is told of alerts: MUNIMENT_ALERTS__URLS is empty."
        )
    if not send(settings, "Muniment: a test", "Alerts reach you.", is_bad=False):
        raise FatalError("alert_not_sent", "No address took the message; the log says why.")
    console.print("Sent.")


def _show(incidents: list[IncidentRecord], as_json: bool) -> None:
    if as_json:
        print_json([one.model_dump(mode="json") for one in incidents])
        return
    table = Table("since", "what", "of", "", "told")
    for one in incidents:
        table.add_row(
            f"{one.opened_at:%Y-%m-%d %H:%M}",
            one.kind.replace("_", " "),
            escape(one.subject),
            escape(one.message if one.closed_at is None else f"over: {one.message}"),
            "" if one.told_at is None else f"{one.told_at:%Y-%m-%d %H:%M}",
        )
    console.print(table if incidents else "There is no incident.")

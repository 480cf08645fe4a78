"""muniment licences: what is held under which terms."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ingest.cli_common import Json, console, print_json, reports_errors, settings_of
from ingest.licences_report import LicencesReport
from schemas.base import OPEN_END, utc_now

licences_app = typer.Typer(help="Look at the terms that things stand under.", no_args_is_help=True)

_SHOWN = {
    "valid": "valid",
    "expiring": "[yellow]ends soon[/yellow]",
    "expired": "[red]ended[/red]",
    "not_yet": "not yet valid",
    "unknown": "[red]not in the registry[/red]",
}


@licences_app.callback()
def licences() -> None:
    """Look at the terms that things stand under."""


@licences_app.command()
@reports_errors
def report(
    context: typer.Context,
    days: Annotated[int, typer.Option(min=0, help="What ends within so many days.")] = 30,
    as_json: Json = False,
) -> None:
    """Show what is held under which terms, what ends soon, and what is missing."""
    from ingest.configuration import load_configuration
    from ingest.licences_report import licences_report
    from ingest.pipeline import open_catalog

    settings = settings_of(context)
    configuration = load_configuration(settings.sources_file, settings.licences_file)
    found = licences_report(open_catalog(settings), configuration, utc_now(), days)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        print_report(console, found)


def print_report(console: Console, found: LicencesReport) -> None:
    """Show a report to a person."""
    table = Table("licence", "provider", "sources", "documents", "points", "until", "state")
    for holding in found.holdings:
        name = f" [dim]{escape(holding.name)}[/dim]" if holding.name else ""
        table.add_row(
            escape(holding.licence_id) + name,
            escape(holding.provider or ""),
            escape(", ".join(holding.sources)),
            f"{holding.documents:,}",
            f"{holding.points:,}",
            "for ever" if holding.valid_until == OPEN_END else f"{holding.valid_until:%Y-%m-%d}",
            _SHOWN[holding.state],
        )
    console.print(table if found.holdings else "Nothing is held.")
    for holding in found.expiring:
        ends = "ended" if holding.state == "expired" else "ends"
        console.print(
            f"{escape(holding.licence_id)} {ends} at {holding.valid_until.isoformat()}: "
            f"{holding.documents:,} documents of {escape(', '.join(holding.sources))}."
        )
    if not found.expiring:
        console.print(f"Nothing ends within {found.days} days.")
    for source_id, count in found.missing.items():
        console.print(
            f"{escape(source_id)}: {count:,} items wait in quarantine for a licence that allows "
            "them. Look at them with: muniment quarantine list"
        )
    if found.unused:
        console.print(f"Licences that nothing stands under: {escape(', '.join(found.unused))}.")

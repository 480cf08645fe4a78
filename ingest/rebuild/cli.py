"""muniment rebuild: fill a new collection from what is stored, and turn readers to it."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from ingest.cli_common import Json, console, errors, print_json, reports_errors, settings_of
from ingest.errors import ItemError
from schemas.rebuild import RebuildReport

rebuild_app = typer.Typer(
    help="Rebuild the index in a new collection, from what is stored.", no_args_is_help=True
)


@rebuild_app.command("run")
@reports_errors
def run(
    context: typer.Context,
    reason: Annotated[str, typer.Option(help="Why; it is kept with the rebuild.")],
    as_json: Json = False,
) -> None:
    """Fill a new collection and turn readers to it, or go on with that.

    Nothing is fetched, read or recognised anew. Readers keep the former collection until every
    version is in the new one and proved.
    """
    from ingest.pipeline import Pipeline
    from ingest.rebuild.run import rebuild_index
    from ingest.runner import new_run_id, retrying

    settings = settings_of(context)
    with (errors if as_json else console).status("Filling the new collection"):
        report = retrying(rebuild_index)(Pipeline(settings, new_run_id()), reason)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        print_rebuild(report)
    if report.switched_at is None:
        raise typer.Exit(ItemError.exit_status)


@rebuild_app.command("list")
@reports_errors
def list_rebuilds(context: typer.Context, as_json: Json = False) -> None:
    """List the rebuilds there were, and the one that is under way."""
    from ingest.pipeline import open_catalog

    settings = settings_of(context)
    catalog = open_catalog(settings)
    found = catalog.rebuilds(settings.qdrant.alias)
    if as_json:
        print_json([one.model_dump(mode="json") for one in found])
        return
    table = Table("", "collection", "state", "begun", "readers turned", "versions", "why")
    for one in found:
        versions, _ = catalog.rebuilt_counts(one.id)
        table.add_row(
            str(one.id),
            escape(one.collection),
            one.state,
            f"{one.started_at:%Y-%m-%d %H:%M}",
            "" if one.switched_at is None else f"{one.switched_at:%Y-%m-%d %H:%M}",
            f"{versions:,}" if one.state == "filling" else "",
            escape(one.reason),
        )
    console.print(table if found else "There was no rebuild.")


@rebuild_app.command("abandon")
@reports_errors
def abandon_rebuild(context: typer.Context) -> None:
    """Give up the rebuild that is under way, and delete what it filled."""
    from ingest.pipeline import Pipeline
    from ingest.rebuild.run import abandon, under_way
    from ingest.runner import new_run_id

    pipeline = Pipeline(settings_of(context), new_run_id())
    rebuild = under_way(pipeline)
    abandon(pipeline, rebuild)
    console.print(f"Collection {escape(rebuild.collection)} was deleted. Readers noticed nothing.")


def print_rebuild(report: RebuildReport) -> None:
    """Show a person what a rebuild came to."""
    made = report.filled
    console.print(
        f"{escape(report.collection)} has {report.points:,} points of {report.versions:,} versions."
        f" {made.points:,} were loaded now, {made.embedded:,} texts embedded."
    )
    for failed in made.failed:
        console.print(f"[yellow]missing[/yellow] {escape(failed)}")
    if report.switched_at is None:
        console.print(
            f"[bold red]Readers were not turned to it[/bold red]: {len(made.failed):,} versions "
            "are missing. Correct what is wrong, or forget the documents, then run it again; what "
            "was filled stays."
        )
        return
    console.print(f"Readers were turned to it at {report.switched_at:%Y-%m-%d %H:%M:%S} UTC.")
    if report.former is not None and report.former_until is not None:
        console.print(
            f"{escape(report.former)} is kept until {report.former_until:%Y-%m-%d}; the nightly "
            "run then deletes it."
        )

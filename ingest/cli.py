"""The command line: run the pipeline, look at what it made, prove a passage.

Exit statuses: 0 done, 2 wrong usage, 3 wrong configuration, 4 the item was refused, 5 the quality
gate stopped a batch, 6 something else went wrong.
"""

from __future__ import annotations

import logging
import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dashboard.cli import dashboard
from ingest.alerts.cli import alerts_app
from ingest.backfill.cli import backfill
from ingest.cli_common import (
    Json,
    console,
    errors,
    parse_instant,
    print_json,
    reports_errors,
    settings_of,
)
from ingest.diff.cli import diff
from ingest.erasure.cli import forget_app
from ingest.errors import ItemError
from ingest.licences_cli import licences_app
from ingest.quality.cli import quality_app
from ingest.quarantine_cli import quarantine_app
from ingest.rebuild.cli import rebuild_app
from ingest.versions_cli import versions_app
from schemas.licence import Use

app = typer.Typer(
    help=__doc__, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None
)
config_app = typer.Typer(help="Check the configuration.", no_args_is_help=True)
app.add_typer(quarantine_app, name="quarantine")
app.add_typer(config_app, name="config")
app.add_typer(forget_app, name="forget")
app.add_typer(licences_app, name="licences")
app.add_typer(versions_app, name="versions")
app.add_typer(rebuild_app, name="rebuild")
app.add_typer(quality_app, name="quality")
app.add_typer(alerts_app, name="alerts")
app.command()(dashboard)
app.command("backfill")(backfill)
app.command("diff")(diff)

File = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, readable=True, help="A document.")
]


def main() -> None:
    """Run the command line."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    app()


@app.callback()
def common(
    context: typer.Context,
    home: Annotated[Path | None, typer.Option(help="Folder of all data.")] = None,
    sources: Annotated[Path | None, typer.Option(help="The sources' YAML file.")] = None,
    licences: Annotated[Path | None, typer.Option(help="The licence registry.")] = None,
) -> None:
    """Take the settings from the environment (MUNIMENT_…); these options come before it."""
    context.obj = {"home": home, "sources_file": sources, "licences_file": licences}


@app.command()
@reports_errors
def run(
    context: typer.Context,
    source: Annotated[
        list[str] | None, typer.Option(help="Run this source alone; may be repeated.")
    ] = None,
    airflow: Annotated[
        bool, typer.Option("--airflow", help="Run the DAG nightly_ingest in Airflow.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Pull the sources and bring the index up to date."""
    from ingest import operations

    status = operations.run(
        settings_of(context),
        source_ids=source,
        in_airflow=airflow,
        console=errors if as_json else console,
    )
    if as_json:
        print_json(operations.status(settings_of(context)))
    raise typer.Exit(status)


@app.command()
@reports_errors
def status(context: typer.Context, as_json: Json = False) -> None:
    """Show the last run."""
    from ingest import operations, views

    if as_json:
        print_json(operations.status(settings_of(context)))
    else:
        views.print_status(settings_of(context), console)


@app.command()
@reports_errors
def search(
    context: typer.Context,
    query: str,
    as_of: Annotated[
        str | None, typer.Option(help="What was in force then: a date or an RFC 3339 instant.")
    ] = None,
    as_published: Annotated[
        str | None, typer.Option(help="As readers were told on this date, whatever changed since.")
    ] = None,
    every_version: Annotated[
        bool,
        typer.Option("--all-versions", help="Superseded, future and withdrawn versions as well."),
    ] = False,
    client: Annotated[
        str | None, typer.Option(help="See what is confidential to this client as well.")
    ] = None,
    use: Annotated[Use, typer.Option(help="What is done with what is found.")] = "retrieval",
    territory: Annotated[
        str | None, typer.Option(help="Country of use, two letters; without it, worldwide only.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 10,
    as_json: Json = False,
) -> None:
    """Find passages that are in force, licensed, visible and published."""
    from ingest import operations, views

    at = None if as_of is None else parse_instant(as_of)
    on = None if as_published is None else parse_instant(as_published)
    if every_version and (at is not None or on is not None):
        raise typer.BadParameter("--all-versions goes with neither --as-of nor --as-published")
    if territory is not None and not re.fullmatch("[A-Z]{2}", territory):
        raise typer.BadParameter(f"{territory!r} is no country's two letters, such as NO")
    hits = operations.search(
        settings_of(context),
        query,
        at=at,
        on=on,
        every_version=every_version,
        client_id=client,
        limit=limit,
        use=use,
        territory=territory,
    )
    if as_json:
        print_json([asdict(hit) for hit in hits])
    else:
        views.print_hits(console, hits)


@app.command()
@reports_errors
def show(context: typer.Context, identifier: str, as_json: Json = False) -> None:
    """Show a document with its versions, or a chunk, by its id."""
    from ingest import operations, views

    found = operations.show(settings_of(context), identifier)
    if as_json:
        print_json(found)
    else:
        views.print_record(console, found)


@app.command()
@reports_errors
def prove(
    context: typer.Context,
    chunk_id: str,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the pictures; in the home by default.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Prove a passage: from the point to the source bytes, with a picture of the page."""
    from ingest import operations, views

    proof = operations.prove(settings_of(context), chunk_id, out)
    if as_json:
        print_json(proof.model_dump(mode="json"))
    else:
        views.print_proof(console, proof)
    if not proof.proved:
        raise typer.Exit(ItemError.exit_status)


@app.command()
@reports_errors
def extract(context: typer.Context, file: File, as_json: Json = False) -> None:
    """Read one file: its text, pages, words with boxes, and elements. Needs no catalogue."""
    from ingest import operations, views

    extraction = operations.extract_file(settings_of(context), file)
    if as_json:
        sys.stdout.write(extraction.model_dump_json() + "\n")
    else:
        views.print_extraction(console, extraction)


@app.command()
@reports_errors
def chunk(context: typer.Context, file: File, as_json: Json = False) -> None:
    """Cut one file into chunks, one a line. Needs no catalogue."""
    from ingest import operations, views

    chunks = operations.chunk_file(settings_of(context), file)
    for one in chunks:
        if as_json:
            sys.stdout.write(one.model_dump_json() + "\n")
        else:
            views.print_chunk(console, one)


@config_app.command("check")
@reports_errors
def config_check(context: typer.Context, as_json: Json = False) -> None:
    """Check settings, sources and licences, and say what each source would do."""
    from ingest import operations, views

    found = operations.check_configuration(settings_of(context))
    if as_json:
        print_json(found)
    else:
        views.print_configuration(console, found)

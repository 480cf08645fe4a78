"""The command line: run the pipeline, look at what it made, prove a passage.

Exit statuses: 0 done, 2 wrong usage, 3 wrong configuration, 4 the item was refused, 5 the quality
gate stopped a batch, 6 something else went wrong.
"""

from __future__ import annotations

import functools
import json
import logging
import sys
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, ParamSpec

import typer
from rich.console import Console
from rich.markup import escape

from ingest.errors import ItemError, MunimentError
from ingest.settings import Settings, load_settings
from schemas.run import QuarantineState

app = typer.Typer(
    help=__doc__, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None
)
quarantine_app = typer.Typer(help="Look at what was refused, and decide.", no_args_is_help=True)
config_app = typer.Typer(help="Check the configuration.", no_args_is_help=True)
app.add_typer(quarantine_app, name="quarantine")
app.add_typer(config_app, name="config")
forget_app = typer.Typer(help="Erase documents or a client, and keep receipts.")
app.add_typer(forget_app, name="forget")

# A log or a pipe has no width; the table needs about this much.
_WIDTH = None if sys.stdout.isatty() else 132
console = Console(width=_WIDTH)
errors = Console(stderr=True, width=_WIDTH)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
File = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, readable=True, help="A document.")
]

P = ParamSpec("P")


def main() -> None:
    """Run the command line."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    app()


def reports_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Print an error the way the command prints, and exit with its status."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except MunimentError as error:
            if kwargs.get("as_json"):
                print_json({"error": {"code": error.code, "message": error.message}})
            else:
                errors.print(f"[bold red]{error.code}[/bold red]: {escape(error.message)}")
            raise typer.Exit(error.exit_status) from error

    return wrapped


def print_json(value: Any) -> None:
    """Print one JSON value on one line, as UTF-8."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


@app.callback()
def common(
    context: typer.Context,
    home: Annotated[Path | None, typer.Option(help="Folder of all data.")] = None,
    sources: Annotated[Path | None, typer.Option(help="The sources' YAML file.")] = None,
    licences: Annotated[Path | None, typer.Option(help="The licence registry.")] = None,
) -> None:
    """Take the settings from the environment (MUNIMENT_…); these options come before it."""
    context.obj = {"home": home, "sources_file": sources, "licences_file": licences}


def settings_of(context: typer.Context) -> Settings:
    """Return the settings for a command."""
    return load_settings(**context.obj)


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
    client: Annotated[
        str | None, typer.Option(help="See what is confidential to this client as well.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 10,
    as_json: Json = False,
) -> None:
    """Find passages that are in force, licensed, visible and published."""
    from ingest import operations, views

    at = None if as_of is None else parse_instant(as_of)
    hits = operations.search(settings_of(context), query, at=at, client_id=client, limit=limit)
    if as_json:
        print_json([asdict(hit) for hit in hits])
    else:
        views.print_hits(console, hits)


def parse_instant(text: str) -> datetime:
    """Read a date (midnight UTC) or an RFC 3339 instant; anything else is wrong usage."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(
            f"{text!r} is neither a date like 2026-03-31 nor an instant like 2026-03-31T12:00:00Z"
        ) from error
    if instant.tzinfo is None:
        if len(text) > len("2026-03-31"):
            raise typer.BadParameter(f"{text!r} has no offset from UTC; add one, such as Z")
        instant = instant.replace(tzinfo=UTC)
    return instant.astimezone(UTC)


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


@quarantine_app.command("list")
@reports_errors
def quarantine_list(
    context: typer.Context,
    state: Annotated[QuarantineState, typer.Option(help="Which entries.")] = "open",
    as_json: Json = False,
) -> None:
    """List what is in quarantine."""
    from ingest import operations, views

    entries = operations.quarantine(settings_of(context), state)
    if as_json:
        print_json([entry.model_dump(mode="json") for entry in entries])
    else:
        views.print_quarantine(console, entries)


@quarantine_app.command("show")
@reports_errors
def quarantine_show(context: typer.Context, number: int, as_json: Json = False) -> None:
    """Show one entry with its evidence."""
    from ingest import operations, views

    entry = operations.quarantine_entry(settings_of(context), number).model_dump(mode="json")
    if as_json:
        print_json(entry)
    else:
        views.print_record(console, entry)


@quarantine_app.command("retry")
@reports_errors
def quarantine_retry(context: typer.Context, number: int, as_json: Json = False) -> None:
    """Let the next run try the item again."""
    from ingest import operations, views

    entry = operations.quarantine_retry(settings_of(context), number)
    views.print_decision(console, entry, "is tried again at the next run", as_json)


@quarantine_app.command("dismiss")
@reports_errors
def quarantine_dismiss(
    context: typer.Context,
    number: int,
    reason: Annotated[str, typer.Option(help="Why it may be left out.")],
    as_json: Json = False,
) -> None:
    """Leave the item out for good, with a reason."""
    from ingest import operations, views

    entry = operations.quarantine_dismiss(settings_of(context), number, reason)
    views.print_decision(console, entry, "is left out", as_json)


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


@forget_app.callback(invoke_without_command=True)
@reports_errors
def forget(
    context: typer.Context,
    doc: Annotated[list[str] | None, typer.Option(help="A document's id; may be repeated.")] = None,
    client: Annotated[str | None, typer.Option(help="All that is this client's.")] = None,
    reason: Annotated[str, typer.Option(help="Why; it stands in the receipt.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what there is.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Erase documents or a client from every place, for good, and print the receipt."""
    from ingest.erasure import commands, views

    if context.invoked_subcommand is not None:
        return
    if (client is None) == (not doc) or not reason:
        raise typer.BadParameter("give --doc or --client, and --reason; or a command")
    settings = settings_of(context)
    if not yes or dry_run:
        receipt = commands.forget(settings, doc or [], client, reason, dry_run=True)
        if not as_json:
            views.print_receipt(console, receipt)
        elif dry_run:
            print_json(receipt.model_dump(mode="json"))
        else:
            raise typer.BadParameter("with --json nobody is asked: add --yes or --dry-run")
        if dry_run:
            return
        typer.confirm("Erase all of this for good?", abort=True)
    receipt = commands.forget(settings, doc or [], client, reason, dry_run=False)
    if as_json:
        print_json(receipt.model_dump(mode="json"))
    else:
        views.print_receipt(console, receipt)


@forget_app.command("list")
@reports_errors
def forget_list(context: typer.Context, as_json: Json = False) -> None:
    """List what was erased, and what is under way."""
    from ingest.erasure import commands, views

    records = commands.erasures(settings_of(context))
    if as_json:
        print_json([record.model_dump(mode="json") for record in records])
    else:
        views.print_erasures(console, records)


@forget_app.command("show")
@reports_errors
def forget_show(context: typer.Context, number: int, as_json: Json = False) -> None:
    """Show the receipt of an erasure."""
    from ingest.erasure import commands, views
    from ingest.erasure.receipt import Receipt

    record = commands.erasure(settings_of(context), number)
    if as_json:
        print_json(record.model_dump(mode="json"))
    elif record.receipt is None:
        views.print_erasures(console, [record])
    else:
        views.print_receipt(console, Receipt.model_validate(record.receipt))


@forget_app.command("resume")
@reports_errors
def forget_resume(context: typer.Context, as_json: Json = False) -> None:
    """Finish erasures that were begun and did not get to their end."""
    from ingest.erasure import commands, views

    receipts = commands.forget_resume(settings_of(context))
    if as_json:
        print_json([receipt.model_dump(mode="json") for receipt in receipts])
    for receipt in receipts if not as_json else ():
        views.print_receipt(console, receipt)


@forget_app.command("lift")
@reports_errors
def forget_lift(context: typer.Context, number: int, as_json: Json = False) -> None:
    """Let what was erased be pulled in again if its source lists it."""
    from ingest.erasure import commands, views

    record = commands.forget_lift(settings_of(context), number)
    if as_json:
        print_json(record.model_dump(mode="json"))
    else:
        views.print_erasures(console, [record])

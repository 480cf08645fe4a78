"""muniment quarantine: look at what was refused, and decide."""

from __future__ import annotations

import io
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.markup import escape

from ingest.cli_common import Json, console, errors, print_json, reports_errors, settings_of
from ingest.errors import ItemError
from schemas.base import utc_now
from schemas.run import QuarantineState, Stage

if TYPE_CHECKING:
    from ingest.catalog.records import QuarantineRecord

quarantine_app = typer.Typer(help="Look at what was refused, and decide.", no_args_is_help=True)

State = Annotated[QuarantineState, typer.Option(help="Which entries.")]
OfSource = Annotated[str | None, typer.Option("--source", help="Of this source.")]
OfCode = Annotated[str | None, typer.Option("--code", help="With this reason code.")]
OfStage = Annotated[Stage | None, typer.Option("--stage", help="Refused by this step.")]
OlderThan = Annotated[
    float | None, typer.Option("--older-than", min=0, help="First seen more than so many days ago.")
]


@quarantine_app.command("list")
@reports_errors
def list_entries(
    context: typer.Context,
    state: State = "open",
    source: OfSource = None,
    code: OfCode = None,
    stage: OfStage = None,
    older_than: OlderThan = None,
    as_json: Json = False,
) -> None:
    """List what is in quarantine."""
    from ingest import views

    entries = _entries(context, state, source, code, stage, older_than)
    if as_json:
        print_json([entry.model_dump(mode="json") for entry in entries])
    else:
        views.print_quarantine(console, entries)


@quarantine_app.command("show")
@reports_errors
def show(
    context: typer.Context,
    number: int,
    pictures: Annotated[
        Path | None, typer.Option(help="Folder to draw the pages into, the passages marked.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show one entry with its evidence: the chunks that failed, and where they stand."""
    from ingest import views
    from ingest.pipeline import Pipeline
    from ingest.quarantine_evidence import draw_evidence, failed_chunks
    from ingest.runner import new_run_id

    pipeline = Pipeline(settings_of(context), new_run_id())
    entry = pipeline.catalog.quarantine_entry(number)
    chunks = failed_chunks(pipeline, entry)
    drawn = draw_evidence(pipeline, entry, pictures) if pictures is not None else []
    shown = {
        **entry.model_dump(mode="json"),
        "failed_chunks": [chunk.model_dump(mode="json") for chunk in chunks],
        "pictures": [str(path) for path in drawn],
    }
    if as_json:
        print_json(shown)
    else:
        views.print_record(console, shown)


@quarantine_app.command("retry")
@reports_errors
def retry(
    context: typer.Context,
    numbers: Annotated[list[int] | None, typer.Argument(help="Numbers of entries.")] = None,
    source: OfSource = None,
    code: OfCode = None,
    stage: OfStage = None,
    older_than: OlderThan = None,
    now: Annotated[
        bool, typer.Option("--now", help="At once, and nothing else; not at the next run.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Try items again: these, or all open ones that the options name."""
    from ingest.pipeline import Pipeline, open_catalog
    from ingest.runner import new_run_id

    catalog = open_catalog(settings_of(context))
    if numbers:
        entries = [catalog.quarantine_entry(number) for number in dict.fromkeys(numbers)]
    elif source or code or stage or older_than is not None:
        entries = _entries(context, "open", source, code, stage, older_than)
    else:
        raise typer.BadParameter("name entries by their numbers, or by --source, --code or --stage")
    if not now:
        for entry in entries:
            catalog.retry_quarantine(entry.id)
            _tell(entry, "is tried again at the next run", as_json)
        return
    from ingest.quarantine_retry import retry_now

    with (errors if as_json else console).status(f"Trying {len(entries)} entries again"):
        result = retry_now(Pipeline(settings_of(context), new_run_id()), entries)
    if as_json:
        print_json(result.model_dump(mode="json"))
    else:
        for entry in entries:
            passed = entry.id in result.closed
            _tell(entry, "passed" if passed else "is still refused", as_json)
    if result.left:
        raise typer.Exit(ItemError.exit_status)


@quarantine_app.command("dismiss")
@reports_errors
def dismiss(
    context: typer.Context,
    number: int,
    reason: Annotated[str, typer.Option(help="Why it may be left out.")],
    as_json: Json = False,
) -> None:
    """Leave the item out for good, with a reason."""
    from ingest.pipeline import open_catalog

    entry = open_catalog(settings_of(context)).dismiss_quarantine(number, reason)
    _tell(entry, "is left out", as_json)


@quarantine_app.command("export")
@reports_errors
def export(
    context: typer.Context,
    out: Annotated[
        Path | None, typer.Option(dir_okay=False, help="File; printed where it is not given.")
    ] = None,
    form: Annotated[
        Literal["csv", "jsonl"], typer.Option("--format", help="A table, or an object a line.")
    ] = "csv",
    state: State = "open",
    source: OfSource = None,
    code: OfCode = None,
    stage: OfStage = None,
    older_than: OlderThan = None,
) -> None:
    """Write entries as CSV or JSON Lines."""
    from ingest.quarantine_export import write_csv, write_json_lines

    entries = _entries(context, state, source, code, stage, older_than)
    text = io.StringIO()
    (write_csv if form == "csv" else write_json_lines)(entries, text)
    if out is None:
        sys.stdout.write(text.getvalue())
        return
    out.write_text(text.getvalue(), "utf-8")
    console.print(f"{len(entries)} entries are in {escape(str(out))}.", highlight=False)


def _entries(
    context: typer.Context,
    state: QuarantineState,
    source: str | None,
    code: str | None,
    stage: Stage | None,
    older_than: float | None,
) -> list[QuarantineRecord]:
    from ingest.pipeline import open_catalog

    before: datetime | None = None
    if older_than is not None:
        before = utc_now() - timedelta(days=older_than)
    catalog = open_catalog(settings_of(context))
    return catalog.quarantine(state, source, code=code, stage=stage, before=before)


def _tell(entry: QuarantineRecord, decision: str, as_json: bool) -> None:
    from ingest import views

    views.print_decision(console, entry, decision, as_json)

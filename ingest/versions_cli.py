"""muniment versions: what a document's versions are, and what a person says of them."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ingest.cli_common import (
    Json,
    console,
    parse_instant,
    print_json,
    reports_errors,
    settings_of,
)
from ingest.versions_report import VersionsReport
from schemas.base import OPEN_END

versions_app = typer.Typer(
    help="Look at a document's versions in time, and correct them.", no_args_is_help=True
)

Number = Annotated[int, typer.Argument(min=1, help="The version's number.")]
Reason = Annotated[str, typer.Option(help="Why; it is kept with the version.")]


@versions_app.command("list")
@reports_errors
def list_documents(
    context: typer.Context,
    source: Annotated[str | None, typer.Option(help="Of this source alone.")] = None,
    as_json: Json = False,
) -> None:
    """List the documents with the number of their versions."""
    from ingest import versions_report

    found = versions_report.documents(settings_of(context), source)
    if as_json:
        print_json([one.model_dump(mode="json") for one in found])
        return
    table = Table("document", "source", "key", "title", "versions", "in force now")
    for one in found:
        in_force = "none" if one.in_force is None else str(one.in_force)
        table.add_row(
            one.doc_id,
            escape(one.source_id),
            escape(one.document_key),
            escape(one.title),
            str(one.versions),
            in_force,
        )
    console.print(table if found else "There are no documents yet.")


@versions_app.command("show")
@reports_errors
def show(
    context: typer.Context,
    document: str,
    as_published: Annotated[
        str | None, typer.Option(help="As readers were told on this date.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show the versions of a document: when each is in force, how that is known, and what was
    told before."""
    from ingest import versions_report

    on = None if as_published is None else parse_instant(as_published)
    _print(versions_report.report(settings_of(context), document, on), as_json)


@versions_app.command("correct")
@reports_errors
def correct(
    context: typer.Context,
    document: str,
    version: Number,
    effective_from: Annotated[str, typer.Option(help="The date from which it is in force.")],
    reason: Reason,
    as_json: Json = False,
) -> None:
    """Set the date from which a version is in force, whatever its source says."""
    from ingest import versions_report

    date = parse_instant(effective_from)
    found = versions_report.correct(settings_of(context), document, version, date, reason)
    _print(found, as_json)


@versions_app.command("uncorrect")
@reports_errors
def uncorrect(
    context: typer.Context, document: str, version: Number, as_json: Json = False
) -> None:
    """Take a correction back: the date that the source gives counts again."""
    from ingest import versions_report

    _print(versions_report.uncorrect(settings_of(context), document, version), as_json)


@versions_app.command("withdraw")
@reports_errors
def withdraw(
    context: typer.Context, document: str, version: Number, reason: Reason, as_json: Json = False
) -> None:
    """Hold of a version that it was never in force, such as a draft that was filed by mistake."""
    from ingest import versions_report

    _print(versions_report.withdraw(settings_of(context), document, version, reason), as_json)


@versions_app.command("reinstate")
@reports_errors
def reinstate(
    context: typer.Context, document: str, version: Number, as_json: Json = False
) -> None:
    """Take a withdrawal back."""
    from ingest import versions_report

    _print(versions_report.reinstate(settings_of(context), document, version), as_json)


def _print(found: VersionsReport, as_json: bool) -> None:
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        print_versions(console, found)


def print_versions(out: Console, found: VersionsReport) -> None:
    """Show a person the versions of a document."""
    out.print(f"[bold]{escape(found.title)}[/bold] [dim]{found.doc_id}[/dim]")
    if found.on is not None:
        out.print(f"As readers were told on {found.on.isoformat()}")
    table = Table("version", "label", "in force from", "until", "known by", "state", "received")
    for one in found.versions:
        until = "open" if one.effective_until == OPEN_END else f"{one.effective_until:%Y-%m-%d}"
        if one.effective_from == one.effective_until:
            until = "never in force"
        table.add_row(
            str(one.version),
            escape(one.version_label or ""),
            f"{one.effective_from:%Y-%m-%d}",
            until,
            one.effective_basis,
            one.state,
            f"{one.received_at:%Y-%m-%d}",
        )
    out.print(table if found.versions else "Readers were told of no version then.")
    for one in found.versions:
        name = f"version {one.version}"
        if one.evidence is not None:
            page = "" if one.evidence.page is None else f" (page {one.evidence.page})"
            out.print(f"{name}: dated by “{escape(one.evidence.quote)}”{page}")
        if one.correction is not None:
            out.print(f"{name}: date corrected, {escape(one.correction.reason)}")
        if one.withdrawal is not None:
            out.print(f"{name}: withdrawn, {escape(one.withdrawal.reason)}")

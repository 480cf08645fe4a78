"""The commands of ``muniment forget``."""

from __future__ import annotations

from typing import Annotated

import typer

from ingest.cli_common import Json, console, print_json, reports_errors, settings_of

forget_app = typer.Typer(help="Erase documents or a client, and keep receipts.")


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

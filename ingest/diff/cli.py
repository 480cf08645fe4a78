"""The command ``muniment diff``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ingest.cli_common import Json, console, errors, print_json, reports_errors, settings_of

Number = Annotated[int | None, typer.Argument(min=1, help="A version's number.")]


@reports_errors
def diff(
    context: typer.Context,
    document: str,
    before: Number = None,
    after: Number = None,
    html: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write it as a page, side by side.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare two versions of a document clause by clause; the last two unless they are named."""
    from ingest.diff import command
    from ingest.diff.text import print_diff

    if (before is None) != (after is None):
        raise typer.BadParameter("name both versions, or neither for the last two")
    numbers = None if before is None or after is None else (before, after)
    found = command.diff(settings_of(context), document, numbers, html)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        print_diff(console, found)
    if html is not None:
        errors.print(f"page {html}", markup=False, highlight=False, soft_wrap=True)

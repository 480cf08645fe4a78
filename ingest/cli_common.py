"""What the modules of the command line share: how they print, and how they end."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, ParamSpec

import typer
from rich.console import Console
from rich.markup import escape

from ingest.errors import MunimentError
from ingest.settings import Settings, load_settings

# A log or a pipe has no width; the table needs about this much.
_WIDTH = None if sys.stdout.isatty() else 132
console = Console(width=_WIDTH)
errors = Console(stderr=True, width=_WIDTH)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

P = ParamSpec("P")


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


def settings_of(context: typer.Context) -> Settings:
    """Return the settings for a command."""
    return load_settings(**context.obj)


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

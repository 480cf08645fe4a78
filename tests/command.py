"""The command line in this process: several times faster than one of its own for each call."""

from __future__ import annotations

import json
from typing import Any

from click.testing import Result
from typer.testing import CliRunner
from workspace import Workspace

from ingest.cli import app


def call(site: Workspace, *arguments: str) -> Result:
    """Run the command line on a workspace; what it raises is raised here."""
    result = CliRunner().invoke(app, arguments, env=site.environment())
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def call_json(site: Workspace, *arguments: str) -> Any:
    """Return the JSON that a command prints."""
    result = call(site, *arguments, "--json")
    assert result.stdout, result.stderr
    return json.loads(result.stdout)

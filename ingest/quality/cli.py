"""muniment quality: what is checked, what was measured, and what other thresholds would do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from ingest.cli_common import Json, console, print_json, reports_errors, settings_of

if TYPE_CHECKING:
    from ingest.quality.replay import ReplayedRun
    from schemas.quality import Metric

quality_app = typer.Typer(
    help="See what is checked, what was measured, and try thresholds out.", no_args_is_help=True
)

_RUNS = 20


@quality_app.command("list")
@reports_errors
def list_checks(
    context: typer.Context,
    source: Annotated[
        str | None, typer.Option(help="With what the thresholds set for this source.")
    ] = None,
    as_json: Json = False,
) -> None:
    """List all that is checked: stage, severity, owner, and what must be so."""
    from ingest.quality.catalogue import catalogue
    from ingest.quality.thresholds import load_thresholds

    settings = settings_of(context)
    rules = load_thresholds(settings.gate).of(source or "")
    entries = []
    for entry in catalogue(settings.gate):
        own = rules.expectation(entry.code)
        changed = own.model_dump(include={"severity", "owner"}, exclude_none=True)
        entries.append((entry.model_copy(update=changed), own.limit))
    if as_json:
        print_json([{**entry.model_dump(mode="json"), "limit": limit} for entry, limit in entries])
        return
    table = Table("stage", "code", "severity", "owner", "what must be so")
    for entry, limit in entries:
        severity = entry.severity if limit is None else f"{entry.severity} above {limit:.0%}"
        table.add_row(entry.stage, entry.code, severity, entry.owner, escape(entry.description))
    console.print(table)


@quality_app.command("metrics")
@reports_errors
def show_metrics(
    context: typer.Context,
    run_id: Annotated[str | None, typer.Argument(help="A run; the last one by default.")] = None,
    source: Annotated[str | None, typer.Option(help="Of this source alone.")] = None,
    as_json: Json = False,
) -> None:
    """Show what was measured of a run, with the bands that earlier runs gave."""
    from ingest.pipeline import open_catalog

    catalog = open_catalog(settings_of(context))
    if run_id is None:
        ledger = catalog.last_run()
        run_id = None if ledger is None else ledger.run_id
    metrics = [] if run_id is None else catalog.metrics(run_id)
    found = [one for one in metrics if source in (None, one.source_id)]
    if as_json:
        print_json([one.model_dump(mode="json") for one in found])
    elif not found:
        console.print(f"Nothing was measured of run {run_id}." if run_id else "There is no run.")
    else:
        _print_metrics(found)


@quality_app.command("replay")
@reports_errors
def replay_thresholds(
    context: typer.Context,
    thresholds: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="File to try; that of the settings if not."),
    ] = None,
    runs: Annotated[int, typer.Option(min=1, max=1000, help="How many runs to look at.")] = _RUNS,
    as_json: Json = False,
) -> None:
    """Say what thresholds would have stopped, kept out or warned of in past runs.

    Nothing is read or checked anew, and nothing is changed.
    """
    from ingest.pipeline import Pipeline
    from ingest.quality.replay import replay
    from ingest.quality.thresholds import load_thresholds, read_thresholds
    from ingest.runner import new_run_id

    settings = settings_of(context)
    given = read_thresholds(thresholds) if thresholds else load_thresholds(settings.gate)
    found = replay(Pipeline(settings, new_run_id()), settings, given, runs)
    if as_json:
        print_json([one.model_dump(mode="json") for one in found])
    else:
        _print_replay(found)


def _print_metrics(metrics: list[Metric]) -> None:
    table = Table("source", "metric", "value", "low", "high", "state")
    for one in metrics:
        table.add_row(
            escape(one.source_id or "all"),
            one.name,
            f"{one.value:.4g}",
            "" if one.low is None else f"{one.low:.4g}",
            "" if one.high is None else f"{one.high:.4g}",
            one.state,
        )
    console.print(table)


def _print_replay(runs: list[ReplayedRun]) -> None:
    if not runs:
        console.print("No run has ended yet. Start one with: muniment run")
        return
    table = Table("run", "kept out", "stopped batches", "warnings", "metrics outside")
    for run in runs:
        pairs = (
            (len(run.then.kept_out), len(run.now.kept_out)),
            (len(run.then.stopped), len(run.now.stopped)),
            (run.then.warnings, run.now.warnings),
            (len(run.then.outside), len(run.now.outside)),
        )
        table.add_row(run.run_id, *(_change(then, now) for then, now in pairs))
    console.print(table)
    for run in runs:
        for word, versions in (
            ("would be kept out", run.newly_kept_out),
            ("would be let through", run.newly_let_through),
        ):
            for one in versions:
                console.print(
                    f"{run.run_id}: {escape(one.source_id)}, version {one.version} of "
                    f"{one.doc_id} {word} ({', '.join(one.codes)})",
                    highlight=False,
                )
        for metric in run.now.outside:
            console.print(
                f"{run.run_id}: {metric.name} of {escape(metric.source_id or 'all sources')} is "
                f"{metric.value:.4g}: {metric.state}",
                highlight=False,
            )


def _change(then: int, now: int) -> str:
    return str(now) if then == now else f"{then} → {now}"

"""muniment backfill: bring stored versions up to date."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ingest.cli_common import (
    Json,
    console,
    errors,
    parse_instant,
    print_json,
    reports_errors,
    settings_of,
)
from schemas.backfill import BackfillPlan, BackfillResult, Work

_SHOWN = 20
"""Versions that are listed; the JSON has them all."""

_NAMES = {
    "refetched": "versions to fetch again",
    "reread": "versions to read again",
    "pages_recognised": "pages with OCR, cached ones too",
    "points_new": "points to add",
    "embedded": "texts to embed",
    "points_patched": "points that take other terms",
    "points_redated": "points that take other dates",
    "points_deleted": "points to delete",
}


@reports_errors
def backfill(
    context: typer.Context,
    reason: Annotated[str, typer.Option(help="Why; it is kept with the run.")],
    document: Annotated[
        list[str] | None, typer.Option(help="This document alone; may be repeated.")
    ] = None,
    source: Annotated[
        list[str] | None, typer.Option(help="Documents of this source; may be repeated.")
    ] = None,
    effective_from: Annotated[
        str | None, typer.Option(help="Versions that begin on this date or later.")
    ] = None,
    effective_until: Annotated[
        str | None, typer.Option(help="Versions that begin before this date.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Bring stored versions up to date with the code, the terms and the dates of now.

    Nothing is asked of the sources, unless the vault has lost a version's bytes.
    """
    from ingest.backfill.run import plan_backfill, run_backfill
    from ingest.display import RunDisplay, print_ledger
    from ingest.pipeline import Pipeline
    from ingest.runner import exit_status, new_run_id
    from schemas.backfill import BackfillRequest

    settings = settings_of(context)
    request = BackfillRequest(
        documents=tuple(document or ()),
        sources=tuple(source or ()),
        effective_from=_instant(effective_from),
        effective_until=_instant(effective_until),
        reason=reason,
        dry_run=dry_run,
    )
    run_id = new_run_id()
    with RunDisplay(errors if as_json else console) as display:
        pipeline = Pipeline(settings, run_id, display)
        if dry_run:
            plan, result, ledger = plan_backfill(pipeline, request)[0], None, None
        else:
            plan, result, ledger = run_backfill(pipeline, request)
    if as_json:
        done = None if result is None else result.done.model_dump()
        print_json({**plan.model_dump(mode="json"), "done": done})
    else:
        print_backfill(console, plan, result)
        if ledger is not None and ledger.lines:
            print_ledger(console, ledger, [])
    if ledger is not None and ledger.lines:
        raise typer.Exit(exit_status(ledger))


def _instant(text: str | None) -> datetime | None:
    return None if text is None else parse_instant(text)


def print_backfill(out: Console, plan: BackfillPlan, result: BackfillResult | None) -> None:
    """Show a person what a backfill would do, and what it did."""
    out.print(
        f"{plan.versions_looked_at:,} versions were looked at, {len(plan.work):,} need something."
    )
    if plan.work:
        total = plan.total
        columns = ["", "planned", *(["done"] if result is not None else [])]
        table = Table(*columns)
        for name, shown in _NAMES.items():
            counts = [total, *([result.done] if result is not None else [])]
            if any(_count(count, name) for count in counts):
                table.add_row(shown, *(f"{_count(count, name):,}" for count in counts))
        out.print(table)
    for one in plan.work[:_SHOWN]:
        name = f"{one.source_id}: {one.source_key} version {one.version}"
        out.print(f"{escape(name)}: {escape('; '.join(one.reasons))}")
    if len(plan.work) > _SHOWN:
        out.print(f"… and {len(plan.work) - _SHOWN:,} more; see all of them with --json")
    for skipped in plan.skipped:
        out.print(f"[yellow]left out[/yellow] {escape(skipped)}")


def _count(work: Work, name: str) -> int:
    return int(getattr(work, name))

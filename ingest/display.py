"""What a person sees of a run: progress while it works, a table when it is done."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ingest.ledger import BATCH_STAGES
from ingest.progress import ProgressEvent
from schemas.run import Ledger


class RunDisplay:
    """Shows progress events: a bar in a terminal, plain lines elsewhere.

    The bar counts one step of one item as one; its length is known once the sources are listed.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = (
            Progress(
                TextColumn("[bold]{task.description:<42}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=console,
            )
            if console.is_terminal
            else None
        )
        self._task = self._bar.add_task("listing the sources", total=None) if self._bar else None
        self._total = 0
        self._done: dict[tuple[str, str], int] = {}

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def emit(self, event: ProgressEvent) -> None:
        """Show one event."""
        if self._bar is None:
            self._print(event)
        else:
            self._move(self._bar, event)

    def _print(self, event: ProgressEvent) -> None:
        where = event.batch_id or event.source_id
        if event.state == "failed":
            line = f"{event.stage:<8} {where:<26} FAILED: {event.detail}"
        elif event.state == "finished":
            line = f"{event.stage:<8} {where:<26} done: {event.detail}"
        elif event.state == "advanced" and event.stage == "extract":
            line = f"{event.stage:<8} {where:<26} {event.done}/{event.total} {event.detail}"
        else:
            return
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _move(self, bar: Progress, event: ProgressEvent) -> None:
        if self._task is None:
            return
        where = event.batch_id or event.source_id
        if event.state == "failed":
            bar.console.print(f"[red]{event.stage} {escape(where)}: {escape(event.detail)}[/red]")
            return
        if event.stage == "plan" and event.state == "finished":
            self._total += event.done * len(BATCH_STAGES)
        elif event.batch_id is not None and event.state != "started":
            self._done[event.batch_id, event.stage] = event.done
        detail = event.detail if event.state == "advanced" else where
        bar.update(
            self._task,
            description=escape(f"{event.stage} {detail}"[:42]),
            total=self._total or None,
            completed=sum(self._done.values()),
        )


def ledger_table(ledger: Ledger) -> Table:
    """Return the run's accounts as a table, one row a source and a row of sums."""
    columns = {
        "listed": "listed",
        "new": "new",
        "changed": "changed",
        "unchanged": "unchanged",
        "failed": "failed",
        "members": "members",
        "opened": "opened",
        "quarantined": "quarantined",
        "retired": "retired",
        "chunks": "chunks",
        "points_new": "points new",
        "points_reused": "points reused",
    }
    if not any(line.members or line.opened for line in ledger.lines):
        # Most sources have no files inside files, and the table is wide without them.
        columns = {name: columns[name] for name in columns if name not in ("members", "opened")}
    table = Table(title=f"Run {ledger.run_id}", title_justify="left", show_footer=True)
    table.add_column("source", footer="all", no_wrap=True)
    for name, heading in columns.items():
        total = sum(getattr(line, name) for line in ledger.lines)
        table.add_column(heading, justify="right", footer=f"{total:,}")
    for line in ledger.lines:
        table.add_row(line.source_id, *(f"{getattr(line, name):,}" for name in columns))
    return table


def print_ledger(console: Console, ledger: Ledger, places: Sequence[tuple[str, str]] = ()) -> None:
    """Print the table, whether it balances, what needs a person, and where everything is."""
    console.print(ledger_table(ledger))
    if ledger.balanced:
        console.print("[green]The ledger balances:[/green] everything listed is accounted for.")
    else:
        console.print("[bold red]The ledger does not balance.[/bold red]")
    for line in ledger.lines:
        if line.error:
            console.print(f"[red]{escape(line.source_id)}: {escape(line.error)}[/red]")
    for finding in ledger.unprovable:
        console.print(f"[red]not provable: {escape(finding)}[/red]")
    for alert in ledger.alerts:
        console.print(f"[yellow]alert: {escape(alert)}[/yellow]")
    for name, place in places:
        console.print(f"{name:<16} {escape(place)}", highlight=False, soft_wrap=True)

"""How the command line shows things to a person."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ingest import operations
from ingest.display import print_ledger
from ingest.freshness import age_in_words
from ingest.settings import Settings
from schemas.chunk import Chunk
from schemas.document import Extraction
from schemas.run import SourceHealth

if TYPE_CHECKING:
    from ingest.catalog.records import QuarantineRecord
    from ingest.index import SearchHit
    from ingest.proof import Proof

_SNIPPET_CHARS = 480


def print_status(settings: Settings, console: Console) -> None:
    """Show the last run as the table that ended it, and how fresh each source is now."""
    ledger = operations.last_ledger(settings)
    health = operations.source_health(settings)
    if ledger is None:
        console.print("No run has ended yet. Start one with: muniment run")
    else:
        print_ledger(console, ledger)
    print_freshness(console, health)


def print_freshness(console: Console, sources: Sequence[SourceHealth]) -> None:
    """Show when each source was last listed, and why one could not be."""
    table = Table("source", "last listed", "age", "entries", "state")
    for source in sources:
        table.add_row(
            source.source_id,
            f"{source.listed_at:%Y-%m-%d %H:%M} UTC" if source.listed_at else "never",
            age_in_words(source) if source.listed_at else "",
            "" if source.entries is None else f"{source.entries:,}",
            "[bold red]stale[/bold red]" if source.stale else "fresh",
        )
    console.print(table)
    for source in sources:
        if source.error:
            console.print(f"[red]{source.source_id}: {escape(source.error)}[/red]")


def print_hits(console: Console, hits: Sequence[SearchHit]) -> None:
    """Show passages with what is needed to cite and credit them.

    A text that may not be displayed isn't; its place and its credit are.
    """
    if not hits:
        console.print("Nothing that is in force, licensed, visible and published matches.")
    for number, hit in enumerate(hits, start=1):
        payload = hit.payload
        console.print(
            f"[bold]{number}. {escape(payload['title'])}[/bold]  {escape(place(payload))}  "
            f"[dim]score {hit.score:.3f}[/dim]",
            highlight=False,
        )
        if payload["section"]:
            console.print(f"   [dim]{escape(' › '.join(payload['section']))}[/dim]")
        if payload["display_allowed"]:
            console.print(f"   {escape(snippet(payload))}", highlight=False)
        else:
            console.print("   [dim](the licence does not allow the text to be displayed)[/dim]")
        if payload["attribution_required"]:
            console.print(f"   [italic]{escape(payload['attribution_text'])}[/italic]")
        console.print(f"   [dim]{payload['chunk_id']}[/dim]", highlight=False)


def place(payload: dict[str, Any]) -> str:
    """Return where a passage stands, in words: version, page or row, dates."""
    parts = [f"v{payload['version_label'] or payload['version']}"]
    if payload["page_first"] is not None:
        first, last = payload["page_first"], payload["page_last"]
        parts.append(f"page {first}" if first == last else f"pages {first}–{last}")
    locator = payload["locator"] or {}
    if locator.get("row"):
        parts.append(f"row {locator['row']}, {', '.join(locator['fields'])}")
    elif locator.get("paragraph_first"):
        parts.append(f"paragraph {locator['paragraph_first']}")
    parts.append(f"in force from {payload['effective_from'][:10]}")
    return ", ".join(parts)


def snippet(payload: dict[str, Any]) -> str:
    """Return the start of the text, no longer than the licence lets one quote."""
    limit = min(_SNIPPET_CHARS, payload["max_quote_chars"] or _SNIPPET_CHARS)
    text = " ".join(payload["text"].split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def print_record(console: Console, record: dict[str, Any]) -> None:
    """Show a record with its fields, as indented JSON."""
    console.print_json(json.dumps(record, ensure_ascii=False))


def print_proof(console: Console, proof: Proof) -> None:
    """Show the chain step by step, and where the pictures are."""
    for step in proof.steps:
        mark = "[green]ok[/green]    " if step.ok else "[bold red]FAILED[/bold red]"
        console.print(f"{mark} {escape(step.name):<18} {escape(step.detail)}", highlight=False)
    for picture in proof.pictures:
        console.print(f"picture {escape(picture)}", highlight=False, soft_wrap=True)
    console.print("[green]proved[/green]" if proof.proved else "[bold red]not proved[/bold red]")


def print_extraction(console: Console, extraction: Extraction) -> None:
    """Show what was read: a summary, the warnings, then the text."""
    console.print(
        f"{extraction.media_type}: {len(extraction.pages)} pages, {len(extraction.words)} words, "
        f"{len(extraction.elements)} elements, {len(extraction.text)} characters",
        highlight=False,
    )
    for warning in extraction.warnings:
        page = f" (page {warning.page})" if warning.page else ""
        console.print(f"[yellow]{warning.code}{page}: {escape(warning.message)}[/yellow]")
    for file in extraction.attachments:
        console.print(f"file inside: {escape(file.name)} ({file.size:,} bytes)", highlight=False)
    for problem in extraction.member_problems:
        console.print(
            f"[yellow]{problem.code}: {escape(problem.name)}: {escape(problem.message)}[/yellow]"
        )
    sys.stdout.write(extraction.text + "\n")


def print_chunk(console: Console, chunk: Chunk) -> None:
    """Show one chunk with where it stands."""
    where = f"{chunk.char_start}–{chunk.char_end}, {chunk.tokens} tokens"
    if chunk.page_first is not None:
        where += f", page {chunk.page_first}"
        if chunk.page_last != chunk.page_first:
            where += f"–{chunk.page_last}"
    console.print(f"[bold]{where}[/bold] [dim]{escape(' › '.join(chunk.section))}[/dim]")
    sys.stdout.write(chunk.text + "\n\n")


def print_quarantine(console: Console, entries: Sequence[QuarantineRecord]) -> None:
    """Show what was refused, when, and why."""
    if not entries:
        console.print("Nothing is in quarantine.")
        return
    table = Table("no.", "source", "item", "stage", "code", "seen", "reason")
    for entry in entries:
        table.add_row(
            str(entry.id),
            escape(entry.source_id),
            escape(entry.source_key),
            entry.stage,
            entry.code,
            f"{entry.times_seen}× since {entry.first_seen:%Y-%m-%d}",
            escape(entry.message),
        )
    console.print(table)


def print_decision(console: Console, entry: QuarantineRecord, decision: str, as_json: bool) -> None:
    """Say what became of a quarantine entry."""
    if as_json:
        sys.stdout.write(json.dumps({"id": entry.id, "source_key": entry.source_key}) + "\n")
    else:
        console.print(f"{entry.id}: {escape(entry.source_key)} {decision}.", highlight=False)


def print_configuration(console: Console, found: dict[str, Any]) -> None:
    """Show the checked configuration."""
    console.print(
        f"{found['sources_file']} and {found['licences_file']} are right.\n"
        f"home {found['home']}, index {found['index']}, model {found['embedding_model']}",
        highlight=False,
    )
    table = Table("source", "kind", "connector", "address", "licence", "visible to")
    for source in found["sources"]:
        licence = source["licence"] + ("" if source["licence_valid"] else " (expired)")
        table.add_row(
            source["id"],
            source["kind"],
            source["connector"],
            escape(source["address"]),
            licence,
            source["confidentiality"],
        )
    console.print(table)

"""How receipts are shown to a person."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ingest.catalog.records import ErasureRecord
from ingest.erasure.receipt import Place, Receipt

_PLACES: dict[Place, str] = {
    "index": "points of the index",
    "embeddings": "vectors in the catalogue",
    "proofs": "pictures of proofs",
    "report_pictures": "pictures in reports",
    "reports": "quality reports",
    "progress_and_logs": "files of progress and logs with lines about it",
    "ocr_cache": "recognised pages",
    "web_cache": "files kept of the web",
    "vault": "source files in the vault",
    "extractions": "extracted texts",
    "run_files": "runs whose files speak of it",
    "chunks": "files of passages",
    "catalogue": "rows of the catalogue",
}


def print_receipt(console: Console, receipt: Receipt) -> None:
    """Show what was, or would be, erased where, and what stayed."""
    done = receipt.finished_at is not None
    subject = f"{receipt.kind} {receipt.subject}"
    documents = len(receipt.documents)
    inside = f", {receipt.members} of them inside others" if receipt.members else ""
    number = f"Erasure {receipt.number}: " if done else "Would be erased: "
    console.print(f"[bold]{number}[/bold]{subject}", highlight=False)
    console.print(f"{documents} {'document' if documents == 1 else 'documents'}{inside}")
    console.print(f"reason: {escape(receipt.reason)}", highlight=False)
    if receipt.finished_at is not None:
        console.print(
            f"asked for {receipt.requested_at:%Y-%m-%d %H:%M:%S} UTC, done "
            f"{receipt.finished_at:%Y-%m-%d %H:%M:%S} UTC, by {receipt.program}",
            highlight=False,
        )
    table = Table("what", "erased" if done else "there is")
    if receipt.left is not None:
        table.add_column("found again")
    for place, name in _PLACES.items():
        cells = [name, str(receipt.erased.get(place, 0))]
        if receipt.left is not None:
            cells.append(str(receipt.left.get(place, 0)))
        table.add_row(*cells)
    console.print(table)
    for stayed in receipt.stayed:
        console.print(f"stays: bytes {stayed.sha256}: {stayed.why}", highlight=False)
    if done:
        console.print(
            "It is not pulled in again."
            if receipt.lasting
            else "It is pulled in again if its source lists it."
        )


def print_erasures(console: Console, records: Sequence[ErasureRecord]) -> None:
    """Show the list of erasures."""
    if not records:
        console.print("Nothing was ever erased.")
        return
    table = Table("no.", "kind", "subject", "asked for", "done", "kept out", "reason")
    for record in records:
        table.add_row(
            str(record.id),
            record.kind,
            record.subject,
            f"{record.requested_at:%Y-%m-%d %H:%M}",
            "under way" if record.finished_at is None else f"{record.finished_at:%Y-%m-%d %H:%M}",
            "yes" if record.lasting else "no",
            escape(record.reason),
        )
    console.print(table)

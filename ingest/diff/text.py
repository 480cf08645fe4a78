"""The comparison as lines in a terminal: what a reviewer reads first."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.text import Text

from ingest.diff.model import (
    ClauseChange,
    ClauseSpan,
    ComparedVersion,
    Span,
    VersionDiff,
    WordChange,
)
from schemas.base import OPEN_END

_CONTEXT = 8
"""Words shown at each side of a change."""
_SNIPPET = 240
"""Characters shown of a clause that moved."""
_STYLES = {"delete": "red", "insert": "green", "equal": ""}
_WITHHELD = "(the licence does not allow the text to be displayed)"
_TOO_LONG = "(longer than the licence lets one quote)"
_STATUS_STYLES = {"changed": "yellow", "moved": "blue", "added": "green", "removed": "red"}


def print_diff(console: Console, found: VersionDiff) -> None:
    """Show the two versions, each clause that is not the same in both, and the counts."""
    _print(console, Text(found.title, style="bold"), Text(f"  {found.doc_id}", style="dim"))
    for sign, version in (("-", found.before), ("+", found.after)):
        _print(console, Text(f"{sign} {version_line(version)}"))
    for change in found.clauses:
        if change.status == "unchanged":
            continue
        console.print()
        _print(
            console,
            Text(f"{change.status:<8}", style=f"bold {_STATUS_STYLES[change.status]}"),
            Text(f" {label_line(change)}", style="bold"),
            Text(f"  {place_line(change)}".rstrip(), style="dim"),
        )
        for line in _lines(change, found.display_allowed):
            _print(console, Text("  "), line)
    console.print()
    _print(console, Text(counts_line(found)))
    for credit in credits_of(found):
        _print(console, Text(credit, style="italic"))


def version_line(version: ComparedVersion) -> str:
    """Return a version in a line: number, label, effective interval, hash."""
    until = "open" if version.effective_until == OPEN_END else f"{version.effective_until:%Y-%m-%d}"
    label = f" ({version.version_label})" if version.version_label else ""
    return (
        f"version {version.version}{label}, in force {version.effective_from:%Y-%m-%d} to {until}, "
        f"SHA-256 {version.doc_sha256[:12]}…"
    )


def counts_line(found: VersionDiff) -> str:
    """Return the numbers of clauses in a line."""
    counts = found.counts
    return (
        f"{counts.changed} changed, {counts.moved} moved, {counts.added} added, "
        f"{counts.removed} removed, {counts.unchanged} unchanged"
        + (f"; {counts.renumbered} renumbered only" if counts.renumbered else "")
    )


def label_line(change: ClauseChange) -> str:
    """Return what the clause is called, and what it was called before where that differs."""
    labels = [side.label for side in (change.before, change.after) if side is not None]
    return " → ".join(dict.fromkeys(labels))


def place_line(change: ClauseChange) -> str:
    """Return the pages, and what else is to know of the change."""
    parts = []
    pages = [page_of(side) for side in (change.before, change.after) if side is not None]
    if all(pages):
        parts.append(" → ".join(pages))
    if change.renumbered:
        parts.append("renumbered")
    if change.moved and change.status == "changed":
        parts.append("moved")
    return ", ".join(parts)


def page_of(span: Span) -> str:
    """Return "p. 3" or "pp. 3–4"; nothing where the format has no pages."""
    if span.page_first is None:
        return ""
    if span.page_first == span.page_last:
        return f"p. {span.page_first}"
    return f"pp. {span.page_first}–{span.page_last}"


def credits_of(found: VersionDiff) -> list[str]:
    """Return the credit lines that the licences require, each once."""
    lines = (found.before.attribution_text, found.after.attribution_text)
    return list(dict.fromkeys(line for line in lines if line))


def _lines(change: ClauseChange, displayed: bool) -> Iterator[Text]:
    if not displayed:
        yield Text(_WITHHELD, style="dim")
    elif change.words:
        yield _marked(change)
    elif change.status == "moved" and change.after is not None:
        text = _flat(change.after)
        yield Text(text if len(text) <= _SNIPPET else text[: _SNIPPET - 1] + "…")
    else:
        for sign, kind, side in (("-", "delete", change.before), ("+", "insert", change.after)):
            if side is not None:
                yield Text(f"{sign} {_flat(side)}", style=_STYLES[kind])


def _marked(change: ClauseChange) -> Text:
    """Return the words with what was taken out in [-…-] and what was put in in {+…+}."""
    line = Text()
    last = len(change.words) - 1
    for number, word in enumerate(change.words):
        if number and _are_apart(change.words[number - 1], word):
            line.append(" ")
        if word.kind == "equal":
            line.append(_shortened(word.after, is_first=number == 0, is_last=number == last))
        elif word.kind == "delete":
            line.append(f"[-{_run(word.before)}-]", style=_STYLES["delete"])
        else:
            line.append(f"{{+{_run(word.after)}+}}", style=_STYLES["insert"])
    return line


def _are_apart(one: WordChange, other: WordChange) -> bool:
    """Tell whether white space is between two runs, on a side that has both or has only one."""
    sides = [(one.before, other.before), (one.after, other.after)]
    touching = [left and right and left.char_end == right.char_start for left, right in sides]
    return not any(touching)


def _run(span: Span | None) -> str:
    return "…" if span is None or span.text is None else " ".join(span.text.split())


def _shortened(span: Span | None, *, is_first: bool, is_last: bool) -> str:
    """Return the words next to the changes, with "…" for those further away."""
    if span is None or span.text is None:
        return "…"
    words = span.text.split()
    head = 0 if is_first else _CONTEXT
    tail = 0 if is_last else _CONTEXT
    if len(words) <= head + tail + 1:
        return " ".join(words)
    return " ".join([*words[:head], "…", *words[len(words) - tail :]])


def _flat(span: ClauseSpan) -> str:
    return _TOO_LONG if span.text is None else " ".join(span.text.split())


def _print(console: Console, *parts: Text) -> None:
    console.print(Text.assemble(*parts), soft_wrap=True, highlight=False)

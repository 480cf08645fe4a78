"""Tables: from counts to rows, on a terminal and in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from statistics import mean

from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from benchmarks.extract.cuts import CutScore
from benchmarks.extract.digital import DigitalFile
from benchmarks.extract.instruments import Spent
from benchmarks.extract.metrics import BoxScore, TextScore
from benchmarks.extract.scans import Mode, PageReading

READINGS: dict[Mode, str] = {
    "bare": "bare Tesseract",
    "first": "Tesseract alone",
    "second": "with second engine",
}
GOALS: dict[tuple[str, Mode], float] = {
    ("scans_synth:1", "first"): 0.004,
    ("scans_synth:2", "first"): 0.006,
    ("scans_synth:3", "first"): 0.10,
    ("scans_scribe", "first"): 0.063,
    ("scans_funsd", "first"): 0.24,
    ("scans_sroie", "first"): 0.13,
    ("scans_synth:1", "second"): 0.004,
    ("scans_synth:2", "second"): 0.005,
    ("scans_synth:3", "second"): 0.03,
    ("scans_scribe", "second"): 0.040,
    ("scans_funsd", "second"): 0.10,
    ("scans_sroie", "second"): 0.06,
}
"""Highest character error rate that is wanted, held-out pages."""
IOU_GOALS = {"scans_synth:1": 0.90, "scans_synth:2": 0.88, "scans_synth:3": 0.74}
LOST = 0.05
"""A page that lost more than this share of its text should be flagged."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells, all of them text."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""

    def markdown(self, level: int = 3) -> str:
        """Return a heading, the table in GitHub's Markdown, and the note."""
        lines = [
            f"{'#' * level} {self.title}",
            "",
            "| " + " | ".join(self.columns) + " |",
            "|" + "|".join(" --- " if i < 2 else " ---: " for i in range(len(self.columns))) + "|",
            *("| " + " | ".join(row) + " |" for row in self.rows),
        ]
        return "\n".join([*lines, "", self.note] if self.note else lines) + "\n"

    def show(self, console: Console) -> None:
        """Print the table."""
        table = RichTable(
            title=escape(self.title),
            title_justify="left",
            caption=escape(self.note) or None,
            caption_justify="left",
        )
        for index, column in enumerate(self.columns):
            table.add_column(escape(column), justify="left" if index < 2 else "right")
        for row in self.rows:
            table.add_row(*map(escape, row))
        console.print(table)


def scan_tables(readings: Sequence[PageReading], uncovered_limit: float) -> list[Table]:
    """Return the tables of accuracy, cost and lost text.

    Args:
        readings: of all pages, in every way.
        uncovered_limit: share of uncovered ink above which an area is read again.
    """
    held_out = [reading for reading in readings if reading.held_out]
    tables = [
        _accuracy("Scans with word or line boxes, held-out files", held_out),
        _accuracy("Scans with word or line boxes, all files", readings),
        _texts("Scans with their text alone, all files", readings),
        _cost(readings),
        _lost_text(readings, uncovered_limit),
    ]
    return [table for table in tables if table.rows]


def _accuracy(title: str, readings: Sequence[PageReading]) -> Table:
    rows = []
    for name, mode, group in _by_set_and_mode(readings):
        scores = [reading.boxes for reading in group if reading.boxes is not None]
        if not scores:
            continue
        total = reduce(add, scores, BoxScore())
        goal, iou_goal = GOALS.get((name, mode)), IOU_GOALS.get(name)
        rows.append(
            (
                name,
                READINGS[mode],
                str(len(scores)),
                _rate(total.character_error_rate),
                _rate(mean(score.character_error_rate for score in scores)),
                "" if goal is None else f"≤ {goal:.3f}",
                _rate(total.word_error_rate),
                _percent(total.right_share),
                "–" if total.iou is None else f"{total.iou:.2f}",
                "" if iou_goal is None or mode == "bare" else f"≥ {iou_goal:.2f}",
                _percent(total.missing_share),
            )
        )
    return Table(
        title,
        (
            "set", "reading", "pages", "CER", "page mean", "goal", "WER", "words right", "IoU",
            "goal", "text lost",
        ),
        tuple(rows),
        "CER and WER: wrong characters and words for each true one, matched by box, spaces and "
        "order ignored; over all pages together, and as the mean of the pages' own rates. Text "
        "lost: characters on whose boxes nothing was read.",
    )  # fmt: skip


def _texts(title: str, readings: Sequence[PageReading]) -> Table:
    rows = []
    for name, mode, group in _by_set_and_mode(readings):
        scores = [reading.score for reading in group if isinstance(reading.score, TextScore)]
        if scores:
            total = reduce(add, scores, TextScore())
            rows.append(
                (
                    name,
                    READINGS[mode],
                    str(len(scores)),
                    _rate(total.character_error_rate),
                    _rate(mean(score.character_error_rate for score in scores)),
                    _rate(total.bag_error_rate),
                )
            )
    return Table(
        title,
        ("set", "reading", "pages", "CER in order", "page mean", "words wrong in any order"),
        tuple(rows),
        "CER in order counts a column that is read at another place than in the truth as wrong.",
    )


def _cost(readings: Sequence[PageReading]) -> Table:
    rows = []
    for name, mode, group in _by_set_and_mode(readings):
        spent, engines = _sum(r.spent for r in group), _sum(r.engines for r in group)
        pages = {reading.page for reading in group}
        bare = _sum(
            r.spent for r in readings if r.set == name and r.mode == "bare" and r.page in pages
        )
        once = [reading for reading in group if reading.calls == 1]
        piped = mode != "bare"
        rows.append(
            (
                name,
                READINGS[mode],
                f"{len(group) / spent.wall:.2f}",
                f"{spent.cpu / len(group):.2f}",
                f"{engines.cpu / len(group):.2f}",
                f"{spent.cpu / bare.cpu:.2f}×" if piped and bare.cpu else "",
                _overhead(once) if piped else "",
                _overhead(group) if piped else "",
                f"{mean(reading.attempts for reading in group):.1f}" if piped else "",
                _percent(mean(reading.retried for reading in group)) if piped else "",
                _percent(mean(reading.flagged for reading in group)) if piped else "",
            )
        )
    return Table(
        "What it costs, all files",
        (
            "set", "reading", "pages/s", "CPU-s/page", "in engines", "of bare",
            "overhead, one call", "overhead, all", "attempts", "read again", "flagged",
        ),
        tuple(rows),
        "One process and one thread for each page. Of bare: processor time beside that of bare "
        "Tesseract on the same pages. Overhead: processor time outside the engines "
        "over that inside, on pages that needed one call of an engine, and on all; at most 10% is "
        "wanted. Attempts: readings of a page that were compared. Read again: the "
        "first attempt was not enough. Flagged: the one that was kept is still not enough.",
    )  # fmt: skip


def _lost_text(readings: Sequence[PageReading], limit: float) -> Table:
    rows = []
    for mode, label in READINGS.items():
        for files, held_out in (("held-out files", True), ("all files", False)):
            group = [
                (reading.boxes.missing_share > LOST, reading.uncovered_ink > limit)
                for reading in readings
                if reading.mode == mode
                and (reading.held_out or not held_out)
                and reading.boxes is not None
                and reading.uncovered_ink is not None
            ]
            lost = [found for is_lost, found in group if is_lost]
            kept = [found for is_lost, found in group if not is_lost]
            if group:
                found = f"{sum(lost)} ({_percent(sum(lost) / len(lost))})" if lost else "–"
                rows.append(
                    (
                        label,
                        files,
                        str(len(group)),
                        str(len(lost)),
                        found,
                        f"{sum(kept)} of {len(kept)}",
                    )
                )
    return Table(
        f"Uncovered ink over {limit:.2f} on pages that lost more than {LOST:.0%} of their text",
        ("reading", "files", "pages", "lost text", "of these found", "false alarms"),
        tuple(rows),
        "Bare Tesseract reads the pages as they lie, turned and tilted, and so loses the most. At "
        "least 95% found is wanted.",
    )


def digital_tables(files: Sequence[DigitalFile]) -> list[Table]:
    """Return the tables of what digital pages cost and of their boxes."""
    cost: list[tuple[str, ...]] = []
    boxes: list[tuple[str, ...]] = []
    for name, group in [*_by_set(files), ("all", list(files))]:
        timed = [file for file in group if file.bare and file.whole]
        if timed:
            cost.append(_digital_cost(name, timed))
        cut = reduce(add, (file.cuts for file in group), CutScore())
        if cut.words:
            boxes.append(
                (
                    name,
                    str(sum(file.cut_pages for file in group)),
                    f"{cut.words:,}",
                    f"{100 * cut.share:.2f}%",
                    str(cut.other_letters),
                    str(cut.no_ink),
                    str(cut.cut_off),
                    str(cut.on_pictures),
                )
            )
    tables = [
        Table(
            'Digital pages: the whole extraction beside get_text("words")',
            (
                "set",
                "files",
                "pages",
                "words ms",
                "of ink ms",
                "extraction ms",
                "ratio",
                "with layout ms",
            ),
            tuple(cost),
            "Processor time of a page, best of three; files whose pages are all digital and need "
            "no OCR. Of ink: the same words with the boxes of their ink. Ratio: extraction to "
            "words, at most 2 is wanted.",
        ),
        Table(
            "Digital words cut from the page at their boxes",
            (
                "set",
                "pages",
                "words",
                "read the same",
                "other letters",
                "no ink",
                "cut off",
                "on pictures",
            ),
            tuple(boxes),
            "Words that fail in more than one way are counted in each; 100% is wanted. On "
            "pictures, and not among the words: those of a text layer over a scan, which have no "
            "ink of their own.",
        ),
    ]
    return [table for table in tables if table.rows]


def _digital_cost(name: str, timed: Sequence[DigitalFile]) -> tuple[str, ...]:
    pages = sum(file.pages for file in timed)
    bare = _sum(file.bare for file in timed if file.bare).cpu
    ink = _sum(file.bare_ink for file in timed if file.bare_ink).cpu
    whole = _sum(file.whole for file in timed if file.whole).cpu
    laid = [file for file in timed if file.laid_out]
    laid_pages = sum(file.pages for file in laid)
    laid_out = _sum(file.laid_out for file in laid if file.laid_out).cpu
    return (
        name,
        str(len(timed)),
        str(pages),
        f"{1000 * bare / pages:.1f}",
        f"{1000 * ink / pages:.1f}",
        f"{1000 * whole / pages:.1f}",
        f"{whole / bare:.2f}",
        f"{1000 * laid_out / laid_pages:.0f}" if laid_pages else "",
    )


def profile_table(shares: Sequence[tuple[str, float]]) -> Table:
    """Return where the time of digital extraction goes."""
    return Table(
        "Where the time of digital extraction goes",
        ("function", "share with what it calls"),
        tuple((f"`{name}`", _percent(share)) for name, share in shares),
        "As a profiler sees it, which makes small functions look more expensive than they are.",
    )


def _by_set(files: Sequence[DigitalFile]) -> list[tuple[str, list[DigitalFile]]]:
    names = dict.fromkeys(file.set for file in files)
    return [(name, [file for file in files if file.set == name]) for name in names]


def _by_set_and_mode(
    readings: Sequence[PageReading],
) -> Iterable[tuple[str, Mode, list[PageReading]]]:
    for name in dict.fromkeys(reading.set for reading in readings):
        for mode in READINGS:
            group = [r for r in readings if r.set == name and r.mode == mode]
            if group:
                yield name, mode, group


def _sum(spent: Iterable[Spent]) -> Spent:
    return reduce(add, spent, Spent())


def _overhead(readings: Sequence[PageReading]) -> str:
    engines = _sum(reading.engines for reading in readings).cpu
    if not engines:
        return "–"
    return f"{100 * (_sum(r.spent for r in readings).cpu / engines - 1):.0f}%"


def _rate(value: float) -> str:
    return f"{value:.4f}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f}%"

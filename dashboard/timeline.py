"""A document's versions on both time axes: what was in force when, as was held when."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ingest.versions_report import VersionReport
from schemas.base import OPEN_END

WIDTH, HEIGHT = 760, 260
_LEFT, _BOTTOM, _TOP, _RIGHT = 92, 34, 10, 10
_COLOURS = 6


@dataclass(frozen=True)
class Block:
    """An interval that readers were told: a rectangle in points of the picture."""

    x: float
    y: float
    width: float
    height: float
    version: int
    colour: int
    """Which of the style sheet's colours."""
    says: str
    """The same in words."""


@dataclass(frozen=True)
class Tick:
    """A date on an axis."""

    at: float
    text: str


@dataclass(frozen=True)
class Timeline:
    """The picture. Across it runs when a version is in force; up, when readers were told so."""

    blocks: Sequence[Block]
    across: Sequence[Tick]
    up: Sequence[Tick]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    bottom: int = HEIGHT - _BOTTOM


def timeline(versions: Sequence[VersionReport], now: datetime) -> Timeline | None:
    """Arrange what was held of the versions; None where nothing ever was."""
    held = [(one.version, span) for one in versions for span in one.history]
    if not held:
        return None
    starts = [span.effective_from for _, span in held]
    ends = [span.effective_until for _, span in held if span.effective_until != OPEN_END]
    first, last = min(starts), max([now, *ends, *starts])
    last += max((last - first) / 12, timedelta(days=1))  # so that what is open can be seen to be
    since = min(span.recorded_at for _, span in held)
    until = max([now, *(span.recorded_at for _, span in held)])
    until += max((until - since) / 12, timedelta(seconds=1))

    def across(at: datetime) -> float:
        share = (min(max(at, first), last) - first) / (last - first)
        return round(_LEFT + share * (WIDTH - _LEFT - _RIGHT), 1)

    def up(at: datetime) -> float:
        share = (min(max(at, since), until) - since) / (until - since)
        return round(HEIGHT - _BOTTOM - share * (HEIGHT - _BOTTOM - _TOP), 1)

    blocks = [
        Block(
            x=across(span.effective_from),
            y=up(span.superseded_at),
            width=max(1.0, across(span.effective_until) - across(span.effective_from)),
            height=max(1.0, up(span.recorded_at) - up(span.superseded_at)),
            version=version,
            colour=version % _COLOURS,
            says=f"Version {version}: in force "
            f"{_until(span.effective_from, span.effective_until)}, as readers were told "
            f"{_until(span.recorded_at, span.superseded_at)}",
        )
        for version, span in held
        if span.effective_from < span.effective_until
    ]
    return Timeline(blocks, _ticks(first, last, across), _ticks(since, until, up))


def _ticks(first: datetime, last: datetime, place: Callable[[datetime], float]) -> list[Tick]:
    days = (last - first) >= timedelta(days=4)
    form = "%Y-%m-%d" if days else "%m-%d %H:%M"
    return [
        Tick(place(at), f"{at:{form}}") for at in (first + (last - first) * n / 4 for n in range(4))
    ]


def _until(start: datetime, end: datetime) -> str:
    begun = f"from {start:%Y-%m-%d %H:%M}"
    return f"{begun} on" if end == OPEN_END else f"{begun} to {end:%Y-%m-%d %H:%M}"

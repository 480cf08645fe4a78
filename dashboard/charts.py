"""Charts, drawn on the server as pictures: they run nothing and fetch nothing.

They are served as images of their own, so that their styles need no exception in the page's policy,
and follow light and dark by themselves. Beside each stands a table with the same figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import pygal  # type: ignore[import-untyped]  # it ships no types
from lxml import etree  # type: ignore[import-untyped]
from pygal.style import Style  # type: ignore[import-untyped]

from schemas.quality import Metric

_STYLE = Style(
    background="transparent",
    plot_background="transparent",
    foreground="#5b6570",
    foreground_strong="#2f3943",
    foreground_subtle="#c3cad1",
    colors=("#1f6fb2", "#8a939c", "#8a939c", "#b3261e"),
    font_family="system-ui, sans-serif",
    label_font_size=16,
    major_label_font_size=16,
    legend_font_size=16,
)
_DARK = (
    "inline:@media (prefers-color-scheme: dark) {"
    " text { fill: #c9d1d9 !important; }"
    " .axis path, .guides { stroke: #3b444d !important; } }"
)
_LABELS = 8
_DOTTED = 90
"""Runs up to which each has a dot: more of them would touch, and take long to draw."""


def over_runs(metrics: Sequence[tuple[datetime, Metric]]) -> bytes:
    """Return a line over runs, oldest first, with its band and what lies outside it, as SVG."""
    chart = pygal.Line(
        style=_STYLE,
        css=["file://style.css", "file://graph.css", _DARK],
        js=(),
        width=760,
        height=240,
        margin=8,
        show_legend=True,
        legend_at_bottom=True,
        legend_at_bottom_columns=4,
        dots_size=2,
        x_labels_major_count=_LABELS,
        show_minor_x_labels=False,
        truncate_legend=-1,
        no_data_text="no run yet",
    )
    chart.x_labels = [f"{at:%Y-%m-%d}" for at, _ in metrics]
    dots = len(metrics) <= _DOTTED
    chart.add("value", [one.value for _, one in metrics], show_dots=dots)
    chart.add("low", [one.low for _, one in metrics], show_dots=False)
    chart.add("high", [one.high for _, one in metrics], show_dots=False)
    outside = [one.value if one.state in ("warn", "stop") else None for _, one in metrics]
    chart.add("outside its band", outside, stroke=False, dots_size=4)
    tree = chart.render_tree()
    # What would make it move in a page of its own: as a picture it could not run in any case.
    for script in list(tree.iter("script", "{http://www.w3.org/2000/svg}script")):
        script.getparent().remove(script)
    return bytes(etree.tostring(tree, encoding="utf-8"))

"""The invisible text that other software has put over a scan: whether it serves, and which of it.

Trusting a good layer saves the recognition and keeps what better engines or people have read. It
is not trusted blindly: its words must look like words, lie on ink, and leave no letters uncovered.
A word with no ink under it, as where a passage was blacked out, stays hidden in any case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from ingest.extract.blocks import PageWord
from ingest.extract.text_layer import TextLine
from ocr.components import find_components
from ocr.render import RenderedPage
from ocr.routing import covered_share, trusts_layer

_OVER_SCANS = ("invisible", "transparent", "covered")
_INK_CONTRAST = 40
"""Least difference in grey between ink and paper; what was blacked out has none."""

_INSET = 0.2


@dataclass(frozen=True, slots=True)
class OcrLayer:
    """An invisible text layer, split by what the page shows of it."""

    on_ink: tuple[TextLine, ...]
    off_ink: tuple[TextLine, ...]
    trusted: bool
    """True where it serves; otherwise the scan should be recognised anew."""


def is_layer(line: TextLine) -> bool:
    """Say whether ``line`` is hidden in a way that text over scans is."""
    return line.hidden in _OVER_SCANS


def judge_layer(lines: Sequence[TextLine], glance: RenderedPage) -> OcrLayer:
    """Compare the text over a scan with the scan.

    Args:
        lines: the hidden lines that lie over it.
        glance: the page in a resolution that shows letters, without the words it shows as text.
    """
    inked: list[TextLine] = []
    bare: list[TextLine] = []
    for line in lines:
        for ink, run in groupby(line.words, key=lambda word: _is_shown(word, glance)):
            part = replace(line, words=tuple(run))
            if ink:
                inked.append(replace(part, hidden=None))
            else:
                bare.append(part)
    words = [word for line in lines for word in line.words]
    components = find_components(glance.image).boxes
    boxes = np.array([glance.pixel_map.to_pixels(word.box) for word in words])
    trusted = bool(words and len(components)) and trusts_layer(
        [word.text for word in words],
        covered=covered_share(boxes, components),
        inked=sum(len(line.words) for line in inked) / len(words),
    )
    return OcrLayer(tuple(inked), tuple(bare), trusted)


def _is_shown(word: PageWord, glance: RenderedPage) -> bool:
    x0, y0, x1, y1 = word.box
    # Letters leave paper between them, well inside their box; a dash or an "l" may fill it.
    letters = sum(map(str.isalnum, word.text)) > 1
    inset = _INSET * min(x1 - x0, y1 - y0) if letters else 0.0
    return glance.contrast((x0 + inset, y0 + inset, x1 - inset, y1 - inset)) >= _INK_CONTRAST

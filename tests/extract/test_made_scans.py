"""Scans with an exact truth: the truth is checked as pixels, then the whole extraction by it."""

from __future__ import annotations

import numpy as np
import pytest
from extract.checks import page_image, read, word_text
from scans import LOOKS, Scan, Turn, make_scan, without_dirt

from benchmarks.extract.corpora import upright
from benchmarks.extract.metrics import Boxed, BoxScore, score_boxes
from ingest.settings import ExtractionSettings
from schemas.document import BoxTuple, Extraction

FIRST_ENGINE_ALONE = ExtractionSettings(layout=False, ocr_second_engine="none", workers=1)


def as_share(box: BoxTuple, scan: Scan) -> BoxTuple:
    x0, y0, x1, y1 = box
    share = (x0 / scan.width, y0 / scan.height, x1 / scan.width, y1 / scan.height)
    return upright(share, scan.turn)


def score(scan: Scan, extraction: Extraction) -> BoxScore:
    assert (extraction.pages[0].width, extraction.pages[0].height) == pytest.approx(
        (scan.width, scan.height), abs=0.01
    )
    return score_boxes(
        [Boxed(word.text, as_share(word.box, scan)) for word in scan.words],
        [Boxed(word_text(extraction, w), as_share(w.box, scan)) for w in extraction.words],
    )


@pytest.mark.parametrize(
    ("severity", "tilt", "turn", "rotation"),
    [(1, 0, 0, 0), (3, 2.5, 0, 90), (2, -1.5, 90, 180), (3, 1.0, 180, 0), (1, 3.0, 270, 270)],
)
def test_ink_lies_in_the_true_boxes_and_reaches_their_sides(
    severity: int, tilt: float, turn: Turn, rotation: Turn
) -> None:
    look = without_dirt(LOOKS[severity])
    scan = make_scan(look=look, tilt=tilt, turn=turn, rotation=rotation)
    scale = look.dpi / 72
    grey = np.asarray(page_image(scan.data, dpi=look.dpi).convert("L"))
    assert grey.shape == (round(scan.height * scale), round(scan.width * scale))
    outside = grey < 128
    for word in scan.words:
        x0, y0, x1, y1 = (side * scale for side in word.box)
        window = np.s_[max(0, round(y0) - 1) : round(y1) + 1, max(0, round(x0) - 1) : round(x1) + 1]
        outside[window] = False
        # Blur leaves the tip of a thin stroke fainter than its middle.
        rows, columns = np.nonzero(grey[window] < 200)
        assert abs(rows.min() - 1) <= 2, word
        assert abs(columns.min() - 1) <= 2, word
        assert abs(rows.max() + 2 - grey[window].shape[0]) <= 2, word
        assert abs(columns.max() + 2 - grey[window].shape[1]) <= 2, word
    assert not outside.any()


@pytest.mark.parametrize(
    ("severity", "tilt", "turn", "rotation", "errors", "overlap"),
    [
        (1, 0.0, 0, 90, 0.006, 0.88),
        (2, -1.2, 0, 0, 0.020, 0.85),
        (1, 2.0, 90, 0, 0.010, 0.80),
        (3, 0.8, 180, 270, 0.080, 0.70),
    ],
)
def test_what_extraction_reads(
    severity: int, tilt: float, turn: Turn, rotation: Turn, errors: float, overlap: float
) -> None:
    scan = make_scan(look=LOOKS[severity], tilt=tilt, turn=turn, rotation=rotation)
    extraction = read(scan.data, "scan.pdf", FIRST_ENGINE_ALONE)
    found = score(scan, extraction)
    assert found.character_error_rate <= errors
    assert found.iou is not None
    assert found.iou >= overlap
    (record,) = extraction.pages[0].recognitions
    assert record.turn == (360 - turn) % 360
    # Bent lines run up in one half of the page and down in the other, by a degree.
    assert record.skew == pytest.approx(tilt, abs=1.1 if LOOKS[severity].bend else 0.2)

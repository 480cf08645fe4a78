"""A contract in two versions as PDFs: the boxes lie on the changed words, and so do the marks."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from diff.versions import compared
from extract.checks import read
from PIL import Image

from examples.typesetting import typeset
from ingest.diff.model import VersionDiff
from ingest.diff.pictures import draw_pages
from ingest.vault import Vault
from schemas.document import Extraction, Word

CSS = "body { font-family: serif; font-size: 11pt } h2 { font-size: 13pt }"
FILLER = (
    "The Supplier shall provide the services with reasonable care and skill, in accordance with "
    "good practice, and by people who are trained for it. "
)


def contract(days: str, pages: int = 2, *, more: str = "") -> bytes:
    """Return a contract whose clause 2.1 is on its first page."""
    parts = [
        "<h2>1. Services</h2>",
        f"<p>1.1 {FILLER * 3}</p>",
        "<h2>2. Fees</h2>",
        f"<p>2.1 The Customer shall pay each invoice within {days} days of its receipt, and "
        "interest on what is late.</p>",
        *(f"<p>2.{n} In year {n} {FILLER * 4}</p>" for n in range(2, 2 + 6 * pages)),
        "<h2>3. Notices</h2>",
        f"<p>3.1 Notices are sent by registered post to the seat of the other party{more}.</p>",
    ]
    data: bytes = typeset([("body", "".join(parts))], CSS).document.tobytes(no_new_id=True)
    return data


@pytest.fixture(scope="module")
def pair() -> tuple[bytes, Extraction, bytes, Extraction, VersionDiff]:
    first, second = contract("thirty (30)"), contract("forty-five (45)", more=" or by mail")
    before, after = read(first, "v1.pdf"), read(second, "v2.pdf")
    return first, before, second, after, compared(before, after)


def words_saying(extraction: Extraction, *texts: str) -> list[Word]:
    return [w for w in extraction.words if extraction.text[w.char_start : w.char_end] in texts]


Pair = tuple[bytes, Extraction, bytes, Extraction, VersionDiff]


def test_exactly_the_changed_words_have_boxes(pair: Pair) -> None:
    _, before, _, after, found = pair
    fees, notices = (change for change in found.clauses if change.status != "unchanged")
    for change, side, extraction, texts in (
        (fees, "before", before, ("thirty", "(30)")),
        (fees, "after", after, ("forty-five", "(45)")),
        (notices, "after", after, ("or", "by", "mail.")),
    ):
        runs = [getattr(word, side) for word in change.words if word.kind != "equal"]
        boxes = [box for run in runs if run is not None for box in run.boxes]
        start = getattr(change, side).char_start
        end = getattr(change, side).char_end
        # The words of the clause from its end: "by" stands twice in the one on notices.
        wanted = [w for w in words_saying(extraction, *texts) if start <= w.char_start < end]
        wanted = wanted[-len(texts) :]
        hull = (
            min(word.box[0] for word in wanted),
            min(word.box[1] for word in wanted),
            max(word.box[2] for word in wanted),
            max(word.box[3] for word in wanted),
        )
        assert {box.page for box in boxes} == {word.page for word in wanted}
        assert (
            min(box.x0 for box in boxes),
            min(box.y0 for box in boxes),
            max(box.x1 for box in boxes),
            max(box.y1 for box in boxes),
        ) == pytest.approx(hull, abs=0.01)
    assert not [w for w in notices.words if w.kind == "delete"]


def test_clauses_have_their_pages(pair: Pair) -> None:
    *_, found = pair
    fees, notices = (change for change in found.clauses if change.status != "unchanged")
    assert fees.before is not None
    assert notices.after is not None
    assert (fees.before.label, fees.before.page_first) == ("§2.1 Fees", 1)
    last = found.after.pages
    assert (notices.after.label, notices.after.page_first) == ("§3.1 Notices", last)
    assert last > 1


def test_marks_are_drawn_on_the_changed_words_and_nowhere_else(pair: Pair, tmp_path: Path) -> None:
    first, before, second, after, found = pair
    vault = Vault(str(tmp_path))
    vault.put(first)
    vault.put(second)
    pictures = draw_pages(found, before, after, vault)
    assert [picture.page for picture in pictures.before] == [1]
    assert [picture.page for picture in pictures.after] == [1, found.after.pages]
    assert pictures.notes == []
    picture = pictures.before[0]
    pixels = np.asarray(Image.open(io.BytesIO(picture.png)).convert("RGB")).astype(int)
    yellow = (pixels[..., 0] - pixels[..., 2]) > 60
    rows, columns = np.nonzero(yellow)
    scale = pixels.shape[1] / picture.width
    words = words_saying(before, "thirty", "(30)")
    assert rows.min() / scale == pytest.approx(min(w.box[1] for w in words), abs=3)
    assert rows.max() / scale == pytest.approx(max(w.box[3] for w in words), abs=3)
    assert columns.min() / scale == pytest.approx(min(w.box[0] for w in words), abs=3)
    assert columns.max() / scale == pytest.approx(max(w.box[2] for w in words), abs=3)


def test_pages_that_are_left_out_are_named(pair: Pair, tmp_path: Path) -> None:
    first, before, second, after, found = pair
    vault = Vault(str(tmp_path))
    vault.put(first)
    vault.put(second)
    pictures = draw_pages(found, before, after, vault, most=2)
    assert len(pictures.before) == len(pictures.after) == 1
    assert pictures.notes == [
        f"Of version 2, pages with changes that are not drawn: {found.after.pages}."
    ]


def test_lost_bytes_are_a_note(pair: Pair, tmp_path: Path) -> None:
    _, before, second, after, found = pair
    vault = Vault(str(tmp_path))
    vault.put(second)
    pictures = draw_pages(found, before, after, vault)
    assert pictures.before == []
    assert len(pictures.after) == 2
    assert len(pictures.notes) == 1
    assert before.doc_sha256[:12] in pictures.notes[0]


@pytest.mark.parametrize("terms", [{"display_allowed": False}, {"max_quote_chars": 200}])
def test_no_page_is_drawn_that_may_not_be_shown(
    pair: Pair, tmp_path: Path, terms: dict[str, object]
) -> None:
    first, before, second, after, _ = pair
    vault = Vault(str(tmp_path))
    vault.put(first)
    vault.put(second)
    pictures = draw_pages(compared(before, after, **terms), before, after, vault)
    assert pictures.before == pictures.after == []
    assert pictures.notes == ["The licence does not allow whole pages to be shown."]

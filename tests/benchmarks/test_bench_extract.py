"""Loading truths, turning boxes, and putting tables into a document."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.extract.corpora import SETS, is_held_out, load_set, upright
from benchmarks.extract.instruments import Spent
from benchmarks.extract.metrics import BoxScore, TextScore
from benchmarks.extract.run import BEGIN, END, replaced
from benchmarks.extract.scans import Mode, PageReading
from benchmarks.extract.tables import Table, scan_tables

PAGES = {
    "scans_synth:1": 8,
    "scans_synth:2": 15,
    "scans_synth:3": 15,
    "scans_scribe": 19,
    "scans_funsd": 79,
    "scans_sroie": 45,
    "scans_oldbooks": 12,
    "scans_tesseract": 8,
}


@pytest.mark.parametrize("name", SETS)
def test_every_page_has_a_truth_inside_it(name: str, corpus: Path) -> None:
    pages = load_set(corpus, name)
    assert len(pages) == PAGES[name]
    assert 0 < sum(page.held_out for page in pages) < len(pages)
    for page in pages:
        assert page.path.is_file()
        assert (page.boxes is None) != (page.text is None)
        assert page.text is None or page.text.strip()
        for word in page.boxes or ():
            x0, y0, x1, y1 = word.box
            assert -0.05 <= x0 < x1 <= 1.05, (page.name, word)
            assert -0.05 <= y0 < y1 <= 1.05, (page.name, word)


def test_halves_are_told_by_the_name() -> None:
    assert not is_held_out("seriesseed_s1.pdf")
    assert is_held_out("ghcorp_s1.pdf")


def test_boxes_of_turned_content() -> None:
    # A word at the top left of an upright page, on pages whose content was turned clockwise.
    word = (0.1, 0.2, 0.4, 0.25)
    assert upright(word, 0) == word
    assert upright((1 - 0.25, 0.1, 1 - 0.2, 0.4), 90) == pytest.approx(word)
    assert upright((0.6, 0.75, 0.9, 0.8), 180) == pytest.approx(word)
    assert upright((0.2, 0.6, 0.25, 0.9), 270) == pytest.approx(word)


def test_tables_go_between_the_markers() -> None:
    once = replaced(f"# Title\n{BEGIN}\nold\n{END}\nrest\n", "| new |")
    assert once == f"# Title\n{BEGIN}\n\n| new |\n{END}\nrest\n"
    assert replaced(once, "| new |") == once
    with pytest.raises(ValueError, match="lacks"):
        replaced("# Title\n", "| new |")


def reading(
    mode: Mode, *, missing: int, uncovered: float, page: str = "a.pdf", engines: float = 1.0
) -> PageReading:
    return PageReading(
        set="scans_synth:1",
        page=page,
        held_out=True,
        mode=mode,
        score=BoxScore(characters=100, distance=missing, missing=missing, words=20),
        spent=Spent(1.2, 1.2),
        engines=Spent(engines, engines),
        calls=1,
        attempts=1,
        uncovered_ink=uncovered,
    )


def table(tables: list[Table], start: str) -> list[dict[str, str]]:
    (found,) = (table for table in tables if table.title.startswith(start))
    return [dict(zip(found.columns, row, strict=True)) for row in found.rows]


def test_lost_text_and_overhead() -> None:
    tables = scan_tables(
        [
            reading("bare", missing=40, uncovered=0.3),
            reading("bare", missing=6, uncovered=0.01, page="b.pdf"),
            reading("bare", missing=5, uncovered=0.3, page="c.pdf"),
            reading("first", missing=0, uncovered=0.0),
        ],
        uncovered_limit=0.02,
    )
    bare = table(tables, "Uncovered ink")[0]
    assert (bare["lost text"], bare["of these found"], bare["false alarms"]) == (
        "2",
        "1 (50.0%)",
        "1 of 1",
    )
    costs = {row["reading"]: row for row in table(tables, "What it costs")}
    assert costs["Tesseract alone"]["overhead, one call"] == "20%"
    assert costs["Tesseract alone"]["of bare"] == "1.00×"
    accuracy = table(tables, "Scans with word or line boxes, all files")[0]
    assert accuracy["CER"] == "0.1700"


def test_text_scores_stand_apart() -> None:
    page = PageReading(
        "scans_oldbooks", "a", False, "bare", TextScore(10, 1, 2, 1), Spent(1, 1), Spent(1, 1), 1
    )
    tables = scan_tables([page], 0.02)
    assert [t.title for t in tables if "boxes" in t.title] == []
    assert table(tables, "Scans with their text")[0]["CER in order"] == "0.1000"


def test_markdown_of_a_table() -> None:
    text = Table("T", ("a", "b", "c"), (("1", "2", "3"),), "Note.").markdown()
    assert text == "### T\n\n| a | b | c |\n| --- | --- | ---: |\n| 1 | 2 | 3 |\n\nNote.\n"

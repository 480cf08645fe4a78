from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest
from quality.batches import NOW, SETTINGS, document, frame_of

from ingest.quality.gate import GateResult, check
from ingest.quality.report import COLUMNS, ReadingNote, write_report
from schemas.document import ExtractionWarning
from schemas.run import Ledger, LedgerLine

PLANTED = "<script>alert('planted')</script>"
VOID = {"meta", "br"}


@dataclass(frozen=True)
class Entry:
    source_id: str = "contracts"
    source_key: str = "scan.pdf"
    stage: str = "extract"
    code: str = "password_needed"
    message: str = "The PDF needs a password. Ask for an open copy, then retry the entry."
    first_seen: datetime = datetime(2026, 5, 20, 3, 4, tzinfo=UTC)
    times_seen: int = 12


class Page(HTMLParser):
    """A page's elements, its text, and whether its tags nest."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words += data.split()

    @property
    def text(self) -> str:
        return " ".join(self.words)


LINE = LedgerLine(
    source_id="contracts",
    listed=1_204,
    new=3,
    changed=2,
    unchanged=1_198,
    failed=1,
    quarantined=2,
    published=4,
    chunks=90,
    points_new=60,
    points_reused=20,
    chunks_quarantined=10,
)


def ledger(*lines: LedgerLine, **changes: object) -> Ledger:
    fields = {"started_at": NOW, "finished_at": NOW + timedelta(minutes=3, seconds=7), **changes}
    return Ledger.model_validate({"run_id": "nightly-1", "lines": lines or (LINE,), **fields})


def gate_result(*, text: str | None = None, number: int = 0) -> GateResult:
    frame = frame_of(document(number))
    if text is not None:
        frame.loc[1, "text"] = text
    return check(frame, SETTINGS, NOW)


def page(tmp_path: Path, *args: object) -> Page:
    out = tmp_path / "reports" / "run" / "quality.html"
    assert write_report(*args, out) == out  # type: ignore[arg-type]
    assert [path.name for path in out.parent.iterdir()] == ["quality.html"]
    return Page(out)


def test_planted_markup_is_shown_and_not_run(tmp_path: Path) -> None:
    entry = Entry(source_id=PLANTED, source_key=PLANTED, code=PLANTED, message=PLANTED)
    line = LINE.model_copy(update={"source_id": PLANTED, "error": PLANTED})
    shown = page(
        tmp_path,
        ledger(line, alerts=(PLANTED,), run_id=PLANTED),
        [gate_result(text=PLANTED)],
        [entry],
    )
    assert "<script" not in shown.source.lower()
    assert shown.text.count("<script>alert('planted')</script>") >= 7
    assert "\\u003cscript\\u003e" in shown.text


def test_what_reading_found_is_shown_by_code(tmp_path: Path) -> None:
    out = tmp_path / "quality.html"
    notes = [
        ReadingNote(
            "contracts",
            f"scan {number}.pdf",
            ExtractionWarning(code="text_not_recognised", message=PLANTED, page=number),
        )
        for number in range(1, 8)
    ]
    notes.append(
        ReadingNote("contracts", "a.pdf", ExtractionWarning(code="repaired", message="Repaired."))
    )
    write_report(ledger(), [], [], out, notes=notes)
    shown = Page(out)
    assert "7 documents 7 pages text_not_recognised scan 1.pdf , page 1:" in shown.text
    assert "scan 5.pdf" in shown.text
    assert "scan 6.pdf" not in shown.text
    assert "1 document repaired a.pdf : Repaired." in shown.text
    assert "<script" not in shown.source.lower()


def test_the_page_is_whole_in_itself(tmp_path: Path) -> None:
    shown = page(tmp_path, ledger(), [gate_result(text="x")], [Entry()])
    assert {tag for tag, _ in shown.tags}.isdisjoint({"script", "link", "img", "iframe", "form"})
    for tag, attributes in shown.tags:
        assert not {"src", "href", "style", "onclick", "onload"} & set(attributes), tag
    assert not re.search(r"url\(|@import|https?:|//", shown.source)
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    assert ("meta", {"http-equiv": "Content-Security-Policy", "content": policy}) in shown.tags
    assert "prefers-color-scheme: dark" in shown.source


def test_the_ledger_is_shown_line_by_line_and_in_sum(tmp_path: Path) -> None:
    other = LedgerLine(source_id="news", listed=1, new=1, published=1, chunks=5, points_new=5)
    shown = page(tmp_path, ledger(LINE, other), [], [])
    for _, heading in COLUMNS:
        assert heading in shown.text
    assert "contracts 1 204 3 2 1 198 1 2 4 90 60 20 balances" in shown.text.replace("\u202f", " ")
    assert "news 1 1 0 0 0 0 1 5 5 0 balances" in shown.text
    assert "All sources 1\u202f205 4 2" in shown.text.replace(" 205", "\u202f205")
    assert "Ledger Balances" in shown.text
    assert "took 3 min 07 s" in shown.text


def test_an_account_that_does_not_balance_is_marked_with_its_error(tmp_path: Path) -> None:
    broken = LINE.model_copy(update={"published": 1, "error": "The share was not mounted."})
    shown = page(tmp_path, ledger(broken), [], [])
    assert "Does not balance" in shown.text
    assert "off balance" in shown.text
    assert "The share was not mounted." in shown.text


def test_what_was_checked_is_added_up_over_the_batches(tmp_path: Path) -> None:
    results = [gate_result(), gate_result(number=1), gate_result(text="else", number=2)]
    shown = page(tmp_path, ledger(), results, [])
    text = shown.text.replace("\u202f", " ")
    assert f"Chunks checked 12 against {len(results[0].checks)} expectations" in text
    assert "at its offsets. offsets_inexact critical 1 12 1" in text
    assert "licence_missing critical 6 12 0" in text
    assert "Refused 1 version" in text
    assert "1 chunk in 1 document" in text
    assert results[2].failures[0].chunk_ids[0] in text


def test_the_same_failure_in_two_batches_is_one_finding(tmp_path: Path) -> None:
    results = [gate_result(text="else"), gate_result(text="else", number=1)]
    shown = page(tmp_path, ledger(), results, [])
    assert shown.text.count("2 chunks in 2 documents") == len(results[0].failures)
    assert "Refused 2 versions" in shown.text


def test_a_long_list_of_chunks_is_cut_and_says_so(tmp_path: Path) -> None:
    frame = frame_of(document(chunks=70))
    frame["language"] = None
    shown = page(tmp_path, ledger(), [check(frame, SETTINGS, NOW)], [])
    ids = [chunk_id for chunk_id in frame["chunk_id"] if chunk_id in shown.source]
    assert len(ids) == 50
    assert "and 20 more, all in the gate’s result of the batch" in shown.text


def test_open_entries_are_listed_with_their_reasons(tmp_path: Path) -> None:
    entries = [Entry(source_id="news", source_key="b"), Entry(source_key="a.pdf")]
    shown = page(tmp_path, ledger(), [], entries)
    assert "Quarantine 2 open entries" in shown.text
    assert shown.text.index("a.pdf") < shown.text.index("news b")
    for wanted in ("extract", "password_needed", "Ask for an open copy", "20 May 2026, 03:04 UTC"):
        assert wanted in shown.text


def test_a_stopped_batch_is_said_at_the_top(tmp_path: Path) -> None:
    frame = frame_of(*(document(number) for number in range(6)))
    frame["tokens"] = 999
    shown = page(tmp_path, ledger(), [check(frame, SETTINGS, NOW), gate_result()], [])
    assert "Quality gate Stopped 1 batch of 2; 6 versions failed." in shown.text


@pytest.mark.parametrize("finished", [None, NOW])
def test_a_run_without_anything_has_a_page_too(finished: datetime | None, tmp_path: Path) -> None:
    empty = Ledger(run_id="r", started_at=NOW, finished_at=finished)
    shown = page(tmp_path, empty, [], [])
    assert "Does not balance No source was listed." in shown.text
    assert "Not reached" in shown.text
    assert ("not finished" in shown.text) is (finished is None)


def test_what_cannot_be_written_as_utf_8_does_not_keep_the_report_from_being_written(
    tmp_path: Path,
) -> None:
    shown = page(tmp_path, ledger(), [], [Entry(message="bad name: \udcff")])
    assert "bad name: \\udcff" in shown.text


def test_a_moment_without_zone_is_not_given_one(tmp_path: Path) -> None:
    naive = Entry(first_seen=datetime(2026, 5, 20, 3, 4))  # noqa: DTZ001  # naive is the point
    assert "20 May 2026, 03:04 (no zone)" in page(tmp_path, ledger(), [], [naive]).text


def test_the_report_is_replaced_whole(tmp_path: Path) -> None:
    out = tmp_path / "quality.html"
    out.write_text("older")
    write_report(ledger(), [], [], out)
    assert "Quality report" in out.read_text(encoding="utf-8")

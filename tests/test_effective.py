"""Effective dates: read from the file where its source's rule trusts it, never guessed at."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from workspace import Workspace, pdf

from ingest.effective import FoundDate, find_date
from ingest.errors import ConfigurationError
from ingest.extract.file_dates import iso_date, pdf_date
from ingest.pipeline import open_catalog
from schemas.base import sha256_text
from schemas.document import Extraction, FileDates
from schemas.source import EffectiveDateRule


def day(year: int, month: int, number: int) -> datetime:
    return datetime(year, month, number, tzinfo=UTC)


def extraction(text: str, **more: Any) -> Extraction:
    return Extraction(
        media_type="text/plain",
        extractor_version="t",
        doc_sha256=sha256_text(text),
        text=text,
        body_end=len(text),
        **more,
    )


def found(body: str, **rule: Any) -> FoundDate:
    return find_date(EffectiveDateRule(**{"preset": "contract", **rule}), extraction(body))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("This Agreement is effective as of January 5, 2020 between", day(2020, 1, 5)),
        ("THIS AGREEMENT IS EFFECTIVE AS OF JANUARY 5, 2020 BETWEEN", day(2020, 1, 5)),
        ("made and entered into as of this 3rd day of March, 2004, by", day(2004, 3, 3)),
        ("dated as of\n  September 30th, 1999", day(1999, 9, 30)),
        ("Effective Date: 2021-07-01", day(2021, 7, 1)),
        ("(the “Effective Date”) means 1 June 2019.", day(2019, 6, 1)),
        ("shall take effect on the 12 December 2011", day(2011, 12, 12)),
        ("with effect from 31/12/2015", day(2015, 12, 31)),
        ("effective 12/31/2015", day(2015, 12, 31)),
        ("Effective Date through March 15, 2004, dated May 1, 1999", day(1999, 5, 1)),
        ("Amends the lease dated May 1, 1999. Made as of June 2, 2003", day(2003, 6, 2)),
        ("Dated Jan. 7, 2002. It is effective as of Feb. 1, 2002.", day(2002, 2, 1)),
    ],
)
def test_contracts_say_when_they_begin_in_many_ways(text: str, expected: datetime) -> None:
    date = found(text)
    assert (date.effective_from, date.basis) == (expected, "text")
    assert date.evidence is not None
    assert date.evidence.char_start is not None
    assert text[date.evidence.char_start : date.evidence.char_end] == date.evidence.quote
    assert date.warnings == ()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("effective as of 03/04/2020", "effective_date_ambiguous"),
        ("effective as of February 30, 2020", "effective_date_unreadable"),
        ("effective as of Smarch 3, 2020", "effective_date_unreadable"),
    ],
)
def test_a_date_that_is_none_for_certain_is_not_taken(text: str, code: str) -> None:
    date = found(text)
    assert (date.effective_from, date.basis) == (None, "receipt")
    assert [warning.code for warning in date.warnings] == [code]


def test_the_source_says_which_comes_first() -> None:
    text = "effective as of 03/04/2020"
    assert found(text, day_first=True).effective_from == day(2020, 4, 3)
    assert found(text, day_first=False).effective_from == day(2020, 3, 4)


def test_the_day_begins_where_the_source_is() -> None:
    date = found("effective as of 5 January 2020", time_zone="Europe/Oslo")
    assert date.effective_from == datetime(2020, 1, 4, 23, tzinfo=UTC)


def test_months_have_names_in_other_languages() -> None:
    text = "Inkrafttreten am 5. März 2020"
    rule = EffectiveDateRule(
        text=(r"Inkrafttreten am (?P<date>\d+\. \w+ \d{4})",), languages=("de",)
    )
    assert find_date(rule, extraction(text)).effective_from == day(2020, 3, 5)


def test_own_patterns_come_before_the_ready_ones_and_metadata_before_the_text() -> None:
    text = "effective as of 5 January 2020. Commencement: 1 May 2021"
    rule = {"text": (r"Commencement: (?P<date>.+)$",)}
    assert found(text, **rule).effective_from == day(2021, 5, 1)
    dates = FileDates(created=day(2018, 1, 1))
    trusting = EffectiveDateRule(metadata="created", preset="contract")
    date = find_date(trusting, extraction(text, dates=dates))
    assert (date.effective_from, date.basis) == (day(2018, 1, 1), "metadata")
    # A file without that date is asked for its text.
    assert find_date(trusting, extraction(text)).effective_from == day(2020, 1, 5)


def test_what_an_own_pattern_may_find_never_ends_a_run() -> None:
    optional = EffectiveDateRule(text=(r"Term(?: from (?P<date>\S+))?",))
    assert find_date(optional, extraction("Term of five years")) == FoundDate()
    long = EffectiveDateRule(text=(r"from (?P<date>5\s+May 2020)",))
    spaced = find_date(long, extraction(f"from 5{' ' * 900}May 2020"))
    assert spaced.effective_from == day(2020, 5, 5)
    assert spaced.evidence is not None
    assert len(spaced.evidence.quote) == 500
    early = found("effective as of 0001-01-01", time_zone="Asia/Tokyo")
    assert [warning.code for warning in early.warnings] == ["effective_date_unreadable"]


def test_without_a_rule_nothing_of_the_file_is_trusted() -> None:
    text = "effective as of 5 January 2020"
    dates = FileDates(created=day(2018, 1, 1))
    assert find_date(EffectiveDateRule(), extraction(text, dates=dates)) == FoundDate()


def test_only_the_beginning_of_the_body_is_searched() -> None:
    text = "x" * 500 + " effective as of 5 January 2020"
    assert found(text, search_chars=400).effective_from is None
    assert found(text, search_chars=600).effective_from == day(2020, 1, 5)


@given(st.dates(min_value=datetime(1900, 1, 1).date()), st.text(max_size=40))  # noqa: DTZ001  # a day
def test_every_day_is_read_as_it_is_written(date: Any, before: str) -> None:
    text = f"{before}\neffective as of {date:%B} {date.day}, {date.year:04d}. More."
    result = found(text)
    assert result.effective_from == datetime(date.year, date.month, date.day, tzinfo=UTC)
    assert result.evidence is not None
    assert result.evidence.quote in text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("D:20200131120000+01'00'", datetime(2020, 1, 31, 11, tzinfo=UTC)),
        ("D:20200131120000Z", datetime(2020, 1, 31, 12, tzinfo=UTC)),
        ("D:2020", day(2020, 1, 1)),
        ("20200131", day(2020, 1, 31)),
        ("D:20201331", None),
        ("yesterday", None),
        (None, None),
    ],
)
def test_dates_of_pdf(text: str | None, expected: datetime | None) -> None:
    assert pdf_date(text) == expected


def test_dates_of_other_files() -> None:
    assert iso_date("2020-01-31T12:00:00Z") == datetime(2020, 1, 31, 12, tzinfo=UTC)
    assert iso_date("2020-01-31") == day(2020, 1, 31)
    assert iso_date("soon") is None


def test_a_run_keeps_the_passage_as_evidence(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source(
        "contracts",
        kind="contract",
        name_pattern=r"(?P<document>\w+)-\d\.pdf",
        effective_date={"preset": "contract"},
    )
    for number, date in ((1, "January 5, 2020"), (2, "March 1, 2024")):
        ws.write(
            f"contracts/msa-{number}.pdf",
            pdf("Cover page.", f"This Agreement is effective as of {date} for {number} years."),
        )
    ws.write("contracts/other-1.pdf", pdf("No date here."))
    assert ws.run().balanced
    points = {p["source_key"]: p for p in ws.points().values() if p["page_last"] != 1}
    first, second = points["msa-1.pdf"], points["msa-2.pdf"]
    assert first["effective_from"] == "2020-01-05T00:00:00Z"
    assert first["effective_until"] == second["effective_from"] == "2024-03-01T00:00:00Z"
    assert first["effective_basis"] == "text"
    assert first["effective_evidence"]["page"] == 2
    assert "January 5, 2020" in first["effective_evidence"]["quote"]
    catalog = open_catalog(ws.settings)
    bases = [
        record.effective_basis
        for doc_id in catalog.document_ids()
        for record in catalog.versions(doc_id)
    ]
    assert sorted(bases) == ["receipt", "text", "text"]


def test_a_version_that_its_source_withdraws_never_held(tmp_path: Path) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("contracts", kind="contract", manifest="terms.csv")
    head = "file,document,effective_from,withdrawn\n"
    for number in (1, 2):
        ws.write(f"contracts/{number}.txt", f"The notice period is {number}0 days.")
    ws.write("contracts/terms.csv", head + "1.txt,msa,2020-01-01,\n2.txt,msa,2022-01-01,no\n")
    assert ws.run().balanced
    ws.write("contracts/terms.csv", head + "1.txt,msa,2020-01-01,\n2.txt,msa,2022-01-01,yes\n")
    assert ws.run().balanced
    first, second = sorted(ws.points().values(), key=lambda point: point["version"])
    assert first["effective_until"] == "9999-12-31T00:00:00Z"
    assert second["effective_from"] == second["effective_until"]
    assert second["interval_history"][-1]["superseded_at"] != "9999-12-31T00:00:00Z"
    ws.write("contracts/terms.csv", head + "1.txt,msa,2020-01-01,perhaps\n")
    ws.run()
    assert ("1.txt", "withdrawn_invalid") in ws.quarantine()


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"text": ["effective (?P<date>"]}, "is no regular expression"),
        ({"text": [r"effective (\d+)"]}, r"has no group named date"),
        ({"time_zone": "Oslo"}, "is no time zone"),
        ({"languages": ["en", "xx"]}, "is no language whose months are known"),
        ({"presets": "contract"}, "is 'preset' meant"),
    ],
)
def test_a_rule_that_cannot_work_is_refused(
    tmp_path: Path, rule: dict[str, Any], message: str
) -> None:
    ws = Workspace(tmp_path)
    ws.add_source("contracts", effective_date=rule)
    with pytest.raises(ConfigurationError, match=message):
        _ = ws.pipeline().configuration


REAL = {
    "1013218/1013218_1999-11-15_BRIDGE*": day(1999, 9, 30),
    "1013218/1013218_2000-08-11_AMENDMENT NO. 3*": day(2000, 1, 1),
    "1038339/1038339_2002-08-14_1ST AMENDMENT*": day(2002, 4, 25),
    "1040593/1040593_2008-12-23*": day(2008, 12, 19),
    "1054040/1054040_2007-04-04*": day(2007, 3, 29),
    "1107332/1107332_2005-11-08*AES*": day(2005, 11, 4),
    "1107332/1107332_2006-03-15*": day(2006, 2, 16),
    "1280452/1280452_2008-12-19*": day(2008, 12, 16),
    "1359687/1359687_2008-04-11_FOURTH*": day(2007, 12, 11),
    "866829/866829_2015-06-11*": day(2015, 6, 8),
    "867773/867773_2009-02-26_AMENDMENT TWO*": day(2008, 11, 25),
}
"""Dates that were read in them by eye; some amendments name the date of what they amend as well."""


@pytest.mark.parametrize("pattern", REAL)
def test_real_contracts_begin_when_they_say(corpus: Path, pattern: str) -> None:
    files = sorted((corpus / "contracts_amendments").glob(pattern))
    assert files
    for file in files:
        text = file.read_text("utf-8", errors="replace").replace("\r", "")
        assert found(text).effective_from == REAL[pattern], file.name


def test_a_pattern_that_takes_for_ever_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.effective._SECONDS", 0.2)
    date = r"(?P<date>\d{4}-\d{2}-\d{2})"
    rule = EffectiveDateRule(text=(rf"(?:a|a|aa)+b{date}", rf"from\s+{date}"))
    found = find_date(rule, extraction("a" * 60 + " in force from 2026-03-01."))
    assert found.effective_from == day(2026, 3, 1)
    assert [one.code for one in found.warnings] == ["effective_date_timeout"]

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.sources.dates import effective_date, feed_date


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2024-01-31", "2024-01-31T00:00:00+00:00"),
        ("2024-01-31T10:00:00Z", "2024-01-31T10:00:00+00:00"),
        ("2024-01-31T23:30:00-02:00", "2024-02-01T01:30:00+00:00"),
    ],
)
def test_effective_dates_are_rfc3339_or_plain(text: str, instant: str) -> None:
    assert effective_date(text).isoformat() == instant


@pytest.mark.parametrize(
    "text",
    [
        "31/01/2024",
        "2024-01-31T10:00:00",
        "2024-01-31 10:00",
        "2024-02-30",
        "2024-1-3",
        "20240131",
        "1706659200",
        "January 2024",
        "0001-01-01T00:00:00+05:00",
        "2024-01-31\n",
        "",
    ],
)
def test_other_effective_dates_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="neither a date"):
        effective_date(text)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        # The first is the one that feedparser reads as 02:17 without a zone.
        ("Tue, 24 May 2016 2:17:57 PM CEST", "2016-05-24T12:17:57+00:00"),
        ("Tue, 24 May 2016 12:05 AM UTC", "2016-05-24T00:05:00+00:00"),
        ("Tue, 24 May 2016 12:05 p.m. UTC", "2016-05-24T12:05:00+00:00"),
        ("Wed, 05 Aug 2009 07:30:00 +0200", "2009-08-05T05:30:00+00:00"),
        ("Wed, 03 Sep 2008 17:03:03 EST", "2008-09-03T22:03:03+00:00"),
        ("Tue, 24 May 2016 14:17:57 +0200 (CEST)", "2016-05-24T12:17:57+00:00"),
        ("Tue, 24 May 2016 12:17:57 -0000", "2016-05-24T12:17:57+00:00"),
        ("Tue, 24 May 2016 12:17:57 GMT+02:00", "2016-05-24T10:17:57+00:00"),
        ("  Di,  24 May\n2016 12:17:57 Z ", "2016-05-24T12:17:57+00:00"),
        ("24 May 16 12:00 GMT", "2016-05-24T12:00:00+00:00"),
        ("24 May 97 12:00 GMT", "1997-05-24T12:00:00+00:00"),
        ("May 24, 2016 2:17:57 PM CEST", "2016-05-24T12:17:57+00:00"),
        ("2013-09-16T06:57:33.39885-05:00", "2013-09-16T11:57:33.398850+00:00"),
        ("2001-01-04T00:00+00:00", "2001-01-04T00:00:00+00:00"),
        ("2002-09-28T20:01:19Z", "2002-09-28T20:01:19+00:00"),
        # RFC 850, and what C, Java, JavaScript, Ruby and blogs print.
        ("Tuesday, 24-May-16 12:17:57 GMT", "2016-05-24T12:17:57+00:00"),
        ("Tue May 24 12:17:57 +0200 2016", "2016-05-24T10:17:57+00:00"),
        ("Tue May  4 12:17:57 CEST 2016", "2016-05-04T10:17:57+00:00"),
        ("Tue May 24 2016 12:17:57 GMT+0200 (Mitteleuropäische Zeit)", "2016-05-24T10:17:57+00:00"),
        ("2016-05-24 12:17:57 UTC", "2016-05-24T12:17:57+00:00"),
        ("2016-05-24 12:17:57 -0330", "2016-05-24T15:47:57+00:00"),
        ("2016-05-24 12:17:57+02", "2016-05-24T10:17:57+00:00"),
        ("20160524T121757Z", "2016-05-24T12:17:57+00:00"),
        ("Tue, 24 Sept 2016 12:17:57 GMT", "2016-09-24T12:17:57+00:00"),
        ("Tue, 24 September 2016 12:17 GMT", "2016-09-24T12:17:00+00:00"),
        ("tue, 24 may 2016 12:17:57 gmt", "2016-05-24T12:17:57+00:00"),
        ("mar., 24 May 2016 12:17:57 +0545", "2016-05-24T06:32:57+00:00"),
        ("вт, 24 May 2016 12:17:57 +0300", "2016-05-24T09:17:57+00:00"),
        ("Thu, 31 Dec 2015 23:30:00 PST", "2016-01-01T07:30:00+00:00"),
        ("Tue, 24 May 2016 12:17:57 +1400", "2016-05-23T22:17:57+00:00"),
        ("Tue, 24 May 2016 12:17:57 GMT-3", "2016-05-24T15:17:57+00:00"),
    ],
)
def test_feed_dates_with_a_zone_are_read_right(text: str, instant: str) -> None:
    read = feed_date(text)
    assert read is not None
    assert read.isoformat() == instant


@pytest.mark.parametrize(
    "text",
    [
        "Mo, 25 Jun 2018 11:41:36",
        "Tue, 24 May 2016 12:17:57 BST",
        "Tue, 24 May 2016 12:17:57 A",
        "Tue, 24 May 2016 14:17:57 PM CEST",
        "Tue, 24 May 2016 25:17:57 GMT",
        "Tue, 30 Feb 2016 12:00:00 GMT",
        "Tue, 24 Mai 2016 12:00:00 GMT",
        "Thu, 01 Jan 0016 12:00:00 GMT",
        "Tue, 24 May 2016 12:17:57 +9999",
        "05/04/2016 12:00 GMT",
        "2016-05-24",
        "2016-05-24T12:17:57",
        "0001-01-01T00:00:00+05:00",
        "1464092277",
        "yesterday",
        "",
        # Finnish for November begins like March; Java's CST may be China's.
        "ti, 24 marraskuu 2016 12:17:57 GMT",
        "Tue, 24 Marz 2016 12:17:57 GMT",
        "Tue May 24 12:17:57 CST 2016",
        "Tue May 24 12:17:57 2016",
        "2016-05-24 12:17:57 EST",
        "2016-05-24 12:17:57",
        "2016-13-24 12:17:57 UTC",
        "2016-05-24T12:17:57+99:00",
        "Tue, 24 May 2016 12:17:57 IST",
        "Tue, 24 May 2016 12:17:57 +05:75",
        "Tue, 24 May 2016 12:17:57 Europe/Berlin",
        "Tue, 24 May 2016 24:00:00 GMT",
        "Tue, 24 May 2016 0:17 AM GMT",
        "Tue, 24 May 2016",
        "24.05.2016 12:17:57 +0200",
        "0000-00-00T00:00:00Z",
        "Thu, 01 Jan 1970",
        "Mon, 00 Jan 0000 00:00:00 +0000",
        "Tue, 24 May 2016 12:17:57 GMT GMT",
        "Date: Tue, 24 May 2016 12:17:57 GMT",
    ],
)
def test_feed_dates_that_are_not_certain_are_not_guessed(text: str) -> None:
    assert feed_date(text) is None


def test_the_machine_s_own_zone_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Kolkata")
    time.tzset()
    try:
        assert feed_date("Tue, 24 May 2016 12:17:57 IST") is None
        assert feed_date("Tue, 24 May 2016 12:17:57") is None
    finally:
        monkeypatch.undo()
        time.tzset()


@given(st.text(max_size=60) | st.from_regex(r"\w+, \d+ \w+ \d+ \d+:\d+:\d+ ?[AP]?M? [\w+-]+"))
def test_no_text_raises(text: str) -> None:
    read = feed_date(text)
    assert read is None or read.utcoffset() is not None
